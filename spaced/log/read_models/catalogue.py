"""All tables of the core, and the read models that keep the derived ones."""

from collections.abc import Mapping
from typing import Final

from spaced.log.read_models.definitions import PROFILES, SYNC_SOURCES, WORKFLOWS
from spaced.log.read_models.items import Items
from spaced.log.read_models.read_model import ReadModel
from spaced.log.read_models.runs import Runs
from spaced.log.read_models.sessions import Sessions
from spaced.log.read_models.system import Descriptors, Grants
from spaced.log.table import Column, Table

OPEN_TAIL: Final = Table(
    name="open_tail",
    key=("session_id", "item_id", "field"),
    columns=(
        Column(name="session_id"),
        Column(name="item_id"),
        Column(name="field"),
        Column(name="stream"),
        Column(name="offset", type="integer"),
        Column(name="text"),
    ),
    role="own",
)
"""What came of an open item's text since its last piece in the log; gone at the item's end."""

READ_MODELS: Final[tuple[ReadModel, ...]] = (
    Runs(),
    Sessions(),
    Items(),
    WORKFLOWS,
    PROFILES,
    SYNC_SOURCES,
    Grants(),
    Descriptors(),
)
"""In the order in which they are applied: an item's row takes its place from its session's row."""

TABLES: Final[Mapping[str, Table]] = {
    table.name: table for table in (*(model.table for model in READ_MODELS), OPEN_TAIL)
}
"""Every table that a storage keeps for the core."""

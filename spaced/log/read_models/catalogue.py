"""All tables of the core, and the read models that keep the derived ones."""

from collections.abc import Mapping
from typing import Final

from spaced.log.read_models.definitions import PROFILES, SYNC_SOURCES, WORKFLOWS
from spaced.log.read_models.items import Items
from spaced.log.read_models.lives import ASKS, EXECUTIONS, PROMPTS, TURNS
from spaced.log.read_models.open_items import OpenItems
from spaced.log.read_models.read_model import ReadModel
from spaced.log.read_models.runs import Runs
from spaced.log.read_models.sessions import Sessions
from spaced.log.read_models.sync_rows import SYNC_FILE, SYNC_STATUS
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

PROCESS: Final = Table(
    name="process",
    key=("pid", "started"),
    columns=(
        Column(name="pid", type="integer"),
        Column(name="started"),
        Column(name="boot_id"),
        Column(name="execution_id"),
        Column(name="marker"),
        Column(name="command"),
    ),
    role="own",
)
"""The processes that were started and are not known to be gone; a start kills what they left."""

READ_MODELS: Final[tuple[ReadModel, ...]] = (
    Runs(),
    Sessions(),
    Items(),
    OpenItems(),
    PROMPTS,
    TURNS,
    ASKS,
    EXECUTIONS,
    WORKFLOWS,
    PROFILES,
    SYNC_SOURCES,
    Grants(),
    Descriptors(),
)
"""In the order in which they are applied: an item's row takes its place from its session's row."""

TABLES: Final[Mapping[str, Table]] = {
    table.name: table
    for table in (
        *(model.table for model in READ_MODELS),
        *(OPEN_TAIL, PROCESS, SYNC_FILE, SYNC_STATUS),
    )
}
"""Every table that a storage keeps for the core."""

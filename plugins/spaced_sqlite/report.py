"""Facts about a storage for `spaced status` and `spaced doctor`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from spaced.plugin_api import StorageReport
from spaced_sqlite.blobs import BlobFolder
from spaced_sqlite.declarations import unfilled_tables
from spaced_sqlite.engine import engine, engine_warnings
from spaced_sqlite.layout import DATABASE, SHARED_MEMORY, SNAPSHOTS, WAL
from spaced_sqlite.readers import Reader
from spaced_sqlite.statements import QUERIES

_SCRUB_DUE: Final = (
    "Text of a deleted session may still lie in free pages of the database; `spaced gc` removes it."
)


def report(
    reader: Reader, folder: Path, blobs: BlobFolder, found_at_open: Sequence[str]
) -> StorageReport:
    """Gather the facts; `found_at_open` are warnings that only opening could tell."""
    warnings = [*engine_warnings(), *found_at_open]
    if reader.conn.execute(QUERIES["recall"], {"key": "scrub_due"}).fetchone() is not None:
        warnings.append(_SCRUB_DUE)
    unfilled = unfilled_tables(reader.conn)
    if unfilled:
        warnings.append(f"These tables wait to be rebuilt from the log: {', '.join(unfilled)}.")
    sizes = {
        "database": _size(folder / DATABASE),
        "wal": _size(folder / WAL) + _size(folder / SHARED_MEMORY),
        "blobs": blobs.size(),
        "snapshots": sum(_size(path) for path in (folder / SNAPSHOTS).glob("*")),
    }
    return StorageReport(
        engine=engine(),
        location=str(folder),
        sizes=sizes,
        warnings=warnings,
        unfilled_tables=unfilled,
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0

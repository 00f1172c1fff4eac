"""What sync remembers beside the log: what it read of each file, and how its last run ended."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from spaced.log.read_models.sync_rows import SYNC_FILE, SYNC_STATUS
from spaced.log.table import DeleteRow, PutRow, RowWrite
from spaced.storage.protocol import Storage
from spaced.sync.files import FileVerdict
from spaced.sync.memory import without_workflows

_VERDICT = msgspec.json.Decoder(FileVerdict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncStatus:
    """How the last run of a source ended.

    Attributes:
        at: when, in milliseconds since the epoch.
        counts: of workflows, by what became of them.
    """

    at: int
    commit: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)


_STATUS = msgspec.json.Decoder(SyncStatus)


class SyncBook:
    """Reads and writes these rows."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def verdicts(self, source_id: str) -> dict[str, FileVerdict]:
        """Return what was applied of each file, by name."""
        found = await self._storage.list_rows(
            SYNC_FILE.name, where={"source_id": source_id}, order="by_source"
        )
        texts = {str(row["name"]): str(row["verdict"]) for row in found.rows}
        return await asyncio.to_thread(_decoded, texts)

    async def status(self, source_id: str) -> SyncStatus | None:
        """Return how the last run ended; `None` before the first."""
        rows = (await self._storage.get_rows(SYNC_STATUS.name, [(source_id,)])).rows
        return _STATUS.decode(str(rows[0]["status"])) if rows else None

    async def write(self, rows: Sequence[RowWrite]) -> None:
        """Write rows that belong to no event."""
        if rows:
            await self._storage.append([], rows)


def _decoded(texts: Mapping[str, str]) -> dict[str, FileVerdict]:
    return {name: _VERDICT.decode(text) for name, text in texts.items()}


def applied_row(source_id: str, verdict: FileVerdict) -> PutRow:
    """Return the row that says that a file with these bytes was taken over."""
    told = msgspec.json.encode(without_workflows(verdict)).decode()
    return PutRow(
        table=SYNC_FILE.name,
        row={"source_id": source_id, "name": verdict.name, "verdict": told},
    )


def forgotten_row(source_id: str, name: str) -> DeleteRow:
    """Return what makes a file be parsed again."""
    return DeleteRow(table=SYNC_FILE.name, key=(source_id, name))


def status_row(source_id: str, status: SyncStatus) -> PutRow:
    """Return the row that says how a run ended."""
    told = msgspec.json.encode(status).decode()
    return PutRow(table=SYNC_STATUS.name, row={"source_id": source_id, "status": told})

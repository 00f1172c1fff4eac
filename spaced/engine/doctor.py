"""Proves that derived rows equal a fresh fold of the log, names what differs, and rebuilds them.

The log is the truth; rows are what it means today. Both are read stream by stream, so memory holds
one stream at a time, and a damaged stream says so and costs no other one anything.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from spaced.log.fold import StreamFold
from spaced.log.read_models.catalogue import READ_MODELS
from spaced.log.record import StreamWrite
from spaced.log.table import STREAM_COLUMN, DeleteRow, Key, PutRow, Row, RowWrite, Table
from spaced.storage.checks import size_of
from spaced.storage.protocol import MAX_APPEND_BYTES, Storage

_PAGE: Final = 1000
_ROWS_PER_APPEND: Final = 500

FindingKind = Literal["damaged-stream", "missing-row", "extra-row", "different-row"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One way in which rows and log disagree.

    Attributes:
        detail: one sentence that names the difference.
    """

    kind: FindingKind
    stream: str
    detail: str
    table: str | None = None
    key: Key | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """What a rebuild did."""

    streams: int
    rows_written: int
    rows_removed: int
    findings: Sequence[Finding]


async def examine(storage: Storage) -> AsyncIterator[Finding]:
    """Compare every derived row with a fresh fold, while the storage may be in use.

    A stream that grows meanwhile is followed until its fold and its rows are of the same version.
    """
    async for stream in _streams(storage):
        fold, stored, _ = await _fold_and_rows(storage, stream)
        for finding in _compare(stream, fold, stored):
            yield finding
    async for table, row in _rows_without_stream(storage):
        yield _finding("extra-row", str(row[STREAM_COLUMN]), table, table.key_of(row))


async def rebuild(storage: Storage) -> Rebuilt:
    """Write every derived row, and the words it is found by, anew from the log.

    Each append checks that its stream has not moved since it was folded. Rows of a damaged stream
    are those up to its damage, and the run's row says where and why.

    Raises:
        ConflictingWrite: something was recorded meanwhile; rebuild while nothing else writes.
    """
    streams = written = removed = 0
    findings: list[Finding] = []
    async for stream in _streams(storage):
        fold, stored, version = await _fold_and_rows(storage, stream)
        findings += _compare(stream, fold, stored)
        gone = [_delete(table, key) for table, key in stored.keys() - fold.rows.keys()]
        await _write(storage, stream, version, [*gone, *map(_anew, fold.rows.values())])
        streams, written, removed = streams + 1, written + len(fold.rows), removed + len(gone)
    orphans = [(table, row) async for table, row in _rows_without_stream(storage)]
    for table, row in orphans:
        key = table.key_of(row)
        findings.append(_finding("extra-row", str(row[STREAM_COLUMN]), table, key))
        await storage.append([], [_delete(table.name, key)], bulk=True)
    await storage.mark_filled([model.table.name for model in READ_MODELS])
    return Rebuilt(
        streams=streams,
        rows_written=written,
        rows_removed=removed + len(orphans),
        findings=findings,
    )


async def _streams(storage: Storage) -> AsyncIterator[str]:
    after = ""
    while page := await storage.list_streams(after=after, limit=_PAGE):
        for head in page:
            yield head.stream
        after = page[-1].stream


async def _fold_and_rows(
    storage: Storage, stream: str
) -> tuple[StreamFold, dict[tuple[str, Key], Row], int]:
    """Fold a stream and read its rows so that both are of one version, which is returned too."""
    fold = StreamFold()
    version = await _follow(storage, stream, fold, 0)
    while True:
        stored = {
            (model.table.name, model.table.key_of(row)): row
            for model in READ_MODELS
            for row in (
                await storage.list_rows(model.table.name, where={STREAM_COLUMN: stream})
            ).rows
        }
        newest = await _follow(storage, stream, fold, version)
        if newest == version:
            return fold, stored, version
        version = newest


async def _follow(storage: Storage, stream: str, fold: StreamFold, version: int) -> int:
    while page := await storage.read_stream(stream, after=version, limit=_PAGE):
        fold.take(page)
        version = page[-1].version
    return version


def _compare(
    stream: str, fold: StreamFold, stored: dict[tuple[str, Key], Row]
) -> Sequence[Finding]:
    findings = []
    if fold.damage is not None:
        findings.append(Finding(kind="damaged-stream", stream=stream, detail=str(fold.damage)))
    tables = {model.table.name: model.table for model in READ_MODELS}
    for name, key in sorted(fold.rows.keys() | stored.keys(), key=repr):
        wanted, found = fold.row(name, key), stored.get((name, key))
        if found is None:
            findings.append(_finding("missing-row", stream, tables[name], key))
        elif wanted is None:
            findings.append(_finding("extra-row", stream, tables[name], key))
        elif dict(wanted) != dict(found):
            columns = sorted(c for c in wanted if wanted[c] != found.get(c))
            findings.append(_finding("different-row", stream, tables[name], key, columns))
    return findings


def _finding(
    kind: FindingKind, stream: str, table: Table, key: Key, columns: Sequence[str] = ()
) -> Finding:
    row = f"the row {'/'.join(map(str, key))} of {table.name}"
    details = {
        "missing-row": f"{row} is missing",
        "extra-row": f"{row} follows from no event",
        "different-row": f"{row} differs from the log in {', '.join(columns)}",
    }
    return Finding(kind=kind, stream=stream, detail=details[kind], table=table.name, key=key)


async def _rows_without_stream(storage: Storage) -> AsyncIterator[tuple[Table, Row]]:
    known = {stream async for stream in _streams(storage)}
    for model in READ_MODELS:
        after: Row | None = None
        while page := (await storage.list_rows(model.table.name, after=after, limit=_PAGE)).rows:
            for row in page:
                if row[STREAM_COLUMN] not in known and not await _exists(storage, row):
                    yield model.table, row
            after = page[-1]


async def _exists(storage: Storage, row: Row) -> bool:
    """Look again: the stream may have begun after the streams were listed."""
    return bool(await storage.read_stream(str(row[STREAM_COLUMN]), limit=1))


async def _write(storage: Storage, stream: str, version: int, writes: Sequence[RowWrite]) -> None:
    unchanged = StreamWrite(stream=stream, expected_version=version)
    batch: list[RowWrite] = []
    size = 0
    for write in writes:
        weight = size_of([], [write])
        if batch and (len(batch) == _ROWS_PER_APPEND or size + weight > MAX_APPEND_BYTES):
            await storage.append([unchanged], batch, bulk=True)
            batch, size = [], 0
        batch.append(write)
        size += weight
    if batch:
        await storage.append([unchanged], batch, bulk=True)


def _anew(put: PutRow) -> RowWrite:
    """Index exactly the fold's texts: words of an item that has none any more go."""
    return replace(put, text=put.text or {})


def _delete(table: str, key: Key) -> RowWrite:
    return DeleteRow(table=table, key=key)

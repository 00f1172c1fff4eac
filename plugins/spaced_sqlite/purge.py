"""Removing a stream for good, down to the bytes in the file.

One transaction removes the events, the rows and the words, and fences the name. Then their bytes
are made to leave the files, in small steps between which appends go on: the search index is merged,
since removed words stay in it until then; free pages are cut off the file; the WAL is emptied.
Snapshots of before an upgrade go as well. That this is due is remembered, so that a crash in
between is made good by the next clean-up.

Deleted content inside pages is overwritten at all times (`secure_delete = fast`), and during a
purge in freed pages too.
"""

from collections.abc import Iterator
from typing import Final

from spaced_sqlite.append import EventLog
from spaced_sqlite.checkpoint import Checkpointer
from spaced_sqlite.search_index import SearchIndex
from spaced_sqlite.statements import QUERIES

_MERGED_PAGES: Final = 256
_CUT_PAGES: Final = 256
_TRIES: Final = 5


def purge_stream(event_log: EventLog, stream: str) -> None:
    """Remove a stream's events, rows and words, and fence its name."""
    conn = event_log.conn
    conn.execute("pragma secure_delete = on").fetchall()
    try:
        with event_log.transaction():
            number = event_log.name_id(stream)
            conn.execute(QUERIES["fence_stream"], {"stream": number})
            # Positions ascend for ever, also if the newest events are the ones that go.
            floor = {"key": "position_floor", "value": str(event_log.head)}
            conn.execute(QUERIES["remember"], floor)
            conn.execute(QUERIES["remember"], {"key": "scrub_due", "value": "yes"})
            conn.execute(QUERIES["forget_events"], {"stream": number})
            _purge_rows(event_log, stream)
    finally:
        conn.execute("pragma secure_delete = fast").fetchall()


def is_scrub_due(event_log: EventLog) -> bool:
    """Tell whether purged text may still lie in the files."""
    return event_log.conn.execute(QUERIES["recall"], {"key": "scrub_due"}).fetchone() is not None


def scrub(event_log: EventLog, checkpointer: Checkpointer) -> Iterator[None]:
    """Make the bytes of what was purged leave the files, one step at a time."""
    for table in (*event_log.tables.values(), *event_log.retired):
        if not table.has_words:
            continue
        index = SearchIndex(event_log.conn, table)
        is_more = index.merge(-_MERGED_PAGES)
        while is_more:
            yield
            is_more = index.merge(_MERGED_PAGES)
    yield from cut_free_pages(event_log, checkpointer)
    for _ in range(_TRIES):
        yield
        if checkpointer.empty_wal():
            event_log.conn.execute(QUERIES["forget"], {"key": "scrub_due"})
            return


def cut_free_pages(event_log: EventLog, checkpointer: Checkpointer) -> Iterator[None]:
    """Give free pages of the file back to the disk, one step at a time."""
    conn = event_log.conn
    while conn.execute("pragma freelist_count").fetchone()[0]:
        # Not `execute`, which takes one step of a statement without columns: one page.
        conn.executescript(f"pragma incremental_vacuum({_CUT_PAGES})")
        checkpointer.note_pages(2 * _CUT_PAGES)
        yield


def _purge_rows(event_log: EventLog, stream: str) -> None:
    conn = event_log.conn
    # Also of tables that only another version declares: deleted for good means there as well.
    for table in (*event_log.tables.values(), *event_log.retired):
        if not table.declared.is_purgeable:
            continue
        if table.has_words:
            index = SearchIndex(conn, table)
            for (row_id,) in conn.execute(table.ids_of_stream_sql, (stream,)).fetchall():
                index.remove(row_id)
        conn.execute(table.delete_stream_sql, (stream,))

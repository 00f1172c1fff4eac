"""A purged text is in no file any more, and its positions stay used."""

import asyncio
from pathlib import Path

import pytest

from spaced.plugin_api import Column, PutRow, Storage, Table
from spaced.testing.samples import event, start, write
from spaced.testing.tables import SAMPLE_TABLES, card
from spaced_sqlite.purge import purge_stream
from tests.integration.sqlite.places import all_bytes, on_writer, opened, outside

SECRET = "quetzalcoatlus"
EVENT = b'{"text":"' + SECRET.encode() + b'"}'


def _secret_card(card_id: str, stream: str) -> PutRow:
    row = card(card_id, stream=stream, note=f"a {SECRET} flies")
    return PutRow(table="card", row=row, text={"content": f"the {SECRET}s are here"})


async def _live_with_it(storage: Storage, stream: str, *, rounds: int) -> None:
    """Write the secret again and again between other texts, so that it moves through the file."""
    for number in range(rounds):
        filler = [event(b'{"x":"' + b"%d" % number * 300 + b'"}') for _ in range(5)]
        await storage.append(
            [
                write(stream, number, event(EVENT)),
                write(f"other-{number}", 0, *filler),
            ],
            [
                _secret_card("secret", stream),
                PutRow(
                    table="card",
                    row=card(f"plain-{number}", stream=f"other-{number}"),
                    text={"content": f"plain words number {number}"},
                ),
            ],
        )


async def test_a_purged_text_is_in_no_file(folder: Path) -> None:
    """Events, rows, their earlier values and indexed words: not one byte stays behind."""
    async with opened(folder) as storage:
        await _live_with_it(storage, "run-1", rounds=40)
        assert SECRET.encode() in all_bytes(folder)
        await storage.purge("run-1")
        assert SECRET.encode() not in all_bytes(folder)
    assert SECRET.encode() not in all_bytes(folder)


async def test_a_text_that_left_a_row_long_ago_is_purged_too(folder: Path) -> None:
    """What a row held before it was rewritten or deleted lay in free space."""
    async with opened(folder) as storage:
        await _live_with_it(storage, "run-1", rounds=20)
        harmless = PutRow(table="card", row=card("secret", stream="run-1"), text={})
        await storage.append([], [harmless])
        await storage.purge("run-1")
    assert SECRET.encode() not in all_bytes(folder)


async def test_a_snapshot_does_not_keep_what_was_purged(folder: Path) -> None:
    """A copy of before the upgrade holds the text as well."""
    async with opened(folder) as storage:
        snapshot = folder / "snapshots" / "before-upgrade-from-0.db"
        snapshot.write_bytes(EVENT)
        await storage.purge("run-1")
        assert not snapshot.exists()


async def test_rows_of_a_table_that_is_no_longer_declared_are_purged(folder: Path) -> None:
    """Another version may declare it again, and deleted for good means there as well."""
    retired = Table(
        name="retired",
        key=("stream",),
        columns=(Column(name="stream"), Column(name="note")),
        role="derived",
        text_columns=("content",),
    )
    async with opened(folder, (*SAMPLE_TABLES, retired)) as storage:
        row = {"stream": "run-1", "note": SECRET}
        await storage.append([], [PutRow(table="retired", row=row, text={"content": SECRET})])
    async with opened(folder) as storage:
        await storage.purge("run-1")
    assert SECRET.encode() not in all_bytes(folder)


async def test_a_scrub_that_a_crash_interrupted_is_made_good(folder: Path) -> None:
    """The storage remembers that text may still lie in the file, says so, and cleans up later."""
    async with opened(folder) as storage:
        await _live_with_it(storage, "run-1", rounds=20)
        await on_writer(storage, lambda log: purge_stream(log, "run-1"))
    assert SECRET.encode() in all_bytes(folder)

    async with opened(folder) as storage:
        assert [text for text in (await storage.describe()).warnings if "deleted session" in text]
        await storage.reclaim([])
        assert not [text for text in (await storage.describe()).warnings if "deleted" in text]
    assert SECRET.encode() not in all_bytes(folder)


async def test_appends_go_on_while_a_purge_cleans_up(folder: Path) -> None:
    """A purge works in steps, and whoever writes meanwhile is answered."""
    async with opened(folder) as storage:
        await _live_with_it(storage, "run-1", rounds=40)
        purging = asyncio.ensure_future(storage.purge("run-1"))
        await asyncio.gather(*(storage.append([start(f"new-{n}")]) for n in range(50)))
        await purging
        assert len(await storage.list_streams(after="new-", limit=100)) == 90


async def test_a_purge_gives_the_space_back(folder: Path) -> None:
    """A deleted session frees the disk that it took."""
    async with opened(folder) as storage:
        await storage.append([start("run-2")])
        await storage.append([write("run-1", 0, *[event(b'{"x":"%s"}' % (b"x" * 9000))] * 300)])
        await storage.purge("run-1")
    assert (folder / "spaced.db").stat().st_size < 300_000


@pytest.mark.parametrize("reopens", [False, True])
async def test_positions_of_a_purged_tail_are_not_used_again(folder: Path, reopens: bool) -> None:
    """A client that saw position 5 must never see another event under it."""
    async with opened(folder) as storage:
        await storage.append([start("run-1", count=2)])
        await storage.append([start("run-2", count=3)])
        await storage.purge("run-2")
        if not reopens:
            appended = await storage.append([start("run-3")])
    if reopens:
        async with opened(folder) as storage:
            appended = await storage.append([start("run-3")])
    assert [event.position for event in appended.events] == [6]


async def test_an_emptied_log_goes_on_where_it_was(folder: Path) -> None:
    """No event is left to tell the last position, so it is kept apart."""
    async with opened(folder) as storage:
        await storage.append([start("run-1", count=4)])
        await storage.purge("run-1")
    async with opened(folder) as storage:
        assert await storage.head() == 4
        assert (await storage.append([start("run-2")])).position == 5
    with outside(folder / "spaced.db") as conn:
        assert conn.execute("select position from event").fetchall() == [(5,)]

"""Rebuilding heals every row and every word, and never touches a log."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spaced.domain.events.transcript import AgentItemUpserted, AgentStatusChanged
from spaced.engine.doctor import Rebuilt, rebuild
from spaced.engine.journal import Journal
from spaced.errors import ConflictingWrite
from spaced.log.fold import fold_stream
from spaced.log.read_models.catalogue import OPEN_TAIL, READ_MODELS, TABLES
from spaced.log.record import StreamWrite
from spaced.log.table import Column, DeleteRow, PutRow, Row, RowWrite
from spaced.storage.protocol import Appended, Storage
from spaced.testing.samples import event
from spaced.testing.storage_harness import StorageHarness
from tests.integration.journal.observed_storage import ObservedStorage
from tests.integration.journal.telling import (
    begin_chat,
    derived_rows,
    findings,
    found,
    item,
    plant,
    tell,
    whole_log,
)
from tests.unit.log.stories import Story, run_stories

BAD = event(b"[]", kind="agent-status-changed", session_id="run")


async def _delete_all_rows(storage: Storage) -> None:
    rows = await derived_rows(storage)
    await storage.append([], [DeleteRow(table=table, key=key) for table, key in rows])


async def test_a_healthy_log_is_rebuilt_as_it_is(storage: Storage, journal: Journal) -> None:
    """The same rows, nothing found, no event written."""
    await begin_chat(storage, journal, "run", item("a", "alpha"))
    await begin_chat(storage, journal, "other")
    rows, log = await derived_rows(storage), await whole_log(storage)

    done = await rebuild(storage)

    assert done == Rebuilt(streams=2, rows_written=5, rows_removed=0, findings=[])
    assert await derived_rows(storage) == rows
    assert await whole_log(storage) == log


async def test_an_empty_log_is_rebuilt(storage: Storage) -> None:
    """There is nothing to do."""
    assert await rebuild(storage) == Rebuilt(streams=0, rows_written=0, rows_removed=0, findings=[])


async def test_everything_derived_can_be_lost_and_comes_back(
    storage: Storage, journal: Journal
) -> None:
    """Rows and words alike follow from the events alone."""
    await begin_chat(storage, journal, "run", item("a", "alpha"), item("b", "beta"))
    rows = await derived_rows(storage)
    await _delete_all_rows(storage)
    assert await found(storage, "item", "alpha") == set()

    done = await rebuild(storage)

    assert {finding.kind for finding in done.findings} == {"missing-row"}
    assert len(done.findings) == len(rows)
    assert await derived_rows(storage) == rows
    assert await found(storage, "item", "alpha") == {("run", "a")}
    assert await findings(storage) == []


async def test_changed_extra_and_orphaned_rows_are_healed_and_reported(
    storage: Storage, journal: Journal
) -> None:
    """What the rebuild found is what an examination would have found."""
    await begin_chat(storage, journal, "run", item("a"))
    rows = await derived_rows(storage)
    session, one = rows["session", ("run",)], rows["item", ("run", "a")]
    await storage.append(
        [],
        [
            PutRow(table="session", row={**session, "status": "wrong"}),
            PutRow(table="item", row={**one, "item_id": "ghost"}),
            PutRow(table="session", row={**session, "id": "ghost", "stream": "ghost"}),
            PutRow(table="item", row={**one, "session_id": "ghost", "stream": "ghost"}),
        ],
    )
    before = await findings(storage)

    done = await rebuild(storage)

    assert len(before) == 4
    assert list(done.findings) == before
    assert done.rows_removed == 3
    assert await derived_rows(storage) == rows
    assert await findings(storage) == []


async def test_a_row_that_moved_to_another_stream_is_brought_back(
    storage: Storage, journal: Journal
) -> None:
    """In whichever order the two streams are rebuilt."""
    for name in ("a-run", "m-run", "z-run"):
        await begin_chat(storage, journal, name, item("a"))
    rows = await derived_rows(storage)
    one = rows["item", ("m-run", "a")]

    for elsewhere in ("a-run", "z-run", "ghost"):
        await storage.append([], [PutRow(table="item", row={**one, "stream": elsewhere})])
        await rebuild(storage)
        assert await derived_rows(storage) == rows
        assert await findings(storage) == []


async def test_words_that_no_longer_belong_to_an_item_are_gone(
    storage: Storage, journal: Journal
) -> None:
    """Wrong words are replaced, and an item without any text has none."""
    await begin_chat(storage, journal, "run", item("a", "alpha"), item("open", status="running"))
    rows = await derived_rows(storage)
    for key in ("a", "open"):
        row = rows["item", ("run", key)]
        await storage.append([], [PutRow(table="item", row=row, text={"text": "wrong"})])

    await rebuild(storage)

    assert await found(storage, "item", "wrong") == set()
    assert await found(storage, "item", "alpha") == {("run", "a")}


async def test_a_damaged_stream_keeps_its_rows_up_to_the_damage_and_says_so(
    storage: Storage, journal: Journal
) -> None:
    """What came before can be read and listed with the error."""
    await begin_chat(storage, journal, "run", item("a", "alpha"))
    before = await derived_rows(storage, "run")
    await plant(storage, "run", BAD, event(b'{"status":"late"}', kind=BAD.kind, session_id="run"))

    done = await rebuild(storage)

    rows = await derived_rows(storage, "run")
    damage = rows["run", ("run",)]["damage"]
    assert str(damage).startswith("run is damaged at version 4: ")
    assert rows == before | {("run", ("run",)): {**before["run", ("run",)], "damage": damage}}
    assert await found(storage, "item", "alpha") == {("run", "a")}
    assert [finding.kind for finding in done.findings] == ["damaged-stream", "different-row"]


async def test_a_damaged_stream_stays_a_finding_after_the_rebuild(
    storage: Storage, journal: Journal
) -> None:
    """Its rows agree with the log now; the damage itself is not healed by rows."""
    await begin_chat(storage, journal, "run")
    await plant(storage, "run", BAD)
    await rebuild(storage)

    assert [finding.kind for finding in await findings(storage)] == ["damaged-stream"]
    assert [finding.kind for finding in (await rebuild(storage)).findings] == ["damaged-stream"]


async def test_a_damaged_stream_costs_the_others_nothing(
    storage: Storage, journal: Journal
) -> None:
    """They are rebuilt as ever and go on taking events."""
    for name in ("a-run", "run", "z-run"):
        await begin_chat(storage, journal, name, item("a", "alpha"))
    rows = {name: await derived_rows(storage, name) for name in ("a-run", "z-run")}
    await plant(storage, "run", BAD)
    await _delete_all_rows(storage)

    await rebuild(storage)

    assert {name: await derived_rows(storage, name) for name in rows} == rows
    await tell(storage, journal, "z-run", AgentStatusChanged(status="running"))
    await tell(storage, journal, "a-run", item("b"))


async def test_a_stream_whose_first_event_is_corrupt_has_no_rows(
    storage: Storage, journal: Journal
) -> None:
    """Nothing is known of it but its name, which the finding gives."""
    await begin_chat(storage, journal, "run")
    await plant(storage, "broken", event(b"?", kind="run-created"))

    done = await rebuild(storage)

    assert [(finding.kind, finding.stream) for finding in done.findings] == [
        ("damaged-stream", "broken")
    ]
    assert await derived_rows(storage, "broken") == {}


async def test_rows_that_no_event_tells_are_left_alone(storage: Storage, journal: Journal) -> None:
    """They could not be written again; also a tail whose stream is gone stays for its owner."""
    await begin_chat(storage, journal, "run", item("a", stream_status="streaming"))
    tail: Row = {"item_id": "a", "field": "content", "offset": 0, "text": "x"}
    tails: list[Row] = [{**tail, "session_id": name, "stream": name} for name in ("ghost", "run")]
    await storage.append([], [PutRow(table=OPEN_TAIL.name, row=row) for row in tails])

    await rebuild(storage)

    assert (await storage.list_rows(OPEN_TAIL.name)).rows == tails


async def test_more_rows_than_one_append_takes_are_rebuilt(
    storage: Storage, journal: Journal
) -> None:
    """In several appends, by number and by weight."""
    items = [item(f"item-{n}", "x" * 20_000) for n in range(520)]
    await begin_chat(storage, journal, "run")
    for start in range(0, len(items), 130):
        await tell(storage, journal, "run", *items[start : start + 130])
    rows = await derived_rows(storage)
    await _delete_all_rows(storage)

    done = await rebuild(storage)

    assert done.rows_written == len(rows) == 522
    assert await derived_rows(storage) == rows


@pytest.mark.parametrize("read", [1, 2, 5, 9, 10, 11])
async def test_a_stream_that_moves_meanwhile_is_never_rebuilt_wrongly(
    storage: Storage, journal: Journal, read: int
) -> None:
    """What was recorded between two of its reads is in the rows that it writes."""
    await begin_chat(storage, journal, "run", item("a"))
    await _delete_all_rows(storage)
    observed = ObservedStorage(storage)
    reads = 0

    async def write_at_that_read() -> None:
        nonlocal reads
        reads += 1
        if reads == read:
            await plant(
                storage, "run", event(b'{"title":"moved"}', kind="run-updated", created_at=5)
            )

    observed.before_read = write_at_that_read
    done = await rebuild(cast("Storage", observed))

    assert done.streams == 1
    assert await findings(storage) == []
    assert await derived_rows(storage) == {
        key: put.row for key, put in fold_stream(await storage.read_stream("run")).rows.items()
    }


class _MovedBeforeWriting(ObservedStorage):
    """Somebody else records something right before rows are written."""

    async def append(
        self, writes: Sequence[StreamWrite], rows: Sequence[RowWrite] = (), *, bulk: bool = False
    ) -> Appended:
        await plant(self._storage, "run", event(b"{}", kind="run-updated"))
        return await self._storage.append(writes, rows, bulk=bulk)


async def test_a_rebuild_refuses_when_a_stream_moved_before_its_rows_were_written(
    storage: Storage, journal: Journal
) -> None:
    """Rows of an older version would hide what was recorded; so nothing is written."""
    await begin_chat(storage, journal, "run", item("a"))
    rows = await derived_rows(storage)
    session = rows["session", ("run",)]
    wrong = {**session, "status": "wrong"}
    await storage.append([], [PutRow(table="session", row=wrong)])

    with pytest.raises(ConflictingWrite):
        await rebuild(cast("Storage", _MovedBeforeWriting(storage)))

    assert (await derived_rows(storage))["session", ("run",)] == wrong
    await rebuild(storage)
    assert await findings(storage) == []


class _MarksNoted(ObservedStorage):
    """Notes what was done after the tables were marked, and which they were."""

    def __init__(self, storage: Storage) -> None:
        super().__init__(storage)
        self.calls: list[str] = []
        self.marked: list[str] = []

    async def append(
        self, writes: Sequence[StreamWrite], rows: Sequence[RowWrite] = (), *, bulk: bool = False
    ) -> Appended:
        self.calls.append("append")
        return await self._storage.append(writes, rows, bulk=bulk)

    async def mark_filled(self, tables: Sequence[str]) -> None:
        self.calls.append("mark_filled")
        self.marked += tables
        await self._storage.mark_filled(tables)


async def test_a_rebuild_marks_every_derived_table_once_and_last(
    storage: Storage, journal: Journal
) -> None:
    """Whoever is told that a table is whole finds all rows in it."""
    await begin_chat(storage, journal, "run", item("a"))
    noted = _MarksNoted(storage)

    await rebuild(cast("Storage", noted))

    derived = [table.name for table in TABLES.values() if table.role == "derived"]
    assert sorted(noted.marked) == sorted(derived)
    assert noted.calls.index("mark_filled") == len(noted.calls) - 1 > 0


async def test_changed_tables_are_listed_until_a_rebuild_is_done(
    storage: Storage, journal: Journal, harness: StorageHarness
) -> None:
    """One that was refused on the way leaves them listed."""
    await begin_chat(storage, journal, "run", item("a", "alpha"))
    rows = await derived_rows(storage)
    changed = [
        replace(table, columns=(*table.columns, Column(name="more", required=False)))
        if table.role == "derived"
        else table
        for table in TABLES.values()
    ]
    back = await harness.reopen(await harness.reopen(storage, changed), tuple(TABLES.values()))
    derived = sorted(model.table.name for model in READ_MODELS)
    assert sorted((await back.describe()).unfilled_tables) == derived

    with pytest.raises(ConflictingWrite):
        await rebuild(cast("Storage", _MovedBeforeWriting(back)))
    assert sorted((await back.describe()).unfilled_tables) == derived

    await rebuild(back)
    assert list((await back.describe()).unfilled_tables) == []
    assert (await derived_rows(back)).keys() == rows.keys()
    assert list((await (await harness.crash(back)).describe()).unfilled_tables) == []


@settings(
    deadline=None,
    derandomize=True,
    max_examples=15,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(story=run_stories("run", most=12), data=st.data())
async def test_whatever_is_lost_or_changed_a_rebuild_restores_it(
    harness: StorageHarness, story: Story, data: st.DataObject
) -> None:
    """Any rows of any story: afterwards they equal the fold again."""
    storage = await harness.open(tuple(TABLES.values()))
    await tell(storage, Journal(storage, harness.clock), "run", *story)
    rows = await derived_rows(storage)
    tables = {model.table.name: model.table for model in READ_MODELS}
    for table, key in data.draw(st.lists(st.sampled_from(sorted(rows, key=repr)), unique=True)):
        loss = DeleteRow(table=table, key=key)
        texts = dict.fromkeys(tables[table].text_columns, "alpha")
        change = PutRow(table=table, row=rows[table, key], text=texts)
        faults: list[RowWrite] = [loss, change]
        await storage.append([], [data.draw(st.sampled_from(faults))])

    await rebuild(storage)

    assert await derived_rows(storage) == rows
    words = {
        k
        for k, put in fold_stream(await storage.read_stream("run")).rows.items()
        if "alpha" in " ".join((put.text or {}).values()).replace("\x00", " ").split()
    }
    for table in ("run", "session", "item"):
        assert {(table, key) for key in await found(storage, table, "alpha")} == {
            (name, key) for name, key in words if name == table
        }
    await storage.close()


async def test_a_rebuilt_session_goes_on_as_before(storage: Storage, journal: Journal) -> None:
    """The next facts find the rows that they need."""
    await begin_chat(storage, journal, "run", item("a", "alpha"))
    await _delete_all_rows(storage)
    await rebuild(storage)

    await tell(storage, journal, "run", item("b"), AgentItemUpserted(item={"id": "a"}))

    assert (await derived_rows(storage))["item", ("run", "b")]["ordinal"] == 2
    assert await findings(storage) == []

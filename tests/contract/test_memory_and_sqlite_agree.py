"""The storage in memory and the one on SQLite give the same answers to the same calls."""

import asyncio
import tempfile
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from spaced.errors import SpacedError
from spaced.log.record import NewEvent, RecordedEvent, StreamWrite
from spaced.log.table import DeleteRow, InsertRow, PutRow, RowWrite
from spaced.storage.protocol import Appended, Hits, Rows, Storage
from spaced.testing.samples import EVERYTHING, event
from spaced.testing.storage_harness import FolderStorageHarness, MemoryStorageHarness
from spaced.testing.tables import CARD, card, label, slot
from spaced_sqlite.factory import SqliteStorageFactory


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a storage's method, as hypothesis can print it."""

    method: str
    arguments: Mapping[str, object]


def calls(method: str, **arguments: st.SearchStrategy[object]) -> st.SearchStrategy[Call]:
    """Return calls of one method."""
    return st.builds(Call, st.just(method), st.fixed_dictionaries(arguments))


def now_and_then(chance: int) -> st.SearchStrategy[bool]:
    """Return true about once in so many times."""
    return st.integers(1, chance).map(lambda number: number == chance)


STREAMS = ("run-1", "run-2", "run-é")
WORDS = ("red", "Red", "reddish", "blue_green", "ÉTÉ", "été", "straße", "STRASSE", "x" * 80, "7")
QUERIES = (*WORDS, "re*", "BLUE*", "x*", "été*", "stras*", "*", '"')

streams = st.sampled_from(STREAMS)
names = st.sampled_from(["", "a", "B", "é", "\U0001f600", "\uffff"])
numbers = st.sampled_from([-(2**63), -1, 0, 10, 2**63 - 1])
texts = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join) | st.text(
    st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20
)
events = st.builds(
    event,
    st.binary(max_size=20),
    kind=st.sampled_from(["noted", "told"]),
    created_at=st.integers(-(10**12), 10**12),
    session_id=st.none() | names,
    item_id=st.none() | names,
)
cards = st.builds(
    card,
    names,
    stream=streams,
    board=names,
    rank=numbers,
    title=names,
    done_at=st.none() | numbers,
    note=st.none() | names,
)
card_texts = st.none() | st.dictionaries(st.sampled_from(CARD.text_columns), texts)
labels = st.builds(label, names, numbers, note=st.none() | names)
label_texts = st.none() | st.dictionaries(st.just("words"), texts)
row_writes: st.SearchStrategy[RowWrite] = st.one_of(
    st.builds(PutRow, table=st.just("card"), row=cards, text=card_texts),
    st.builds(PutRow, table=st.just("label"), row=labels, text=label_texts),
    st.builds(DeleteRow, table=st.just("card"), key=st.tuples(names)),
)
daring_row_writes: st.SearchStrategy[RowWrite] = row_writes | st.one_of(
    st.builds(InsertRow, table=st.just("card"), row=cards, text=card_texts),
    st.builds(InsertRow, table=st.just("slot"), row=st.builds(slot, names, stream=streams)),
    st.builds(DeleteRow, table=st.just("slot"), key=st.tuples(names)),
)
pages = st.none() | st.integers(1, 4)
choices = st.one_of(
    st.none(),
    st.fixed_dictionaries({"done_at": st.none() | numbers}, optional={"stream": streams}),
    st.fixed_dictionaries({"board": names}, optional={"note": st.none() | names}),
)


def _going_on_in_its_own_listing(call: Call) -> Call:
    """Make the row to go on from one that the filter lets through."""
    after = cast("Mapping[str, object] | None", call.arguments["after"])
    where = cast("Mapping[str, object] | None", call.arguments["where"])
    if after is None or where is None:
        return call
    return Call(call.method, {**call.arguments, "after": {**after, **where}})


row_keys = st.lists(st.tuples(names), max_size=8)
questions = st.one_of(
    calls("read_stream", stream=streams, after=st.integers(0, 6), limit=pages),
    calls(
        "read_stream",
        stream=streams,
        session_id=names,
        item_ids=st.none() | st.lists(names, max_size=3),
        limit=pages,
    ),
    calls(
        "read_all",
        after=st.integers(0, 40),
        limit=st.integers(1, 9),
        kinds=st.none() | st.lists(st.sampled_from(["noted", "told", "other"])),
    ),
    calls(
        "read_items",
        wanted=st.dictionaries(st.tuples(streams, names), st.lists(names, max_size=3), max_size=3),
    ),
    calls("version", stream=streams),
    calls("list_streams", after=streams | st.just(""), limit=st.integers(1, 3)),
    calls("list_blobs", after=texts, limit=st.integers(1, 3)),
    calls("get_rows_of", wanted=st.fixed_dictionaries({"card": row_keys, "slot": row_keys})),
    calls("get_rows", table=st.just("card"), keys=row_keys),
    calls(
        "list_rows",
        table=st.just("card"),
        where=choices,
        order=st.sampled_from([None, *(index.name for index in CARD.indexes)]),
        after=st.none() | cards,
        limit=pages,
    ).map(_going_on_in_its_own_listing),
    calls(
        "search",
        table=st.just("card"),
        query=st.lists(st.sampled_from(QUERIES), max_size=2).map(" ".join) | texts,
        where=choices,
        limit=st.just(EVERYTHING),
    ),
)
ALWAYS_ASKED = (
    Call("head", {}),
    Call("read_all", {"after": 0, "limit": EVERYTHING}),
    Call("list_blobs", {"limit": EVERYTHING}),
    Call("list_rows", {"table": "card", "order": "by_title"}),
    Call("list_rows", {"table": "label", "order": "by_number"}),
    Call("list_rows", {"table": "slot"}),
    Call("search", {"table": "card", "query": "re*", "limit": EVERYTHING}),
    Call("search", {"table": "label", "query": "x*", "limit": EVERYTHING}),
)


class TwoStorages(RuleBasedStateMachine):
    """Asks both storages the same, step by step, and compares what they say."""

    def __init__(self) -> None:
        super().__init__()
        self._runner = asyncio.Runner()
        self._scratch = tempfile.TemporaryDirectory()
        scratch = Path(self._scratch.name)
        self._harnesses = (
            MemoryStorageHarness(scratch / "memory"),
            FolderStorageHarness(SqliteStorageFactory(), scratch / "sqlite"),
        )
        self._storages: list[Storage] = []
        self._blobs = ["blob_0"]
        self._heard: tuple[list[RecordedEvent], list[RecordedEvent]] = ([], [])

    @initialize()
    def open(self) -> None:
        """Begin with two empty storages."""
        self._take([self._runner.run(harness.open()) for harness in self._harnesses])

    def teardown(self) -> None:
        """Close everything, however the machine ended."""
        for harness in self._harnesses:
            self._runner.run(harness.close())
        self._runner.close()
        self._scratch.cleanup()

    @rule(
        new=st.dictionaries(streams, st.lists(events, max_size=3), min_size=1),
        rows=st.lists(row_writes, max_size=4),
        is_stale=now_and_then(8),
        bulk=st.booleans(),
    )
    def append(
        self,
        new: Mapping[str, Sequence[NewEvent]],
        rows: Sequence[RowWrite],
        is_stale: bool,
        bulk: bool,
    ) -> None:
        """Append at the right versions, or one too far."""
        writes = [
            StreamWrite(stream=s, expected_version=self._version(s) + is_stale, events=some)
            for s, some in new.items()
        ]
        self._agree(Call("append", {"writes": writes, "rows": rows, "bulk": bulk}))

    @rule(rows=st.lists(row_writes, min_size=1, max_size=9))
    def write_rows(self, rows: Sequence[RowWrite]) -> None:
        """Write rows alone."""
        self._agree(Call("append", {"writes": [], "rows": rows}))

    @rule(rows=st.lists(daring_row_writes, min_size=1, max_size=5), some=st.lists(events))
    def write_daring_rows(self, rows: Sequence[RowWrite], some: Sequence[NewEvent]) -> None:
        """Write rows that may be refused, in an order that matters."""
        write = StreamWrite(stream="system", expected_version=self._version("system"), events=some)
        self._agree(Call("append", {"writes": [write], "rows": rows}))

    @rule(stream=streams, is_wanted=now_and_then(5))
    def purge(self, stream: str, is_wanted: bool) -> None:
        """Purge rarely, so that streams can grow in between."""
        if is_wanted:
            self._agree(Call("purge", {"stream": stream}))

    @rule(is_crash=st.booleans())
    def restart(self, is_crash: bool) -> None:
        """Close both and open them again, or go on with what a crash has left of them."""
        self._take(
            [
                self._runner.run(harness.crash(storage) if is_crash else harness.reopen(storage))
                for harness, storage in zip(self._harnesses, self._storages, strict=True)
            ]
        )

    @rule(content=st.binary(max_size=9), data=st.data(), is_new=st.booleans())
    def put_and_reclaim_blobs(self, content: bytes, data: st.DataObject, is_new: bool) -> None:
        """Store a blob, and reclaim some while the storage holds it for new or no longer does."""
        self._blobs.append(str(self._agree(Call("put_blob", {"content": content}))))
        if not is_new:
            self._agree(Call("reclaim", {"unused_blobs": []}))
        chosen = data.draw(st.lists(st.sampled_from(self._blobs), unique=True))
        # Before this all else has to be old on both sides: a restart may or may not age a blob.
        if not is_new or chosen == self._blobs[-1:]:
            self._agree(Call("reclaim", {"unused_blobs": chosen}))
        for blob_id in chosen:
            self._agree(Call("get_blob", {"blob_id": blob_id}))

    @rule(asked=st.lists(questions, min_size=3, max_size=9))
    def ask(self, asked: Sequence[Call]) -> None:
        """Ask both storages some questions."""
        for question in asked:
            self._agree(question)

    @invariant()
    def they_hold_the_same(self) -> None:
        """After every step logs, tables, indexes and announcements are equal."""
        for question in ALWAYS_ASKED if self._storages else ():
            self._agree(question)
        assert self._heard[0] == self._heard[1]

    def _take(self, storages: list[Storage]) -> None:
        self._storages = storages
        for storage, heard in zip(storages, self._heard, strict=True):
            storage.on_committed = heard.extend

    def _version(self, stream: str) -> int:
        return len(self._runner.run(self._storages[0].read_stream(stream)))

    def _agree(self, call: Call) -> object:
        memory, sqlite = (self._runner.run(_answer(s, call)) for s in self._storages)
        assert memory == sqlite, call
        return memory


async def _answer(storage: Storage, call: Call) -> object:
    work: Coroutine[object, object, object] = getattr(storage, call.method)(**call.arguments)
    try:
        return _comparable(await work)
    except SpacedError as error:
        return type(error)


def _comparable(answer: object) -> object:
    match answer:
        case dict():
            return {name: _comparable(part) for name, part in answer.items()}
        case Rows():
            return [dict(row) for row in answer.rows], answer.as_of_position
        case Hits():
            # What comes first is each storage's to say.
            return sorted(answer.keys), answer.as_of_position
        case Appended():
            return list(answer.events), answer.position
        case list() | tuple():
            return list(answer)
        case _:
            return answer


TestMemoryAndSqliteAgree = TwoStorages.TestCase
TestMemoryAndSqliteAgree.settings = settings(
    max_examples=40,
    stateful_step_count=30,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

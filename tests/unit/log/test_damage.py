"""A corrupt event stops its own stream at its own version, and nothing else."""

from collections.abc import Callable

import msgspec
import pytest

from spaced.domain.event_codec import CODEC
from spaced.domain.events.event import Event
from spaced.domain.events.prompt import PromptAdmitted
from spaced.domain.events.run import RunCreated, RunDeleted, RunUpdated
from spaced.domain.events.session import SessionParked
from spaced.domain.events.transcript import (
    AgentItemAppended,
    AgentItemTextAppended,
    AgentItemUpdated,
    AgentItemUpserted,
    AgentSessionCreated,
    AgentStatusChanged,
)
from spaced.domain.events.turn import ExecutionOpened, TurnStarted
from spaced.errors import CorruptStream, InvalidBody
from spaced.log.fold import Damage, StreamFold, fold_stream, fold_transcript
from spaced.log.record import RecordedEvent
from spaced.log.table import Row
from tests.unit.log.stories import recorded, said

CREATED = RunCreated(workflow_id="wf", workflow_version=1, context={})
GOOD = [
    said(CREATED),
    said(AgentSessionCreated(data={}), "run"),
    said(AgentItemAppended(item={"id": "a"}), "run"),
]
AFTER = [said(AgentStatusChanged(status="running"), "run"), said(RunUpdated(title="Later"))]


def _with(event: Event, session_id: str | None = "run") -> list[RecordedEvent]:
    """Return a stream whose fourth event is this one."""
    return recorded("run", [*GOOD, said(event, session_id), *AFTER])


def _twice(event: Event) -> list[RecordedEvent]:
    """Return a stream whose fourth and fifth events are this one."""
    return recorded("run", [*GOOD, *[said(event, "run")] * 2, *AFTER])


def _admitted() -> PromptAdmitted:
    return PromptAdmitted(
        prompt_id="p",
        parts=(),
        delivery="queue",
        address={},
        origin="person",
        held=False,
        rank=1,
        queue_index=0,
    )


def _altered(place: int, **changes: object) -> list[RecordedEvent]:
    """Return a stream in which a disk has damaged one event."""
    events = recorded("run", [*GOOD, *AFTER])
    events[place] = msgspec.structs.replace(events[place], **changes)
    return events


def _deep_item() -> bytes:
    nested = b"[" * 700 + b"]" * 700
    return b'{"item":{"id":"b","deep":' + nested + b"}}"


CORRUPT: dict[str, tuple[Callable[[], list[RecordedEvent]], int]] = {
    "no JSON": (lambda: _altered(3, body=b"\x00\xff"), 4),
    "an empty body": (lambda: _altered(3, body=b""), 4),
    "another shape": (lambda: _altered(3, body=b'{"status":[]}'), 4),
    "an item appended twice": (lambda: _with(AgentItemAppended(item={"id": "a"})), 4),
    "a missing item updated": (lambda: _with(AgentItemUpdated(item_id="b", updates={})), 4),
    "text for a missing item": (
        lambda: _with(AgentItemTextAppended(item_id="b", field="content", offset=0, text="x")),
        4,
    ),
    "an item without an id": (lambda: _with(AgentItemUpserted(item={"id": 5})), 4),
    "an item of no session": (lambda: _altered(2, session_id=None), 3),
    "an item under no name": (lambda: _altered(2, item_id=None), 3),
    "an item under another's name": (lambda: _altered(2, item_id="b"), 3),
    "a run created twice": (lambda: _with(CREATED, None), 4),
    "a session before its creation": (
        lambda: _with(AgentStatusChanged(status="idle"), "second"),
        4,
    ),
    "an item before its session": (
        lambda: _with(AgentItemAppended(item={"id": "b"}), "second"),
        4,
    ),
    "a fact of ours before its session": (lambda: _with(SessionParked(), "second"), 4),
    "a purge at no time": (lambda: _with(RunDeleted(purge_at="soon"), None), 4),
    "a prompt admitted twice": (lambda: _twice(_admitted()), 5),
    "a turn started twice": (lambda: _twice(TurnStarted(turn_id="t", prompt_ids=())), 5),
    "an execution opened twice": (
        lambda: _twice(ExecutionOpened(execution_id="e", runtime="r", generation=1)),
        5,
    ),
    "nesting without an end": (
        lambda: _altered(3, kind="agent-item-upserted", item_id="b", body=_deep_item()),
        4,
    ),
}


def _without_damage(row: Row | None) -> dict[str, object]:
    assert row is not None
    return {name: value for name, value in row.items() if name != "damage"}


@pytest.mark.parametrize("name", CORRUPT)
def test_a_fold_ends_at_the_first_corrupt_event_and_names_it(name: str) -> None:
    """What came before stands, what follows is not folded, and nothing is raised."""
    make, version = CORRUPT[name]
    events = make()
    before, fold = fold_stream(events[: version - 1]), fold_stream(events)

    assert fold.damage is not None
    assert (fold.damage.stream, fold.damage.version) == ("run", version)
    assert fold.damage.reason
    assert fold.rows.keys() == before.rows.keys()
    assert {key: _without_damage(put.row) for key, put in fold.rows.items()} == {
        key: _without_damage(put.row) for key, put in before.rows.items()
    }


@pytest.mark.parametrize("name", CORRUPT)
def test_the_row_of_the_run_says_where_it_is_damaged(name: str) -> None:
    """So a list shows the session with its error instead of leaving it out."""
    make, version = CORRUPT[name]
    row = fold_stream(make()).row("run", ("run",))

    assert row is not None
    assert f"run is damaged at version {version}: " in str(row["damage"])


@pytest.mark.parametrize("name", CORRUPT)
def test_a_corrupt_stream_costs_no_other_stream_anything(name: str) -> None:
    """Each stream has a fold of its own."""
    make, _ = CORRUPT[name]
    alone = fold_stream(recorded("other", GOOD))
    fold_stream(make())

    assert fold_stream(recorded("other", GOOD)).rows == alone.rows


def test_a_damaged_fold_takes_nothing_more() -> None:
    """Also when it is continued later: its rows would follow from holes."""
    events = _with(AgentItemUpdated(item_id="missing", updates={}))
    fold = StreamFold()
    fold.take(events[:4])
    rows = dict(fold.rows)

    fold.take(events[4:])

    assert fold.rows == rows
    assert fold.damage == fold_stream(events).damage


def test_a_stream_without_its_beginning_has_no_rows() -> None:
    """There is no run whose row could tell; the damage itself does."""
    fold = fold_stream(recorded("run", [said(AgentSessionCreated(data={}), "run"), *GOOD]))

    assert fold.rows == {}
    assert fold.damage is not None
    assert fold.damage.version == 1
    assert "`run-created`" in fold.damage.reason


def test_a_run_that_is_updated_before_it_is_created_is_damaged() -> None:
    """Facts of a run follow its creation like those of its sessions."""
    fold = fold_stream(recorded("run", [said(RunUpdated(title="x")), *GOOD]))

    assert fold.damage is not None
    assert fold.damage.version == 1


def test_damage_reads_as_a_sentence() -> None:
    """It is what people see in lists and in the report of the doctor."""
    damage = Damage(stream="ses_1", version=7, reason="the item 'a' is appended twice")

    assert str(damage) == "ses_1 is damaged at version 7: the item 'a' is appended twice"


def test_reading_a_damaged_transcript_says_why() -> None:
    """A reader of items meets the error of the event itself."""
    twice = [said(AgentItemAppended(item={"id": "a"}), "run")] * 2
    events = recorded("run", twice)

    with pytest.raises(CorruptStream):
        fold_transcript(events)
    with pytest.raises(InvalidBody):
        fold_transcript([msgspec.structs.replace(events[0], body=b"[]")])


def test_text_at_a_wrong_offset_is_no_damage() -> None:
    """A fault of ours never costs the session."""
    text = AgentItemTextAppended(item_id="a", field="content", offset=99, text="x")
    fold = fold_stream(_with(text))

    assert fold.damage is None
    assert fold.transcripts["run"].misplaced_texts == 1


def test_reading_a_transcript_skips_kinds_that_nobody_knows() -> None:
    """They may name an item of the session and change nothing of it."""
    events = recorded("run", [said(AgentItemAppended(item={"id": "a"}), "run")])
    strange = msgspec.structs.replace(events[0], kind="tomorrow", version=2)

    assert fold_transcript([*events, strange]).items() == [{"id": "a"}]


def test_bytes_that_only_a_newer_program_understands_are_no_damage() -> None:
    """An unknown kind is skipped without a look at its body."""
    fold = fold_stream(_altered(3, kind="tomorrow", body=b"\x00\xff"))

    assert fold.damage is None
    assert CODEC.decode("tomorrow", b"\x00") is None

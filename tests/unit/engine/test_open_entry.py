"""One item as reports leave it: what is recorded when, and what stands beside the log meanwhile."""

from typing import Any

import pytest

from spaced.domain.capped_text import WHOLE_BYTES, cap
from spaced.domain.events.transcript import (
    AgentItemAppended,
    AgentItemTextAppended,
    AgentItemUpdated,
)
from spaced.domain.open_text import BURST_BYTES, INTERVAL_MS, LONGEST_PIECE
from spaced.engine.recording.changes import Changes, Delta
from spaced.engine.recording.open_entry import OpenEntry
from spaced.log.read_models.catalogue import OPEN_TAIL
from spaced.log.table import DeleteRow, PutRow
from tests.unit.engine.reporting import PLACE, Recorded, is_nothing, updates_of

MESSAGE = {"type": "message", "stream_status": "streaming"}
TAIL_KEY = ("ses", "itm", "content")


def _begun(**fields: Any) -> tuple[OpenEntry, Recorded]:
    entry, log = OpenEntry("itm", place=PLACE, turn_id="turn"), Recorded()
    log.take(entry.begin({**MESSAGE, **fields}))
    return entry, log


def _text(offset: int, text: str) -> AgentItemTextAppended:
    return AgentItemTextAppended(item_id="itm", field="content", offset=offset, text=text)


def _tail(offset: int, text: str) -> PutRow:
    row = {"session_id": "ses", "item_id": "itm", "field": "content", "stream": "ses"}
    return PutRow(table=OPEN_TAIL.name, row={**row, "offset": offset, "text": text})


def test_changes_that_are_only_shown_need_not_be_written() -> None:
    """Events and rows are written, in the order in which they came."""
    delta = Delta(item_id="itm", field="content", offset=0, text="a")
    changes = Changes(deltas=[delta])
    is_written_before = changes.is_written

    changes.add(Changes(events=[_text(0, "a")], deltas=[delta]))
    changes.add(Changes(rows=[_tail(0, "b")]))

    assert changes == Changes(events=[_text(0, "a")], rows=[_tail(0, "b")], deltas=[delta] * 2)
    assert [is_written_before, changes.is_written, Changes(rows=[_tail(0, "b")]).is_written] == [
        *(True, False, False),
    ]


def test_the_first_report_appends_the_item_with_its_text() -> None:
    """Nothing is announced besides: the event itself tells it."""
    entry = OpenEntry("itm", place=PLACE, turn_id="turn")

    changes = entry.begin({**MESSAGE, "content": "abc"})

    item = {"id": "itm", **MESSAGE, "content": "abc"}
    assert changes == Changes(events=[AgentItemAppended(item=item)])
    assert (entry.is_open, entry.is_safe, entry.type) == (True, True, "message")


def test_a_first_text_that_is_too_long_for_one_event_goes_on_in_pieces() -> None:
    """The item is appended first, so that they have a place."""
    whole = "a" * (2 * LONGEST_PIECE + BURST_BYTES)
    entry, log = _begun(content=whole)

    assert [len(str(getattr(e, "text", ""))) for e in log.events] == [0, LONGEST_PIECE, BURST_BYTES]
    assert log.item("itm")["content"] == whole
    assert "".join(delta.text for delta in log.deltas) == whole[LONGEST_PIECE:]
    assert entry.is_safe


def test_a_report_that_is_complete_at_once_is_recorded_at_once() -> None:
    """Also the end of a capped output, and the facts about it."""
    output = "a" * (WHOLE_BYTES + 5)
    entry, log = OpenEntry("itm", place=PLACE, turn_id=None), Recorded()
    log.take(entry.begin({"type": "tool-result", "call_id": "c", "name": "ls", "output": output}))

    stored, facts = cap(output)
    assert log.item("itm") == {
        "id": "itm",
        "type": "tool-result",
        "call_id": "c",
        "name": "ls",
        "output": stored,
        **(facts or {}),
    }
    assert (entry.is_open, entry.call_id, entry.name) == (False, "c", "ls")


@pytest.mark.parametrize("call_id", [None, 5])
def test_a_call_id_that_is_no_text_pairs_nothing(call_id: object) -> None:
    """An agent may not know it yet."""
    entry, _ = _begun(call_id=call_id)

    assert entry.call_id is None


def test_appended_text_is_announced_at_once_and_recorded_later() -> None:
    """After a second without an end as a tail, at the end as a piece."""
    entry, log = _begun()

    first = log.take(entry.append("content", "ab", now=0))
    later = log.take(entry.tick(INTERVAL_MS))
    end = log.take(entry.close(is_completed=True))

    delta = Delta(item_id="itm", field="content", offset=0, text="ab")
    assert first == Changes(deltas=[delta])
    assert later == Changes(rows=[_tail(0, "ab")])
    assert end == Changes(
        events=[
            _text(0, "ab"),
            AgentItemUpdated(item_id="itm", updates={"stream_status": "complete"}),
        ],
        rows=[DeleteRow(table=OPEN_TAIL.name, key=TAIL_KEY)],
    )


def test_text_in_a_tail_is_not_safe_yet() -> None:
    """The next tick looks at it again."""
    entry, log = _begun()
    log.take(entry.append("content", "ab", now=0))
    log.take(entry.tick(INTERVAL_MS))
    assert not entry.is_safe

    log.take(entry.append("content", "x" * BURST_BYTES, now=INTERVAL_MS))
    assert entry.is_safe


def test_a_whole_text_that_goes_on_is_taken_as_what_was_added() -> None:
    """So an agent that repeats itself costs what it adds."""
    entry, log = _begun(content="ab")

    grown = log.take(entry.merge({"content": "abc"}, now=0))
    again = log.take(entry.merge({"content": "abc"}, now=0))

    assert grown.deltas == [Delta(item_id="itm", field="content", offset=2, text="c")]
    assert is_nothing(again)


def test_another_text_replaces_the_old_one() -> None:
    """At once if there was no rewrite in the last second, else after it."""
    entry, log = _begun(content="ab")

    assert updates_of(log.take(entry.merge({"content": "x"}, now=0))) == [{"content": "x"}]
    assert is_nothing(log.take(entry.merge({"content": "y"}, now=INTERVAL_MS - 1)))
    assert is_nothing(log.take(entry.merge({"content": "yz"}, now=INTERVAL_MS - 1)))
    assert is_nothing(log.take(entry.append("content", "!", now=INTERVAL_MS - 1)))
    assert not entry.is_safe
    assert updates_of(log.take(entry.tick(INTERVAL_MS))) == [{"content": "yz!"}]


def test_a_clock_that_jumped_back_does_not_silence_rewrites() -> None:
    """Only a time within the last second counts as too early."""
    entry, log = _begun(content="ab")
    log.take(entry.merge({"content": "x"}, now=5000))

    assert updates_of(log.take(entry.merge({"content": "y"}, now=10))) == [{"content": "y"}]


def test_the_tail_of_a_replaced_text_goes_with_it() -> None:
    """Otherwise a recovery would put the old words behind the new ones."""
    entry, log = _begun()
    log.take(entry.append("content", "a long old text", now=0))
    log.take(entry.tick(INTERVAL_MS))
    assert set(log.tails) == {TAIL_KEY}

    log.take(entry.merge({"content": "new"}, now=INTERVAL_MS))

    assert log.tails == {}
    assert log.after_crash("itm", "content") == "new"


def test_a_long_text_that_replaces_another_is_written_before_what_follows_it() -> None:
    """In pieces behind the event that names its beginning."""
    whole = "b" * (LONGEST_PIECE + BURST_BYTES + 1)
    entry, log = _begun(content="ab")

    log.take(entry.merge({"content": whole}, now=0))
    log.take(entry.append("content", "!", now=1))
    log.take(entry.close(is_completed=True))

    assert log.item("itm")["content"] == whole + "!"
    assert log.transcript.misplaced_texts == 0


def test_fields_that_changed_are_updated_together() -> None:
    """Those that are the same as before are not told again, and absent ones stay."""
    entry, log = _begun(usage={"in": 1}, model="m")

    changes = log.take(entry.merge({"usage": {"in": 2}, "model": "m", "title": "t"}, now=0))

    assert updates_of(changes) == [{"usage": {"in": 2}, "title": "t"}]
    assert log.item("itm")["model"] == "m"


def test_the_end_is_recorded_at_once_and_last() -> None:
    """The item is indexed with its whole text, also right behind another rewrite."""
    entry, log = _begun()
    log.take(entry.merge({"usage": 1}, now=0))
    log.take(entry.merge({"usage": 2}, now=1))

    end = log.take(entry.merge({"stream_status": "complete", "content": "all"}, now=2))

    assert updates_of(end) == [{"content": "all"}, {"usage": 2, "stream_status": "complete"}]
    assert not entry.is_open


def test_text_that_is_no_text_is_no_text() -> None:
    """It never takes away what was said before."""
    entry, log = _begun(content="ab")

    assert is_nothing(log.take(entry.merge({"content": None}, now=0)))
    log.take(entry.append("content", "c", now=0))
    log.take(entry.close(is_completed=True))
    assert log.item("itm")["content"] == "abc"


def test_text_behind_the_end_is_recorded_at_once() -> None:
    """Nobody would ever close the item again."""
    entry, log = _begun(content="ab")
    log.take(entry.close(is_completed=False))

    assert log.take(entry.append("content", "c", now=0)).events == [_text(2, "c")]
    assert log.item("itm")["stream_status"] == "interrupted"
    assert entry.is_safe


def test_an_item_that_the_log_has_goes_on_where_it_stands() -> None:
    """After a restart: equal reports are nothing, more text stands behind the stored one."""
    item = {"id": "itm", **MESSAGE, "content": "ab", "turn_id": "turn", "usage": 1}
    entry = OpenEntry.recorded(item, place=PLACE)

    assert (entry.turn_id, entry.is_open, entry.type) == ("turn", True, "message")
    assert is_nothing(entry.merge({**MESSAGE, "content": "ab", "usage": 1}, now=0))
    assert entry.append("content", "c", now=0).deltas[0].offset == 2
    assert entry.close(is_completed=True).events[0] == _text(2, "c")


def test_a_complete_item_that_the_log_has_stays_complete() -> None:
    """Its output was capped already."""
    item = {"id": "itm", "type": "tool-result", "output": "o", "turn_id": None}
    entry = OpenEntry.recorded(item, place=PLACE)

    assert (entry.turn_id, entry.is_open) == (None, False)
    long = "x" * 2 * WHOLE_BYTES
    added = entry.append("output", long, now=0)
    assert "".join(getattr(event, "text", "") for event in added.events) == long

"""Which report is about which item, what marks an item, and what the ends of turns close."""

from typing import Any

import pytest

from spaced.domain.json_values import JsonObject
from spaced.domain.session_items import INTERRUPTED_RESULT
from spaced.engine.recording.item_book import REMEMBERED
from spaced.runtime.updates import ItemUpserted, UnknownReport
from spaced.testing.fake_clock import START
from tests.unit.engine.reporting import Reporter, is_nothing, new_book, updates_of

NOW = "2026-12-01T09:30:00.000Z"
CALL = {"type": "tool-call", "call_id": "c", "name": "ls", "status": "running"}


@pytest.fixture
def reporter() -> Reporter:
    """A runtime with an empty book."""
    return Reporter()


def test_a_new_name_opens_an_item_of_ours(reporter: Reporter) -> None:
    """It is marked with its turn, its time and the provider's name."""
    reporter.upsert("s", type="message", role="assistant", content="a", stream_status="streaming")

    assert reporter.item("s") == {
        "id": "itm-1",
        "type": "message",
        "role": "assistant",
        "content": "a",
        "stream_status": "streaming",
        "created_at": NOW,
        "turn_id": "turn",
        "source": {"generation": 1, "id": "s"},
    }
    assert reporter.book.item_id("other") is None
    assert reporter.book.item_id(None) is None


def test_an_agent_cannot_set_what_is_ours(reporter: Reporter) -> None:
    """Neither when the item begins nor later."""
    claims: dict[str, Any] = {"id": "x", "source": 1, "late": True, "background": True, "round": 9}
    for item in ({"type": "message", **claims}, {"created_at": "x", **claims}):
        update = ItemUpserted(source="s", item=item, turn_id="turn")
        reporter.log.take(reporter.book.upsert(update, now=reporter.moment))
    reporter.append("a", "t", opens_with=claims)

    for source, item_id in (("s", "itm-1"), ("t", "itm-2")):
        item = reporter.item(source)
        assert (item["id"], item["created_at"], item["turn_id"]) == (item_id, NOW, "turn")
        assert not {"late", "background", "round"} & item.keys()


def test_text_for_a_new_name_opens_a_streaming_item(reporter: Reporter) -> None:
    """With the fields that it brings for that."""
    reporter.append("a", item_type="reasoning", opens_with={"model": "m"}, round=2)
    reporter.append("b", opens_with={"model": "other"})
    reporter.end_turn()

    item = reporter.item()
    assert (item["type"], item["content"], item["model"], item["round"]) == (
        *("reasoning", "ab", "m", 2),
    )
    assert item["stream_status"] == "complete"


def test_an_item_that_opens_with_its_own_status_keeps_it(reporter: Reporter) -> None:
    """A runtime may know that no more is to come."""
    reporter.append("a", opens_with={"stream_status": "complete"})

    assert reporter.item()["stream_status"] == "complete"


def test_output_without_a_turn_is_in_the_background(reporter: Reporter) -> None:
    """It is marked, and the next turn closes its text."""
    reporter.append("a", turn_id=None)
    assert (reporter.item()["background"], "turn_id" in reporter.item()) == (True, False)

    reporter.log.take(reporter.book.end_streams())
    assert reporter.item()["stream_status"] == "complete"


def test_output_behind_the_end_of_its_turn_is_late(reporter: Reporter) -> None:
    """New items and reports about old ones alike."""
    reporter.upsert("old", type="plan", entries=[])
    reporter.end_turn()

    reporter.upsert("new", type="message", content="a")
    changes = reporter.upsert("old", entries=[{"content": "x"}])

    assert reporter.item("new")["late"] is True
    assert updates_of(changes) == [{"entries": [{"content": "x"}], "late": True}]


def test_a_completed_turn_closes_its_texts_and_not_its_tools(reporter: Reporter) -> None:
    """A tool may go on in the background; items of other turns are none of its business."""
    reporter.append("a", "text")
    reporter.upsert("call", **CALL)
    reporter.append("b", "other", turn_id="other-turn")

    reporter.end_turn()

    assert reporter.item("text")["stream_status"] == "complete"
    assert reporter.item("call")["status"] == "running"
    assert reporter.item("other")["stream_status"] == "streaming"


def test_a_turn_that_was_cut_off_closes_everything_of_it(reporter: Reporter) -> None:
    """A call without a result gets one that says so."""
    reporter.append("a", "text")
    reporter.upsert("call", **CALL)

    reporter.end_turn(is_completed=False)

    assert reporter.item("text")["stream_status"] == "interrupted"
    assert reporter.item("call")["status"] == "interrupted"
    result = reporter.log.transcript.items()[-1]
    assert result == {
        "id": "itm-3",
        "type": "tool-result",
        "call_id": "c",
        "name": "ls",
        "turn_id": "turn",
        "output": INTERRUPTED_RESULT,
        "is_error": True,
        "created_at": NOW,
    }


def test_a_call_that_has_its_result_gets_no_second_one(reporter: Reporter) -> None:
    """Whether the result came from here or before a restart, and also at a later end."""
    reporter.upsert("call", **CALL)
    reporter.upsert("result", type="tool-result", call_id="c", output="x")
    reporter.upsert("adopted", **{**CALL, "call_id": "d"})
    reporter.end_turn(is_completed=False)
    count = len(reporter.log.transcript)
    reporter.upsert("call", status="running")

    reporter.log.take(reporter.book.end_execution(reporter.moment))

    assert count == 4
    assert len(reporter.log.transcript) == count


def test_the_end_of_an_execution_closes_every_item(reporter: Reporter) -> None:
    """Nobody is left who could go on with them."""
    reporter.append("a", "text", turn_id=None)
    reporter.upsert("call", turn_id="other", **CALL)

    reporter.log.take(reporter.book.end_execution(reporter.moment))

    assert reporter.item("text")["stream_status"] == "interrupted"
    assert reporter.item("call")["status"] == "interrupted"
    assert reporter.log.transcript.items()[-1]["output"] == INTERRUPTED_RESULT


def test_an_item_that_was_closed_can_be_opened_by_its_agent_again(reporter: Reporter) -> None:
    """It is closed once more with the next end."""
    reporter.append("a")
    reporter.end_turn()
    reporter.upsert(stream_status="streaming")
    reporter.append("b")

    reporter.log.take(reporter.book.end_execution(reporter.moment))

    assert (reporter.item()["content"], reporter.item()["stream_status"]) == ("ab", "interrupted")


def test_a_new_generation_gives_every_name_another_meaning(reporter: Reporter) -> None:
    """What was open stays the same item and is closed at the end."""
    reporter.append("a")
    old = reporter.book.item_id("s")
    assert old is not None

    reporter.book.begin_generation(2)
    assert reporter.book.item_id("s") is None
    reporter.append("b")
    reporter.book.begin_generation(3)
    reporter.end_turn()

    assert [item["source"] for item in reporter.log.transcript.items()] == [
        {"generation": 1, "id": "s"},
        {"generation": 2, "id": "s"},
    ]
    assert {item["stream_status"] for item in reporter.log.transcript.items()} == {"complete"}
    assert reporter.log.item(old)["content"] == "a"


def test_items_of_an_earlier_life_are_adopted(reporter: Reporter) -> None:
    """Those of the same generation: names of an older one mean something else."""
    reporter.append("a")
    reporter.upsert("call", **CALL)
    reporter.upsert("own")
    items: list[JsonObject] = [
        *reporter.log.transcript.items(),
        {"id": "prompt", "type": "message"},
    ]
    reporter.book, old = new_book(prefix="new"), reporter.book
    reporter.book.adopt(items)

    assert reporter.book.item_id("s") == old.item_id("s")
    assert is_nothing(reporter.upsert("call", **CALL))
    reporter.append("b")
    reporter.end_turn(is_completed=False)
    assert reporter.item()["content"] == "ab"
    assert reporter.log.transcript.items()[-1]["output"] == INTERRUPTED_RESULT
    assert reporter.log.transcript.misplaced_texts == 0

    later = new_book(generation=2)
    later.adopt(items)
    assert later.item_id("s") is None


def test_the_last_thousand_complete_items_are_remembered(reporter: Reporter) -> None:
    """A report about an older one opens a new item; open ones are never forgotten."""
    reporter.append("a", "open")
    for number in range(REMEMBERED + 2):
        reporter.upsert(f"s{number}", type="plan", entries=[])

    assert reporter.book.item_id("s1") is None
    assert reporter.book.item_id("s2") is not None
    assert reporter.book.item_id("open") == "itm-1"
    reporter.upsert("s0", type="plan", entries=[])
    assert reporter.item("s0")["id"] == f"itm-{REMEMBERED + 4}"


def test_what_no_update_can_say_is_kept_as_an_event_item(reporter: Reporter) -> None:
    """With all of its payload, as far as it can be stored."""
    report = UnknownReport(kind="odd\ud800", payload={"a": ["\udc00"]}, turn_id="turn")

    reporter.log.take(reporter.book.note(report, now=reporter.moment))

    assert reporter.log.item("itm-1") == {
        "id": "itm-1",
        "type": "event",
        "event": "odd\ufffd",
        "details": {"a": ["\ufffd"]},
        "created_at": NOW,
        "turn_id": "turn",
    }


def test_a_notice_may_belong_to_no_turn(reporter: Reporter) -> None:
    """Such as one about a conversation that is lost."""
    changes = reporter.book.notice("lost", {"m": "\ud800"}, turn_id=None, now=reporter.moment)
    reporter.log.take(changes)

    item = reporter.log.item("itm-1")
    assert (item["event"], item["details"], "turn_id" in item) == ("lost", {"m": "\ufffd"}, False)


def test_a_name_that_cannot_be_stored_is_stored_as_far_as_it_can(reporter: Reporter) -> None:
    """Its item is still found under it."""
    reporter.append("a", "s\ud800")

    assert reporter.item("s\ud800")["source"] == {"generation": 1, "id": "s\ufffd"}


def test_a_book_is_safe_once_the_log_has_all_of_it(reporter: Reporter) -> None:
    """Until then somebody has to look at the time."""
    reporter.append("a")
    moments = [reporter.book.is_safe]
    reporter.append("b")
    moments.append(reporter.book.is_safe)

    reporter.now = START + 1000
    assert reporter.tick().rows
    reporter.end_turn()
    assert [*moments, reporter.book.is_safe] == [True, False, True]

"""What is pure: ids, frames, options, parts and verdicts."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaced.errors import RuntimeProblem
from spaced.runtime.updates import ItemUpserted, TextAppended, Update
from spaced_opencode.catalogue import model_of, split_model
from spaced_opencode.frames import FrameReader, FrameTooLarge
from spaced_opencode.message_ids import has_tail, next_message_id, part_id_of, tail_of
from spaced_opencode.options import password_of, read_options
from spaced_opencode.said_errors import read_error
from spaced_opencode.tool_parts import ToolPart
from spaced_opencode.transcript import Transcript
from spaced_opencode.turn_progress import TurnProgress
from tests.contract.opencode_harness import opencode_profile

TURN = "turn_0193ab45cd67ABCDEFGHIJKLMN"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def test_a_message_is_known_by_the_turn_that_it_carries() -> None:
    """The same prompts get the same id, also in another life of the daemon."""
    tail = tail_of([TURN])
    assert tail == TURN[-14:]
    message_id = next_message_id(tail, newest_ids=[], created_ms=1_796_000_000_000)
    assert has_tail(message_id, tail)
    assert not has_tail(message_id, tail_of(["another"]))
    assert tail_of(["one", "two"]) != tail_of(["onetwo"])
    assert len(tail_of(["one", "two"])) == 14


def test_a_message_comes_right_after_what_the_server_has() -> None:
    """Servers compare ids: one of the future, or of the past, would never be answered."""
    newest = ["msg_000000000005aaaaaaaaaaaaaa", "msg_00000000000faaaaaaaaaaaaaa", "msg_odd"]
    message_id = next_message_id("T" * 14, newest_ids=newest, created_ms=1)
    assert message_id == "msg_000000000010" + "T" * 14
    first = next_message_id("T" * 14, newest_ids=[], created_ms=2)
    assert first == f"msg_{2 * 4096 + 1:012x}" + "T" * 14


def test_parts_have_ids_of_their_own() -> None:
    """So that a message that is sent twice is one message with its parts once."""
    message_id = "msg_000000000010" + "T" * 14
    ids = [part_id_of(message_id, number) for number in range(3)]
    assert len(set(ids)) == 3
    assert ids == sorted(ids)


@given(st.lists(st.dictionaries(st.text(), st.text()), max_size=5), st.integers(1, 40))
def test_frames_are_read_however_they_are_cut(events: list[dict[str, Any]], size: int) -> None:
    """Where a piece ends is the network's business."""
    stream = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    reader, found = FrameReader(), []
    for place in range(0, len(stream), size):
        found += reader.feed(stream[place : place + size])
    assert found == events
    assert reader.garbage == 0


def test_a_frame_without_an_end_is_refused() -> None:
    """Memory is bounded, and small frames that follow each other do not add up."""
    reader = FrameReader(largest=100)
    for _ in range(50):
        assert reader.feed(b'data: {"a": 1}\n\n') == [{"a": 1}]
    reader.feed(b"data: 123456")
    with pytest.raises(FrameTooLarge):
        reader.feed(b"7" * 100)


@given(JSON)
def test_no_part_that_a_server_sends_breaks_anything(told: Any) -> None:
    """Whatever it is, it becomes updates or nothing."""
    transcript = Transcript()
    transcript.follow({"id": "m", "role": "assistant"}, "turn-1")
    for kind in ("text", "reasoning", "tool", "compaction", "song"):
        part = {"id": "p" + kind, "messageID": "m", "type": kind, "text": told, "state": told}
        transcript.part(part)
        transcript.part({**part, "state": {"status": told, "input": told, "metadata": told}})
        transcript.rows([{"info": told, "parts": told}], None, is_after_gap=True)
    progress = TurnProgress(id="turn-1", message_ids=["msg_1"], is_stored=True)
    progress.note_message({"id": told, "role": "assistant", "time": told, "tokens": told})
    progress.verdict()
    progress.ending()
    read_error(told)
    model_of({"model": told})


def texts(**fields: Any) -> dict[str, Any]:
    return {"id": "p1", "messageID": "m1", "type": "text", **fields}


def shown(updates: list[Update]) -> str:
    content = ""
    for update in updates:
        match update:
            case TextAppended(text=text):
                content += text
            case ItemUpserted(item=item) if "content" in item:
                content = str(item["content"])
    return content


def test_a_text_that_was_begun_anew_is_shown_anew() -> None:
    """After a cut connection to its model the server empties the text and begins again."""
    transcript = Transcript()
    transcript.follow({"id": "m1", "role": "assistant"}, "turn-1")
    updates = transcript.part(texts(text=""))
    updates += transcript.delta({"messageID": "m1", "partID": "p1", "field": "text", "delta": "X"})
    updates += transcript.part(texts(text=""))
    updates += transcript.delta({"messageID": "m1", "partID": "p1", "field": "text", "delta": "Y"})
    assert shown(updates) == "Y"


def test_what_was_told_before_an_end_and_comes_after_it_changes_nothing() -> None:
    """A look at what is stored may be ahead of the events."""
    transcript = Transcript()
    whole = texts(text="whole", time={"start": 1, "end": 2})
    row = {"info": {"id": "m1", "role": "assistant"}, "parts": [whole]}
    updates = transcript.rows([row], "turn-1", is_after_gap=False)
    updates += transcript.part(texts(text=""))
    updates += transcript.delta({"messageID": "m1", "partID": "p1", "field": "text", "delta": "w"})
    assert shown(updates) == "whole"


def test_a_tool_never_goes_back() -> None:
    """For the same reason."""
    tool = ToolPart("p1", "c1", "bash")
    done = {"status": "completed", "input": {"command": "ls"}, "output": "out", "title": "ls"}
    assert tool.take(done, "turn-1")
    assert not tool.take({"status": "running", "input": {"command": "ls"}}, "turn-1")


def test_the_output_of_a_tool_grows() -> None:
    """It is told as a whole each time, and shown by what is new."""
    tool = ToolPart("p1", "c1", "bash")
    updates: list[Update] = []
    for output in ("one\n", "one\ntwo\n", "one\ntwo\n"):
        state = {"status": "running", "input": {"command": "x"}, "metadata": {"output": output}}
        updates += tool.take(state, "turn-1")
    assert [u.text for u in updates if isinstance(u, TextAppended)] == ["one\n", "two\n"]


def test_a_tool_that_was_stopped_is_not_one_that_failed() -> None:
    """Its person has stopped it."""
    tool = ToolPart("p1", "c1", "bash")
    state = {"status": "error", "error": "aborted", "metadata": {"interrupted": True}}
    call, result = tool.take(state, "turn-1")
    assert isinstance(call, ItemUpserted)
    assert isinstance(result, ItemUpserted)
    assert (call.item["status"], result.item["is_error"]) == ("interrupted", True)


def test_a_reply_that_is_complete_stays_so() -> None:
    """What a look has read may be ahead of the events."""
    progress = TurnProgress(id="turn-1", message_ids=["msg_1"], is_stored=True)
    info = {"id": "msg_2", "role": "assistant", "parentID": "msg_1", "finish": "stop"}
    assert progress.note_message({**info, "time": {"created": 1, "completed": 2}})
    assert not progress.note_message({**info, "time": {"created": 1}})
    assert progress.verdict() == "done"


def test_usage_is_that_of_all_calls_of_the_model() -> None:
    """One turn is many calls."""
    progress = TurnProgress(id="turn-1", message_ids=["msg_1"], is_stored=True)
    for number in (1, 2):
        tokens = {"input": 100, "output": number, "cache": {"read": 5}}
        info = {"id": f"msg_{number}x", "role": "assistant", "tokens": tokens, "cost": 0.5}
        progress.note_message(info)
    assert progress.usage() == {
        "input_tokens": 200,
        "output_tokens": 3,
        "cached_read_tokens": 10,
        "cost": 1.0,
    }


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (opencode_profile, "neither the option `url`"),
        (lambda: opencode_profile("ftp://here"), "reads as http://host:port"),
        (lambda: opencode_profile("http://here:port"), "reads as http://host:port"),
        (lambda: opencode_profile("http://me:secret@here"), "holds a password"),
        (lambda: opencode_profile("http://here", options={"color": "red"}), "no option 'color'"),
        (lambda: opencode_profile("http://here", options={"agent": 1}), "'agent' .* is a text"),
    ],
)
def test_options_that_cannot_be_read_are_refused(change: Callable[[], Any], words: str) -> None:
    """Each with what is wrong, and never with a secret."""
    with pytest.raises(RuntimeProblem, match=words) as raised:
        read_options(change())
    assert raised.value.code == "bad-options"
    assert "secret" not in raised.value.message


def test_the_profiles_mode_holds_before_the_option() -> None:
    """The mode is what people change."""
    options = {"agent": "plan"}
    assert read_options(opencode_profile("http://here/", options=options)).agent == "plan"
    chosen = read_options(opencode_profile("http://here/", options=options, mode="build"))
    assert (chosen.agent, chosen.url) == ("build", "http://here")
    assert password_of(chosen, {}) is None


def test_a_models_name_may_hold_slashes() -> None:
    """As those of providers that pass on to others do."""
    assert split_model("openrouter/some/model") == ("openrouter", "some/model")
    assert split_model("") is None
    assert split_model("nothing") is None

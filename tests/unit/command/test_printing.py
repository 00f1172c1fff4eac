"""What commands print: plain text in any pieces, and the lines of known agents."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaced.runtime.updates import ItemUpserted, UnknownReport
from spaced_command.printed_json import PrintedJson
from spaced_command.printed_text import PrintedText


def printed(*pieces: bytes, keep_ansi: bool = False) -> str:
    """Return what pieces come to."""
    text = PrintedText(keep_ansi=keep_ansi)
    return "".join([*(text.feed(piece) for piece in pieces), text.end()])


COLOURED = "\x1b[1;31mred\x1b[0m \x1b]0;title\x07plain \x1b]8;;http://x\x1b\\link\x1b[K é\U0001f600".encode()


def test_colours_and_titles_are_taken_out() -> None:
    """They move a terminal's cursor and mean nothing in a transcript."""
    assert printed(COLOURED) == "red plain link é\U0001f600"
    assert printed(COLOURED, keep_ansi=True) == COLOURED.decode()


@given(st.lists(st.integers(0, len(COLOURED)), max_size=6))
def test_where_the_pieces_are_cut_makes_no_difference(cuts: list[int]) -> None:
    """In the middle of a character, or of an escape."""
    places = [0, *sorted(cuts), len(COLOURED)]
    pieces = [COLOURED[a:b] for a, b in pairwise(places)]
    assert printed(*pieces) == "red plain link é\U0001f600"


@given(st.lists(st.binary(max_size=30), max_size=5))
def test_no_bytes_break_it(pieces: list[bytes]) -> None:
    """A program may print anything."""
    assert "\0" not in printed(*pieces)


def test_what_is_no_text_is_replaced() -> None:
    """And nothing of the rest is lost."""
    assert printed(b"a\xff", b"b\x00c") == "a\ufffdbc"
    assert printed(b"a\xc3") == "a\ufffd"
    assert printed(b"an escape that never ends \x1b[31") == "an escape that never ends \x1b[31"


def items(kind: str, *lines: Any) -> tuple[PrintedJson, list[dict[str, Any]]]:
    """Return a reader that has read lines, and the items that came of them, as they look now."""
    reader = PrintedJson(kind, "turn_1")
    shown: dict[str, dict[str, Any]] = {}
    for line in lines:
        for update in reader.feed(line if isinstance(line, bytes) else json.dumps(line).encode()):
            assert isinstance(update, ItemUpserted)
            shown.setdefault(update.source, {}).update(update.item)
    return reader, list(shown.values())


def test_claudes_lines_are_understood() -> None:
    """A tool, its result, an answer, and what it cost."""
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "a.txt", "is_error": False}
    reader, shown = items(
        "claude",
        {"type": "system", "subtype": "init", "session_id": "s1", "tools": []},
        {"type": "assistant", "message": {"id": "m1", "role": "assistant", "content": [call]}},
        {"type": "user", "message": {"role": "user", "content": [result]}},
        {
            "type": "assistant",
            "message": {
                "id": "m2",
                "role": "assistant",
                "content": [{"type": "text", "text": "Ok"}],
            },
        },
        {
            "type": "result",
            "is_error": False,
            "session_id": "s1",
            "usage": {"input_tokens": 3, "output_tokens": 2, "service_tier": "x"},
            "total_cost_usd": 0.5,
        },
    )
    assert (reader.conversation, reader.failure) == ("s1", None)
    assert reader.usage == {"input_tokens": 3, "output_tokens": 2, "cost_usd": 0.5}
    tool, answer, message = shown
    assert (tool["name"], tool["status"], tool["arguments"]) == (
        "Bash",
        "completed",
        '{"command": "ls"}',
    )
    assert (answer["output"], answer["is_error"]) == ("a.txt", False)
    assert message["content"] == "Ok"


def test_claudes_fault_of_the_model_is_a_failure_and_no_answer() -> None:
    """It tells the fault as a message of its own making, too."""
    fault = {
        "model": "<synthetic>",
        "role": "assistant",
        "content": [{"type": "text", "text": "E"}],
    }
    reader, shown = items(
        "claude",
        {"type": "assistant", "message": fault},
        {"type": "result", "subtype": "success", "is_error": True, "result": "API Error: 400"},
    )
    assert (reader.failure, shown) == ("API Error: 400", [])


def test_codexs_lines_are_understood() -> None:
    """A command, an answer, and a note of its own."""
    command = {"id": "i1", "type": "command_execution", "command": "ls", "aggregated_output": ""}
    reader, shown = items(
        "codex",
        {"type": "thread.started", "thread_id": "th1"},
        {"type": "turn.started"},
        {"type": "item.started", "item": {**command, "exit_code": None}},
        {"type": "item.completed", "item": {**command, "aggregated_output": "a\n", "exit_code": 2}},
        {"type": "item.completed", "item": {"id": "i2", "type": "agent_message", "text": "Ok"}},
        {"type": "turn.completed", "usage": {"input_tokens": 3, "output_tokens": 2}},
    )
    assert (reader.conversation, reader.failure) == ("th1", None)
    assert reader.usage == {"input_tokens": 3, "output_tokens": 2}
    tool, result, message = shown
    assert (tool["status"], result["output"], result["is_error"]) == ("failed", "a\n", True)
    assert message["content"] == "Ok"


def test_codexs_failed_turn_says_why() -> None:
    """Its exit code alone would not."""
    reader, _ = items("codex", {"type": "turn.failed", "error": {"message": "400"}})
    assert reader.failure == "400"


def test_vibes_lines_are_understood() -> None:
    """It tells the prompt back, which is in the transcript already."""
    text = [{"type": "text", "text": "Ok"}]
    reader, shown = items(
        "vibe",
        {"type": "message", "role": "user", "content": text, "sessionId": "v1"},
        {
            "type": "effect",
            "id": "e1",
            "detail": {"toolName": "bash", "display": {"message": "ls"}},
        },
        {"type": "message", "role": "assistant", "id": "a1", "content": text, "sessionId": "v1"},
    )
    assert reader.conversation == "v1"
    assert [item["type"] for item in shown] == ["tool-call", "tool-result", "message"]


def test_junk_is_counted_and_the_unknown_is_kept() -> None:
    """Tools print notices between their lines, and learn new kinds."""
    reader = PrintedJson("codex", "turn_1")
    assert not reader.feed(b"WARNING: proceeding")
    assert not reader.feed(b"42")
    assert not reader.feed(b"")
    assert list(reader.junk) == ["WARNING: proceeding", "42"]
    (kept,) = reader.feed(b'{"type":"mood","value":"good"}')
    assert isinstance(kept, UnknownReport)
    assert kept.kind == "command:mood"
    for _ in range(200):
        reader.feed(b'{"type":"mood"}')
    assert not reader.feed(b'{"type":"mood"}')


@pytest.mark.parametrize("kind", ["claude", "codex", "vibe"])
@pytest.mark.parametrize(
    "line",
    [
        {},
        {"type": 5},
        {"type": "assistant", "message": "text"},
        {"type": "assistant", "message": {"content": [None, "x", {"type": "tool_use"}]}},
        {"type": "item.completed", "item": []},
        {"type": "item.completed", "item": {"type": "command_execution"}},
        {"type": "message", "role": "assistant", "content": 7},
        {"type": "effect", "detail": None},
        {"type": "result", "usage": [], "is_error": True},
    ],
    ids=repr,
)
def test_no_shape_breaks_it(kind: str, line: dict[str, Any]) -> None:
    """Other versions print other things."""
    PrintedJson(kind, "turn_1").feed(json.dumps(line).encode())

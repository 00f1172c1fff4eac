"""What a chat prints of the frames that come."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaced.cli.chat.chat_view import ChatView
from tests.unit.cli.chat_frames import (
    appended,
    begun,
    delta,
    event,
    live,
    printed,
    recorded,
    session,
    status,
    updated,
    waiting,
)


def test_a_reply_appears_as_it_comes() -> None:
    """Each delta is printed when it comes, not when the item is complete."""
    view = begun()
    opened = appended("i1", "message", role="assistant", content="", stream_status="streaming")

    assert printed(view, opened) == ""
    assert printed(view, delta("i1", 0, "Good ")) == "Good "
    assert printed(view, delta("i1", 5, "morning")) == "morning"
    assert printed(view, recorded("i1", 0, "Good morning")) == ""
    assert printed(view, updated("i1", stream_status="complete")) == "\n"


def test_a_delta_that_comes_before_its_item_is_kept() -> None:
    """What is not recorded may be announced first."""
    view = begun()

    shown = printed(
        view,
        delta("i1", 2, "there"),
        appended("i1", "message", role="assistant", content="Hi", stream_status="streaming"),
    )

    assert shown == "Hithere"


def test_a_users_prompt_is_marked() -> None:
    """One sees at a glance who said what, also without colours."""
    item = {"role": "user", "content": "fix it", "prompt_id": "msg_1"}

    assert printed(begun(), appended("i1", "message", **item)) == "> fix it\n"


def test_files_of_a_prompt_are_named() -> None:
    """A prompt may hold more than words."""
    parts = [{"type": "text", "text": "look"}, {"type": "file", "name": "a.png", "mime": "x/y"}]

    shown = printed(begun(), appended("i1", "message", role="user", content="look", parts=parts))

    assert shown == "> look [file a.png]\n"


def test_reasoning_is_marked_and_dimmed() -> None:
    """What the agent thinks is not what it says."""
    view = begun()
    view.take(appended("i1", "reasoning", content="Hm.", stream_status="complete"))

    spans = [span for span in view.tear_off() if span.text.strip()]

    assert "".join(span.text for span in spans) == "~ Hm."
    assert {span.style for span in spans} == {"dim"}


def test_a_tool_call_is_a_compact_block() -> None:
    """Title and arguments, the beginning of the output and how much more there is, the end."""
    view = begun()
    output = "".join(f"line {number}\n" for number in range(20))

    shown = printed(
        view,
        appended("i1", "tool-call", call_id="c", name="look", title="Look", arguments='{"a":1}'),
        appended("i2", "tool-result", call_id="c", output=output, stream_status="streaming"),
        updated("i2", stream_status="complete"),
        updated("i1", status="completed"),
    )

    lines = shown.splitlines()
    assert lines[0] == '* Look  {"a":1}'
    assert lines[1:9] == [f"  | line {number}" for number in range(8)]
    assert lines[9:] == ["  | … 12 more lines", "  = completed"]


def test_the_output_of_a_tool_appears_as_it_comes() -> None:
    """A command that runs for minutes shows that it is at work."""
    view = begun()
    printed(view, appended("i1", "tool-call", call_id="c", name="run", status="running"))

    opened = appended("i2", "tool-result", call_id="c", output="", stream_status="streaming")

    assert printed(view, opened, delta("i2", 0, "one\ntw", field="output")) == "  | one\n  | tw"
    assert printed(view, delta("i2", 6, "o\n", field="output")) == "o\n"


def test_an_output_whose_call_stands_further_up_names_it() -> None:
    """Calls that run side by side are told apart."""
    view = begun()
    printed(view, appended("i1", "tool-call", call_id="a", name="first", status="running"))
    printed(view, appended("i2", "tool-call", call_id="b", name="second", status="running"))

    shown = printed(view, appended("i3", "tool-result", call_id="a", output="done"))

    assert shown == "* first  output\n  | done\n"
    assert printed(view, updated("i2", status="failed")) == "  = failed: second\n"


def test_a_call_that_changes_is_shown_again() -> None:
    """Agents tell the arguments of a call after its title."""
    view = begun()
    opened = appended("i1", "tool-call", call_id="c", title="Run", status="pending")

    assert printed(view, opened) == "* Run\n"
    assert printed(view, updated("i1", status="running")) == ""
    assert printed(view, updated("i1", arguments='{"x":2}')) == '* Run  {"x":2}\n'


def test_a_plan_is_shown_with_its_marks() -> None:
    """What is done, what is being done and what is to come."""
    entries = [
        {"content": "Look", "status": "completed"},
        {"content": "Fix", "status": "in_progress"},
        {"content": "Test", "status": "pending"},
    ]

    shown = printed(begun(), appended("i1", "plan", entries=entries))

    assert shown == "# plan\n  [x] Look\n  [>] Fix\n  [ ] Test\n"


@pytest.mark.parametrize(
    ("name", "details", "line"),
    [
        ("turn-interrupted", {"cause": "person"}, "- interrupted\n"),
        ("compaction", {}, "- the conversation was shortened for the agent\n"),
        ("conversation-lost", {"message": "gone"}, ": gone\n"),
        ("something-new", {"a": 1}, '- something-new: {"a":1}\n'),
    ],
)
def test_an_event_is_one_line(name: str, details: dict[str, object], line: str) -> None:
    """What happened to the conversation is told by the way."""
    shown = printed(begun(), appended("i1", "event", event=name, details=details))

    assert shown.endswith(line)
    assert shown.count("\n") == 1


def test_an_error_is_visible() -> None:
    """It stands in the transcript, with what to do."""
    view = begun()
    view.take(appended("i1", "error", error="It broke. Try again.", code="x"))

    spans = view.tear_off()

    assert [(span.text, span.style) for span in spans] == [("! It broke. Try again.\n", "error")]


def test_an_item_of_a_type_that_nobody_knows_is_skipped() -> None:
    """A newer daemon may tell more than this client can show."""
    assert printed(begun(), appended("i1", "hologram", content="x")) == ""


def test_a_text_that_was_interleaved_goes_on_with_a_mark() -> None:
    """Nothing is held back until another item is complete."""
    view = begun()
    first = appended("i1", "message", role="assistant", content="Hal", stream_status="streaming")
    printed(view, first, appended("i2", "tool-call", call_id="c", name="look"))

    assert printed(view, delta("i1", 3, "lo")) == "[… goes on] lo"


def test_text_of_an_item_from_before_the_page_is_shown() -> None:
    """What comes late belongs to an item that may be older than everything on the screen."""
    shown = printed(begun(), recorded("i0", 1000, "and one thing more"))

    assert shown == "[an earlier text goes on:]\nand one thing more"


def test_the_page_and_the_stream_join_without_a_seam() -> None:
    """An item that was open on the page goes on where it stood."""
    view = ChatView()
    item = {"id": "i1", "type": "message", "role": "assistant", "content": "Good "}
    view.begin(session(), (), [{**item, "stream_status": "streaming"}])
    text = {"session_id": "ses_1", "item_id": "i1", "field": "content", "offset": 5, "text": "mor"}

    shown = printed(view, live(word="busy", texts=[text]), delta("i1", 8, "ning"))

    assert shown == "Good morning"


def test_of_a_very_long_text_on_the_page_only_the_end_is_shown() -> None:
    """Coming back to a chat does not mean reading all of it again; what comes is shown whole."""
    view = ChatView()
    item = {"id": "i1", "type": "message", "role": "assistant", "content": "a" * 50_000}
    view.begin(session(), (), [{**item, "stream_status": "streaming"}])

    shown = printed(view, live(), recorded("i1", 50_000, "b" * 20_000))

    assert shown.startswith("[40000 characters; /export")
    assert shown.endswith("a" * 10_000 + "b" * 20_000)


def test_what_a_crash_has_lost_is_said() -> None:
    """The screen cannot be unprinted, so what is not so is taken back in words."""
    view = begun()
    printed(
        view, appended("i1", "message", role="assistant", content="", stream_status="streaming")
    )
    printed(view, delta("i1", 0, "Good morning"))

    shown = printed(
        view,
        recorded("i1", 0, "Good "),
        updated("i1", stream_status="interrupted"),
        appended("i2", "event", event="turn-abandoned", details={}),
        live(),
    )

    assert "[not kept: the last 7 characters above, from “morning” on]" in shown
    assert "[cut off]" in shown
    assert "the daemon was restarted" in shown


@pytest.mark.parametrize(
    ("letter", "code"),
    [
        ("\x1b", "\\x1b"),
        ("\r", "\\x0d"),
        ("\x08", "\\x08"),
        ("\x9b", "\\x9b"),
        ("\u202e", "\\u202e"),
        ("\u2066", "\\u2066"),
        ("\u200b", "\\u200b"),
        ("\ufeff", "\\ufeff"),
        ("\u2028", "\\u2028"),
        ("\u3164", "\\u3164"),
        ("\U000e0041", "\\U000e0041"),
        ("\U000e0101", "\\U000e0101"),
    ],
)
@pytest.mark.parametrize(
    ("item_type", "fields"),
    [
        ("message", {"role": "user", "content": "a{}b"}),
        ("message", {"role": "assistant", "content": "a{}b", "stream_status": "streaming"}),
        ("reasoning", {"content": "a{}b"}),
        ("tool-call", {"call_id": "c", "title": "a{}b"}),
        ("tool-call", {"call_id": "c", "name": "x", "arguments": "a{}b"}),
        ("tool-result", {"call_id": "c", "output": "a{}b"}),
        ("plan", {"entries": [{"content": "a{}b"}]}),
        ("event", {"event": "a{}b", "details": {}}),
        ("error", {"error": "a{}b"}),
    ],
)
def test_nothing_from_the_log_can_move_the_cursor_or_hide(
    letter: str, code: str, item_type: str, fields: dict[str, object]
) -> None:
    """An agent, a file or another client may have written it to deceive who reads it."""
    view = begun()
    filled = _filled(fields, letter)

    shown = printed(view, appended("i1", item_type, **filled))  # type: ignore[arg-type]

    assert letter not in shown
    assert f"a{code}b" in shown


def _filled(value: object, letter: str) -> object:
    if isinstance(value, str):
        return value.format(letter) if "{}" in value else value
    if isinstance(value, dict):
        return {name: _filled(one, letter) for name, one in value.items()}
    return [_filled(one, letter) for one in value] if isinstance(value, list) else value


def test_newlines_tabs_and_emoji_stay() -> None:
    """What is harmless is shown as it is."""
    text = "a\n\tb \U0001f600\ufe0f é ה"

    shown = printed(begun(), appended("i1", "message", role="assistant", content=text))

    assert shown == f"{text}\n"


LETTERS = "ab\n\x1b\u00e9\U0001f600"


@given(
    whole=st.text(alphabet=LETTERS, min_size=1, max_size=40),
    cuts=st.lists(st.tuples(st.integers(0, 40), st.sampled_from(["delta", "record", "gap"]))),
)
def test_any_way_in_which_a_reply_comes_prints_it_once(
    whole: str, cuts: list[tuple[int, str]]
) -> None:
    """Deltas, records and reconnections in any order: the reply stands there once and whole."""
    view, told, stored = begun(), 0, 0
    opened = appended("i1", "message", role="assistant", content="", stream_status="streaming")
    shown = printed(view, opened)
    for size, how in cuts:
        end = min(max(stored, told) + size, len(whole))
        if how == "record":
            shown += printed(view, recorded("i1", stored, whole[stored:end]))
            stored, told = end, max(end, told)
        elif how == "delta":
            shown += printed(view, delta("i1", stored, whole[stored:end]))
            told = end
        else:
            text = {
                "item_id": "i1",
                "field": "content",
                "offset": stored,
                "text": whole[stored:end],
            }
            shown += printed(view, live(word="busy", texts=[text]))
            told = end
    shown += printed(view, recorded("i1", stored, whole[stored:]))
    shown += printed(view, updated("i1", stream_status="complete"))

    expected = whole.replace("\x1b", "\\x1b")
    assert shown == (expected if expected.endswith("\n") else f"{expected}\n")


def test_a_prompt_that_waits_is_shown_with_its_place() -> None:
    """What was typed while the agent is at work has not vanished."""
    view = begun()
    view.take(status("busy"))
    body = {"prompt_id": "msg_1", "parts": [{"type": "text", "text": "and then"}]}

    shown = printed(view, event("prompt-admitted", **body, delivery="queue", queue_index=1))

    assert shown == "- queued as number 2: and then\n"
    assert "1 queued" in view.status


def test_a_prompt_that_is_answered_at_once_is_not_announced() -> None:
    """It stands in the transcript a moment later."""
    body = {"prompt_id": "msg_1", "parts": [{"type": "text", "text": "hello"}]}

    shown = printed(begun(), event("prompt-admitted", **body, delivery="queue", queue_index=0))

    assert shown == ""


def test_a_paused_queue_is_visible() -> None:
    """After an interrupt what is pending waits, and one has to know what to do."""
    view = ChatView()
    view.begin(session(), [waiting("msg_1", "and then")], ())

    shown = printed(view, live(), event("queue-paused", reason="interrupt"))

    assert shown == "- the queue is paused, 1 waiting; /resume lets it go on\n"
    assert "paused" in view.status


def test_what_is_tried_again_says_why_and_when() -> None:
    """A provider that is overloaded looks different from an agent that thinks."""
    view = begun()
    told = {"attempt": 2, "message": "overloaded", "next_at": "2026-12-01T09:30:05.000Z"}

    shown = printed(view, status("retry", **told), status("retry", **told))

    assert shown == "- overloaded; attempt 2 at 09:30:05 UTC\n"
    assert "overloaded" in view.status


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("idle", "idle"),
        ("starting", "started"),
        ("busy", "busy"),
        ("waiting", "waits for your answer"),
        ("queued", "fewer agents"),
    ],
)
def test_the_status_says_what_the_session_is_doing(word: str, told: str) -> None:
    """Each word of the live status has words of its own."""
    view = begun()
    view.take(status(word))

    assert told in view.status


def test_a_prompt_of_ours_is_awaited_until_its_turn_has_ended() -> None:
    """A script goes on when it is answered."""
    view = begun()
    view.queue.awaited.add("msg_1")

    printed(view, event("prompt-promoted", prompt_id="msg_1", turn_id="turn_1", item_id="i1"))
    printed(view, event("turn-ended", turn_id="turn_0", outcome="completed"))
    assert view.queue.awaited == {"msg_1"}
    printed(view, event("turn-ended", turn_id="turn_1", outcome="failed"))

    assert not view.queue.awaited
    assert view.queue.has_failure


def test_a_prompt_that_the_agent_never_had_is_awaited_on() -> None:
    """It is pending again, and is answered later."""
    view = begun()
    view.queue.awaited.add("msg_1")
    printed(view, event("prompt-promoted", prompt_id="msg_1", turn_id="turn_1", item_id="i1"))

    printed(
        view,
        event("prompt-returned", prompt_id="msg_1", turn_id="turn_1", parts=[], rank=1),
        event("turn-ended", turn_id="turn_1", outcome="not-dispatched"),
    )

    assert view.queue.awaited == {"msg_1"}


def test_a_session_that_is_deleted_ends_the_chat() -> None:
    """Nothing can be said to it any more."""
    view = begun()

    assert "deleted" in printed(view, event("run-deleted", purge_at="x"))
    assert view.is_over

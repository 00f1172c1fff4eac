"""Turns: what goes over, what comes back, and how they end."""

from typing import Any

import pytest

from spaced.errors import RuntimeProblem
from spaced.runtime.protocol import PermissionAnswer, Prompt, Turn
from spaced.runtime.updates import (
    AskWithdrawn,
    ContinuityChanged,
    ConversationLost,
    ExecutionFinished,
    ItemUpserted,
    PromptNotTaken,
    TextAppended,
    TurnFinished,
    UnknownReport,
)
from tests.unit.acp.hanging_turns import CALL, OPTIONS, asked, finish, hanging, silent
from tests.unit.acp.puppet import Params, Puppet, Refusal, Stage, turn_of


@pytest.mark.parametrize(
    ("reason", "outcome", "code"),
    [
        ("end_turn", "completed", None),
        ("max_tokens", "completed", None),
        ("max_turn_requests", "completed", None),
        ("cancelled", "interrupted", None),
        ("refusal", "failed", "agent-refused"),
        ("something_new", "completed", None),
    ],
)
async def test_a_turn_ends_as_the_agent_says(
    stage: Stage, reason: str, outcome: str, code: str | None
) -> None:
    """With its word for it, and what it used."""
    usage = {"inputTokens": 5, "outputTokens": 2, "cachedReadTokens": "many"}
    puppet = Puppet(session__prompt=lambda p, params: {"stopReason": reason, "usage": usage})
    connection = await stage.open(puppet)
    await connection.start_turn(turn_of("go"))
    ending = await stage.sink.end_of("turn_1")
    assert isinstance(ending, TurnFinished)
    assert (ending.outcome, ending.stop_reason) == (outcome, reason)
    assert ending.usage == {"input_tokens": 5, "output_tokens": 2}
    assert (ending.problem and ending.problem.code) == code


@pytest.mark.parametrize(
    ("refusal", "code"),
    [
        ((-32603, "model overloaded hunter2x"), "agent-error"),
        ((400, "bad request"), "agent-error"),
        ((-32000, "please log in"), "agent-login-needed"),
    ],
    ids=repr,
)
async def test_an_error_fails_the_turn_with_a_reason(
    stage: Stage, refusal: tuple[int, str], code: str
) -> None:
    """One agent even answers with the number of its model's HTTP error."""

    def fail(puppet: Puppet, params: Params) -> Any:
        raise Refusal(*refusal)

    connection = await stage.open(Puppet(session__prompt=fail))
    await connection.start_turn(turn_of("go"))
    ending = await stage.sink.end_of("turn_1")
    assert isinstance(ending, TurnFinished)
    assert ending.problem is not None
    assert (ending.outcome, ending.problem.code) == ("failed", code)
    assert refusal[1][:5] in ending.problem.message
    assert "hunter2" not in ending.problem.message


async def test_everything_that_is_said_comes_before_the_end(stage: Stage) -> None:
    """In the order of the lines, whoever takes how long."""
    puppet, _ = await hanging(stage)
    for number in range(20):
        puppet.say(f"{number} ")
    finish(puppet)
    await stage.sink.end_of("turn_1")
    texts = [u.text for u in stage.sink.updates if isinstance(u, TextAppended)]
    assert texts == [f"{number} " for number in range(20)]
    assert isinstance(stage.sink.updates[-1], TurnFinished)


async def test_an_echo_of_the_prompt_is_not_shown(stage: Stage) -> None:
    """It is in the transcript already."""
    puppet, _ = await hanging(stage)
    puppet.update("user_message_chunk", content={"type": "text", "text": "go"}, messageId="u1")
    finish(puppet)
    await stage.sink.end_of("turn_1")
    assert not [u for u in stage.sink.updates if isinstance(u, TextAppended)]


async def test_what_comes_just_after_the_end_belongs_to_the_turn(stage: Stage) -> None:
    """And what comes later, to none: it is kept as what happened in the background."""
    puppet, _ = await hanging(stage)
    finish(puppet)
    await stage.sink.end_of("turn_1")
    puppet.say("late")
    await stage.sink.until_one(TextAppended)
    stage.clock.advance(seconds=3)
    puppet.say("later")
    await stage.sink.until_one(TextAppended, number=2)
    assert [u.turn_id for u in stage.sink.of(TextAppended)] == ["turn_1", None]


async def test_a_word_of_the_user_out_of_any_turn_is_the_agents(stage: Stage) -> None:
    """Somebody else is at the agent; it is kept and marked."""
    puppet = Puppet()
    await stage.open(puppet)
    puppet.update("user_message_chunk", content={"type": "text", "text": "from elsewhere"})
    said = await stage.sink.until_one(TextAppended)
    assert said.opens_with is not None
    assert (said.opens_with["role"], said.opens_with["origin"]) == ("user", "agent")


async def test_an_interrupt_settles_what_is_open(stage: Stage) -> None:
    """The cancel first, then an answer to each that waits; one that comes then is settled too."""
    puppet, connection = await hanging(stage)
    ask = await asked(stage, puppet)
    await connection.interrupt("turn_1")
    assert stage.sink.of(AskWithdrawn)[0].ask_id == ask.ask_id
    puppet.ask(91, "session/request_permission", sessionId="conv-1", toolCall=CALL, options=OPTIONS)
    finish(puppet, stopReason="cancelled")
    ending = await stage.sink.end_of("turn_1")
    assert isinstance(ending, TurnFinished)
    assert ending.outcome == "interrupted"
    cancelled = {"outcome": {"outcome": "cancelled"}}
    assert (puppet.answers()[90], puppet.answers()[91]) == (cancelled, cancelled)
    assert puppet.params_of("session/cancel") == {"sessionId": "conv-1"}
    assert (
        await connection.answer(ask.ask_id, PermissionAnswer(option_id="yes", is_allowed=True))
        is False
    )


async def test_an_interrupted_turn_may_end_in_any_way(stage: Stage) -> None:
    """Some answer with an error then; it is what was wanted."""
    puppet, connection = await hanging(stage)
    await connection.interrupt("turn_1")
    error = {"code": -32603, "message": "aborted"}
    puppet.write_line({"id": puppet.id_of("session/prompt"), "error": error})
    ending = await stage.sink.end_of("turn_1")
    assert isinstance(ending, TurnFinished)
    assert (ending.outcome, ending.problem) == ("interrupted", None)


async def test_a_turn_that_was_over_already_is_not_interrupted(stage: Stage) -> None:
    """The agent was quicker than the one who wanted it to end."""
    puppet, connection = await hanging(stage)
    await connection.interrupt("turn_1")
    finish(puppet)
    ending = await stage.sink.end_of("turn_1")
    assert isinstance(ending, TurnFinished)
    assert ending.outcome == "completed"


async def test_an_agent_that_does_not_stop_is_told_in_another_way(stage: Stage) -> None:
    """The request itself is cancelled, once."""
    puppet, connection = await hanging(stage)
    await connection.interrupt("turn_1")
    await connection.interrupt("turn_1")
    await stage.settle()
    stage.clock.advance(seconds=6)
    await stage.settle()
    assert puppet.methods().count("session/cancel") == 1
    assert puppet.params_of("$/cancel_request") == {"id": puppet.id_of("session/prompt")}


async def test_an_interrupt_of_nothing_does_nothing(stage: Stage) -> None:
    """Another turn, or none, may be running by now."""
    puppet, connection = await hanging(stage)
    await connection.interrupt("turn_0")
    assert "session/cancel" not in puppet.methods()


async def test_a_turn_that_is_interrupted_on_its_way_is_not_handed_over(stage: Stage) -> None:
    """The cancel would be there before the prompt, and stop nothing."""
    puppet = Puppet()
    connection = await stage.open(puppet)

    async def read_slowly(blob_id: str) -> bytes:
        await connection.interrupt("turn_1")
        return b"x"

    part = {"type": "file", "name": "a", "mime": "text/plain", "blob": "blob_1"}
    stage.blobs["blob_1"] = b"x"
    stage.read_blob = read_slowly
    with pytest.raises(RuntimeProblem, match="interrupted"):
        await connection.start_turn(Turn(id="turn_1", prompts=(Prompt(id="p", parts=(part,)),)))
    assert "session/prompt" not in puppet.methods()
    await connection.start_turn(turn_of("go", turn_id="turn_2"))
    assert isinstance(await stage.sink.end_of("turn_2"), TurnFinished)


async def test_a_flood_of_requests_is_answered_and_counted(stage: Stage) -> None:
    """Each gets its answer; the transcript gets a hundred and the number of the others."""
    puppet, _ = await hanging(stage)
    for number in range(150):
        puppet.ask(number, "vendor/ping")
    finish(puppet)
    await stage.sink.end_of("turn_1")
    await stage.settle()
    assert len(puppet.answers()) == 150
    assert len(stage.sink.of(UnknownReport)) == 101


async def test_a_second_turn_waits_for_the_first(stage: Stage) -> None:
    """Agents do five different things with it, and lose prompts in two of them."""
    _, connection = await hanging(stage)
    with pytest.raises(RuntimeProblem, match="busy"):
        await connection.start_turn(turn_of("more", turn_id="turn_2"))
    assert await connection.steer("turn_1", ()) is False


@pytest.mark.parametrize("reply", ["error", "refusal"])
async def test_a_conversation_that_is_lost_in_the_middle_is_begun_anew(
    stage: Stage, reply: str
) -> None:
    """The prompt was not taken; it goes over again, to an agent that is told what was said."""
    answers: list[Any] = [None, {"stopReason": "end_turn"}]

    def prompt(puppet: Puppet, params: Params) -> Any:
        answer = answers.pop(0)
        if answer is None and reply == "error":
            raise Refusal(-32602, "Session not found: conv-1")
        return answer or {"stopReason": "refusal"}

    ids = iter(("conv-1", "conv-2"))
    puppet = Puppet(session__prompt=prompt, session__new=lambda p, params: {"sessionId": next(ids)})
    connection = await stage.open(puppet, options={"refusal_means_lost": True})
    await connection.start_turn(turn_of("go"))
    assert isinstance(await stage.sink.end_of("turn_1"), PromptNotTaken)
    assert len(stage.sink.of(ConversationLost)) == 1
    await connection.start_turn(turn_of("go", turn_id="turn_2", history="H"))
    assert isinstance(await stage.sink.end_of("turn_2"), TurnFinished)
    assert puppet.params_of("session/prompt")["sessionId"] == "conv-2"
    assert stage.sink.of(ContinuityChanged)[-1].continuity["id"] == "conv-2"


async def test_a_forgotten_conversation_is_followed_by_another(stage: Stage) -> None:
    """In the same process, with the profile's choices made anew."""
    ids = iter(("conv-1", "conv-2"))
    puppet = Puppet(session__new=lambda p, params: {"sessionId": next(ids)})
    connection = await stage.open(puppet)
    await connection.forget()
    await connection.start_turn(turn_of("go"))
    await stage.sink.end_of("turn_1")
    assert puppet.params_of("session/prompt")["sessionId"] == "conv-2"
    assert not stage.sink.of(ConversationLost)


async def test_an_unknown_request_is_answered(stage: Stage) -> None:
    """Or the agent may wait for ever; that it asked is kept."""
    puppet, _ = await hanging(stage)
    puppet.ask(5, "fs/read_text_file", path="/etc/passwd")
    puppet.tell("_vendor/mood", mood="good")
    finish(puppet)
    await stage.sink.end_of("turn_1")
    assert puppet.answers()[5]["code"] == -32601
    (kept,) = stage.sink.of(UnknownReport)
    assert kept.payload == {"method": "fs/read_text_file"}


async def test_junk_between_messages_is_passed_over(stage: Stage) -> None:
    """Scalars, log lines and half a message, as agents print them."""
    puppet, _ = await hanging(stage)
    for line in (b"42", b"npm warn deprecated", b'{"half":', b"\xff", b'{"level":"info"}'):
        puppet.write_line(line)
    finish(puppet)
    assert isinstance(await stage.sink.end_of("turn_1"), TurnFinished)


async def test_nothing_but_junk_is_given_up(stage: Stage) -> None:
    """It is no agent, and what it printed last is in the details."""
    puppet, _ = await hanging(stage)
    for number in range(1001):
        puppet.write_line(b"usage: agent --help %d" % number)
    ending = await stage.sink.end_of("turn_1")
    assert isinstance(ending, ExecutionFinished)
    assert ending.problem is not None
    assert (ending.reason, ending.problem.code) == ("unreadable", "agent-unreadable")
    assert ending.details is not None
    assert ending.details["junk"]["count"] == 1001  # type: ignore[index]


async def test_an_agent_that_ends_takes_its_turn_with_it(stage: Stage) -> None:
    """With its exit code and its last words; what it waited for is settled."""
    puppet, connection = await hanging(stage)
    ask = await asked(stage, puppet)
    puppet.errors = "panic: hunter2\n"
    puppet.end(7)
    ending = await stage.sink.end_of("turn_1")
    assert isinstance(ending, ExecutionFinished)
    assert ending.problem is not None
    assert "exit code 7; its last words: panic: ***" in ending.problem.message
    assert stage.sink.of(AskWithdrawn)[0].ask_id == ask.ask_id
    with pytest.raises(RuntimeProblem, match="has ended"):
        await connection.start_turn(turn_of("more", turn_id="turn_2"))


async def test_an_agent_that_says_nothing_for_too_long_is_ended(stage: Stage) -> None:
    """Its work is done perhaps, and its answer lost; nobody would ever know."""
    await hanging(stage)
    await stage.settle()
    stage.clock.advance(seconds=601)
    ending = await stage.sink.end_of("turn_1")
    assert isinstance(ending, ExecutionFinished)
    assert ending.problem is not None
    assert (ending.reason, ending.problem.code) == ("silent", "agent-silent")


@pytest.mark.parametrize(
    "excuse", ["a person is asked", "a tool is at work", "a tool is announced", "no limit"]
)
async def test_silence_with_a_reason_is_no_fault(stage: Stage, excuse: str) -> None:
    """A person may be away for hours, and so may a build."""
    options = {"idle_seconds": 0} if excuse == "no limit" else {}
    puppet, connection = await hanging(stage, options=options)
    if excuse == "a person is asked":
        ask = await asked(stage, puppet)
    else:
        status = "pending" if excuse == "a tool is announced" else "in_progress"
        puppet.update("tool_call", toolCallId="c1", status=status, kind="execute")
        await stage.sink.until_one(ItemUpserted)
    for _ in range(3):
        stage.clock.advance(seconds=700)
        await stage.settle()
    if excuse == "a person is asked":
        await connection.answer(ask.ask_id, PermissionAnswer(option_id="yes", is_allowed=True))
        await stage.settle()
    finish(puppet)
    assert isinstance(await stage.sink.end_of("turn_1"), TurnFinished)


async def test_a_tool_that_an_earlier_turn_left_is_no_excuse(stage: Stage) -> None:
    """Agents forget to say what became of it, and nobody would look at the next turn's silence."""
    puppet, connection = await hanging(stage)
    puppet.update("tool_call", toolCallId="c1", status="in_progress", kind="execute")
    finish(puppet)
    await stage.sink.end_of("turn_1")
    await connection.start_turn(turn_of("go", turn_id="turn_2"))
    await stage.settle()
    stage.clock.advance(seconds=601)
    ending = await stage.sink.until_one(ExecutionFinished)
    assert ending.reason == "silent"


async def test_settings_are_changed_in_a_running_conversation(stage: Stage) -> None:
    """Field by field, and what the agent does not have is said."""
    state = {"sessionId": "conv-1", "modes": {"availableModes": [{"id": "plan", "name": "Plan"}]}}
    puppet = Puppet(session__new=lambda p, params: state, session__set_mode=lambda p, params: {})
    connection = await stage.open(puppet)
    report = await connection.configure(
        {"mode": "plan", "model": "x", "options": {"y": True}, "z": 1}
    )
    assert report == {
        "mode": "applied",
        "model": "unsupported",
        "y": "unsupported",
        "z": "unsupported",
    }
    assert await connection.compact() is False


async def test_time_between_turns_is_nobodys_silence(stage: Stage) -> None:
    """An agent that was left alone for an hour has all of its time when it is prompted."""
    puppet = Puppet()
    connection = await stage.open(puppet)
    stage.clock.advance(seconds=3600)
    puppet.replies["session/prompt"] = silent
    await connection.start_turn(turn_of("go"))
    await stage.settle()
    stage.clock.advance(seconds=300)
    await stage.settle()
    finish(puppet)
    assert isinstance(await stage.sink.end_of("turn_1"), TurnFinished)


async def test_an_agent_that_closes_its_output_and_stays_is_ended(stage: Stage) -> None:
    """With words that say so, and not as if it had been killed by nobody."""
    puppet, _ = await hanging(stage)
    puppet.close_output()
    await stage.settle()
    stage.clock.advance(seconds=3)
    ending = await stage.sink.end_of("turn_1")
    assert isinstance(ending, ExecutionFinished)
    assert ending.problem is not None
    assert "closed its output" in ending.problem.message

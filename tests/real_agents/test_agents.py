"""Real agents in a real daemon: they talk, ask, stop, crash and remember as they should."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from spaced.client import calls
from tests.end_to_end.daemons import PATIENCE
from tests.real_agents.chats import Chat, pids_of_agent
from tests.real_agents.fake_model.server import FakeModel

pytestmark = pytest.mark.timeout(180)


def side_effect(folder: Path) -> str:
    """Return a shell command that would write a file much later."""
    return f"while [ ! -e {folder}/go ]; do sleep 0.05; done; touch {folder}/done"


def check_unfinished(folder: Path) -> None:
    """Let whatever was left finish its work, and check that nothing does."""
    (folder / "go").touch()
    assert not (folder / "done").exists()


async def until_running(chat: Chat) -> None:
    """Wait until a tool is at work."""

    async def is_running() -> bool:
        return any(call["status"] == "running" for call in await chat.of("tool-call"))

    await chat.until(is_running)


async def test_a_talk_with_tools(chat: Chat, model: FakeModel) -> None:
    """Words, a tool that is allowed, one that is not, one that prints a lot: one process for all.

    An agent takes seconds to start, so what does not need a fresh one shares it.
    """
    await _words(chat, model)
    await _allowed_tool(chat)
    await _rejected_tool(chat)
    await _much_output(chat)
    assert await chat.turn("[[text:Goodbye.]]") == "completed"
    assert (await chat.texts("assistant"))[-1] == "Goodbye."


async def _words(chat: Chat, model: FakeModel) -> None:
    """The prompt reaches the model once, and its answer the transcript."""
    assert await chat.turn("[[text:Hello there, my friend.]]") == "completed"
    assert await chat.texts("assistant") == ["Hello there, my friend."]
    assert await chat.texts("user") == ["[[text:Hello there, my friend.]]"]
    assert len(model.conversations) == 1


async def _allowed_tool(chat: Chat) -> None:
    """It is used after an answer on the command line, and not before."""
    file = chat.project / "made.txt"
    await chat.send(f"[[sh:echo made > {file}; echo visible]][[text:Done.]]")
    await chat.until_asked()
    assert not file.exists()
    said = await chat.answer(allow=True)
    assert (said.code, said.err) == (0, "")
    assert await chat.idle() == "completed"
    assert file.read_text() == "made\n"
    assert (await chat.texts("assistant"))[-1] == "Done."
    assert "visible" in (await chat.of("tool-result"))[-1]["output"]
    assert (await chat.of("tool-call"))[-1]["status"] == "completed"


async def _rejected_tool(chat: Chat) -> None:
    """The call is shown as failed, whatever the agent makes of the no."""
    file = chat.project / "refused.txt"
    await chat.send(f"[[sh:touch {file}]][[text:Then not.]]")
    await chat.answer(allow=False)
    assert await chat.idle() == "completed"
    assert not file.exists()
    assert (await chat.of("tool-call"))[-1]["status"] == "failed"


async def _much_output(chat: Chat) -> None:
    """300 KB of a tool's output are kept in bounds, and the turn goes on."""
    await chat.send("[[sh:head -c 300000 /dev/zero | tr '\\0' 'y']][[text:That was much.]]")
    await chat.answer(allow=True)
    assert await chat.idle() == "completed"
    assert (await chat.texts("assistant"))[-1] == "That was much."
    output = (await chat.of("tool-result"))[-1]["output"]
    assert "yyyy" in output
    assert len(output) < 300_000


async def test_interrupts(chat: Chat, tmp_path: Path) -> None:
    """While it streams, while it asks, and while a tool is at work; each time the next turn is good."""
    await _while_it_streams(chat, tmp_path / "gate")
    await _while_it_asks(chat)
    await _while_a_tool_is_at_work(chat, tmp_path)


async def _while_it_streams(chat: Chat, gate: Path) -> None:
    """The turn ends, and the next prompt gets its own answer."""
    await chat.send(f"[[text:I am at it and have much to say.]][[wait:{gate}]][[text:Too late.]]")
    await chat.until_saying("I am at it and have much to say.")
    assert await chat.client.interrupt(chat.id)
    assert await chat.idle() == "interrupted"
    await asyncio.to_thread(gate.touch)
    assert await chat.turn("[[text:Next.]]") == "completed"
    assert (await chat.texts("assistant"))[-1] == "Next."
    assert "Too late" not in "".join(await chat.texts("assistant"))


async def _while_it_asks(chat: Chat) -> None:
    """The permission is settled, and the tool is not used."""
    file = chat.project / "made.txt"
    await chat.send(f"[[sh:touch {file}]][[text:Done.]]")
    await chat.until_asked()
    assert await chat.client.interrupt(chat.id)
    assert await chat.idle() == "interrupted"
    assert not (await chat.client.do(calls.permissions(chat.id))).asks
    assert await chat.turn("[[text:After that.]]") == "completed"
    assert not file.exists()


async def _while_a_tool_is_at_work(chat: Chat, folder: Path) -> None:
    """Nothing of it finishes after the session is idle and the daemon has stopped."""
    await chat.send(f"[[sh:{side_effect(folder)}]][[text:Done.]]")
    await chat.answer(allow=True)
    await until_running(chat)
    assert await chat.client.interrupt(chat.id)
    assert await chat.idle() == "interrupted"
    await chat.daemon.stop()
    check_unfinished(folder)
    await chat.daemon.start()


async def test_a_daemon_that_is_killed_goes_on_where_it_was(
    chat: Chat, tmp_path: Path, model: FakeModel
) -> None:
    """What was streamed is kept, the agent remembers, and nothing runs twice."""
    gate = tmp_path / "gate"
    assert await chat.turn("Remember the word harbour. [[text:I will.]]") == "completed"
    streamed = "This is what I say before the crash, and it is quite long. " * 20
    await chat.send(f"[[text:{streamed}]][[wait:{gate}]][[text:Never.]]")
    await chat.until_saying(streamed)
    await chat.daemon.kill()
    await chat.daemon.start()
    assert [end["outcome"] for end in await chat.ends()] == ["completed", "abandoned"]
    kept = (await chat.texts("assistant"))[-1]
    assert kept
    assert streamed.startswith(kept)
    assert await chat.turn("[[recall]]") == "completed"
    recalled = (await chat.texts("assistant"))[-1]
    assert "harbour" in recalled
    assert kept in await chat.texts("assistant")
    prompts = [prompt for words in model.conversations for prompt in words[-1:]]
    assert sum("before the crash" in prompt for prompt in prompts) == 1


async def test_an_agent_that_is_killed_fails_its_turn(chat: Chat, tmp_path: Path) -> None:
    """With a reason; its tool finishes nothing, and the next prompt starts it anew."""
    await chat.send(f"[[sh:{side_effect(tmp_path)}]][[text:Done.]]")
    await chat.answer(allow=True)
    await until_running(chat)
    for pid in pids_of_agent(chat.agent):
        os.kill(pid, signal.SIGKILL)
    assert await chat.idle() == "failed"
    problem = (await chat.ends())[-1]["problem"]
    assert (problem["code"], "signal 9" in problem["message"]) == ("agent-crashed", True)
    check_unfinished(tmp_path)
    assert await chat.turn("[[text:Next.]]") == "completed"


async def test_two_sessions_at_once(chat: Chat, tmp_path: Path) -> None:
    """Each waits for its own, and gets its own."""
    other = await chat.another()
    gate = tmp_path / "gate"
    await chat.send(f"[[text:One begins.]][[wait:{gate}]][[text: One ends.]]")
    await chat.until_saying("One begins. One ends.")
    assert await other.turn("[[text:Two.]]") == "completed"
    await asyncio.to_thread(gate.touch)
    assert await chat.idle() == "completed"
    assert "".join(await chat.texts("assistant")) == "One begins. One ends."
    assert await other.texts("assistant") == ["Two."]


async def test_faults_of_the_model(chat: Chat, model: FakeModel) -> None:
    """Each turn ends with a reason, by itself or by an interrupt, and the next one is good."""
    for fault in ("error:400", "error:500", "cut"):
        asked_before = len(model.conversations)
        await chat.send(f"[[{fault}]]")
        outcome = await _end_or_interrupt(chat, model, asked_before + 2)
        assert outcome in ("failed", "interrupted", "completed")
        if outcome == "failed":
            assert (await chat.ends())[-1]["problem"]["message"]
        assert await chat.turn(f"[[text:After {fault}.]]") == "completed"
        assert (await chat.texts("assistant"))[-1] == f"After {fault}."


async def _end_or_interrupt(chat: Chat, model: FakeModel, most_asked: int) -> str:
    """Wait for the end of a turn; interrupt one whose agent tries again, as for faults that pass."""
    idle = asyncio.ensure_future(chat.idle())
    again = asyncio.ensure_future(asyncio.to_thread(model.wait_until_asked, most_asked, PATIENCE))
    await asyncio.wait({idle, again}, return_when=asyncio.FIRST_COMPLETED)
    if not idle.done():
        assert await chat.client.interrupt(chat.id)
    outcome = await idle
    again.cancel()
    return outcome


async def test_a_model_that_hangs(chat: Chat, model: FakeModel) -> None:
    """An interrupt ends it, and the next prompt works."""
    await chat.send("[[hang]]")
    await asyncio.to_thread(model.wait_until_asked, 1, PATIENCE)
    assert await chat.client.interrupt(chat.id)
    assert await chat.idle() == "interrupted"
    assert await chat.turn("[[text:Next.]]") == "completed"

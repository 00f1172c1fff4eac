"""Real agents in a real daemon: they talk, ask, stop, crash and remember as they should."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

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


async def test_a_text_turn(chat: Chat, model: FakeModel) -> None:
    """The prompt reaches the model once, and its answer the transcript."""
    assert await chat.turn("[[text:Hello there, my friend.]]") == "completed"
    assert await chat.texts("assistant") == ["Hello there, my friend."]
    assert await chat.texts("user") == ["[[text:Hello there, my friend.]]"]
    assert len(model.conversations) == 1


async def test_a_tool_that_is_allowed_is_used(chat: Chat) -> None:
    """After an answer on the command line, and not before."""
    file = chat.project / "made.txt"
    await chat.send(f"[[sh:echo made > {file}; echo visible]][[text:Done.]]")
    await chat.until_asked()
    assert not file.exists()
    said = await chat.answer(allow=True)
    assert (said.code, said.err) == (0, "")
    assert await chat.idle() == "completed"
    assert file.read_text() == "made\n"
    assert (await chat.texts("assistant"))[-1] == "Done."
    (result,) = await chat.of("tool-result")
    assert "visible" in result["output"]
    assert [call["status"] for call in await chat.of("tool-call")] == ["completed"]


async def test_a_tool_that_is_rejected_is_not_used(chat: Chat) -> None:
    """The call is shown as failed, whatever the agent makes of the no; the next prompt works."""
    file = chat.project / "made.txt"
    await chat.send(f"[[sh:touch {file}]][[text:Then not.]]")
    await chat.answer(allow=False)
    assert await chat.idle() == "completed"
    assert not file.exists()
    assert [call["status"] for call in await chat.of("tool-call")] == ["failed"]
    assert await chat.turn("[[text:Next.]]") == "completed"


async def test_an_interrupt_while_it_streams(chat: Chat, tmp_path: Path) -> None:
    """The turn ends, the queue waits, and the next prompt gets its own answer."""
    gate = tmp_path / "gate"
    await chat.send(f"[[text:I am at it and have much to say.]][[wait:{gate}]][[text:Too late.]]")
    await chat.until_saying("I am at it and have much to say.")
    assert await chat.client.interrupt(chat.id)
    assert await chat.idle() == "interrupted"
    gate.touch()
    assert await chat.turn("[[text:Next.]]") == "completed"
    assert (await chat.texts("assistant"))[-1] == "Next."
    assert "Too late" not in "".join(await chat.texts("assistant"))


async def test_an_interrupt_while_it_asks(chat: Chat) -> None:
    """The permission is settled, the tool is not used, and the next prompt works."""
    file = chat.project / "made.txt"
    await chat.send(f"[[sh:touch {file}]][[text:Done.]]")
    await chat.until_asked()
    assert await chat.client.interrupt(chat.id)
    assert await chat.idle() == "interrupted"
    assert not (await chat.client.items(chat.id)).items[-1].get("pending")
    assert await chat.turn("[[text:Next.]]") == "completed"
    assert not file.exists()


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


async def test_a_tool_that_runs_ends_with_an_interrupt(chat: Chat, tmp_path: Path) -> None:
    """Nothing of it finishes after the session is idle."""
    await chat.send(f"[[sh:{side_effect(tmp_path)}]][[text:Done.]]")
    await chat.answer(allow=True)
    await until_running(chat)
    assert await chat.client.interrupt(chat.id)
    assert await chat.idle() == "interrupted"
    await chat.daemon.stop()
    check_unfinished(tmp_path)
    await chat.daemon.start()


async def test_two_sessions_at_once(chat: Chat, tmp_path: Path) -> None:
    """Each waits for its own, and gets its own."""
    other = await chat.another()
    gate = tmp_path / "gate"
    await chat.send(f"[[text:One begins.]][[wait:{gate}]][[text: One ends.]]")
    await chat.until_saying("One begins. One ends.")
    assert await other.turn("[[text:Two.]]") == "completed"
    gate.touch()
    assert await chat.idle() == "completed"
    assert "".join(await chat.texts("assistant")) == "One begins. One ends."
    assert await other.texts("assistant") == ["Two."]


async def test_a_lot_of_output(chat: Chat) -> None:
    """300 KB of a tool's output are kept in bounds, and the turn goes on."""
    await chat.send("[[sh:head -c 300000 /dev/zero | tr '\\0' 'y']][[text:That was much.]]")
    await chat.answer(allow=True)
    assert await chat.idle() == "completed"
    assert (await chat.texts("assistant"))[-1] == "That was much."
    (result,) = await chat.of("tool-result")
    assert "yyyy" in result["output"]
    assert len(result["output"]) < 300_000


@pytest.mark.parametrize("fault", ["error:400", "error:500", "cut"])
async def test_a_fault_of_the_model(chat: Chat, model: FakeModel, fault: str) -> None:
    """The turn ends with a reason, by itself or by an interrupt, and the next one works."""
    await chat.send(f"[[{fault}]]")
    idle = asyncio.ensure_future(chat.idle())
    again = asyncio.ensure_future(asyncio.to_thread(model.wait_until_asked, 2, PATIENCE))
    await asyncio.wait({idle, again}, return_when=asyncio.FIRST_COMPLETED)
    if not idle.done():  # it tries again and again, as agents do with faults that may pass
        assert await chat.client.interrupt(chat.id)
    outcome = await idle
    again.cancel()
    assert outcome in ("failed", "interrupted", "completed")
    if outcome == "failed":
        assert (await chat.ends())[-1]["problem"]["message"]
    assert await chat.turn("[[text:Next.]]") == "completed"
    assert (await chat.texts("assistant"))[-1] == "Next."


async def test_a_model_that_hangs(chat: Chat, model: FakeModel) -> None:
    """An interrupt ends it, and the next prompt works."""
    await chat.send("[[hang]]")
    await asyncio.to_thread(model.wait_until_asked, 1, PATIENCE)
    assert await chat.client.interrupt(chat.id)
    assert await chat.idle() == "interrupted"
    assert await chat.turn("[[text:Next.]]") == "completed"

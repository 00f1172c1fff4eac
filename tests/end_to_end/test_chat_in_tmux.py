"""`spaced chat` in a real terminal, against a real daemon that is also killed under it."""

import shutil
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from spaced.client import calls
from spaced.client.client import Client
from spaced.identifiers import IdGenerator
from tests.end_to_end.daemons import Daemon
from tests.end_to_end.tmux_terminal import TmuxTerminal

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")

LONG_REPLY = [
    {"do": "say", "text": "word " * 400, "piece_length": 5},
    {"do": "hang"},
]
ASKING = [
    {
        "do": "tool",
        "name": "look",
        "title": "Look around",
        "kind": "read",
        "arguments": {"path": "a\u202eb"},
        "permission": True,
        "output": "nothing there",
    },
    {"do": "say", "text": "I have looked."},
]
SCRIPT = {
    "hello": [{"do": "say", "text": "Good morning.", "piece_length": 3}],
    "look": ASKING,
    "hang": [{"do": "say", "text": "Working"}, {"do": "hang"}],
    "count": LONG_REPLY,
}


@pytest.fixture
async def daemon() -> AsyncIterator[Daemon]:
    """A daemon in a process of its own."""
    async with Daemon.running("--no-tcp") as daemon:
        yield daemon


async def new_chat(daemon: Daemon) -> str:
    """Return a chat with an agent that plays a script."""
    new_id = IdGenerator(lambda: 0).new
    definition = {
        "name": "Scripted",
        "agent_name": "scripted",
        "runtime": "scripted",
        "options": {"script": SCRIPT},
    }
    client = daemon.client()
    profile = await client.do(calls.create_profile(new_id("prof"), definition))
    session = await client.create_session(profile=profile.id, directory=str(daemon.folder))
    return session.id


@asynccontextmanager
async def in_terminal(
    daemon: Daemon, *arguments: str, environment: Mapping[str, str] | None = None
) -> AsyncIterator[TmuxTerminal]:
    """Run a command of spaced in a terminal."""
    command = [sys.executable, "-P", "-m", "spaced", *arguments]
    told = {"SPACED_DATA_DIR": str(daemon.folder), **(environment or {})}
    async with TmuxTerminal.running(command, environment=told) as terminal:
        yield terminal


def chatting(
    daemon: Daemon, *arguments: str, environment: Mapping[str, str] | None = None
) -> AbstractAsyncContextManager[TmuxTerminal]:
    """Chat in a terminal."""
    return in_terminal(daemon, "chat", *arguments, environment=environment)


async def messages(client: Client, session_id: str) -> Sequence[tuple[Any, Any]]:
    """Return who said what."""
    page = await client.items(session_id)
    return [(i["role"], i["content"]) for i in page.items if i["type"] == "message"]


async def test_a_prompt_is_typed_and_its_reply_streams_in(daemon: Daemon) -> None:
    """The two things that a chat is for; then one leaves, and the session stays."""
    chat = await new_chat(daemon)
    async with chatting(daemon, chat) as terminal:
        await terminal.until("idle")
        await terminal.type("hello")
        await terminal.until("> hello\nGood morning.\n", "idle")
        await terminal.press("C-d")
        shown = await terminal.ended()

        assert f"come back with: spaced chat {chat}" in shown
        assert terminal.exit_code() == 0
    assert await messages(daemon.client(), chat) == [
        ("user", "hello"),
        ("assistant", "Good morning."),
    ]


async def test_a_permission_is_shown_exactly_and_answered_with_a_key(daemon: Daemon) -> None:
    """What would hide in the arguments is visible, and one letter lets the tool run."""
    chat = await new_chat(daemon)
    async with chatting(daemon, chat) as terminal:
        await terminal.until("idle")
        await terminal.type("look")
        await terminal.until("? may it read: Look around", "a\\u202eb", "answer (1 2 3 y a n)>")
        await terminal.type("y")
        await terminal.until("answered: Allow once", "  | nothing there", "I have looked.")


async def test_ctrl_c_interrupts_the_turn_and_not_the_chat(daemon: Daemon) -> None:
    """A key that ends programs ends the agent's turn; the next prompt is answered."""
    chat = await new_chat(daemon)
    async with chatting(daemon, chat) as terminal:
        await terminal.until("idle")
        await terminal.type("hang")
        await terminal.until("Working", "busy, Ctrl-C interrupts")
        await terminal.press("C-c")
        await terminal.until("- interrupted\n", "idle")
        await terminal.type("hello")
        await terminal.until("Good morning.\n")


async def test_what_is_typed_while_a_reply_streams_stays_in_one_piece(daemon: Daemon) -> None:
    """The line that is being typed and the text that comes do not get into each other."""
    chat = await new_chat(daemon)
    async with chatting(daemon, chat) as terminal:
        await terminal.until("idle")
        await terminal.type("count")
        await terminal.until("word word")
        await terminal.press("h", "e", "l", "l", "o")
        await terminal.until("\n> hello")
        await terminal.press("Enter")
        await terminal.until("- queued as number 1: hello")
        await terminal.press("C-c")
        await terminal.until("the queue is paused, 1 waiting")
        await terminal.type("/resume")
        await terminal.until("> hello\nGood morning.\n")


async def test_a_daemon_that_is_killed_and_started_again_costs_nothing(daemon: Daemon) -> None:
    """Said once; the cut turn is closed visibly; what was typed meanwhile is answered, once."""
    chat = await new_chat(daemon)
    async with chatting(daemon, chat) as terminal:
        await terminal.until("idle")
        await terminal.type("hang")
        await terminal.until("Working", "busy")
        await daemon.kill()
        await terminal.until("the daemon is away, waiting")
        await terminal.type("hello")
        await terminal.until("kept until it can be sent: hello")
        await daemon.start()
        shown = await terminal.until("the daemon is back", "> hello\nGood morning.\n")

    assert shown.count("the daemon is away, waiting") == 1
    assert shown.count("> hello") == 1
    assert "restarted while this turn was running" in shown
    said = await messages(daemon.client(), chat)
    assert [text for role, text in said if role == "user"] == ["hang", "hello"]
    assert said[-1] == ("assistant", "Good morning.")


async def test_a_terminal_without_colours_gets_none(daemon: Daemon) -> None:
    """NO_COLOR is obeyed, and everything can be told apart without."""
    chat = await new_chat(daemon)
    async with chatting(daemon, chat, environment={"NO_COLOR": "1"}) as terminal:
        await terminal.until("idle")
        await terminal.type("hello")
        await terminal.until("> hello\nGood morning.\n")
        shown = await terminal.screen(with_styles=True)

    assert "\x1b[" not in shown.replace("\x1b[39m", "").replace("\x1b[49m", "")


async def test_a_terminal_that_can_do_nothing_is_enough(daemon: Daemon) -> None:
    """Without any cursor movement the same chat goes on line by line."""
    chat = await new_chat(daemon)
    async with chatting(daemon, chat, environment={"TERM": "dumb"}) as terminal:
        await terminal.until("/help")
        await terminal.type("hello")
        await terminal.until("Good morning.\n")
        await terminal.press("C-d")
        await terminal.ended()

        assert terminal.exit_code() == 0


async def test_a_termination_leaves_the_terminal_as_it_was(daemon: Daemon) -> None:
    """A service manager or a closed lid ends the chat; the session goes on."""
    chat = await new_chat(daemon)
    async with chatting(daemon, chat) as terminal:
        await terminal.until("idle")
        terminal.end_program()
        shown = await terminal.ended()

        assert "come back with" in shown
        assert terminal.exit_code() == 143


async def test_a_chat_without_a_session_begins_one_and_says_how_to_come_back(
    daemon: Daemon,
) -> None:
    """The shortest way to a first answer."""
    chat = await new_chat(daemon)
    profile = str((await daemon.client().session(chat)).agent_id)
    folder = str(daemon.folder)
    arguments = ("--profile", profile, "--dir", folder, "--title", "A first look")
    async with chatting(daemon, *arguments) as terminal:
        shown = await terminal.until("come back with: spaced chat ses_", "idle · A first look")
        await terminal.type("hello")
        await terminal.until("> hello\nGood morning.\n")
    begun = shown.split("spaced chat ")[1].split()[0]

    assert begun != chat
    assert (await daemon.client().session(begun)).directory == folder


async def test_a_tail_prints_what_happens_until_ctrl_c(daemon: Daemon) -> None:
    """Over a restart too; a key ends it without a word."""
    chat = await new_chat(daemon)
    async with in_terminal(daemon, "tail", chat, "--after", await _beginning(daemon)) as terminal:
        await terminal.until("agent-session-created")
        await daemon.client().prompt(chat, "hello")
        await terminal.until("user message: hello", "outcome=completed")
        await daemon.kill()
        await terminal.until("the daemon is away, waiting")
        await daemon.start()
        await daemon.client().prompt(chat, "look")
        await terminal.until("the daemon is back", "read: Look around")
        await terminal.press("C-c")
        shown = await terminal.ended()

        assert terminal.exit_code() == 130
    assert "Traceback" not in shown
    assert shown.count("user message: hello") == 1


async def _beginning(daemon: Daemon) -> str:
    log_id = (await daemon.client().status()).log_id
    return f"{log_id}.0"

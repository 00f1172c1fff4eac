"""Without a script the agent does what a newcomer can try."""

import os
from pathlib import Path

import pytest

from spaced.runtime.protocol import PermissionAnswer
from spaced.runtime.updates import PermissionWanted, TextAppended
from spaced.testing.runtime_harness import OpenAgent
from tests.contract.scripted_harness import ScriptedHarness, profile_with
from tests.unit.scripted.playing import finished, has_file, items_of, write_file


async def ask(agents: ScriptedHarness, prompt: str, files: dict[str, str | bytes]) -> OpenAgent:
    """Prompt the default agent in a folder with files."""
    agent = await agents.open_with(profile_with(None))
    for name, content in files.items():
        write_file(agent, name, content)
    await agent.prompt(prompt)
    return agent


async def test_it_repeats_what_it_is_told(agents: ScriptedHarness) -> None:
    """In small pieces."""
    agent = await ask(agents, "Tell me something that I do not know, please, and soon.", {})
    await finished(agent)
    assert "Tell me something that I do not know" in agent.sink.text()
    assert len(agent.sink.of(TextAppended)) > 2


async def test_it_says_what_it_can_do(agents: ScriptedHarness) -> None:
    """Whoever asks for help gets it."""
    agent = await ask(agents, "help", {})
    await finished(agent)
    assert all(f"`{word}" in agent.sink.text() for word in ("list", "read", "run", "recall"))


@pytest.mark.parametrize("prompt", ["list", "ls", " LS "])
async def test_it_lists_the_folder(prompt: str, agents: ScriptedHarness) -> None:
    """In order, folders marked."""
    agent = await ask(agents, prompt, {"b.txt": "", "a/c.txt": ""})
    await finished(agent)
    assert agent.sink.text("tool-result", "output") == "a/\nb.txt"
    assert "`a/`" in agent.sink.text()


async def test_it_reads_a_file(agents: ScriptedHarness) -> None:
    """Shown in a fence that the text cannot close."""
    agent = await ask(agents, "read notes/a.md", {"notes/a.md": "one\n```\ntwo"})
    await finished(agent)
    assert agent.sink.text("tool-result", "output") == "one\n```\ntwo"
    assert "````\none\n```\ntwo\n````" in agent.sink.text()


async def test_it_reads_no_more_than_it_should(agents: ScriptedHarness) -> None:
    """A large file is cut off, and said to be."""
    agent = await ask(agents, "read big", {"big": "x" * 200_000})
    await finished(agent)
    output = agent.sink.text("tool-result", "output")
    assert output.startswith("x" * 65536 + "\n")
    assert "the first 65536 bytes" in output


@pytest.mark.parametrize("name", ["../secret", "/etc/hostname", "link", "folder", "none", "pipe"])
async def test_it_reads_nothing_else(name: str, agents: ScriptedHarness, tmp_path: Path) -> None:
    """Neither outside of the folder, nor through a link, nor what is no file."""
    folder = agents.folder / "ses-1"
    (folder / "folder").mkdir(parents=True)
    (folder.parent / "secret").write_text("the secret")
    (folder / "link").symlink_to(folder.parent / "secret")
    os.mkfifo(folder / "pipe")
    agent = await ask(agents, f"read {name}", {})
    await finished(agent)
    assert items_of(agent, "tool-result")[0]["is_error"] is True
    assert "the secret" not in agent.sink.text()


async def test_it_reads_no_binary(agents: ScriptedHarness) -> None:
    """A picture is no text."""
    agent = await ask(agents, "read x", {"x": b"\x89PNG\0\0"})
    await finished(agent)
    assert "is not a text" in agent.sink.text()


async def test_it_runs_a_command_if_allowed(agents: ScriptedHarness) -> None:
    """In the folder, found on the path, without a shell."""
    agent = await ask(agents, "run ls -a 'a b.txt'", {"a b.txt": ""})
    wanted = await agent.sink.until_one(PermissionWanted)
    assert (wanted.tool_kind, wanted.subject) == ("execute", "ls -a 'a b.txt'")
    await agent.connection.answer(
        wanted.ask_id, PermissionAnswer(option_id="allow", is_allowed=True)
    )
    await finished(agent)
    assert agent.sink.text("tool-result", "output").strip() == "a b.txt"
    assert items_of(agent, "tool-call")[0]["status"] == "completed"


async def test_it_runs_nothing_that_is_rejected(agents: ScriptedHarness) -> None:
    """The call is shown as failed, with what the person said."""
    agent = await ask(agents, "run rm precious", {"precious": "x"})
    wanted = await agent.sink.until_one(PermissionWanted)
    rejected = PermissionAnswer(option_id="reject", is_allowed=False, message="keep it")
    await agent.connection.answer(wanted.ask_id, rejected)
    assert (await finished(agent)).outcome == "completed"
    assert "keep it" in agent.sink.text("tool-result", "output")
    assert has_file(agent, "precious")
    assert not agents.processes.ever


@pytest.mark.parametrize("prompt", ["run no-such-program-here", "run 'unclosed", "run ''"])
async def test_a_command_that_is_none_is_explained(prompt: str, agents: ScriptedHarness) -> None:
    """No traceback, no hanging turn."""
    agent = await ask(agents, prompt, {})
    if "unclosed" not in prompt:
        wanted = await agent.sink.until_one(PermissionWanted)
        await agent.connection.answer(
            wanted.ask_id, PermissionAnswer(option_id="allow", is_allowed=True)
        )
    assert (await finished(agent)).outcome == "completed"
    said = agent.sink.text("tool-result", "output") + agent.sink.text()
    assert "there is no program" in said or "cannot read that command" in said


async def test_it_recalls_what_was_said(agents: ScriptedHarness) -> None:
    """Over all turns of the conversation."""
    agent = await ask(agents, "remember the milk", {})
    await finished(agent)
    await agent.prompt("recall", turn_id="turn-2")
    await finished(agent, "turn-2")
    assert "1. remember the milk" in agent.sink.text()

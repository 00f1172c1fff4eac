"""The OpenCode runtime against the real `opencode serve`, whose model is a fake on loopback."""

import asyncio
import os
import re
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from spaced.clock import SystemClock
from spaced.domain.profile import Profile
from spaced.runtime.protocol import PermissionAnswer, RuntimeServices, Turn
from spaced.runtime.updates import AgentRetrying, PermissionWanted, TextAppended, TurnFinished
from spaced.testing.recording_sink import RecordingSink
from spaced.testing.runtime_harness import Behaviour, OpenAgent, RuntimeHarness, prompt_with
from spaced_opencode.runtime import OpenCodeRuntime
from tests.contract.opencode_harness import opencode_profile
from tests.real_agents.agents import set_up
from tests.real_agents.fake_model.server import FakeModel, fake_model
from tests.real_agents.installing import program, why_missing

_PATIENCE: Final = 60.0
_SECRET: Final = "open sesame"
_LISTENING: Final = re.compile(r"listening on http://127\.0\.0\.1:(\d+)")


class RealServer:
    """The real program as a process; it keeps its port when it is started again."""

    def __init__(self, environment: Mapping[str, str], folder: Path, model_port: int) -> None:
        self.port = 0
        self.model_port = model_port
        self.environment = environment
        self.folder = folder
        self._process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it and return once it listens."""
        command = [str(program("opencode")), "serve", "--hostname", "127.0.0.1"]
        command += ["--port", str(self.port)]
        self._process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=dict(self.environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if (found := _LISTENING.search(line)) is not None:
                self.port = int(found[1])
                return
        raise AssertionError("the real server has ended without listening")

    def kill(self) -> None:
        """Let it die with all that it has started, without a word."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process = None


class RealHarness(RuntimeHarness):
    """Opens sessions on the real server, in real time."""

    def __init__(self, server: RealServer, scratch: Path, project: Path) -> None:
        super().__init__(
            OpenCodeRuntime,
            scratch,
            environment={"SECRET": _SECRET},
            patience_seconds=_PATIENCE,
        )
        self.server = server
        self.project = project

    def profile_that(self, behaviour: Behaviour) -> Profile | None:
        """Return nothing: here the prompts say what happens."""
        del behaviour
        return None

    def services(self) -> RuntimeServices:
        """Return what a runtime is lent, with the machine's clock."""
        return replace(super().services(), clock=SystemClock())

    def session_for(self, profile: Profile, *, session_id: str = "ses-1") -> Any:
        """Return a session in the folder that the server was configured in."""
        return replace(
            super().session_for(profile, session_id=session_id), directory=str(self.project)
        )

    async def begin(self, session_id: str = "ses-1", **fields: Any) -> OpenAgent:
        """Open a session."""
        options = {"password_variable": "SECRET"}
        profile = opencode_profile(self.server.url, options=options, **fields)
        return await self.open_with(profile, session_id=session_id)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """One real server: it takes long to start, and serves many sessions as it does for people."""
    if (missing := why_missing("opencode")) is not None:
        pytest.skip(missing)
    folder = tmp_path_factory.mktemp("server")
    project = folder / "project"
    # Each test has a model of its own, at the place where the server looks for it.
    model = FakeModel(_free_port())
    told = set_up("opencode", folder / "home", project, model).profile["environment"]
    environment = dict(line.split("=", 1) for line in told)
    environment |= {"PATH": os.environ["PATH"], "OPENCODE_SERVER_PASSWORD": _SECRET}
    server = RealServer(environment, project, model.port)
    server.start()
    yield server
    server.kill()


@pytest.fixture
def model(server: RealServer) -> Iterator[FakeModel]:
    """The model that the server asks."""
    with fake_model(server.model_port) as model:
        yield model


@pytest.fixture
async def agents(
    tmp_path: Path, server: RealServer, model: FakeModel
) -> AsyncIterator[RealHarness]:
    """What opens sessions on the server."""
    harness = RealHarness(server, tmp_path / "scratch", server.folder)
    yield harness
    await harness.close()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


async def ended(agent: OpenAgent, turn_id: str = "turn-1") -> TurnFinished:
    """Return how a turn ended."""
    ending = await agent.sink.end_of(turn_id)
    assert isinstance(ending, TurnFinished), ending
    return ending


async def allow(agent: OpenAgent, *, is_allowed: bool) -> None:
    """Answer the newest permission."""
    ask = agent.sink.of(PermissionWanted)[-1]
    option = "once" if is_allowed else "reject"
    answer = PermissionAnswer(option_id=option, is_allowed=is_allowed)
    assert await agent.connection.answer(ask.ask_id, answer)


def call_statuses(agent: OpenAgent) -> list[object]:
    """Return how the tool calls stand."""
    return [i["status"] for i in agent.sink.items().values() if i["type"] == "tool-call"]


async def test_a_text_turn(agents: RealHarness) -> None:
    """The simplest turn, twice, so that the second prompt has a place after the first."""
    agent = await agents.begin()
    for number in (1, 2):
        await agent.prompt(f"[[text:this is answer {number}]]", turn_id=f"turn-{number}")
        ending = await ended(agent, f"turn-{number}")
        assert (ending.outcome, ending.problem) == ("completed", None)
        assert ending.usage
    assert agent.sink.text() == "this is answer 1this is answer 2"
    assert len(agent.sink.of(TextAppended)) >= 2


async def test_a_tool_that_is_allowed_and_one_that_is_not(agents: RealHarness) -> None:
    """The permission reaches us with its command, and the answer reaches the tool."""
    agent = await agents.begin()
    await agent.prompt("[[sh:echo made by a tool]][[text:done]]")
    ask = await agent.sink.until_one(PermissionWanted)
    assert (ask.tool_kind, ask.subject) == ("execute", "echo made by a tool")
    await allow(agent, is_allowed=True)
    assert (await ended(agent)).outcome == "completed"
    assert call_statuses(agent) == ["completed"]
    assert "made by a tool" in agent.sink.text("tool-result", "output")

    await agent.prompt("[[sh:echo never made]][[text:done]]", turn_id="turn-2")
    await agent.sink.until_one(PermissionWanted, number=2)
    await allow(agent, is_allowed=False)
    assert (await ended(agent, "turn-2")).outcome == "completed"
    assert call_statuses(agent) == ["completed", "failed"]


async def test_an_interrupt_ends_the_turn(agents: RealHarness) -> None:
    """And the next turn goes on in the same session."""
    agent = await agents.begin()
    await agent.prompt("[[text:so far and no further]][[hang]]")
    await agent.sink.until_one(TextAppended)
    await agent.connection.interrupt("turn-1")
    assert (await ended(agent)).outcome == "interrupted"
    await agent.prompt("[[text:still here]]", turn_id="turn-2")
    assert (await ended(agent, "turn-2")).outcome == "completed"
    assert "still here" in agent.sink.text()


async def test_an_interrupt_right_after_the_start_is_not_lost(agents: RealHarness) -> None:
    """The real server answers a prompt long before it begins with it."""
    agent = await agents.begin()
    await agent.prompt("[[hang]]")
    await agent.connection.interrupt("turn-1")
    assert (await ended(agent)).outcome == "interrupted"


async def test_two_sessions_at_once(agents: RealHarness) -> None:
    """One server serves both, and neither hears of the other."""
    one, two = await agents.begin("ses-1"), await agents.begin("ses-2")
    async with asyncio.TaskGroup() as group:
        group.create_task(one.prompt("[[text:apples and pears]]"))
        group.create_task(two.prompt("[[text:stones and sticks]]"))
    assert (await ended(one)).outcome == (await ended(two)).outcome == "completed"
    assert (one.sink.text(), two.sink.text()) == ("apples and pears", "stones and sticks")


async def test_a_steer_is_answered_in_the_same_turn(agents: RealHarness, tmp_path: Path) -> None:
    """A prompt into a turn is stored at once and is not left lying at its end."""
    gate = tmp_path / "gate"
    agent = await agents.begin()
    await agent.prompt(f"[[text:first]][[wait:{gate}]]")
    await agent.sink.until_one(TextAppended)
    steer = (prompt_with("[[text:second]]", prompt_id="msg-2"),)
    assert await agent.connection.steer("turn-1", steer)
    gate.touch()
    assert (await ended(agent)).outcome == "completed"
    assert agent.sink.text() == "firstsecond"


async def test_a_second_runtime_finds_the_turn_in_the_middle(
    agents: RealHarness, tmp_path: Path
) -> None:
    """As after a restart of the daemon: an ask is told again, and the turn goes on to its end."""
    gate = tmp_path / "gate"
    agent = await agents.begin()
    prompt = f"[[sh:echo made by a tool]][[text:before ]][[wait:{gate}]][[text:after]]"
    await agent.prompt(prompt)
    await agent.sink.until_one(PermissionWanted)
    later = await taken_over(agents, agent)
    await later.sink.until_one(PermissionWanted)
    await allow(later, is_allowed=True)
    await later.sink.until_one(TextAppended)
    last = await taken_over(agents, later)
    gate.touch()
    assert (await ended(last)).outcome == "completed"
    assert last.sink.text() == "before after"
    assert call_statuses(last) == ["completed"]


async def taken_over(agents: RealHarness, agent: OpenAgent) -> OpenAgent:
    """Let go of a session and find its turn again with another runtime."""
    told = agent.sink.continuity()
    assert told is not None
    await agent.runtime.close()
    runtime, sink = agents.new_runtime(), RecordingSink(patience_seconds=_PATIENCE)
    connection = await runtime.reattach(agent.session, told.continuity, sink, "turn-1")
    assert connection is not None
    sink.updates.append(told)
    return OpenAgent(runtime=runtime, session=agent.session, connection=connection, sink=sink)


async def test_a_permission_of_an_agent_that_the_agent_has_begun(agents: RealHarness) -> None:
    """It waits in a session of its own, and the answer has to come through ours."""
    agent = await agents.begin()
    await agent.prompt("[[text:at it]][[hang]]")
    await agent.sink.until_one(TextAppended)
    told = agent.sink.continuity()
    assert told is not None
    api = agent.connection._agent.api  # type: ignore[attr-defined]
    child = await api._ask("POST", "/session", {"parentID": told.continuity["id"]})
    text = {"type": "text", "text": "[[sh:echo made by a child]]"}
    await api.prompt(child["id"], {"parts": [text]})
    ask = await agent.sink.until_one(PermissionWanted)
    assert (ask.subject, ask.tool_call["conversation"]) == ("echo made by a child", child["id"])
    await allow(agent, is_allowed=True)
    await agent.connection.interrupt("turn-1")
    assert (await ended(agent)).outcome == "interrupted"


async def test_a_folder_behind_a_link_is_the_same_folder(
    agents: RealHarness, tmp_path: Path
) -> None:
    """The server tells events only to those who call a folder as it does."""
    link = tmp_path / "link"
    link.symlink_to(agents.project)
    agents.project = link
    agent = await agents.begin()
    await agent.prompt("[[text:found it]]")
    assert (await ended(agent)).outcome == "completed"


async def test_a_server_that_dies_in_the_middle_fails_the_turn(agents: RealHarness) -> None:
    """It comes back idle and knows nothing of the turn's end; the next turn is as any other."""
    agent = await agents.begin()
    await agent.prompt("[[text:so far and no further]][[hang]]")
    await agent.sink.until_one(TextAppended)
    await asyncio.to_thread(agents.server.kill)
    await agent.sink.until_one(AgentRetrying)
    await asyncio.to_thread(agents.server.start)
    ending = await ended(agent)
    assert ending.outcome == "failed"
    assert ending.problem is not None
    assert ending.problem.code == "agent-lost-turn"
    await agent.prompt("[[text:back again]]", turn_id="turn-2")
    assert (await ended(agent, "turn-2")).outcome == "completed"
    assert "back again" in agent.sink.text()


async def test_a_conversation_is_compacted_and_forgotten(agents: RealHarness) -> None:
    """The same session goes on after the one, and a new one begins after the other."""
    agent = await agents.begin()
    await agent.prompt("[[text:first]]")
    await ended(agent)
    before = agent.sink.continuity()
    assert await agent.connection.compact()
    assert any(item.get("event") == "compaction" for item in agent.sink.items().values())
    await agent.connection.forget()
    await agent.prompt("[[text:second]]", turn_id="turn-2")
    assert (await ended(agent, "turn-2")).outcome == "completed"
    after = agent.sink.continuity()
    assert before is not None
    assert after is not None
    assert before.continuity["id"] != after.continuity["id"]


async def test_what_goes_before_the_prompts_reaches_the_model(
    agents: RealHarness, model: FakeModel
) -> None:
    """It is hidden from the server's own clients, not from its model."""
    agent = await agents.begin()
    turn = Turn(
        id="turn-1",
        prompts=(prompt_with("and now?"),),
        instructions="the words of a workflow",
        history="what was said before",
    )
    await agent.connection.start_turn(turn)
    assert (await ended(agent)).outcome == "completed"
    said = "\n".join(model.conversations[-1])
    assert "what was said before" in said
    assert "the words of a workflow" in said


async def test_a_probe_tells_versions_and_a_wrong_password(agents: RealHarness) -> None:
    """What is missing is said before anybody waits for it."""
    runtime = agents.new_runtime()
    profile = opencode_profile(agents.server.url, options={"password_variable": "SECRET"})
    report = await runtime.probe(profile, {"SECRET": _SECRET})
    assert report.problem is None
    assert report.details["models"]
    report = await runtime.probe(profile, {"SECRET": "wrong"})
    assert report.problem is not None
    assert report.problem.code == "agent-unauthorized"


async def test_a_command_serves_a_session_of_its_own(agents: RealHarness) -> None:
    """A profile without an address starts a server, and nothing of it is left in the end."""
    environment = {name: value for name, value in agents.server.environment.items() if value}
    environment.pop("OPENCODE_SERVER_PASSWORD")
    agents.environment.update(environment)
    agent = await agents.open_with(opencode_profile(command=(str(program("opencode")),)))
    await agent.prompt("[[text:of my own]]")
    assert (await ended(agent)).outcome == "completed"
    assert agents.processes.alive()
    await agent.connection.close(2000)
    assert not agents.processes.alive()

"""Sessions on the small server, with time that a test lets pass and runs that it plays."""

import asyncio
from collections.abc import Callable
from typing import Any

from spaced.domain.json_values import JsonObject
from spaced.runtime.updates import ExecutionFinished, PromptNotTaken, TurnFinished
from spaced.testing.recording_sink import RecordingSink
from spaced.testing.runtime_harness import OpenAgent
from spaced.testing.samples import next_turn
from tests.contract.opencode_harness import OpenCodeHarness, opencode_profile
from tests.contract.opencode_runs import Run


class Sessions(OpenCodeHarness):
    """Opens sessions whose model is played by hand, if nothing else is said."""

    async def begin(
        self,
        model: str = "by hand",
        *,
        session_id: str = "ses-1",
        continuity: JsonObject | None = None,
        **fields: Any,
    ) -> OpenAgent:
        """Open a session; the server chooses if no model is named."""
        chosen = f"fake/{model}" if model else ""
        profile = opencode_profile(self.server.url, model=chosen, **fields)
        return await self.open_with(profile, session_id=session_id, continuity=continuity)

    async def begin_turn(self, model: str = "by hand") -> tuple[OpenAgent, Run]:
        """Open a session and return its first run."""
        agent = await self.begin(model)
        await agent.prompt()
        return agent, await self.run_of(agent)

    async def run_of(self, agent: OpenAgent) -> Run:
        """Return the run of a session, once it has begun."""
        session_id = self.id_of(agent)
        await self.until(lambda: session_id in self.server.runs)
        return self.server.runs[session_id]

    def id_of(self, agent: OpenAgent) -> str:
        """Return the server's name for a session."""
        told = agent.sink.continuity()
        assert told is not None
        return str(told.continuity["id"])

    async def find_again(self, agent: OpenAgent, turn_id: str = "turn-1") -> OpenAgent | None:
        """Let go of a session as a daemon that dies does, and look for its turn with another."""
        told = agent.sink.continuity()
        assert told is not None
        await agent.runtime.close()
        runtime, sink = self.new_runtime(), RecordingSink()
        sink.updates.append(told)
        looking = asyncio.ensure_future(
            runtime.reattach(agent.session, told.continuity, sink, turn_id)
        )
        await self.pass_time_until(looking.done)
        connection = await looking
        if connection is None:
            return None
        return OpenAgent(runtime=runtime, session=agent.session, connection=connection, sink=sink)

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait, without any time passing, until something is so."""
        async with asyncio.timeout(self.patience_seconds):
            while not is_so():
                await next_turn()

    async def pass_time_until(self, is_so: Callable[[], bool]) -> None:
        """Let time pass until something is so."""
        async with asyncio.timeout(self.patience_seconds):
            while not is_so():
                self.clock.advance(milliseconds=50)
                await next_turn()

    async def end_in_time(
        self, agent: OpenAgent, turn_id: str = "turn-1"
    ) -> TurnFinished | PromptNotTaken | ExecutionFinished:
        """Let time pass until a turn has ended, and return its end."""
        await self.pass_time_until(lambda: bool(agent.sink.ends_of(turn_id)))
        return agent.sink.ends_of(turn_id)[0]


def finished(ending: object) -> TurnFinished:
    """Return the end of a turn that has come to one."""
    assert isinstance(ending, TurnFinished), ending
    return ending


def code_of(ending: object) -> str | None:
    """Return why a turn has failed."""
    problem = finished(ending).problem
    return None if problem is None else problem.code

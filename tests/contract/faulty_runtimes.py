"""Runtimes that do one thing wrongly: the scripted one, with something before its connections.

`tests.contract.faulty_reports` has those that report wrongly.
"""

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import replace

from spaced.domain.json_values import JsonObject
from spaced.domain.profile import Profile
from spaced.runtime.child import ChildRequest
from spaced.runtime.protocol import (
    AgentConnection,
    AskAnswer,
    ConfigureReport,
    PermissionAnswer,
    ProbeReport,
    Prompt,
    RuntimeServices,
    SessionSpec,
    Sink,
    Turn,
)
from spaced.runtime.updates import (
    TurnFinished,
    Update,
)
from spaced_scripted.runtime import ScriptedRuntime


class PassingSink:
    """Hands on what is reported."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    async def report(self, update: Update) -> None:
        await self._sink.report(update)


class PassingConnection:
    """Does what it is told."""

    def __init__(self, inner: AgentConnection, runtime: "FaultyRuntime", sink: Sink) -> None:
        self._inner = inner
        self._runtime = runtime
        self._sink = sink
        self._is_closed = False
        self._turn_id = ""

    async def start_turn(self, turn: Turn) -> None:
        self._turn_id = turn.id
        await self._inner.start_turn(turn)

    async def steer(self, turn_id: str, prompts: tuple[Prompt, ...]) -> bool:
        return await self._inner.steer(turn_id, prompts)

    async def interrupt(self, turn_id: str) -> None:
        await self._inner.interrupt(turn_id)

    async def answer(self, ask_id: str, answer: AskAnswer) -> bool:
        return await self._inner.answer(ask_id, answer)

    async def configure(self, changes: JsonObject) -> ConfigureReport:
        return await self._inner.configure(changes)

    async def compact(self) -> bool:
        return await self._inner.compact()

    async def forget(self) -> None:
        await self._inner.forget()

    async def close(self, grace_ms: int) -> None:
        self._is_closed = True
        await self._inner.close(grace_ms)


class FaultyRuntime(ScriptedRuntime):
    """Puts something before the connection and something before the sink."""

    sink_type: type[PassingSink] = PassingSink
    connection_type: type[PassingConnection] = PassingConnection

    def __init__(self, config: Mapping[str, object], services: RuntimeServices) -> None:
        super().__init__(config, services)
        self.services = services

    async def end(self) -> None:
        """Close although closing may be the fault."""
        await ScriptedRuntime.close(self)

    async def open(
        self, session: SessionSpec, continuity: JsonObject | None, sink: Sink
    ) -> AgentConnection:
        inner = await super().open(session, continuity, self.sink_type(sink))
        return self.connection_type(inner, self, sink)


class FinishesAnInterruptedTurnTwice(FaultyRuntime):
    """Ends a turn at once when it is interrupted, and again when it ends."""

    class connection_type(PassingConnection):  # noqa: N801
        async def interrupt(self, turn_id: str) -> None:
            await self._sink.report(TurnFinished(turn_id=turn_id, outcome="interrupted"))
            await super().interrupt(turn_id)


class IgnoresInterrupts(FaultyRuntime):
    """Never ends a turn before its time."""

    class connection_type(PassingConnection):  # noqa: N801
        async def interrupt(self, turn_id: str) -> None:
            return


class InterruptsWhateverRuns(FaultyRuntime):
    """Does not look at which turn is meant."""

    class connection_type(PassingConnection):  # noqa: N801
        async def interrupt(self, turn_id: str) -> None:
            await super().interrupt(self._turn_id)


class ForgetsAnEarlyInterrupt(FaultyRuntime):
    """Loses an interrupt that comes before it has said anything."""

    class connection_type(PassingConnection):  # noqa: N801
        async def interrupt(self, turn_id: str) -> None:
            if getattr(self._sink, "updates", None):
                await super().interrupt(turn_id)


class AlwaysTakesAnswers(FaultyRuntime):
    """Says yes to an answer whose ask nobody knows."""

    class connection_type(PassingConnection):  # noqa: N801
        async def answer(self, ask_id: str, answer: AskAnswer) -> bool:
            await super().answer(ask_id, answer)
            return True


class TakesASecondAnswer(FaultyRuntime):
    """Says yes to each answer of an ask that it once had."""

    class connection_type(PassingConnection):  # noqa: N801
        def __init__(self, inner: AgentConnection, runtime: FaultyRuntime, sink: Sink) -> None:
            super().__init__(inner, runtime, sink)
            self._answered: set[str] = set()

        async def answer(self, ask_id: str, answer: AskAnswer) -> bool:
            if await super().answer(ask_id, answer):
                self._answered.add(ask_id)
            return ask_id in self._answered


class AllowsWhatWasRejected(FaultyRuntime):
    """Hears a yes in every answer."""

    class connection_type(PassingConnection):  # noqa: N801
        async def answer(self, ask_id: str, answer: AskAnswer) -> bool:
            if isinstance(answer, PermissionAnswer):
                answer = replace(answer, is_allowed=True)
            return await super().answer(ask_id, answer)


class PretendsToSteer(FaultyRuntime):
    """Says yes to a prompt that no turn can take."""

    class connection_type(PassingConnection):  # noqa: N801
        async def steer(self, turn_id: str, prompts: tuple[Prompt, ...]) -> bool:
            await super().steer(turn_id, prompts)
            return True


class HandsOverTheFirstPromptOnly(FaultyRuntime):
    """Loses prompts that waited together."""

    class connection_type(PassingConnection):  # noqa: N801
        async def start_turn(self, turn: Turn) -> None:
            await super().start_turn(replace(turn, prompts=turn.prompts[:1]))


class WaitsForTheEndOfTheTurn(FaultyRuntime):
    """Returns from the start when all has been said."""

    class sink_type(PassingSink):  # noqa: N801
        ended = asyncio.Event()

        async def report(self, update: Update) -> None:
            await self._sink.report(update)
            if isinstance(update, TurnFinished):
                WaitsForTheEndOfTheTurn.sink_type.ended.set()

    class connection_type(PassingConnection):  # noqa: N801
        async def start_turn(self, turn: Turn) -> None:
            WaitsForTheEndOfTheTurn.sink_type.ended = asyncio.Event()
            await super().start_turn(turn)
            await WaitsForTheEndOfTheTurn.sink_type.ended.wait()


class RaisesWhatItLikes(FaultyRuntime):
    """Lets an error of its own out."""

    class connection_type(PassingConnection):  # noqa: N801
        async def start_turn(self, turn: Turn) -> None:
            if self._is_closed:
                raise ValueError("I/O operation on closed file")
            await super().start_turn(turn)


class BlocksTheLoop(FaultyRuntime):
    """Waits with the whole process."""

    class connection_type(PassingConnection):  # noqa: N801
        async def start_turn(self, turn: Turn) -> None:
            threading.Event().wait(0.6)
            await super().start_turn(turn)


class ReportsAfterItsClose(FaultyRuntime):
    """Ends the turn when nobody listens any more."""

    class connection_type(PassingConnection):  # noqa: N801
        async def close(self, grace_ms: int) -> None:
            await super().close(grace_ms)
            if self._turn_id:
                ending = TurnFinished(turn_id=self._turn_id, outcome="interrupted")
                self.last_word = asyncio.get_running_loop().create_task(self._sink.report(ending))


class LeavesAChild(FaultyRuntime):
    """Starts a process that nobody ends."""

    class connection_type(PassingConnection):  # noqa: N801
        async def start_turn(self, turn: Turn) -> None:
            await self._runtime.services.spawn(
                ChildRequest(
                    execution_id="exe-of-nobody", command=("/bin/sleep", "600"), directory="/"
                )
            )
            await super().start_turn(turn)


class ClosesOnce(FaultyRuntime):
    """Cannot be closed when it is."""

    class connection_type(PassingConnection):  # noqa: N801
        async def close(self, grace_ms: int) -> None:
            if self._is_closed:
                raise RuntimeError("cannot close what is closed")
            await super().close(grace_ms)


class ClosesEverybody(FaultyRuntime):
    """Lets go of all sessions when one is closed."""

    class connection_type(PassingConnection):  # noqa: N801
        async def close(self, grace_ms: int) -> None:
            await super().close(grace_ms)
            await self._runtime.close()


class LetsGoOfNothing(FaultyRuntime):
    """Closes without ending what it has opened."""

    async def close(self) -> None:
        return


class ForgetsNothing(FaultyRuntime):
    """Goes on with the conversation that it should forget."""

    class connection_type(PassingConnection):  # noqa: N801
        async def forget(self) -> None:
            return


class AppliesEverything(FaultyRuntime):
    """Says yes to options that it does not have."""

    class connection_type(PassingConnection):  # noqa: N801
        async def configure(self, changes: JsonObject) -> ConfigureReport:
            return dict.fromkeys(await super().configure(changes), "applied")


class FindsNoProblem(FaultyRuntime):
    """Says of every profile that it would work."""

    async def probe(self, profile: Profile, environment: Mapping[str, str]) -> ProbeReport:
        return ProbeReport()

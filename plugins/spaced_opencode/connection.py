"""What the daemon tells a session on a server to do."""

from collections.abc import Callable
from typing import Final

from spaced.plugin_api import (
    AskAnswer,
    ConfigureOutcome,
    ConfigureReport,
    JsonObject,
    Prompt,
    RuntimeProblem,
    Turn,
)
from spaced_opencode.agent import Agent
from spaced_opencode.asks import UnsentAnswer, send_answer
from spaced_opencode.catalogue import split_model
from spaced_opencode.message_ids import has_tail, next_message_id, tail_of
from spaced_opencode.problems import ServerRefused, ServerUnreachable
from spaced_opencode.prompt_body import message_body
from spaced_opencode.turn_progress import TurnProgress

_NEWEST: Final = 20
_NOT_FOUND: Final = 404


class OpenCodeConnection:
    """One execution, from the daemon's side."""

    def __init__(self, agent: Agent, on_closed: Callable[["OpenCodeConnection"], None]) -> None:
        self._agent = agent
        self._on_closed = on_closed
        self._starting: TurnProgress | None = None

    async def start_turn(self, turn: Turn) -> None:
        """Hand a turn's prompts over; returns when the server has taken them, or may have.

        Raises:
            RuntimeProblem: the server cannot be reached: the turn has not begun.
        """
        agent = self._agent
        if agent.is_closed:
            raise agent.gone()
        if agent.live.turn is not None or self._starting is not None:
            raise RuntimeProblem("the OpenCode session is busy with another turn")
        starting = self._starting = TurnProgress(id=turn.id, message_ids=[])
        try:
            await self._hand_over(turn, starting)
        finally:
            self._starting = None

    async def steer(self, turn_id: str, prompts: tuple[Prompt, ...]) -> bool:
        """Hand prompts into the running turn: the model sees them with its next call."""
        agent, turn = self._agent, self._agent.live.turn
        if agent.is_closed or turn is None or turn.id != turn_id:
            return False
        await turn.is_settled.wait()
        if not self._takes_steers(turn):
            return False
        try:
            parts = await agent.prompts.parts_of(prompts)
            message_id, is_there = await self._message_id(tail_of([p.id for p in prompts]))
        except RuntimeProblem:
            return False
        if not self._takes_steers(turn):
            return False
        body = self._body(message_id, parts, turn_id)
        agent.watch.bodies[message_id] = body
        turn.message_ids.append(message_id)  # from now on the turn does not end without it
        if is_there or await self._has_arrived(message_id, body):
            return True
        turn.message_ids.remove(message_id)
        return False

    def _takes_steers(self, turn: TurnProgress) -> bool:
        agent = self._agent
        is_running = agent.live.turn is turn and turn.is_stored and not turn.is_interrupted
        return is_running and not agent.is_closed and agent.feed.is_connected

    async def interrupt(self, turn_id: str) -> None:
        """Ask the server to stop; it may have to be told again if it has not begun yet."""
        agent = self._agent
        turn = self._starting or agent.live.turn
        if agent.is_closed or turn is None or turn.id != turn_id or turn.is_interrupted:
            return
        turn.is_interrupted = True
        if turn is agent.live.turn:
            await self._stop(turn)

    async def answer(self, ask_id: str, answer: AskAnswer) -> bool:
        """Answer an ask; the first answer holds, also if the server is away at the moment."""
        agent = self._agent
        if agent.is_closed or not agent.live.asks.accepts(ask_id, answer):
            return False
        try:
            await send_answer(agent.api, ask_id, answer)
        except ServerUnreachable:
            agent.live.asks.unsent.append(UnsentAnswer(ask_id, answer))
        except RuntimeProblem:
            return False
        return True

    async def configure(self, changes: JsonObject) -> ConfigureReport:
        """Choose the model and the agent that answer from the next prompt on."""
        outcomes: dict[str, ConfigureOutcome] = {}
        for name, value in changes.items():
            if name == "options" and isinstance(value, dict):
                for key, option in value.items():
                    outcomes[key] = (
                        self._choose("mode", option) if key == "agent" else "unsupported"
                    )
            else:
                outcomes[name] = self._choose(name, value)
        return outcomes

    async def compact(self) -> bool:
        """Let the model shorten the conversation."""
        agent = self._agent
        model = split_model(agent.model or agent.live.model or "")
        if agent.is_closed or agent.live.turn is not None or agent.needs_session or model is None:
            return False
        try:
            return await agent.api.summarize(agent.live.id, *model)
        except ServerUnreachable:
            # It asks its model again without an end, while nobody waits for that any more.
            await agent.watch.abort()
            raise

    async def forget(self) -> None:
        """Let the next turn begin a new session on the server; the old one stays there."""
        self._agent.needs_session = True

    async def close(self, grace_ms: int) -> None:
        """End the execution; the session stays on the server, and what runs in it is stopped."""
        await self._agent.close(grace_ms, stops_turn=True)
        self._on_closed(self)

    async def let_go(self) -> None:
        """Stop listening, and leave a turn that runs to be found again."""
        await self._agent.close(0, stops_turn=False)
        self._on_closed(self)

    async def _hand_over(self, turn: Turn, starting: TurnProgress) -> None:
        agent = self._agent
        await agent.feed.ensure()
        if agent.needs_session:
            await agent.begin_anew()
        parts = await agent.prompts.parts_of_turn(turn)
        try:
            message_id, is_there = await self._message_id(tail_of([turn.id]))
            if agent.is_closed:
                raise agent.gone()
            starting.message_ids.append(message_id)
            agent.live.turn = starting
            if is_there:
                # It was handed over before, and nobody could tell whether it had arrived.
                agent.watch.look_soon(starting, is_after_gap=True)
            else:
                await agent.api.prompt(agent.live.id, self._body(message_id, parts, turn.id))
        except RuntimeProblem as problem:
            self._judge_failure(problem, starting)
        if starting.is_interrupted:
            await self._stop(starting)

    def _judge_failure(self, problem: RuntimeProblem, starting: TurnProgress) -> None:
        """Take that handing over has failed: raise it if the turn has surely not begun."""
        agent = self._agent
        may_have_arrived = isinstance(problem, ServerUnreachable) and problem.may_have_arrived
        if agent.live.turn is starting and may_have_arrived and not agent.is_closed:
            agent.watch.look_soon(starting, is_after_gap=True)
            return
        if agent.live.turn is starting:
            agent.live.turn = None
        if isinstance(problem, ServerRefused) and problem.status == _NOT_FOUND:
            agent.tasks.start(agent.lose_session(starting), name="opencode loss")
            return
        raise problem

    async def _message_id(self, tail: str) -> tuple[str, bool]:
        """Return the id of the message with a tail, and whether it is there already."""
        agent = self._agent
        rows, _ = await agent.api.messages(agent.live.id, limit=_NEWEST)
        infos = [row["info"] for row in rows if isinstance(row.get("info"), dict)]
        ids = [str(info.get("id")) for info in infos]
        known = next((one for one in reversed(ids) if has_tail(one, tail)), None)
        if known is not None:
            return known, True
        return next_message_id(tail, newest_ids=ids, created_ms=agent.live.created_ms), False

    def _body(self, message_id: str, parts: list[JsonObject], turn_id: str) -> JsonObject:
        agent = self._agent
        return message_body(
            message_id, parts, turn_id=turn_id, model=split_model(agent.model), agent=agent.mode
        )

    async def _has_arrived(self, message_id: str, body: JsonObject) -> bool:
        agent = self._agent
        try:
            await agent.api.prompt(agent.live.id, body)
        except ServerUnreachable as problem:
            return problem.may_have_arrived and await self._is_stored(message_id)
        except RuntimeProblem:
            return False
        return True

    async def _is_stored(self, message_id: str) -> bool:
        try:
            await self._agent.feed.ensure()
            return await self._agent.watch.rows_since(message_id) is not None
        except RuntimeProblem:
            return False

    async def _stop(self, turn: TurnProgress) -> None:
        agent = self._agent
        # In a task: an interrupt does not wait for whoever takes the reports.
        agent.tasks.start(agent.live.withdraw(turn.id), name="opencode withdrawal")
        await agent.watch.abort()
        if not turn.has_begun:
            agent.watch.look_soon(turn)

    def _choose(self, name: str, value: object) -> ConfigureOutcome:
        agent = self._agent
        if name not in ("mode", "model"):
            return "unsupported"
        if not isinstance(value, str):
            return "failed"
        try:
            if name == "mode":
                agent.catalogue.require_agent(value)
                agent.mode = value
            else:
                agent.catalogue.require_model(value)
                agent.model = value
        except RuntimeProblem:
            return "failed"
        return "applied"

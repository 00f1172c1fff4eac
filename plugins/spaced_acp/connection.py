"""One agent's process that serves one session: turns, permissions and settings, until it is closed.

What the agent says goes through `Agent`; this class is what the daemon tells it to do.
"""

from collections.abc import Callable
from typing import Final

from spaced.plugin_api import (
    AskAnswer,
    AskWithdrawn,
    ChildGone,
    ConfigureOutcome,
    ConfigureReport,
    JsonObject,
    PermissionAnswer,
    Prompt,
    RuntimeProblem,
    Turn,
)
from spaced_acp import codec_v1 as v1
from spaced_acp.agent import Agent
from spaced_acp.turns import RunningTurn

_INSIST_MS: Final = 5000
"""How long an agent may take to end a turn before its request itself is cancelled."""


class AcpConnection:
    """Tells an agent what to do."""

    def __init__(self, agent: Agent, on_closed: Callable[["AcpConnection"], None]) -> None:
        self._agent = agent
        self._on_closed = on_closed

    async def start_turn(self, turn: Turn) -> None:
        """Hand a turn's prompts over; returns when they are in the agent's hands.

        Raises:
            RuntimeProblem: the agent has gone, or does not begin a conversation: the turn has not
                begun.
        """
        agent = self._agent
        agent.require_idle()
        running = agent.speech.turns.begin(turn.id)
        try:
            if agent.needs_conversation:
                await agent.begin_anew()
            blocks = await agent.blocks.of(turn)
            running.require_wanted()
            agent.speech.replay.is_open = False
            params = {"sessionId": agent.conversation.id, "prompt": blocks}
            # Before the prompt is written: an agent that reads nothing keeps us from that.
            agent.watch_silence(running)
            running.message_id = await agent.link.request(
                v1.PROMPT, params, lambda answer: agent.end_turn(running, answer)
            )
        except ChildGone as error:
            agent.speech.turns.running = None
            raise agent.gone() from error
        except RuntimeProblem:
            agent.speech.turns.running = None
            raise

    async def steer(self, turn_id: str, prompts: tuple[Prompt, ...]) -> bool:
        """Take nothing: agents do five different things with a second prompt."""
        del turn_id, prompts
        return False

    async def interrupt(self, turn_id: str) -> None:
        """Ask the agent to end the turn, and settle what it waits for."""
        agent, turn = self._agent, self._agent.speech.turns.running
        if turn is None or turn.id != turn_id or turn.is_interrupted or agent.is_gone:
            return
        turn.is_interrupted = True
        agent.link.notify(v1.CANCEL, {"sessionId": agent.conversation.id})
        for ask_id in agent.speech.permissions.settle_all(agent.link):
            await agent.reporter.report(AskWithdrawn(ask_id=ask_id, turn_id=turn_id))
        agent.tasks.start(self._insist(turn), name="acp insistence")

    async def answer(self, ask_id: str, answer: AskAnswer) -> bool:
        """Answer a permission; the first answer is the one that holds."""
        agent = self._agent
        if agent.is_gone or not isinstance(answer, PermissionAnswer):
            return False
        agent.link.heard_at = agent.clock.now()  # it was silent because we were
        return agent.speech.permissions.answer(ask_id, answer, agent.link)

    async def configure(self, changes: JsonObject) -> ConfigureReport:
        """Change the mode, the model and the agent's own options."""
        outcomes: dict[str, ConfigureOutcome] = {}
        for name, value in changes.items():
            if name == "options" and isinstance(value, dict):
                outcomes |= {key: await self._agent.choose(key, value[key]) for key in value}
            elif name in ("mode", "model"):
                outcomes[name] = await self._agent.choose(name, value)
            else:
                outcomes[name] = "unsupported"
        return outcomes

    async def compact(self) -> bool:
        """Do nothing: the protocol has no such thing."""
        return False

    async def forget(self) -> None:
        """Let the next turn begin a new conversation."""
        self._agent.needs_conversation = True

    async def close(self, grace_ms: int) -> None:
        """End the agent's process and everything that it has started."""
        await self._agent.close(grace_ms)
        self._on_closed(self)

    async def _insist(self, turn: RunningTurn) -> None:
        agent = self._agent
        await agent.clock.sleep(_INSIST_MS)
        if agent.speech.turns.running is turn and turn.message_id is not None:
            agent.link.notify(v1.CANCEL_REQUEST, {"id": turn.message_id})

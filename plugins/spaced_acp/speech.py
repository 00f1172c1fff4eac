"""Everything that an agent says by itself: shown, asked, compared or kept, in the order it came."""

from spaced.plugin_api import AskWithdrawn, Clock, JsonObject, Reporter
from spaced_acp import codec_v1 as v1
from spaced_acp.link import AgentLink
from spaced_acp.messages import METHOD_NOT_FOUND, Request
from spaced_acp.permissions import Permissions, is_answerable
from spaced_acp.replay import Replay
from spaced_acp.reports import Report, Said, Unknown
from spaced_acp.transcript import Transcript
from spaced_acp.turns import Turns


class Speech:
    """What one agent says in one execution.

    Attributes:
        conversation_id: the agent's name for the session's conversation, once that is known.
        turns: which turn runs.
        replay: what is told again after a load; closed until there is one.
    """

    def __init__(self, execution_id: str, reporter: Reporter, clock: Clock) -> None:
        self.conversation_id: str | None = None
        self.turns = Turns(clock)
        self.replay = Replay()
        self.replay.is_open = False
        self.transcript = Transcript(execution_id)
        self.permissions = Permissions(execution_id, self.transcript.calls)
        self._reporter = reporter

    @property
    def is_waiting(self) -> bool:
        """Whether silence means nothing: a person is asked, or a tool is at work."""
        return self.permissions.are_open or self.transcript.calls.is_any_at_work()

    async def hear(self, params: JsonObject) -> None:
        """Take an update of a conversation."""
        report = v1.read_update(params)
        foreign = self._foreign(params)
        if foreign is None and self._is_told_again(report):
            return
        if isinstance(report, Said) and report.speaker == "user" and self._is_echo():
            return
        await self._show(report, foreign)

    async def want(self, request: Request, link: AgentLink) -> None:
        """Take a permission that the agent waits for."""
        wanted = v1.read_permission(request.params)
        turn = self.turns.running
        if not is_answerable(wanted) or (turn is not None and turn.is_interrupted):
            link.answer(request.id, v1.permission_answer(None))
            return
        # Also for a conversation that nobody has told us of: an agent that the agent has started
        # waits there, and its work belongs to the turn.
        if wanted.call.call_id:
            known = self.transcript.calls.wanted(wanted.call)
            await self._show(known, self._foreign(request.params))
        ask = self.permissions.want(request.id, wanted, self.turns.current_id)
        await self._reporter.report(ask)

    async def refuse(self, request: Request, link: AgentLink) -> None:
        """Answer what we do not offer: an agent may wait for an answer for ever."""
        link.refuse(request.id, METHOD_NOT_FOUND, f"spaced does not offer {request.method!r}")
        await self._show(
            Unknown(kind="acp:refused-request", payload={"method": request.method}), None
        )

    async def withdraw(self, link: AgentLink | None) -> None:
        """Settle every permission that is open.

        Args:
            link: `None` if the agent is gone and cannot be told.
        """
        for ask_id in self.permissions.settle_all(link):
            turn_id = self.turns.current_id
            await self._reporter.report(AskWithdrawn(ask_id=ask_id, turn_id=turn_id))

    async def end_turn(self, turn_id: str) -> None:
        """Say what there is to say before a turn's end."""
        for update in self.transcript.end_turn(turn_id):
            await self._reporter.report(update)

    async def _show(self, report: Report, foreign: str | None) -> None:
        if self.turns.running is not None:
            self.turns.running.has_spoken = True
        turn_id = self.turns.current_id
        for update in self.transcript.take(report, turn_id=turn_id, conversation=foreign):
            await self._reporter.report(update)

    def _foreign(self, params: JsonObject) -> str | None:
        told = params.get("sessionId")
        is_foreign = isinstance(told, str) and self.conversation_id not in (None, told)
        return str(told) if is_foreign else None

    def _is_told_again(self, report: Report) -> bool:
        # No longer than until a prompt is handed over: what comes then may have the names of
        # before, and must not be lost.
        return self.replay.is_open and self.replay.take(report)

    def _is_echo(self) -> bool:
        """Tell whether what the user is said to have said is a prompt of ours."""
        return self.turns.current_id is not None

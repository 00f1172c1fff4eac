"""One session of the server as it is followed: what of its events is whose, and is reported."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from spaced.plugin_api import (
    AgentRetrying,
    AskWithdrawn,
    Clock,
    ItemUpserted,
    Reporter,
    SessionInfoChanged,
    UnknownReport,
    Update,
    UsageChanged,
)
from spaced_opencode.asks import Asks, Wanted, read_permission, read_question
from spaced_opencode.catalogue import model_of
from spaced_opencode.event_source import ServerEvent
from spaced_opencode.said_errors import read_error
from spaced_opencode.transcript import Transcript
from spaced_opencode.turn_progress import TurnProgress

News = Literal["busy", "idle", "failed", "deleted"]
"""What an event may mean for the turn, beside what was reported of it."""

_LONGEST_RETRY_MS: Final = 60 * 60 * 1000
_MOST_UNKNOWN: Final = 100
_SILENT: Final = frozenset(
    {
        "command.executed",
        "message.removed",
        "message.part.removed",
        "session.compacted",
        "session.diff",
    }
)


class LiveSession:
    """What is known of a session.

    Attributes:
        id: the server's name for it.
        created_ms: when it was made, by the server's clock.
        turn: what was handed over and has not ended.
        family: the session and those that its agent has begun.
        last_message: the newest message of the agent, once there is one.
        model: what answered last, as `provider/model`, once that is known.
        order: held by whoever takes something that the server says, so that a look at what is
            stored and the events come one after the other.
    """

    def __init__(self, info: Mapping[str, Any], reporter: Reporter, clock: Clock) -> None:
        self.id = str(info["id"])
        self.created_ms = _created(info)
        self.transcript = Transcript()
        self.asks = Asks()
        self.turn: TurnProgress | None = None
        self.family = {self.id}
        self.last_message: str | None = None
        self.model = model_of(info) if isinstance(info.get("model"), dict) else None
        self.order = asyncio.Lock()
        self._title = info.get("title")
        self._reporter = reporter
        self._clock = clock
        self._unknown = 0
        self._is_told_idle = False

    @property
    def turn_id(self) -> str | None:
        """The turn to which what is said now belongs."""
        return None if self.turn is None else self.turn.id

    async def hear(self, event: ServerEvent) -> News | None:
        """Take an event; those of other sessions change nothing."""
        facts = event.facts
        match event.type:
            case "session.created" | "session.updated":
                await self._note_session(facts.get("info"))
            case "permission.asked":
                await self.want(self._permission(facts))
            case "question.asked":
                await self.want(self._question(facts))
            case "permission.replied" | "question.replied" | "question.rejected":
                await self._settle(facts)
            case "message.updated":
                await self._note_message(facts.get("info"))
            case "message.part.updated" if isinstance(facts.get("part"), dict):
                if self._is_own(facts["part"]):
                    await self._report(self.transcript.part(facts["part"]))
            case _ if self._is_own(facts):
                return await self._hear_own(event)
        return None

    async def take_rows(self, rows: Sequence[Mapping[str, Any]], *, is_after_gap: bool) -> None:
        """Take whole messages as the server has stored them, the first of them our prompt."""
        for row in rows:
            info = row.get("info")
            if isinstance(info, dict):
                await self._note_message(info)
                updates = self.transcript.rows([row], self.turn_id, is_after_gap=is_after_gap)
                await self._report(updates)

    async def take_waiting(
        self, permissions: Sequence[Mapping[str, Any]], questions: Sequence[Mapping[str, Any]]
    ) -> None:
        """Take everything that is waited for, after events were missed."""
        found = [*map(self._permission, permissions), *map(self._question, questions)]
        waiting = [wanted for wanted in found if wanted is not None]
        for ask_id in self.asks.close_others(waiting):
            await self._reporter.report(AskWithdrawn(ask_id=ask_id, turn_id=self.turn_id))
        for wanted in waiting:
            await self.want(wanted)

    async def want(self, wanted: Wanted | None) -> None:
        """Report an ask, unless it is known or its turn is to end anyway."""
        is_ending = self.turn is not None and self.turn.is_interrupted
        if wanted is not None and not is_ending and self.asks.open(wanted):
            await self._reporter.report(wanted)

    async def withdraw(self, turn_id: str) -> None:
        """Close every ask."""
        for ask_id in self.asks.close_all():
            await self._reporter.report(AskWithdrawn(ask_id=ask_id, turn_id=turn_id))

    async def take_status(self, status: Mapping[str, Any]) -> None:
        """Take what the session does now; that it tries again is shown."""
        turn = self.turn
        if turn is None:
            return
        turn.has_begun = turn.has_begun or turn.is_stored
        if status.get("type") == "retry":
            attempt, at = status.get("attempt"), status.get("next")
            left = int(at) - self._clock.now() if isinstance(at, int | float) else None
            await self._reporter.report(
                AgentRetrying(
                    attempt=attempt if isinstance(attempt, int) else 1,
                    message=str(status.get("message") or "the model cannot be reached"),
                    next_in_ms=None if left is None else min(max(left, 0), _LONGEST_RETRY_MS),
                    turn_id=turn.id,
                )
            )

    async def _hear_own(self, event: ServerEvent) -> News | None:
        facts = event.facts
        match event.type:
            case "message.part.delta":
                await self._report(self.transcript.delta(facts))
            case "session.idle":  # the old word for it, which follows the new one
                return None if self._is_told_idle else "idle"
            case "session.status" if isinstance(facts.get("status"), dict):
                self._is_told_idle = facts["status"].get("type") == "idle"
                if self._is_told_idle:
                    return "idle"
                await self.take_status(facts["status"])
                return "busy"
            case "session.error":
                error = read_error(facts.get("error"))
                if self.turn is not None and error is not None:
                    self.turn.note_error(error)
                    return "failed"
            case "session.deleted":
                return "deleted"
            case "todo.updated":
                await self._report(self._plan(facts.get("todos")))
            case _ if event.type not in _SILENT:
                await self._keep(event)
        return None

    async def _note_session(self, info: Any) -> None:
        if not isinstance(info, dict) or not isinstance(info.get("id"), str):
            return
        if info.get("parentID") in self.family:
            self.family.add(info["id"])
        title = info.get("title")
        if info["id"] == self.id and isinstance(title, str) and title != self._title:
            self._title = title
            await self._reporter.report(SessionInfoChanged(info={"title": title}))

    async def _note_message(self, info: Any) -> None:
        if not isinstance(info, dict) or not self._is_own(info):
            return
        self.transcript.follow(info, self.turn_id)
        if info.get("role") == "assistant":
            self.model = model_of(info) or self.model
        if self.turn is None or info.get("summary") is True:
            return
        if self.turn.note_message(info):
            self.last_message = self.turn.last_reply
            usage = self.turn.usage()
            if usage is not None:
                await self._reporter.report(UsageChanged(usage=usage, turn_id=self.turn.id))

    async def _settle(self, facts: Mapping[str, Any]) -> None:
        """Withdraw an ask that somebody has answered elsewhere."""
        ask_id = facts.get("requestID")
        if isinstance(ask_id, str) and self.asks.close(ask_id):
            await self._reporter.report(AskWithdrawn(ask_id=ask_id, turn_id=self.turn_id))

    def _permission(self, facts: Mapping[str, Any]) -> Wanted | None:
        if facts.get("sessionID") not in self.family:
            return None
        tool = facts.get("tool")
        call_id = tool.get("callID") if isinstance(tool, dict) else None
        call = self.transcript.call(call_id) if isinstance(call_id, str) else None
        return read_permission(facts, call, self.turn_id, self.id)

    def _question(self, facts: Mapping[str, Any]) -> Wanted | None:
        is_ours = facts.get("sessionID") in self.family
        return read_question(facts, self.turn_id) if is_ours else None

    def _plan(self, todos: Any) -> list[Update]:
        entries = [
            {name: todo[name] for name in ("content", "status", "priority") if name in todo}
            for todo in (todos if isinstance(todos, list) else ())
            if isinstance(todo, dict)
        ]
        source = f"plan:{self.turn_id or self.id}"
        item = {"type": "plan", "entries": entries}
        return [ItemUpserted(source=source, item=item, turn_id=self.turn_id)]

    async def _keep(self, event: ServerEvent) -> None:
        self._unknown += 1
        if self._unknown <= _MOST_UNKNOWN:
            kind = f"opencode:{event.type}"
            report = UnknownReport(kind=kind, payload=event.facts, turn_id=self.turn_id)
            await self._reporter.report(report)

    def _is_own(self, facts: Mapping[str, Any]) -> bool:
        return facts.get("sessionID") == self.id

    async def _report(self, updates: Sequence[Update]) -> None:
        for update in updates:
            await self._reporter.report(update)


def _created(info: Mapping[str, Any]) -> int:
    time = info.get("time")
    created = time.get("created") if isinstance(time, dict) else None
    return int(created) if isinstance(created, int | float) else 0

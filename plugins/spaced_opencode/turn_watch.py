"""Brings turns to their end: by what the server tells, and where that leaves doubts, by looking.

A look reads what the server has stored and what it is doing. It is needed when events were missed,
when a prompt's fate is unclear, and when the server says that it is idle too early. No turn ends
because time has passed, only because looks agree on what has become of it.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from spaced.plugin_api import (
    Clock,
    ContinuityChanged,
    JsonObject,
    Problem,
    PromptNotTaken,
    Reporter,
    RuntimeProblem,
    Tasks,
    TurnFinished,
)
from spaced_opencode.asks import send_answer
from spaced_opencode.feed import Feed
from spaced_opencode.live_session import LiveSession, News
from spaced_opencode.problems import ServerRefused, ServerUnreachable
from spaced_opencode.server_api import ServerApi
from spaced_opencode.turn_progress import TurnProgress

_PAUSES_MS: Final = (0, 250, 500, 1000, 2000, 4000, 8000)
"""Before each look; a server that has just started may take seconds to store a prompt."""

_ENOUGH_FOR_STORED: Final = 5
_ENOUGH_FOR_INTERRUPTED: Final = 3
_PAGE: Final = 100
_MOST_PAGES: Final = 50
_MOST_WAKES: Final = 3
_AGAIN: Final = "Look at what it has done so far, and prompt again."


class TurnWatch:
    """Watches the turns of one session.

    Attributes:
        has_abandoned: whether a turn was given up that may still go on there.
    """

    feed: Feed

    def __init__(
        self,
        api: ServerApi,
        live: LiveSession,
        reporter: Reporter,
        clock: Clock,
        tasks: Tasks,
    ) -> None:
        self.live = live
        self.has_abandoned = False
        self.bodies: dict[str, JsonObject] = {}
        self._api = api
        self._reporter = reporter
        self._clock = clock
        self._tasks = tasks
        self._looked_at: TurnProgress | None = None

    async def consider(self, news: News) -> None:
        """Take what an event means for the turn; `order` is held."""
        turn = self.live.turn
        if turn is None:
            return
        if news == "busy":
            if turn.is_interrupted and turn.has_begun:
                # It was told to stop before it had begun, which is like not being told.
                self._tasks.start(self.abort(), name="opencode abort")
        elif news == "failed":
            if not turn.is_stored:
                self.look_soon(turn)  # then no idle follows
        else:
            await self._judge(turn)

    def look_soon(self, turn: TurnProgress, *, is_after_gap: bool = False) -> None:
        """Look until it is known what has become of a turn, or until the server is at it."""
        if self._looked_at is not turn:
            self._looked_at = turn
            self._tasks.start(self._look_until_sure(turn, is_after_gap), name="opencode look")

    async def look(self, turn: TurnProgress, *, is_after_gap: bool) -> bool:
        """Look once; true: events will tell the rest, or nothing is left to be told.

        Raises:
            RuntimeProblem: the server cannot be asked.
        """
        async with self.live.order:
            if self.live.turn is not turn:
                return True
            status = await self._api.status(self.live.id)
            rows = await self.rows_since(turn.message_id)
            await self.live.take_rows(rows or (), is_after_gap=is_after_gap)
            if status is not None:
                await self.live.take_status(status)
                if is_after_gap:
                    await self._look_at_asks()
                if turn.is_interrupted:
                    await self._api.abort(self.live.id)
                return bool(rows)
            return await self._judge_by_look(turn)

    async def rows_since(self, message_id: str) -> Sequence[Mapping[str, Any]] | None:
        """Return the stored messages from one on, oldest first; `None`: it is not there.

        Raises:
            RuntimeProblem: the server cannot be asked.
        """
        found: list[Mapping[str, Any]] = []
        before: str | None = None
        for _ in range(_MOST_PAGES):
            rows, before = await self._api.messages(self.live.id, limit=_PAGE, before=before)
            for number, row in enumerate(rows):
                info = row.get("info")
                if isinstance(info, dict) and info.get("id") == message_id:
                    return [*rows[number:], *found]
            found = [*rows, *found]
            if before is None or not rows:
                break
        return None

    async def finish(self, turn: TurnProgress, ending: TurnFinished | PromptNotTaken) -> None:
        """Report the end of a turn, once."""
        if self.live.turn is not turn:
            return
        # Before any report: whoever hears of the end may start the next turn at once.
        self.live.turn = None
        turn.is_settled.set()
        self.bodies.clear()
        await self.live.withdraw(turn.id)
        await self._reporter.report(ContinuityChanged(continuity=self.continuity()))
        await self._reporter.report(ending)

    async def abort(self) -> None:
        """Tell the server to stop; if it cannot be told, it is told after the next connection."""
        try:
            await self._api.abort(self.live.id)
        except RuntimeProblem:
            return

    async def stop_abandoned(self) -> None:
        """Stop what goes on of a turn that was given up while the server was away.

        Raises:
            RuntimeProblem: the server cannot be asked.
        """
        if await self._api.status(self.live.id) is not None:
            await self._api.abort(self.live.id)
        self.has_abandoned = False

    async def abandon(self, turn: TurnProgress, error: RuntimeProblem) -> None:
        """End a turn whose server was away for too long."""
        self.has_abandoned = True
        problem = Problem(code=error.code, message=error.message, remedy=error.remedy)
        await self.finish(turn, TurnFinished(turn_id=turn.id, outcome="failed", problem=problem))

    def continuity(self) -> JsonObject:
        """Return what finds the session again."""
        found = {"runtime": "opencode", "id": self.live.id, "directory": self._api.directory}
        return (
            found if self.live.last_message is None else {**found, "last": self.live.last_message}
        )

    async def _judge(self, turn: TurnProgress) -> None:
        """Take that the session is idle."""
        verdict = turn.verdict()
        if verdict == "done":
            await self.finish(turn, turn.ending())
        elif verdict == "unsure" or not self._wake(turn):
            self.look_soon(turn)

    async def _judge_by_look(self, turn: TurnProgress) -> bool:
        verdict = turn.verdict()
        if verdict == "unanswered" and self._wake(turn):
            return True
        if verdict == "unsure":
            return False
        await self.finish(turn, turn.ending())
        return True

    def _wake(self, turn: TurnProgress) -> bool:
        """Remind the server of a steer that came at the very end of its work, and lies there.

        Its ids are the same as before, so that it is the same message.
        """
        message_id = turn.message_ids[-1]
        body = self.bodies.get(message_id)
        if body is None or turn.wakes >= _MOST_WAKES:
            return False
        turn.wakes += 1
        self._tasks.start(self._prompt_again(body), name="opencode wake")
        return True

    async def _prompt_again(self, body: JsonObject) -> None:
        try:
            await self._api.prompt(self.live.id, body)
        except RuntimeProblem:
            return  # the next idle or the next connection comes back to it

    async def _look_until_sure(self, turn: TurnProgress, is_after_gap: bool) -> None:
        try:
            looks = 0
            while self.live.turn is turn:
                await self._clock.sleep(_PAUSES_MS[min(looks, len(_PAUSES_MS) - 1)])
                try:
                    if await self.look(turn, is_after_gap=is_after_gap):
                        return
                except ServerUnreachable:
                    if not self.feed.is_connected:
                        return  # the next connection begins with a look
                    continue
                except RuntimeProblem:
                    pass  # it is there, and does not know the session any more
                looks += 1
                if looks >= _enough_looks(turn):
                    async with self.live.order:
                        await self.finish(turn, self._lost(turn))
        finally:
            if self._looked_at is turn:
                self._looked_at = None

    async def _look_at_asks(self) -> None:
        for known in list(self.live.family):
            self.live.family.update(await self._api.children(known))
        permissions, questions = await self._api.permissions(), await self._api.questions()
        unsent, self.live.asks.unsent = self.live.asks.unsent, []
        for one in unsent:
            with suppress(ServerRefused):  # somebody else has answered it meanwhile
                await send_answer(self._api, one.ask_id, one.answer)
        await self.live.take_waiting(permissions, questions)

    def _lost(self, turn: TurnProgress) -> TurnFinished | PromptNotTaken:
        """Return the end of a turn of which the server, which is idle, has no end."""
        if turn.is_interrupted:
            return TurnFinished(turn_id=turn.id, outcome="interrupted", stop_reason="aborted")
        if not turn.is_stored:
            words = f"the OpenCode server at {self._api.url} does not have the prompt"
            return PromptNotTaken(turn_id=turn.id, message=words)
        problem = Problem(
            code="agent-lost-turn",
            message=f"the OpenCode server at {self._api.url} is idle and has not finished the turn;"
            " it was probably started again in the middle of it",
            remedy=_AGAIN,
        )
        return TurnFinished(turn_id=turn.id, outcome="failed", usage=turn.usage(), problem=problem)


def _enough_looks(turn: TurnProgress) -> int:
    """Return after how many looks in a row an idle server has surely lost a turn."""
    if not turn.is_stored:
        return len(_PAUSES_MS)
    return _ENOUGH_FOR_INTERRUPTED if turn.is_interrupted else _ENOUGH_FOR_STORED

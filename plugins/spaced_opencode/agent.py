"""One execution: a session on a server, listened to and watched, until it is closed."""

from collections.abc import Mapping
from typing import Any, Final

from spaced.plugin_api import (
    AgentRetrying,
    ChildRequest,
    ContinuityChanged,
    ConversationLost,
    ExecutionFinished,
    JsonObject,
    Problem,
    PromptNotTaken,
    Reporter,
    RuntimeProblem,
    RuntimeServices,
    SessionInfoChanged,
    SessionSpec,
    Tasks,
)
from spaced_opencode.catalogue import Catalogue, read_catalogue
from spaced_opencode.event_source import ServerEvent
from spaced_opencode.feed import Feed
from spaced_opencode.live_session import LiveSession
from spaced_opencode.local_server import LocalServer
from spaced_opencode.message_ids import has_tail, tail_of
from spaced_opencode.options import OpenCodeOptions, password_of, read_options
from spaced_opencode.problems import ServerUnreachable
from spaced_opencode.prompt_body import PromptBody, turn_of
from spaced_opencode.server_api import ServerApi
from spaced_opencode.turn_progress import TurnProgress
from spaced_opencode.turn_watch import TurnWatch

_MOST_ATTEMPTS: Final = 9
"""How often a server that is away is looked for before its turn is given up: about a minute."""

_REATTACH_PAUSES_MS: Final = (500, 1000, 2000, 4000)
_AGAIN: Final = "Prompt again; a new connection is made for it."


class Agent:
    """One execution of a session.

    Attributes:
        model: what answers the next prompt, as `provider/model`; empty leaves it to the server.
        mode: the agent that does; empty likewise.
        needs_session: whether the next turn begins a new session on the server.
        is_closed: whether nothing more can be asked of it.
    """

    api: ServerApi
    live: LiveSession
    watch: TurnWatch
    feed: Feed
    catalogue: Catalogue

    def __init__(
        self,
        session: SessionSpec,
        reporter: Reporter,
        tasks: Tasks,
        services: RuntimeServices,
    ) -> None:
        self.session = session
        self.reporter = reporter
        self.tasks = tasks
        self.clock = services.clock
        self.prompts = PromptBody(session.directory, services.read_blob)
        self.model = session.profile.model
        self.mode = ""
        self.needs_session = False
        self.is_closed = False
        self._services = services
        self._server: LocalServer | None = None

    async def open(self, continuity: JsonObject | None) -> None:
        """Reach the server, and begin a session there or go on with one.

        Raises:
            RuntimeProblem: the server cannot be reached, or does not offer what the profile wants.
        """
        options = read_options(self.session.profile)
        await self._reach(options)
        self.mode = options.agent
        self.catalogue = await read_catalogue(self.api)
        self.catalogue.require_model(self.model)
        self.catalogue.require_agent(self.mode)
        known = None if continuity is None else await self._known(continuity)
        if continuity is not None and known is None:
            words = (
                f"The OpenCode server at {self.api.url} does not know the conversation any more."
            )
            await self.reporter.report(ConversationLost(message=words))
        self._follow(known or await self.api.create_session())
        self.feed.start()
        await self.feed.ensure()
        await self._tell()
        if self._server is not None:
            self.tasks.start(self._watch_server(self._server), name="opencode server")

    async def find(self, continuity: JsonObject, turn_id: str) -> bool:
        """Find a turn again that was handed over before; false: the server does not have it.

        Raises:
            RuntimeProblem: the server cannot be reached.
        """
        options = read_options(self.session.profile)
        if options.url is None:
            return False  # the server ended with the daemon that had started it
        await self._reach(options)
        self.mode = options.agent
        known = await self._patiently_known(continuity)
        if known is None:
            return False
        self.catalogue = await read_catalogue(self.api)
        self._follow(known)
        message_id = await self._message_of(turn_id)
        if message_id is None:
            return False
        turn = TurnProgress(id=turn_id, message_ids=[message_id], is_stored=True)
        turn.is_settled.set()
        rows = await self.watch.rows_since(message_id) or ()
        turn.message_ids += [str(row["info"]["id"]) for row in rows[1:] if turn_of(row) == turn_id]
        self.live.turn = turn
        self.feed.start()
        return True

    async def begin_anew(self) -> None:
        """Begin a new session on the server.

        Raises:
            RuntimeProblem: it begins none.
        """
        before = self.live
        self.live = LiveSession(await self.api.create_session(), self.reporter, self.clock)
        self.live.turn = before.turn
        self.watch.live = self.live
        self.needs_session = False
        # Not awaited: whoever takes the reports may be the one who waits for the turn to begin.
        self.tasks.start(self._tell_continuity(), name="opencode continuity")

    async def lose_session(self, turn: TurnProgress) -> None:
        """Report that the server has no such session, so that it did not take a prompt."""
        words = f"the OpenCode server at {self.api.url} does not know the conversation any more"
        self.needs_session = True
        self.live.turn = None
        turn.is_settled.set()
        await self.reporter.report(ConversationLost(message=f"{words}."))
        await self.reporter.report(PromptNotTaken(turn_id=turn.id, message=words, after_ms=0))

    def gone(self) -> RuntimeProblem:
        """Return the error of one that is told something when it is closed."""
        return RuntimeProblem("the connection to the OpenCode server was closed", remedy=_AGAIN)

    async def connected(self, *, is_again: bool) -> None:
        """Catch up with what was missed."""
        if is_again:
            self.live.transcript.mark_gap()
        if self.watch.has_abandoned:
            await self.watch.stop_abandoned()
        turn = self.live.turn
        # One that was found again was also missed, even if this is the first connection.
        if turn is not None and not await self.watch.look(turn, is_after_gap=True):
            self.watch.look_soon(turn, is_after_gap=True)

    async def hear(self, event: ServerEvent) -> None:
        """Take an event."""
        async with self.live.order:
            news = await self.live.hear(event)
            if news == "deleted":
                await self._end_deleted()
            elif news is not None:
                await self.watch.consider(news)

    async def lost(self, error: RuntimeProblem, attempt: int, next_in_ms: int) -> None:
        """Show that the server is looked for, and give a turn up in the end."""
        turn = self.live.turn
        if turn is None:
            return
        if attempt >= _MOST_ATTEMPTS:
            async with self.live.order:
                await self.watch.abandon(turn, error)
            return
        await self.reporter.report(
            AgentRetrying(
                attempt=attempt, message=error.message, next_in_ms=next_in_ms, turn_id=turn.id
            )
        )

    async def close(self, grace_ms: int, *, stops_turn: bool) -> None:
        """Stop listening, and report nothing any more.

        Args:
            stops_turn: whether a turn that runs on a server that stays is stopped there.
        """
        self.is_closed = True
        self.reporter.silence()
        if hasattr(self, "live") and self.live.turn is not None:
            self.live.turn.is_settled.set()
        if self._server is not None:
            await self._server.stop(grace_ms)
        elif stops_turn and hasattr(self, "watch") and self.live.turn is not None:
            await self._stop_turn()
        if hasattr(self, "feed"):
            self.feed.give_up()
        await self.tasks.close()
        if hasattr(self, "api"):
            await self.api.close()

    async def _stop_turn(self) -> None:
        try:
            await self.api.abort(self.live.id, is_last=True)
        except RuntimeProblem as problem:
            self._services.log.warning(
                "a turn may go on at %s: %s",
                self.api.url,
                problem,
                extra={"event": "turn-not-stopped", "session_id": self.session.session_id},
            )

    async def _reach(self, options: OpenCodeOptions) -> None:
        url, password = options.url, password_of(options, self.session.environment)
        if url is None:
            request = ChildRequest(
                execution_id=self.session.execution_id,
                command=self.session.profile.command,
                directory=self.session.directory,
                environment=self.session.environment,
            )
            command = self.session.profile.command
            self._server = await LocalServer.start(command, request, self._services, self.tasks)
            url, password = self._server.url, self._server.password
        self.api = ServerApi(url, password=password, directory=self.session.directory)

    def _follow(self, info: Mapping[str, Any]) -> None:
        # As the server calls the folder: it tells events only to those who call it the same.
        self.api.directory = str(info.get("directory") or self.session.directory)
        self.live = LiveSession(info, self.reporter, self.clock)
        self.watch = TurnWatch(self.api, self.live, self.reporter, self.clock, self.tasks)
        self.feed = self.watch.feed = Feed(self.api, self, self.clock, self.tasks)

    async def _known(self, continuity: JsonObject) -> Mapping[str, Any] | None:
        session_id = continuity.get("id")
        if not isinstance(session_id, str) or not session_id:
            return None
        return await self.api.session(session_id)

    async def _patiently_known(self, continuity: JsonObject) -> Mapping[str, Any] | None:
        """Return a session of a server that may just be starting, as we are."""
        for pause in _REATTACH_PAUSES_MS:
            try:
                return await self._known(continuity)
            except ServerUnreachable:
                await self.clock.sleep(pause)
        return await self._known(continuity)

    async def _message_of(self, turn_id: str) -> str | None:
        """Return the id of the stored message with which a turn was handed over."""
        tail, before = tail_of([turn_id]), None
        while True:
            rows, before = await self.api.messages(self.live.id, limit=100, before=before)
            for row in reversed(rows):
                info = row.get("info")
                message_id = str(info.get("id")) if isinstance(info, dict) else ""
                if has_tail(message_id, tail):
                    return message_id
            if before is None or not rows:
                return None

    async def _tell(self) -> None:
        await self._tell_continuity()
        info: dict[str, object] = {**self.catalogue.as_info()}
        info |= {"model": self.model or self.live.model, "mode": self.mode or None}
        await self.reporter.report(SessionInfoChanged(info=info))

    async def _tell_continuity(self) -> None:
        await self.reporter.report(ContinuityChanged(continuity=self.watch.continuity()))

    async def _end_deleted(self) -> None:
        problem = Problem(
            code="agent-session-deleted",
            message=f"the session was deleted on the OpenCode server at {self.api.url}",
            remedy="Prompt again; a new one is begun with what was said so far.",
        )
        await self._end("session-deleted", problem)

    async def _watch_server(self, server: LocalServer) -> None:
        exit_ = await server.ended()
        words = f"the OpenCode server of the profile {self.session.profile.name!r} has ended"
        words += f"; its last words: {said}" if (said := server.last_words()) else ""
        problem = Problem(code="agent-crashed", message=self._services.redact(words), remedy=_AGAIN)
        details = {"exit_code": exit_.code, "signal": exit_.signal}
        await self._end("crashed", problem, details)

    async def _end(self, reason: str, problem: Problem, details: JsonObject | None = None) -> None:
        if self.is_closed:
            return
        self.is_closed = True
        told = {name: value for name, value in (details or {}).items() if value is not None}
        await self.reporter.report_last(
            ExecutionFinished(
                reason=reason, problem=problem, details=told, turn_id=self.live.turn_id
            )
        )

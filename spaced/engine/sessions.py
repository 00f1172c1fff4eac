"""Creates sessions and changes what belongs to them as a whole."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal

from spaced.domain.builtin_workflows import AGENT_CHAT_ID, AGENT_CHAT_STEP_ID
from spaced.domain.chat import ChatRequest, begin_chat, request_of
from spaced.domain.events.event import Event
from spaced.domain.events.run import RunCompleted, RunUpdated
from spaced.domain.events.session import SessionConfigured
from spaced.domain.events.transcript import AgentStatusChanged
from spaced.domain.json_values import JsonObject
from spaced.domain.permissions import read_rules
from spaced.domain.run import Run
from spaced.domain.session import Session
from spaced.domain.text_door import storable_object, storable_text
from spaced.engine.coordinator import Coordinator
from spaced.engine.executions import Executions, LiveExecution
from spaced.engine.held_run import HeldRun, about
from spaced.engine.parts import EngineParts
from spaced.engine.profiles import Profiles
from spaced.engine.session_commands import command, living_session
from spaced.engine.workflows.reading import Workflows
from spaced.errors import KeyTaken, RuntimeProblem, StreamPurged
from spaced.identifiers import accept
from spaced.log.fact import fact_of
from spaced.log.read_models.sessions import SESSION, session_of
from spaced.refusals import (
    InvalidRequest,
    ProfileDisabled,
    SessionBusy,
    SessionDeleted,
    SessionExists,
    SessionTerminal,
    UnknownSession,
)
from spaced.runtime.protocol import ConfigureOutcome

_FIRST_EVENTS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """Changes to what a session sets over its profile; `None` leaves a setting as it is."""

    title: str | None = None
    mode: str | None = None
    model: str | None = None
    options: JsonObject | None = None
    permissions: tuple[JsonObject, ...] | None = None
    headless: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured:
    """What came of a change.

    Attributes:
        report: by field, what the connected agent made of it; empty if none is connected: the
            next execution begins with the new settings.
    """

    session: Session
    report: Mapping[str, ConfigureOutcome | Literal["unreachable"]] = field(default_factory=dict)


class Sessions:
    """The commands about whole sessions."""

    def __init__(
        self,
        parts: EngineParts,
        profiles: Profiles,
        workflows: Workflows,
        executions: Executions,
        coordinator: Coordinator,
    ) -> None:
        self._parts = parts
        self._profiles = profiles
        self._workflows = workflows
        self._executions = executions
        self._coordinator = coordinator

    async def create(self, request: ChatRequest, *, session_id: str | None = None) -> Session:
        """Create a chat, or return the one that the same request made before.

        Raises:
            InvalidRequest: the folder is not an existing one, or a rule cannot be read.
            UnknownProfile: there is no such profile.
            ProfileDisabled: it takes no new sessions.
            SessionExists: the id belongs to a session that was created otherwise.
            SessionDeleted: the id belonged to a session that was deleted.
        """
        request = await self._checked(request)
        ids = self._parts.ids
        name = ids.new("ses") if session_id is None else accept(session_id, what="session")
        return await self._parts.tasks.finish(self._create(name, request), name=f"create {name}")

    async def get(self, session_id: str) -> Session:
        """Return a session.

        Raises:
            UnknownSession: there is none of this id, or it was deleted.
        """
        rows = (await self._parts.storage.get_rows(SESSION.name, [(session_id,)])).rows
        if not rows or rows[0]["visibility"] == "hidden":
            raise UnknownSession(session_id)
        return session_of(rows[0])

    async def configure(
        self, session_id: str, changes: Configuration, *, archived: bool | None = None
    ) -> Configured:
        """Change what a session sets over its profile, also for the agent that is connected.

        Args:
            archived: also moves its run to the archive, or back, in the same append.

        Raises:
            InvalidRule: a permission rule cannot be read.
        """
        if changes.permissions is not None:
            read_rules(changes.permissions)
        event = SessionConfigured(
            title=None if changes.title is None else storable_text(changes.title),
            mode=changes.mode,
            model=changes.model,
            options=None if changes.options is None else storable_object(changes.options),
            permissions=changes.permissions,
            headless=changes.headless,
        )

        async def decide(held: HeldRun, _: Session) -> Session:
            events: list[Event] = [] if changes == Configuration() else [event]
            events += _archiving(held, archived=archived)
            if events:
                await held.append(about(session_id, *events))
            return living_session(held, session_id)

        session = await command(self._parts, session_id, decide)
        return Configured(session=session, report=await self._tell_agent(session_id, changes))

    async def archive(self, session_id: str, *, archived: bool = True) -> Run:
        """Move a session's run to the archive, or back to the list."""

        async def decide(held: HeldRun, _: Session) -> Run:
            if events := _archiving(held, archived=archived):
                await held.append(about(session_id, *events))
            return held.run

        return await command(self._parts, session_id, decide)

    async def complete(self, session_id: str) -> Session:
        """End a session for good; a later prompt goes to a follow-up.

        Raises:
            SessionBusy: a turn runs, or prompts are pending.
        """
        ended: list[LiveExecution] = []

        async def decide(held: HeldRun, session: Session) -> Session:
            if session.status == "completed":
                return session
            if session.is_terminal:
                raise SessionTerminal(f"the session {session_id!r} is {session.status}")
            self._coordinator.refuse_busy(held, session_id)
            if held.pending(session_id):
                raise SessionBusy(
                    f"the session {session_id!r} has pending prompts",
                    remedy="Let them run, or cancel them first.",
                )
            events: list[Event] = [AgentStatusChanged(status="completed")]
            if held.run.is_chat and held.run.primary_session_id == session_id:
                events.append(RunCompleted())
            # Its follow-up continues the conversation, and two connections must not share one.
            live = await self._executions.append_ending(held, session, events, reason="completed")
            ended.extend([] if live is None else [live])
            return living_session(held, session_id)

        completed = await command(self._parts, session_id, decide)
        for live in ended:
            await self._executions.silence(live, grace_ms=self._parts.settings.stop_grace_ms)
        return completed

    async def _checked(self, request: ChatRequest) -> ChatRequest:
        record = await self._profiles.get(request.profile_id)
        if record.status != "enabled":
            raise ProfileDisabled(f"the profile {request.profile_id!r} takes no new sessions")
        folder = request.directory
        if not folder.startswith("/"):
            raise InvalidRequest(f"directory {folder[:200]!r} is not an absolute path")
        if not await asyncio.to_thread(_is_folder, folder):
            raise InvalidRequest(f"directory {folder[:200]!r} is not an existing folder")
        read_rules(request.permissions or ())
        title = None if request.title is None else storable_text(request.title)
        return ChatRequest(
            profile_id=request.profile_id,
            directory=folder,
            title=title,
            mode=request.mode,
            model=request.model,
            options=None if request.options is None else storable_object(request.options),
            permissions=request.permissions,
            headless=request.headless,
        )

    async def _create(self, session_id: str, request: ChatRequest) -> Session:
        entering = self._parts.entry_locks.entering(AGENT_CHAT_ID)
        async with entering, self._parts.queues.hold(session_id) as held:
            workflow = await self._workflows.newest(AGENT_CHAT_ID)
            if held.exists:
                return await self._judge(held, session_id, request)
            events = begin_chat(
                session_id,
                request,
                workflow_id=AGENT_CHAT_ID,
                workflow_version=1 if workflow is None else workflow.version,
                step_id=AGENT_CHAT_STEP_ID,
                entry_id=self._parts.ids.new("ent"),
            )
            try:
                await held.append(about(session_id, *events))
            except KeyTaken as error:
                raise SessionExists(f"the id {session_id!r} belongs to another session") from error
            except StreamPurged as error:
                raise SessionDeleted(f"the session {session_id!r} was deleted") from error
            return living_session(held, session_id)

    async def _judge(self, held: HeldRun, session_id: str, request: ChatRequest) -> Session:
        """Return the session if this very request made it."""
        if held.session(session_id) is None:
            raise SessionExists(f"the id {session_id!r} names something that is no session")
        session = living_session(held, session_id)
        recorded = await self._parts.storage.read_stream(session_id, limit=_FIRST_EVENTS)
        told = [fact.event for event in recorded if (fact := fact_of(event)) is not None]
        first = request_of(told)
        if first != request:
            names = [f.name for f in fields(request) if _differs(first, request, f.name)]
            raise SessionExists(
                f"the session {session_id!r} was created with another {' and '.join(names)}"
            )
        return session

    async def _tell_agent(
        self, session_id: str, changes: Configuration
    ) -> Mapping[str, ConfigureOutcome | Literal["unreachable"]]:
        wanted = {
            name: value
            for name in ("mode", "model", "options")
            if (value := getattr(changes, name)) is not None
        }
        live = self._executions.live(session_id)
        if not wanted or live is None or live.connection is None:
            return {}
        try:
            return dict(await live.connection.configure(wanted))
        except RuntimeProblem:
            return dict.fromkeys(wanted, "unreachable")


def _archiving(held: HeldRun, *, archived: bool | None) -> list[Event]:
    """Return what moves a run to the archive or back; nothing if it is there already."""
    if archived is None or held.run.is_archived == archived:
        return []
    names = tuple(session.id for session in held.sessions())
    return [RunUpdated(archived=archived, session_ids=names)]


def _differs(first: ChatRequest | None, second: ChatRequest, name: str) -> bool:
    return bool(getattr(first, name, None) != getattr(second, name))


def _is_folder(path: str) -> bool:
    return Path(path).is_dir()

"""Forks a chat: a new run that begins with the transcript up to an item, and without continuity."""

from collections.abc import Sequence
from typing import Final

import msgspec

from spaced.clock import to_rfc3339
from spaced.domain.builtin_workflows import AGENT_CHAT_ID, AGENT_CHAT_STEP_ID
from spaced.domain.chat import ChatRequest, begin_chat
from spaced.domain.events.event import Event
from spaced.domain.events.transcript import AgentItemAppended
from spaced.domain.json_values import JsonObject
from spaced.domain.run import Run
from spaced.domain.session import Session
from spaced.domain.session_items import closing_fields, event_item, is_open
from spaced.engine.held_run import about
from spaced.engine.parts import EngineParts
from spaced.engine.session_commands import living_session
from spaced.engine.transcripts import all_items
from spaced.engine.workflows.reading import Workflows
from spaced.errors import KeyTaken, StreamPurged, UnknownItem
from spaced.identifiers import accept
from spaced.refusals import ForkTooLarge, SessionExists

LARGEST_COPY: Final = 6 * 1024 * 1024
"""Bytes of items that a fork copies: with its other events it has to fit into one append."""


class Forks:
    """The command that forks."""

    def __init__(self, parts: EngineParts, workflows: Workflows) -> None:
        self._parts = parts
        self._workflows = workflows

    async def fork(
        self, session_id: str, *, at_item: str | None = None, new_id: str | None = None
    ) -> Session:
        """Start a new chat with the transcript of another one, up to and with an item.

        What of it is too much for one append is left out from the beginning, and said so.

        Args:
            at_item: the last item to copy; `None` copies all.
            new_id: the client's own id for the new session.

        Raises:
            UnknownItem: the session has no such item.
            SessionExists: the new id is taken.
            ForkTooLarge: not even the last item fits.
        """
        run_id = await self._parts.queues.run_of_session(session_id)
        name = self._parts.ids.new("ses") if new_id is None else accept(new_id, what="session")
        work = self._fork(run_id, session_id, at_item, name)
        return await self._parts.tasks.finish(work, name=f"fork of {session_id}")

    async def _fork(
        self, run_id: str, session_id: str, at_item: str | None, new_id: str
    ) -> Session:
        async with self._parts.queues.hold(run_id) as source:
            session, run = living_session(source, session_id), source.run
            items = _up_to(await all_items(self._parts.storage, run_id, session_id), at_item)
        last = str(items[-1]["id"]) if items else None
        entering = self._parts.entry_locks.entering(AGENT_CHAT_ID)
        async with entering, self._parts.queues.hold(new_id) as fork:
            if fork.exists:
                raise SessionExists(f"the id {new_id!r} is taken")
            workflow = await self._workflows.newest(AGENT_CHAT_ID)
            events = begin_chat(
                new_id,
                _request(run, session),
                workflow_id=AGENT_CHAT_ID,
                workflow_version=1 if workflow is None else workflow.version,
                step_id=AGENT_CHAT_STEP_ID,
                entry_id=self._parts.ids.new("ent"),
                forked_from={"run_id": run_id, "session_id": session_id, "item_id": last},
                before=tuple(self._copies(items, session_id)),
            )
            try:
                await fork.append(about(new_id, *events), bulk=True)
            except (KeyTaken, StreamPurged) as error:
                raise SessionExists(f"the id {new_id!r} is taken") from error
            return living_session(fork, new_id)

    def _copies(self, items: Sequence[JsonObject], session_id: str) -> list[Event]:
        """Return the newest items that fit, after a note about those that do not."""
        copies: list[Event] = []
        size = 0
        for item in reversed(items):
            copy = _copy(item)
            size += len(msgspec.json.encode(copy))
            if size > LARGEST_COPY:
                break
            copies.append(AgentItemAppended(item=copy))
        if items and not copies:
            raise ForkTooLarge(f"the item {items[-1]['id']!r} is too large to be copied")
        if len(copies) < len(items):
            details = {"left_out": len(items) - len(copies), "session_id": session_id}
            created_at = to_rfc3339(self._parts.clock.now())
            item_id = self._parts.ids.new("itm")
            note = event_item(item_id, "earlier-items-left-out", details, created_at)
            copies.append(AgentItemAppended(item=note))
        return copies[::-1]


def _up_to(items: Sequence[JsonObject], at_item: str | None) -> Sequence[JsonObject]:
    if at_item is None:
        return items
    for place, item in enumerate(items):
        if item.get("id") == at_item:
            return items[: place + 1]
    raise UnknownItem(f"there is no item {at_item!r} to fork from")


def _copy(item: JsonObject) -> JsonObject:
    """Return an item as a record: closed, and without what only its own session knows."""
    copy = {name: value for name, value in item.items() if name not in ("turn_id", "source")}
    if is_open(item):
        copy.update(closing_fields(item, is_completed=False))
    return copy


def _request(run: Run, session: Session) -> ChatRequest:
    settings = session.configuration
    return ChatRequest(
        profile_id=session.agent_id or "",
        directory=session.directory or run.directory or "/",
        title=session.title,
        mode=settings.mode,
        model=settings.model,
        options=settings.options,
        permissions=settings.permissions,
        headless=settings.headless,
    )

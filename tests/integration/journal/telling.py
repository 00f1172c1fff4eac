"""Telling events to a journal, and reading what became of them."""

from collections.abc import Sequence
from typing import Final

from spaced.domain.events.event import Event
from spaced.domain.events.run import RunCreated
from spaced.domain.events.transcript import AgentItemAppended, AgentSessionCreated
from spaced.engine.doctor import Finding, examine
from spaced.engine.journal import Entry, Journal, Statement
from spaced.log.read_models.catalogue import READ_MODELS
from spaced.log.record import NewEvent, RecordedEvent, StreamWrite
from spaced.log.table import Key, Row
from spaced.storage.protocol import Appended, Storage
from spaced.testing.samples import EVERYTHING
from tests.unit.log.stories import said

CREATED: Final = RunCreated(
    workflow_id="agent-chat", workflow_version=1, context={"agent_session": True}
)
OPENED: Final = AgentSessionCreated(data={"agent_id": "prof"})


def item(item_id: str, content: str = "", **fields: object) -> AgentItemAppended:
    """Return the event that appends a message."""
    return AgentItemAppended(item={"id": item_id, "type": "message", "content": content, **fields})


def statements(stream: str, *events: Event) -> list[Statement]:
    """Return statements about a chat: its session has the stream's name."""
    return [said(event, stream if event.is_of_session else None) for event in events]


async def version_of(storage: Storage, stream: str) -> int:
    """Return the version that a stream is at."""
    return len(await storage.read_stream(stream))


async def tell(
    storage: Storage, journal: Journal, stream: str, *told: Event | Statement
) -> Appended:
    """Record events of a chat, or statements about any session, at the stream's end."""
    entry = Entry(
        stream=stream,
        expected_version=await version_of(storage, stream),
        statements=[
            one if isinstance(one, Statement) else statements(stream, one)[0] for one in told
        ],
    )
    return await journal.append(entry)


async def begin_chat(storage: Storage, journal: Journal, stream: str, *more: Event) -> None:
    """Record a chat with its session and whatever follows."""
    await tell(storage, journal, stream, CREATED, OPENED, *more)


async def plant(storage: Storage, stream: str, *events: NewEvent) -> None:
    """Write events past the journal, as a fault of ours or of a disk would leave them."""
    version = await version_of(storage, stream)
    await storage.append([StreamWrite(stream=stream, expected_version=version, events=events)])


async def whole_log(storage: Storage) -> Sequence[RecordedEvent]:
    """Return every event."""
    return await storage.read_all(after=0, limit=EVERYTHING)


async def derived_rows(storage: Storage, stream: str | None = None) -> dict[tuple[str, Key], Row]:
    """Return the derived rows of a stream, or all of them, by table and key."""
    where = None if stream is None else {"stream": stream}
    return {
        (model.table.name, model.table.key_of(row)): row
        for model in READ_MODELS
        for row in (await storage.list_rows(model.table.name, where=where)).rows
    }


async def found(storage: Storage, table: str, query: str) -> set[Key]:
    """Return the keys of the rows that a search finds."""
    return set((await storage.search(table, query, limit=EVERYTHING)).keys)


async def findings(storage: Storage) -> list[Finding]:
    """Return all that the doctor finds."""
    return [finding async for finding in examine(storage)]

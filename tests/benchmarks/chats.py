"""Chats that are laid into a storage through the journal alone, to be there when one measures."""

from collections.abc import Sequence
from pathlib import Path

from spaced.clock import Clock, SystemClock
from spaced.domain.events.event import Event, SessionEvent
from spaced.domain.events.prompt import PromptAdmitted, PromptPromoted
from spaced.domain.events.run import RunCreated
from spaced.domain.events.transcript import (
    AgentItemTextAppended,
    AgentItemUpdated,
    AgentItemUpserted,
    AgentSessionCreated,
)
from spaced.domain.events.turn import (
    ExecutionEnded,
    ExecutionOpened,
    TurnDispatched,
    TurnEnded,
    TurnStarted,
)
from spaced.engine.journal import Entry, Journal, Statement
from spaced.log.read_models.catalogue import TABLES
from spaced.log.table import RowWrite
from spaced.storage.protocol import Appended, Storage, StoragePlace
from spaced_sqlite.factory import SqliteStorageFactory

PROMPT_TEXT = "The build fails since yesterday. Find out why, mend it, and add a test. " * 5


async def open_storage(folder: Path, clock: Clock | None = None) -> Storage:
    """Open a SQLite storage with the core's tables."""
    tables = list(TABLES.values())
    place = StoragePlace(folder=folder, tables=tables, clock=clock or SystemClock())
    return await SqliteStorageFactory().open(place)


class Chat:
    """One session that counts its own versions, as the queue of a run does."""

    def __init__(self, storage: Storage, session_id: str, clock: Clock | None = None) -> None:
        self.session_id = session_id
        self.version = 0
        self.items = 0
        self.prompts = 0
        self._journal = Journal(storage, clock or SystemClock())

    def entry(self, *events: Event) -> Entry:
        """Return events as the next ones of the chat."""
        expected, self.version = self.version, self.version + len(events)
        statements = [
            Statement(
                event=event, session_id=self.session_id if isinstance(event, SessionEvent) else None
            )
            for event in events
        ]
        return Entry(stream=self.session_id, expected_version=expected, statements=statements)

    async def append(
        self, *events: Event, own_rows: Sequence[RowWrite] = (), bulk: bool = False
    ) -> Appended:
        """Record events."""
        return await self._journal.append(self.entry(*events), own_rows=own_rows, bulk=bulk)

    def prompt(self) -> PromptAdmitted:
        """Return the next prompt of the chat."""
        self.prompts += 1
        return prompt_of(self.session_id, self.prompts)

    def past_turn(self) -> tuple[Event, ...]:
        """Return a turn from its prompt to its end, with an execution of its own."""
        prompt = self.prompt()
        name = f"{self.session_id[4:]:0>14}{self.prompts:012d}"
        turn_id, execution_id = f"turn_{name}", f"exe_{name}"
        names = (prompt.prompt_id,)
        return (
            prompt,
            ExecutionOpened(execution_id=execution_id, runtime="scripted", generation=1),
            PromptPromoted(prompt_id=names[0], turn_id=turn_id, item_id=self.new_item_id()),
            TurnStarted(turn_id=turn_id, prompt_ids=names),
            TurnDispatched(turn_id=turn_id, execution_id=execution_id, prompt_ids=names),
            TurnEnded(turn_id=turn_id, outcome="completed"),
            ExecutionEnded(execution_id=execution_id, reason="idle"),
        )

    def new_item_id(self) -> str:
        """Return the next item's id; unique in the storage, as real ones are."""
        self.items += 1
        return f"itm_{self.session_id[4:]:0>12}{self.items:014d}"


def prompt_of(session_id: str, number: int) -> PromptAdmitted:
    """Return a prompt of a session; its id is unique in the storage, as real ones are."""
    return PromptAdmitted(
        prompt_id=f"msg_{session_id[4:]:0>14}{number:012d}",
        parts=({"type": "text", "text": PROMPT_TEXT},),
        delivery="queue",
        address={"kind": "session", "id": session_id},
        origin="person",
        held=True,
        rank=number,
        queue_index=number - 1,
    )


def creation(title: str) -> tuple[Event, ...]:
    """Return the events that open a chat."""
    return (
        RunCreated(
            workflow_id="agent-chat",
            workflow_version=1,
            context={"agent_session": True},
            title=title,
            directory="/srv/projects/example",
        ),
        AgentSessionCreated(data={"agent_id": "prof_0193c1d2e3f4AbCdEfGhIjKlMn", "title": title}),
    )


def opened(item_id: str) -> AgentItemUpserted:
    """Return the beginning of an agent's message."""
    item = {
        "id": item_id,
        "type": "message",
        "role": "assistant",
        "content": "",
        "stream_status": "streaming",
        "turn_id": "turn_0193c1d2e3f4AbCdEfGhIj",
        "created_at": "2026-12-01T09:30:00.000Z",
    }
    return AgentItemUpserted(item=item)


def grown(item_id: str, text: str, *, offset: int = 0) -> AgentItemTextAppended:
    """Return a piece of an agent's message."""
    return AgentItemTextAppended(item_id=item_id, field="content", offset=offset, text=text)


def completed(item_id: str) -> AgentItemUpdated:
    """Return the end of an agent's message."""
    return AgentItemUpdated(item_id=item_id, updates={"stream_status": "complete"})


def message(item_id: str, text: str) -> tuple[Event, ...]:
    """Return a whole message of an agent, in the three events that it takes."""
    return opened(item_id), grown(item_id, text), completed(item_id)


async def new_chat(storage: Storage, session_id: str, clock: Clock | None = None) -> Chat:
    """Open a chat in the storage."""
    chat = Chat(storage, session_id, clock)
    await chat.append(*creation(f"Chat {session_id}"))
    return chat


async def fill(chat: Chat, texts: Sequence[str]) -> None:
    """Record one message of an agent for each text, in bulk."""
    for first in range(0, len(texts), 250):
        events: list[Event] = []
        for text in texts[first : first + 250]:
            events += message(chat.new_item_id(), text)
        await chat.append(*events, bulk=True)

"""A process that writes to a storage until it is killed, and says on standard output what was answered.

It is forked for each round by a parent that has imported everything, so that two hundred rounds
cost seconds. Each line is written with one system call after the answer came, so that a line that
can be read is an answer that was given.
"""

import asyncio
import os
import random
import sys
from pathlib import Path

from spaced.clock import SystemClock
from spaced.domain.events.prompt import PromptAdmitted
from spaced.domain.events.run import RunCreated
from spaced.domain.events.transcript import (
    AgentItemTextAppended,
    AgentItemUpdated,
    AgentItemUpserted,
    AgentSessionCreated,
    AgentStatusChanged,
)
from spaced.engine.journal import Entry, Journal, Statement
from spaced.log.read_models.catalogue import TABLES
from spaced.storage.protocol import Storage, StoragePlace
from spaced_sqlite.factory import SqliteStorageFactory

WRITERS = 4


def place(folder: Path) -> StoragePlace:
    """Return where a round writes."""
    return StoragePlace(folder=folder, tables=tuple(TABLES.values()), clock=SystemClock())


class Writer:
    """Drives one run: creates it, then appends items, text and prompts, a few events at a time."""

    def __init__(self, storage: Storage, name: str, chance: random.Random) -> None:
        self._journal = Journal(storage, SystemClock())
        self._name = name
        self._chance = chance
        self._version = 0
        self._items = 0

    async def write_for_ever(self) -> None:
        """Write until the process ends."""
        while True:
            statements = self._next()
            entry = Entry(stream=self._name, expected_version=self._version, statements=statements)
            await self._journal.append(entry)
            self._version += len(statements)
            os.write(1, f"{self._name} {self._version}\n".encode())

    def _next(self) -> list[Statement]:
        if self._version == 0:
            created = RunCreated(workflow_id="wf_chat", workflow_version=1, context={})
            return [
                Statement(event=created),
                self._of_session(AgentSessionCreated(data={"agent_id": "prof_1"})),
                self._of_session(AgentStatusChanged(status="idle")),
            ]
        if self._chance.random() < 0.3:
            return [self._of_session(self._prompt())]
        return self._item()

    def _prompt(self) -> PromptAdmitted:
        return PromptAdmitted(
            prompt_id=f"msg_{self._name}_{self._version}",
            parts=({"type": "text", "text": "words " * self._chance.randint(1, 400)},),
            delivery="queue",
            address={"kind": "session", "id": self._name},
            origin="person",
            held=False,
            rank=self._version,
            queue_index=0,
        )

    def _item(self) -> list[Statement]:
        self._items += 1
        item_id = f"itm_{self._items}"
        opened = {"id": item_id, "type": "message", "content": "", "stream_status": "streaming"}
        text = "answer " * self._chance.randint(1, 800)
        return [
            self._of_session(AgentItemUpserted(item=opened)),
            self._of_session(
                AgentItemTextAppended(item_id=item_id, field="content", offset=0, text=text)
            ),
            self._of_session(
                AgentItemUpdated(item_id=item_id, updates={"stream_status": "complete"})
            ),
        ]

    def _of_session(
        self,
        event: AgentSessionCreated
        | AgentStatusChanged
        | PromptAdmitted
        | AgentItemUpserted
        | AgentItemTextAppended
        | AgentItemUpdated,
    ) -> Statement:
        return Statement(event=event, session_id=self._name)


async def write(folder: Path, seed: int) -> None:
    """Open the storage and let several writers append at once."""
    storage = await SqliteStorageFactory().open(place(folder))
    async with asyncio.TaskGroup() as group:
        for number in range(WRITERS):
            name = f"ses_{seed}_{number}"
            writer = Writer(storage, name, random.Random(f"{seed}/{number}"))
            group.create_task(writer.write_for_ever())


def main() -> None:
    """Fork a writer for each line `<folder> <seed>` that is read, and say its pid."""
    for line in sys.stdin:
        folder, seed = line.split()
        answers_in, answers_out = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.dup2(answers_out, 1)
            os.close(answers_in)
            asyncio.run(write(Path(folder), int(seed)))
            os._exit(0)
        os.close(answers_out)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()
        _relay(pid, answers_in)


def _relay(pid: int, answers: int) -> None:
    """Pass on what the writer says, and close the round when the writer is gone."""
    while chunk := os.read(answers, 65536):
        sys.stdout.write(chunk.decode())
        sys.stdout.flush()
    os.close(answers)
    os.waitpid(pid, 0)
    sys.stdout.write("gone\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()

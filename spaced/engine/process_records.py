"""Keeps the facts of processes as rows, so that a later start finds what this one leaves."""

from collections.abc import Sequence
from dataclasses import asdict

from spaced.log.read_models.catalogue import PROCESS
from spaced.log.table import DeleteRow, PutRow, Row
from spaced.runtime.processes.facts import ProcessFacts
from spaced.storage.protocol import Storage


class ProcessRows:
    """The records of processes in the storage's own table."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def started(self, facts: ProcessFacts) -> None:
        """Keep them; they are safe when this returns."""
        await self._storage.append([], [PutRow(table=PROCESS.name, row=asdict(facts))])

    async def gone(self, facts: ProcessFacts) -> None:
        """Drop them; facts that are not there are fine."""
        key = (facts.pid, facts.started)
        await self._storage.append([], [DeleteRow(table=PROCESS.name, key=key)])

    async def left_over(self) -> Sequence[ProcessFacts]:
        """Return all that are kept."""
        return [_facts(row) for row in (await self._storage.list_rows(PROCESS.name)).rows]


def _facts(row: Row) -> ProcessFacts:
    return ProcessFacts(
        pid=int(row["pid"] or 0),
        started=str(row["started"]),
        boot_id=str(row["boot_id"]),
        execution_id=str(row["execution_id"]),
        marker=str(row["marker"]),
        command=str(row["command"]),
    )

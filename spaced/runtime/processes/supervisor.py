"""Starts children for runtimes, and keeps the promise that nothing they started outlives a stop.

Every child is recorded before anybody gets it, marked in its environment, and leads a session of
its own. A stop ends the child and its group, then whatever descends from it, and with the last
living child of an execution everything that carries the execution's mark. A child that ends by
itself leaves what it started alone until it, or its execution, is stopped.

While other children of the execution live, a descendant is known by its parents, its group and its
session, each as they were when the stop began or later. One that had left all of these before can
be told from the others' only by nobody: it goes with the execution.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Collection, Sequence
from types import TracebackType
from typing import Self, TypeAlias

from spaced.clock import Clock
from spaced.errors import SpacedError, SpawnRefused
from spaced.runtime.child import Child, ChildRequest
from spaced.runtime.processes import marker
from spaced.runtime.processes.facts import ProcessFacts, ProcessRecords
from spaced.runtime.processes.kin import Kin
from spaced.runtime.processes.process_table import Process, ProcessTable
from spaced.runtime.processes.starting import start
from spaced.runtime.processes.stop_ladder import climb
from spaced.runtime.processes.supervised_child import SupervisedChild
from spaced.runtime.processes.sweep import sweep

log = logging.getLogger(__name__)

_Marks: TypeAlias = Callable[[], Collection[str]]
"""Asked anew at each look: a child may be started while the last one before it is being stopped."""


class ProcessSupervisor:
    """Implements `Spawn`. As a context it closes itself; it starts no task that outlives a call."""

    def __init__(
        self,
        clock: Clock,
        owner: str,
        records: ProcessRecords,
        *,
        table: ProcessTable | None = None,
    ) -> None:
        self._clock = clock
        self._owner = owner
        self._records = records
        self._table = table or ProcessTable()
        self._children: set[SupervisedChild] = set()
        self._is_closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def __call__(self, request: ChildRequest) -> Child:
        """Start a child; it is recorded before this returns, or else killed."""
        if self._is_closed:
            raise SpawnRefused("no process is started any more: the daemon is stopping")
        child = self._start(request)
        self._children.add(child)
        try:
            async with child.recording:
                await self._records.started(child.facts)
        except BaseException:
            child.kill_group()
            await self._stop_one(child, 0)
            raise
        return child

    def children_of(self, execution_id: str) -> tuple[Child, ...]:
        """Return the children of an execution that are running."""
        return tuple(child for child in self._of(execution_id) if child.is_running)

    async def stop_execution(self, execution_id: str, *, grace_ms: int) -> None:
        """End every child of an execution and everything that carries its mark.

        It may be called twice, at the same time too, and for an execution without children. When
        it returns, nothing is left.
        """
        marks = {marker.marker_of(self._owner, execution_id)}
        await self._stop(self._of(execution_id), grace_ms, lambda: marks)
        while children := self._of(execution_id):
            await self._stop(children, grace_ms, lambda: marks)
        # An execution that outlived the daemon has records of a life in which it had children.
        records = [f for f in await self._records.left_over() if f.execution_id == execution_id]
        if records:
            kin = await self._kin_of(records)
            await self._sweep(kin, lambda: marks)
            for facts in records:
                await self._records.gone(facts)

    async def kill_left_over(self, *, keep: Collection[str] = ()) -> int:
        """Kill at once what earlier lives of the daemon have left, and return how many that were.

        Args:
            keep: executions that go on.
        """

        def is_kept(execution_id: str) -> bool:
            return execution_id in keep or bool(self._of(execution_id))

        records = [f for f in await self._records.left_over() if not is_kept(f.execution_id)]
        kin = await self._kin_of(records)

        def choose(processes: Sequence[Process]) -> list[Process]:
            # Asked anew at each look: an execution may begin while the sweep goes on.
            kept = {*keep, *(child.facts.execution_id for child in self._children)}
            recorded = {process.identity for process in kin.find(processes)}
            ours = [(process, self._executions_of(process)) for process in processes]
            return [
                process
                for process, executions in ours
                if (executions or process.identity in recorded) and not executions & kept
            ]

        killed = await sweep(choose, table=self._table, clock=self._clock)
        for facts in records:
            await self._records.gone(facts)
        return killed

    async def close(self) -> None:
        """Kill every child with everything of its execution, and start none any more."""
        self._is_closed = True
        while children := list(self._children):
            await self._stop(children, 0, self._all_marks)

    async def _kin_of(self, records: Sequence[ProcessFacts]) -> Kin:
        boot_id = await asyncio.to_thread(self._table.boot_id)
        return Kin((f.pid, f.started) for f in records if f.boot_id == boot_id)

    def _of(self, execution_id: str) -> list[SupervisedChild]:
        return [child for child in self._children if child.facts.execution_id == execution_id]

    def _executions_of(self, process: Process) -> set[str]:
        found = {marker.execution_of(mark, self._owner) for mark in process.marks}
        return {execution_id for execution_id in found if execution_id is not None}

    def _start(self, request: ChildRequest) -> SupervisedChild:
        environment = marker.marked_environment(
            request.environment,
            owner=self._owner,
            execution_id=request.execution_id,
            outer=os.environ.get(marker.VARIABLE, ""),
        )
        process = start(request, environment)
        # Not in a thread: between the start and the child's place in the registry nothing may come.
        facts = ProcessFacts(
            pid=process.pid,
            started=self._table.started(process.pid) or "",
            boot_id=self._table.boot_id(),
            execution_id=request.execution_id,
            marker=marker.marker_of(self._owner, request.execution_id),
            command=request.command[0],
        )
        return SupervisedChild(process, request, facts, table=self._table, stop=self._stop_one)

    async def _stop_one(self, child: SupervisedChild, grace_ms: int) -> None:
        await self._stop([child], grace_ms, lambda: self._marks_without(child))

    async def _stop(
        self, children: Collection[SupervisedChild], grace_ms: int, marks: _Marks
    ) -> None:
        kin = Kin((child.facts.pid, child.facts.started) for child in children)
        kin.find(await asyncio.to_thread(self._table.processes))  # while parents are there to tell
        async with asyncio.TaskGroup() as group:
            for child in children:
                ending = climb(child, grace_ms, self._clock)
                group.create_task(ending, name=f"stop of process {child.pid}")
        await self._sweep(kin, marks)
        for child in children:
            await self._release(child)

    def _all_marks(self) -> set[str]:
        return {child.facts.marker for child in self._children}

    def _marks_without(self, ended: SupervisedChild) -> set[str]:
        """Return the mark of a child, unless another one that is running carries it too."""
        others = [child for child in self._children if child.is_running and child is not ended]
        return {ended.facts.marker} - {child.facts.marker for child in others}

    async def _sweep(self, kin: Kin, marks: _Marks) -> None:
        def choose(processes: Sequence[Process]) -> list[Process]:
            unwanted = marks()
            marked = [process for process in processes if not process.marks.isdisjoint(unwanted)]
            return [*marked, *kin.find(processes)]

        await sweep(choose, table=self._table, clock=self._clock)

    async def _release(self, child: SupervisedChild) -> None:
        child.release()
        if child not in self._children:
            return
        self._children.remove(child)
        try:
            async with child.recording:
                await self._records.gone(child.facts)
        except SpacedError:
            # The process is gone all the same, and a record of it can hurt nobody.
            log.warning(
                "the record of process %d could not be dropped",
                child.pid,
                exc_info=True,
                extra={"event": "process-record-left", "pid": child.pid},
            )

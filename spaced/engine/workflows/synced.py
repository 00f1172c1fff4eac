"""Takes over what a sync source says: a file's workflows in one append, and what is gone.

The plan was made before; here it is only carried out, with the runs looked at once more under the
lock that entries of steps share.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from spaced.domain.definitions import DefinedWorkflow
from spaced.domain.events.sync_source import SyncSourceRemoved
from spaced.domain.events.workflow import WorkflowReleased, WorkflowRetired
from spaced.domain.json_values import JsonObject
from spaced.domain.workflow import Step, Workflow
from spaced.engine.journal import Entry, Statement
from spaced.engine.workflows.recording import Seen, WorkflowBook
from spaced.errors import StaleVersion
from spaced.log.table import RowWrite


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncedDefinition:
    """A workflow as its file says it, with the ids that follow from where it stands.

    Attributes:
        origin: `{source: synced, source_id, path, file, line, commit, dirty}`.
        is_new: whether nothing was found of it, which need not be looked up once more.
    """

    workflow_id: str
    workflow: Workflow
    origin: JsonObject
    is_new: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What became of a workflow of a file.

    Attributes:
        run_ids: the runs that keep a step from being removed.
    """

    workflow_id: str
    outcome: Literal["recorded", "unchanged", "blocked"]
    run_ids: tuple[str, ...] = ()


class SyncedWorkflows:
    """Records what sync decided."""

    def __init__(self, book: WorkflowBook) -> None:
        self._book = book

    async def runs_in(self, workflow_id: str, step_id: str) -> list[str]:
        """Return some of the runs that are in a step."""
        return await self._book.runs_in(workflow_id, step_id)

    async def apply(
        self, definitions: Sequence[SyncedDefinition], *, applied: Sequence[RowWrite] = ()
    ) -> Sequence[Applied]:
        """Record the workflows of one file in one append, but for those that runs keep back.

        Args:
            applied: rows that say that the whole file was taken over; left out if it was not.
        """
        try:
            return await self._apply(definitions, applied)
        except StaleVersion:
            # What was new to the plan is not: everything is looked at once more.
            found = [replace(one, is_new=False) for one in definitions]
            return await self._apply(found, applied)

    async def _apply(
        self, definitions: Sequence[SyncedDefinition], applied: Sequence[RowWrite]
    ) -> Sequence[Applied]:
        outcomes: list[Applied] = []
        entries: list[Entry] = []
        new = [one.workflow_id for one in definitions if one.is_new]
        async with self._book.locks.changing(*(one.workflow_id for one in definitions)):
            for one in definitions:
                seen = Seen(workflow_id=one.workflow_id, version=0, state=None)
                if not one.is_new:
                    seen = await self._book.look(one.workflow_id)
                if _is_the_same(seen.state, one):
                    outcomes.append(Applied(workflow_id=one.workflow_id, outcome="unchanged"))
                    continue
                defined = seen.defined(one.workflow, one.origin)
                assert defined.changes is not None
                runs = await self._runs_in_any(one.workflow_id, defined.changes.removed)
                if runs:
                    outcomes.append(
                        Applied(workflow_id=one.workflow_id, outcome="blocked", run_ids=runs)
                    )
                    continue
                outcomes.append(Applied(workflow_id=one.workflow_id, outcome="recorded"))
                entries.append(seen.entry(defined))
            is_whole = all(one.outcome != "blocked" for one in outcomes)
            if entries or (is_whole and applied):
                await self._book.record(
                    *entries, own_rows=applied if is_whole else (), new_ids=new, bulk=True
                )
        return outcomes

    async def retire(self, workflow_id: str, *, reason: str) -> None:
        """Hide a workflow whose file, or whose place in it, is gone; its runs go on."""
        async with self._book.locks.changing(workflow_id):
            seen = await self._book.look(workflow_id)
            if seen.state is not None and seen.state.status == "active":
                await self._book.record(seen.entry(WorkflowRetired(reason=reason)))

    async def release(
        self, source_id: str, source_version: int, workflow_ids: Sequence[str]
    ) -> None:
        """Make workflows local ones and remove their source, in one append."""
        async with self._book.locks.changing(*workflow_ids):
            seen = [await self._book.look(workflow_id) for workflow_id in workflow_ids]
            released = [one.entry(WorkflowReleased()) for one in seen if _is_of(one, source_id)]
            removed = Entry(
                stream=source_id,
                expected_version=source_version,
                statements=[Statement(event=SyncSourceRemoved())],
            )
            await self._book.record(*released, removed)

    async def _runs_in_any(self, workflow_id: str, steps: Sequence[Step]) -> tuple[str, ...]:
        found: list[str] = []
        for step in steps:
            found += await self._book.runs_in(workflow_id, step.id)
        return tuple(found)


def _is_of(seen: Seen, source_id: str) -> bool:
    state = seen.state
    return state is not None and state.status != "deleted" and state.source_id == source_id


def _is_the_same(state: DefinedWorkflow | None, one: SyncedDefinition) -> bool:
    return (
        state is not None
        and state.status == "active"
        and state.workflow == one.workflow
        and place_of(state.origin) == place_of(one.origin)
    )


def place_of(origin: JsonObject) -> Mapping[str, object]:
    """Return where a definition stands: what must be true for a refusal to name it."""
    return {key: origin.get(key) for key in ("source_id", "path", "file", "line")}

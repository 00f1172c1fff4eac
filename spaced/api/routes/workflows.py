"""Workflows: found, created, changed, copied, ordered and deleted."""

import asyncio
from collections.abc import Awaitable, Sequence
from typing import TypeVar

from msgspec import to_builtins

from spaced.api.routing import RouteTable
from spaced.api.services import Services
from spaced.api.workflow_presenting import (
    new_step,
    new_workflow,
    workflow_changes,
    workflow_shape,
)
from spaced.domain.workflow import Step
from spaced.engine.workflows.reading import WorkflowRecord
from spaced.errors import StaleRevision
from spaced.identifiers import accept
from spaced.refusals import InvalidRequest
from spaced.wire import workflow_requests as requests
from spaced.wire import workflow_shapes as shapes

ROUTES = RouteTable("workflows")

_T = TypeVar("_T")


@ROUTES.get("/v1/workflows")
async def list_workflows(
    services: Services, *, query: requests.WorkflowFilter
) -> shapes.WorkflowList:
    """List all workflows that can be used, or those whose file is gone."""
    return await _listed(services, await services.engine.workflows.list(retired=query.retired))


@ROUTES.post("/v1/workflows", status=201)
async def create_workflow(services: Services, *, body: requests.NewWorkflow) -> shapes.Workflow:
    """Create a workflow, of its own steps or from a template."""
    if body.template is not None:
        given = (body.description, body.prompt, body.agent_profile_id, body.agent_profile)
        if body.steps or any(given):
            raise InvalidRequest("a workflow from a template takes a name and nothing else")
        record = await services.engine.workflow_editing.from_template(
            body.template, name=body.name, new_id=body.id
        )
    else:
        if body.name is None:
            raise InvalidRequest("a workflow needs a name, or a template")
        known = await services.engine.bindings.known()
        workflow = known.settle(new_workflow(body, body.name, _steps(services, body)))
        record = await services.engine.workflow_editing.create(workflow, workflow_id=body.id)
    return await _shape(services, record)


@ROUTES.post("/v1/workflows/reorder")
async def reorder_workflows(services: Services, *, body: requests.Order) -> shapes.WorkflowList:
    """Put workflows first in the list, in this order; the order is no part of any file."""
    return await _listed(services, await services.engine.workflow_editing.reorder(body.ids))


@ROUTES.get("/v1/templates")
async def list_templates(services: Services) -> shapes.TemplateList:
    """List the workflows that ship, as they ship."""
    shipped = services.shipped
    ids = await asyncio.to_thread(shipped.ids)
    read = [(one, await asyncio.to_thread(shipped.read, one)) for one in ids]
    return shapes.TemplateList(
        templates=tuple(
            shapes.Template(
                id=template_id,
                name=workflow.name,
                description=workflow.description,
                steps=tuple(step.name for step in workflow.in_order()),
            )
            for template_id, workflow in read
        )
    )


@ROUTES.get("/v1/workflows/{workflow_id}")
async def get_workflow(
    services: Services, *, workflow_id: str, query: requests.WorkflowVersion
) -> shapes.Workflow:
    """Return a workflow, as it is now or as a run pinned it."""
    workflows = services.engine.workflows
    if query.revision is not None:
        return await _shape(services, await workflows.at_version(workflow_id, query.revision))
    return await _shape(services, await workflows.get(workflow_id))


@ROUTES.patch("/v1/workflows/{workflow_id}")
async def change_workflow(
    services: Services,
    *,
    workflow_id: str,
    body: requests.WorkflowChanges,
    revision: int | None,
) -> shapes.Workflow:
    """Change a workflow's own fields; what is absent stays, what is null is cleared."""
    known = await services.engine.bindings.known()
    changes = known.with_held(workflow_changes(body))
    edited = await telling_current(
        services,
        workflow_id,
        services.engine.workflow_editing.change(workflow_id, changes, expected_revision=revision),
    )
    return await _shape(services, edited.record)


@ROUTES.delete("/v1/workflows/{workflow_id}")
async def delete_workflow(services: Services, *, workflow_id: str, revision: int | None) -> None:
    """Delete a workflow that no run is in."""
    editing = services.engine.workflow_editing
    await telling_current(
        services, workflow_id, editing.delete(workflow_id, expected_revision=revision)
    )


@ROUTES.post("/v1/workflows/{workflow_id}/duplicate", status=201)
async def duplicate_workflow(
    services: Services, *, workflow_id: str, body: requests.Duplicate
) -> shapes.Workflow:
    """Copy a workflow; the copy of a synced one is a local one."""
    record = await services.engine.workflow_editing.duplicate(
        workflow_id, name=body.name, new_id=body.id
    )
    return await _shape(services, record)


@ROUTES.post("/v1/workflows/{workflow_id}/reset")
async def reset_workflow(services: Services, *, workflow_id: str) -> shapes.Workflow:
    """Bring the shipped text of a built-in workflow back, also if it was deleted."""
    return await _shape(services, await services.engine.workflow_editing.reset(workflow_id))


async def telling_current(services: Services, workflow_id: str, work: Awaitable[_T]) -> _T:
    """Do something; if it comes too late, the refusal tells what there is now."""
    try:
        return await work
    except StaleRevision as stale:
        record = await services.engine.workflows.get(workflow_id)
        stale.current = to_builtins(await _shape(services, record))
        raise


async def _shape(services: Services, record: WorkflowRecord) -> shapes.Workflow:
    return workflow_shape(record, await services.engine.bindings.known())


async def _listed(services: Services, records: Sequence[WorkflowRecord]) -> shapes.WorkflowList:
    known = await services.engine.bindings.known()
    return shapes.WorkflowList(workflows=tuple(workflow_shape(one, known) for one in records))


def _steps(services: Services, body: requests.NewWorkflow) -> list[Step]:
    steps: list[Step] = []
    for place, said in enumerate(body.steps):
        step_id = accept(said.id, what="step") if said.id else services.new_step_id()
        free = max((step.position for step in steps), default=-1) + 1
        steps.append(new_step(said, step_id=step_id, position=free if place else 0))
    if len({step.id for step in steps}) < len(steps):
        raise InvalidRequest("two steps have the same id")
    return steps

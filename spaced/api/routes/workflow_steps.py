"""The steps of a workflow: each with everything that it says."""

from spaced.api.routes.workflows import telling_current
from spaced.api.routing import RouteTable
from spaced.api.services import Services
from spaced.api.workflow_presenting import new_step, step_changes, step_shape
from spaced.engine.workflows.recording import Edited
from spaced.identifiers import accept
from spaced.wire import workflow_requests as requests
from spaced.wire import workflow_shapes as shapes
from spaced.workflow_refusals import UnknownStep

ROUTES = RouteTable("workflow steps")


@ROUTES.get("/v1/workflows/{workflow_id}/steps")
async def list_steps(services: Services, *, workflow_id: str) -> shapes.StepList:
    """List the steps of a workflow, by position."""
    record = await services.engine.workflows.get(workflow_id)
    known = await services.engine.bindings.known()
    steps = record.definition.workflow.in_order()
    return shapes.StepList(
        revision=record.revision, steps=tuple(step_shape(record, step, known) for step in steps)
    )


@ROUTES.post("/v1/workflows/{workflow_id}/steps", status=201)
async def create_step(
    services: Services, *, workflow_id: str, body: requests.NewStep, revision: int | None
) -> shapes.Step:
    """Add a step, behind all others unless it has a position; a new start step is the only one."""
    step_id = accept(body.id, what="step") if body.id else services.new_step_id()
    workflow = (await services.engine.workflows.get(workflow_id)).definition.workflow
    twin = workflow.step(step_id)
    behind = max((step.position for step in workflow.steps), default=-1) + 1
    known = await services.engine.bindings.known()
    step = new_step(body, step_id=step_id, position=behind if twin is None else twin.position)
    edited = await telling_current(
        services,
        workflow_id,
        services.engine.workflow_editing.add_step(
            workflow_id, known.holding(step), expected_revision=revision
        ),
    )
    return await _shape(services, edited, step_id)


@ROUTES.post("/v1/workflows/{workflow_id}/steps/reorder")
async def reorder_steps(
    services: Services, *, workflow_id: str, body: requests.Order, revision: int | None
) -> shapes.StepList:
    """Put the steps into another order; every one is named once."""
    await telling_current(
        services,
        workflow_id,
        services.engine.workflow_editing.reorder_steps(
            workflow_id, body.ids, expected_revision=revision
        ),
    )
    return await list_steps(services, workflow_id=workflow_id)


@ROUTES.get("/v1/workflows/{workflow_id}/steps/{step_id}")
async def get_step(services: Services, *, workflow_id: str, step_id: str) -> shapes.Step:
    """Return a step."""
    record = await services.engine.workflows.get(workflow_id)
    step = record.definition.workflow.step(step_id)
    if step is None:
        raise UnknownStep(workflow_id, step_id)
    return step_shape(record, step, await services.engine.bindings.known())


@ROUTES.patch("/v1/workflows/{workflow_id}/steps/{step_id}")
async def change_step(
    services: Services,
    *,
    workflow_id: str,
    step_id: str,
    body: requests.StepChanges,
    revision: int | None,
) -> shapes.Step:
    """Change a step; what is absent stays, what is null is cleared."""
    known = await services.engine.bindings.known()
    edited = await telling_current(
        services,
        workflow_id,
        services.engine.workflow_editing.change_step(
            workflow_id,
            step_id,
            known.with_held(step_changes(body)),
            expected_revision=revision,
        ),
    )
    return await _shape(services, edited, step_id)


@ROUTES.delete("/v1/workflows/{workflow_id}/steps/{step_id}")
async def delete_step(
    services: Services, *, workflow_id: str, step_id: str, revision: int | None
) -> None:
    """Delete a step that no run is in and no other step needs."""
    await telling_current(
        services,
        workflow_id,
        services.engine.workflow_editing.remove_step(
            workflow_id, step_id, expected_revision=revision
        ),
    )


async def _shape(services: Services, edited: Edited, step_id: str) -> shapes.Step:
    step = edited.record.definition.workflow.step(step_id)
    assert step is not None
    known = await services.engine.bindings.known()
    return step_shape(edited.record, step, known, edited.demoted)

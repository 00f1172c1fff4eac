"""Portable files: checked, imported and exported."""

import asyncio

from aiohttp import web

from spaced.api.routing import RouteTable
from spaced.api.services import Services
from spaced.api.workflow_presenting import descriptor_of, finding_shape, workflow_shape
from spaced.engine.workflows.importing import ProfileChoice
from spaced.portable.checking import CheckedDocument, check
from spaced.portable.limits import LARGEST
from spaced.portable.writing import write
from spaced.refusals import BodyTooLarge
from spaced.wire import workflow_requests as requests
from spaced.wire import workflow_shapes as shapes
from spaced.workflow_refusals import InvalidWorkflow

ROUTES = RouteTable("portable files")


@ROUTES.post("/v1/workflows/check")
async def check_document(
    services: Services, *, body: requests.DocumentToCheck
) -> shapes.CheckReport:
    """Tell everything that is to be said about a portable file; nothing is created."""
    checked = await _checked(services, body)
    return shapes.CheckReport(
        accepted=checked.is_accepted,
        version=checked.version,
        workflows=tuple(workflow.name for workflow in checked.workflows),
        findings=tuple(finding_shape(one) for one in checked.findings),
    )


@ROUTES.post("/v1/workflows/import/preview")
async def preview_import(
    services: Services, *, body: requests.ImportedDocument
) -> shapes.ImportPreview:
    """Tell what an import would create and skip, and which profiles its steps want."""
    checked = await _accepted(services, body)
    plan = await services.engine.workflow_imports.preview(
        checked.workflows, on_conflict=body.on_conflict
    )
    return shapes.ImportPreview(
        created=tuple(name for name in plan.created if name is not None),
        skipped=plan.skipped,
        profiles=tuple(
            shapes.WantedProfile(
                workflow_index=one.workflow_index,
                step_position=one.step_position,
                step_name=one.step_name,
                requested_profile={
                    "agent_name": one.descriptor.agent_name,
                    "model": one.descriptor.model,
                    "mode": one.descriptor.mode,
                },
                profile_id=one.profile_id,
                candidates=one.candidates,
            )
            for one in plan.profiles
        ),
        findings=tuple(finding_shape(one) for one in checked.findings),
    )


@ROUTES.post("/v1/workflows/import")
async def import_document(
    services: Services, *, body: requests.ImportedDocument
) -> shapes.Imported:
    """Create the workflows of a portable file, all of them or none."""
    checked = await _accepted(services, body)
    done = await services.engine.workflow_imports.perform(
        checked.workflows,
        on_conflict=body.on_conflict,
        choices=[_choice(one) for one in body.choices],
    )
    known = await services.engine.bindings.known()
    return shapes.Imported(
        created=tuple(workflow_shape(record, known) for record in done.created),
        skipped=done.skipped,
        findings=tuple(finding_shape(one) for one in checked.findings),
    )


@ROUTES.get("/v1/workflows/export", media_types=("application/yaml",))
async def export_workflows(
    services: Services, *, query: requests.ExportSelection
) -> web.StreamResponse:
    """Return workflows as one portable file: all that can be used, or those that are named."""
    workflows = services.engine.workflows
    if query.ids is None:
        records = await workflows.list()
    else:
        records = [await workflows.get(one) for one in query.ids.split(",") if one]
    known = await services.engine.bindings.known()
    described = [known.described(record.definition.workflow) for record in records]
    return _file(await asyncio.to_thread(write, described), "workflows")


@ROUTES.get("/v1/workflows/{workflow_id}/export", media_types=("application/yaml",))
async def export_workflow(services: Services, *, workflow_id: str) -> web.StreamResponse:
    """Return a workflow as a portable file."""
    record = await services.engine.workflows.get(workflow_id)
    known = await services.engine.bindings.known()
    workflow = known.described(record.definition.workflow)
    return _file(await asyncio.to_thread(write, [workflow]), workflow_id)


async def _accepted(services: Services, body: requests.ImportedDocument) -> CheckedDocument:
    if len(body.content.encode()) > LARGEST:
        raise BodyTooLarge(
            f"the file is larger than {LARGEST} bytes", remedy="Split it into several files."
        )
    checked = await _checked(services, body)
    if not checked.is_accepted:
        first, *others = checked.errors
        more = f", and {len(others)} more" if others else ""
        place = f"line {first.line}, column {first.column}"
        where = f"{first.where}: " if first.where else ""
        raise InvalidWorkflow(
            f"{place}: {where}{first.message}{more}",
            findings=tuple(
                {name: getattr(one, name) for name in one.__slots__} for one in checked.errors
            ),
        )
    return checked


async def _checked(services: Services, body: requests.DocumentToCheck) -> CheckedDocument:
    known = await services.engine.bindings.known()
    content = body.content.encode(errors="surrogatepass")
    return await asyncio.to_thread(
        check, content, f"document.{body.format}", strict=body.strict, is_bound=known.is_bound
    )


def _choice(said: requests.ProfileChoice) -> ProfileChoice:
    return ProfileChoice(
        workflow_index=said.workflow_index,
        step_position=said.step_position,
        requested=descriptor_of(said.requested_profile),
        profile_id=said.profile_id,
        profile_revision=said.profile_revision,
    )


def _file(content: bytes, name: str) -> web.Response:
    return web.Response(
        body=content,
        headers={
            "Content-Type": "application/yaml; charset=utf-8",
            "Content-Disposition": f'attachment; filename="{name}.yml"',
            "X-Content-Type-Options": "nosniff",
        },
    )

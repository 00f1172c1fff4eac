"""Sync: folders that workflows are read from, and running them."""

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET

from spaced.api.presenting import problem_object, time_text
from spaced.api.routing import RouteTable
from spaced.api.services import Services
from spaced.sync.plan import Change
from spaced.sync.service import ReportedSource
from spaced.wire import workflow_requests as requests
from spaced.wire import workflow_shapes as shapes

ROUTES = RouteTable("sync")


@ROUTES.get("/v1/sync/sources")
async def list_sources(services: Services) -> shapes.SyncSourceList:
    """List all folders that workflows are read from, with how their last runs ended."""
    found = await services.sync.list()
    return shapes.SyncSourceList(sources=tuple(_source(one) for one in found))


@ROUTES.post("/v1/sync/sources", status=201)
async def add_source(services: Services, *, body: requests.NewSyncSource) -> shapes.SyncSource:
    """Watch a folder; it is read once before this answers."""
    added = await services.sync.add(
        body.path, source_id=body.id, name=body.name, polling=body.polling
    )
    return _source(added)


@ROUTES.get("/v1/sync/sources/{source_id}")
async def get_source(services: Services, *, source_id: str) -> shapes.SyncSource:
    """Return a source, with how its last run ended."""
    return _source(await services.sync.get(source_id))


@ROUTES.patch("/v1/sync/sources/{source_id}")
async def change_source(
    services: Services, *, source_id: str, body: requests.SyncSourceChanges
) -> shapes.SyncSource:
    """Pause a source or resume it, or change how its folder is watched."""
    changed = await services.sync.change(
        source_id,
        polling=None if body.polling is UNSET else body.polling,
        paused=None if body.paused is UNSET else body.paused,
    )
    return _source(changed)


@ROUTES.delete("/v1/sync/sources/{source_id}")
async def remove_source(services: Services, *, source_id: str) -> None:
    """Read a folder no more; its workflows become local ones, which can be changed here."""
    await services.sync.remove(source_id)


@ROUTES.post("/v1/sync/sources/{source_id}/run")
async def run_source(
    services: Services, *, source_id: str, body: requests.SyncRunForm
) -> shapes.SyncRun:
    """Read a source now, or with `dry_run` only tell what would be done."""
    report = await services.sync.run(source_id, dry_run=body.dry_run)
    return shapes.SyncRun(
        source_id=source_id,
        dry_run=report.is_dry,
        commit=report.commit,
        counts=dict(report.counts),
        changes=tuple(_change(one) for one in report.changes if one.action != "unchanged"),
        warnings=tuple(_warning(one) for one in report.warnings),
    )


def _source(found: ReportedSource) -> shapes.SyncSource:
    source, status = found.record.source, found.status
    return shapes.SyncSource(
        id=found.record.id,
        path=source.path,
        name=source.name,
        polling=source.polling,
        status=source.status,
        ok=source.ok,
        problem=None if source.problem is None else problem_object(source.problem),
        last_run_at=None if status is None else time_text(status.at),
        commit=None if status is None else status.commit,
        counts={} if status is None else dict(status.counts),
        warnings=tuple(_warning(one) for one in source.warnings),
    )


def _warning(one: Mapping[str, Any]) -> shapes.SyncWarning:
    return shapes.SyncWarning(
        file=one["file"],
        line=one["line"],
        column=one["column"],
        severity=one["severity"],
        code=one["code"],
        message=one["message"],
    )


def _change(change: Change) -> shapes.PlannedChange:
    return shapes.PlannedChange(
        action=change.action,
        workflow_id=change.workflow_id,
        name=change.name,
        file=change.file,
        fields=change.fields,
        run_ids=change.run_ids,
        renamed_to=change.renamed_to,
    )

"""The calls of the native API about workflows, portable files and sync."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from spaced.client.calls import Call, JsonValue, deleting, quoted, reading, sending, target
from spaced.client.exchange import HttpRequest
from spaced.wire import workflow_shapes as shapes

OnConflict = Literal["skip", "rename", "fail"]

_LONG = 3600.0


def workflows(*, retired: bool = False) -> Call[shapes.WorkflowList]:
    """All workflows that can be used, or those whose file is gone."""
    return reading("/v1/workflows", shapes.WorkflowList, retired=retired or None)


def workflow(workflow_id: str, *, revision: int | None = None) -> Call[shapes.Workflow]:
    """A workflow, as it is now or as a run pinned it."""
    return reading(_workflow(workflow_id), shapes.Workflow, revision=revision)


def create_workflow(workflow_id: str, definition: JsonValue) -> Call[shapes.Workflow]:
    """Create a workflow under an id of the caller's."""
    body = {**definition, "id": workflow_id}
    return sending("POST", "/v1/workflows", shapes.Workflow, body, repeatable=True)


def change_workflow(
    workflow_id: str, changes: JsonValue, *, revision: int | None = None
) -> Call[shapes.Workflow]:
    """Change a workflow's own fields, only at this revision if one is given."""
    call = sending("PATCH", _workflow(workflow_id), shapes.Workflow, changes, repeatable=True)
    return replace(call, request=replace(call.request, revision=revision))


def delete_workflow(workflow_id: str) -> Call[None]:
    """Delete a workflow that no run is in."""
    return deleting(_workflow(workflow_id))


def duplicate_workflow(
    workflow_id: str, *, new_id: str, name: str | None = None
) -> Call[shapes.Workflow]:
    """Copy a workflow under an id of the caller's."""
    body = {"id": new_id, "name": name}
    path = _workflow(workflow_id, "duplicate")
    return sending("POST", path, shapes.Workflow, body, repeatable=True)


def reset_workflow(workflow_id: str) -> Call[shapes.Workflow]:
    """Bring the shipped text of a built-in workflow back."""
    return sending("POST", _workflow(workflow_id, "reset"), shapes.Workflow, repeatable=True)


def reorder_workflows(workflow_ids: Sequence[str]) -> Call[shapes.WorkflowList]:
    """Put workflows first in the list, in this order."""
    body = {"ids": list(workflow_ids)}
    return sending("POST", "/v1/workflows/reorder", shapes.WorkflowList, body, repeatable=True)


def templates() -> Call[shapes.TemplateList]:
    """The workflows that ship."""
    return reading("/v1/templates", shapes.TemplateList)


def create_step(workflow_id: str, step_id: str, definition: JsonValue) -> Call[shapes.Step]:
    """Add a step under an id of the caller's."""
    body = {**definition, "id": step_id}
    return sending("POST", _workflow(workflow_id, "steps"), shapes.Step, body, repeatable=True)


def change_step(
    workflow_id: str, step_id: str, changes: JsonValue, *, revision: int | None = None
) -> Call[shapes.Step]:
    """Change a step: what is absent stays, what is null is cleared."""
    path = _workflow(workflow_id, "steps", step_id)
    call = sending("PATCH", path, shapes.Step, changes, repeatable=True)
    return replace(call, request=replace(call.request, revision=revision))


def delete_step(workflow_id: str, step_id: str) -> Call[None]:
    """Delete a step that no run is in and no other step needs."""
    return deleting(_workflow(workflow_id, "steps", step_id))


def reorder_steps(workflow_id: str, step_ids: Sequence[str]) -> Call[shapes.StepList]:
    """Put the steps into another order."""
    path, body = _workflow(workflow_id, "steps", "reorder"), {"ids": list(step_ids)}
    return sending("POST", path, shapes.StepList, body, repeatable=True)


def check_document(
    content: str, *, form: Literal["yaml", "json"] = "yaml", strict: bool = False
) -> Call[shapes.CheckReport]:
    """Tell everything that is to be said about a portable file."""
    body = {"content": content, "format": form, "strict": strict}
    return sending("POST", "/v1/workflows/check", shapes.CheckReport, body, repeatable=True)


def preview_import(content: str, **more: Any) -> Call[shapes.ImportPreview]:
    """What an import would do; `more` as in the API."""
    path, body = "/v1/workflows/import/preview", {"content": content, **more}
    return sending("POST", path, shapes.ImportPreview, body, repeatable=True)


def import_document(content: str, **more: Any) -> Call[shapes.Imported]:
    """Create the workflows of a portable file, all of them or none; `more` as in the API."""
    body = {"content": content, **more}
    return sending("POST", "/v1/workflows/import", shapes.Imported, body)


def export_workflows(workflow_ids: Sequence[str] | None = None) -> Call[bytes]:
    """Workflows as one portable file; all that can be used if none are named."""
    ids = None if workflow_ids is None else ",".join(workflow_ids)
    request = HttpRequest(method="GET", target=target("/v1/workflows/export", ids=ids))
    return Call(request=request, answer=None, repeatable=True)


def profile_bindings() -> Call[shapes.ProfileBindingList]:
    """Every descriptor that a person has bound."""
    return reading("/v1/profiles/bindings", shapes.ProfileBindingList)


def bind_profile(descriptor: JsonValue, profile_id: str) -> Call[shapes.ProfileBindingList]:
    """Let a descriptor mean a profile there."""
    body = {**descriptor, "profile_id": profile_id}
    path = "/v1/profiles/bindings"
    return sending("PUT", path, shapes.ProfileBindingList, body, repeatable=True)


def unbind_profile(descriptor: JsonValue) -> Call[None]:
    """Let a descriptor mean what its own words say again."""
    return deleting("/v1/profiles/bindings", **descriptor)


def sync_sources() -> Call[shapes.SyncSourceList]:
    """All folders that workflows are read from."""
    return reading("/v1/sync/sources", shapes.SyncSourceList)


def sync_source(source_id: str) -> Call[shapes.SyncSource]:
    """A folder that workflows are read from."""
    return reading(_source(source_id), shapes.SyncSource)


def add_sync_source(source_id: str, path: str, **more: Any) -> Call[shapes.SyncSource]:
    """Watch a folder, under an id of the caller's; `more` as in the API."""
    body = {"id": source_id, "path": path, **more}
    call = sending("POST", "/v1/sync/sources", shapes.SyncSource, body, repeatable=True)
    return replace(call, timeout=_LONG)


def change_sync_source(source_id: str, **changes: bool) -> Call[shapes.SyncSource]:
    """Pause a source or resume it, or change how its folder is watched."""
    return sending("PATCH", _source(source_id), shapes.SyncSource, changes, repeatable=True)


def remove_sync_source(source_id: str) -> Call[None]:
    """Read a folder no more."""
    return deleting(_source(source_id))


def run_sync(source_id: str, *, dry_run: bool = False) -> Call[shapes.SyncRun]:
    """Read a source now, or only tell what would be done."""
    path, body = f"{_source(source_id)}/run", {"dry_run": dry_run}
    call = sending("POST", path, shapes.SyncRun, body, repeatable=True)
    return replace(call, timeout=_LONG)


def _workflow(workflow_id: str, *further: str) -> str:
    parts = ("workflows", workflow_id, *further)
    return "/v1/" + "/".join(quoted(part) for part in parts)


def _source(source_id: str) -> str:
    return f"/v1/sync/sources/{quoted(source_id)}"

"""`spaced workflows`: what runs walk through; portable files of it checked, imported, exported."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from spaced.cli.listing_group import ListingGroup
from spaced.cli.output import facts, print_json, table
from spaced.cli.reach import Reach, reaching
from spaced.refusals import InvalidRequest

if TYPE_CHECKING:
    from spaced.client.place import Place
    from spaced.wire.workflow_shapes import ImportPreview, Step, Workflow


@click.group(cls=ListingGroup)
def workflows() -> None:
    """List, check, import and export workflows; alone it lists them."""


@workflows.command("list")
@click.option("--retired", is_flag=True, help="Those whose file is gone.")
@reaching
def list_workflows(*, retired: bool, reach: Reach) -> None:
    """List all workflows, in their order."""
    from spaced.client import calls, workflow_calls

    found = calls.perform(reach.place(), workflow_calls.workflows(retired=retired))
    if reach.as_json:
        print_json(found)
        return
    table(
        ("workflow", "name", "steps", "revision", "from"),
        [(one.id, one.name, len(one.steps), one.revision, _source(one)) for one in found.workflows],
        nothing="There is no such workflow.",
    )


@workflows.command()
@click.argument("workflow")
@click.option("--revision", type=int, help="As it was at this revision.")
@reaching
def show(*, workflow: str, revision: int | None, reach: Reach) -> None:
    """Show WORKFLOW, named by its id or its name, with its steps."""
    from spaced.client import calls, workflow_calls

    place = reach.place()
    call = workflow_calls.workflow(_named(place, workflow), revision=revision)
    found = calls.perform(place, call)
    if reach.as_json:
        print_json(found)
        return
    facts(
        {
            "workflow": found.id,
            "name": found.name,
            "description": found.description,
            "revision": found.revision,
            "is": found.status,
            "from": _source(found),
            "profile": _profile(found),
        }
    )
    click.echo()
    table(
        ("position", "step", "profile", "on enter", "moves", "flags"),
        [
            (
                step.position,
                step.name,
                _profile(step),
                ", ".join(action["type"] for action in step.events.get("on_enter", [])),
                "; ".join(_moves(found, step)),
                ", ".join(_flags(step)),
            )
            for step in found.steps
        ],
        nothing="It has no steps.",
    )


@workflows.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--strict", is_flag=True, help="Take keys that are not known for errors.")
@reaching
@click.pass_context
def check(context: click.Context, *, paths: tuple[str, ...], strict: bool, reach: Reach) -> None:
    """Check portable files: each PATH is a file, a folder of them, or `-`.

    Everything that is found is told at once; exit code 1 if a file is refused. No daemon is
    needed; if one runs here, its profiles are looked at too.
    """
    from spaced.cli.workflow_checks import check_paths, told

    checked = check_paths(paths, strict=strict, reach=reach)
    if reach.as_json:
        print_json({"files": [told(one) for one in checked]})
    else:
        for one in checked:
            for finding in one.findings:
                click.echo(finding.text(one.name))
        errors = sum(f.severity == "error" for one in checked for f in one.findings)
        warnings = sum(len(one.findings) for one in checked) - errors
        click.echo(
            f"{_count(len(checked), 'file')}: {_count(errors, 'error')}, "
            f"{_count(warnings, 'warning')}",
            err=True,
        )
    context.exit(0 if all(one.is_accepted for one in checked) else 1)


@workflows.command()
@click.option("--version", type=click.Choice(["1", "2"]), default="2", show_default=True)
def schema(*, version: str) -> None:
    """Print the JSON Schema of portable files, for editors and other programs."""
    from spaced.portable.schemas import schema_text

    click.echo(schema_text(1 if version == "1" else 2), nl=False)


@workflows.command()
@click.argument("names", nargs=-1, metavar="[WORKFLOW...]")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A file to write.")
@reaching
def export(*, names: tuple[str, ...], output: Path | None, reach: Reach) -> None:
    """Write workflows as one portable file; all that can be used if none is named."""
    from spaced.client import calls, workflow_calls

    place = reach.place()
    ids = [_named(place, name) for name in names] or None
    content = calls.perform(place, workflow_calls.export_workflows(ids))
    if output is None:
        sys.stdout.buffer.write(content)
        return
    from spaced.daemon.private_files import write_private

    write_private(output.absolute(), content)
    click.echo(f"wrote {len(content):,} bytes to {output}", err=True)


@workflows.command("import")
@click.argument("file", metavar="FILE")
@click.option(
    "--on-conflict",
    type=click.Choice(["skip", "rename", "fail"]),
    default="skip",
    show_default=True,
)
@click.option(
    "--profile",
    "chosen",
    multiple=True,
    metavar="[N/]POSITION=PROFILE",
    help="A profile for the step at a position of the N-th workflow, from 0.",
)
@click.option("--strict", is_flag=True, help="Take keys that are not known for errors.")
@click.option("--dry-run", is_flag=True, help="Only tell what would be created.")
@reaching
def import_file(
    *,
    file: str,
    on_conflict: Literal["skip", "rename", "fail"],
    chosen: tuple[str, ...],
    strict: bool,
    dry_run: bool,
    reach: Reach,
) -> None:
    """Create the workflows of FILE (or `-`), all of them or none."""
    from spaced.cli.workflow_checks import text_of
    from spaced.client import calls, workflow_calls

    place = reach.place()
    form = "json" if file.lower().endswith(".json") else "yaml"
    more = {"format": form, "on_conflict": on_conflict, "strict": strict}
    content = text_of(file)
    preview = calls.perform(place, workflow_calls.preview_import(content, **more))
    if dry_run:
        _show_preview(preview, reach)
        return
    more["choices"] = [_choice(text, preview) for text in chosen]
    done = calls.perform(place, workflow_calls.import_document(content, **more))
    if reach.as_json:
        print_json(done)
        return
    for one in done.created:
        click.echo(f"{one.id}  {one.name}")
    for name in done.skipped:
        click.echo(f"skipped {name!r}: there is one of this name", err=True)
    for finding in done.findings:
        click.echo(f"{file}:{finding.line}:{finding.column}: {finding.message}", err=True)


@workflows.command()
@click.argument("workflow")
@click.option("--name", help="Of the copy.")
@reaching
def duplicate(*, workflow: str, name: str | None, reach: Reach) -> None:
    """Copy WORKFLOW; the copy can be changed here, also that of a synced one."""
    from spaced.client import workflow_calls
    from spaced.client.fresh_ids import fresh_id

    place = reach.place()
    call = workflow_calls.duplicate_workflow(
        _named(place, workflow), new_id=fresh_id("wf"), name=name
    )
    _show_made(place, call, reach)


@workflows.command()
@click.argument("template")
@click.option("--name", help="Of the new workflow.")
@reaching
def new(*, template: str, name: str | None, reach: Reach) -> None:
    """Create a workflow from the shipped text of a built-in one, TEMPLATE."""
    from spaced.client import workflow_calls
    from spaced.client.fresh_ids import fresh_id

    definition = {"template": template} | ({} if name is None else {"name": name})
    call = workflow_calls.create_workflow(fresh_id("wf"), definition)
    _show_made(reach.place(), call, reach)


@workflows.command()
@click.argument("workflow")
@reaching
def reset(*, workflow: str, reach: Reach) -> None:
    """Bring the shipped text of the built-in WORKFLOW back."""
    from spaced.client import workflow_calls

    place = reach.place()
    _show_made(place, workflow_calls.reset_workflow(_named(place, workflow)), reach)


@workflows.command()
@click.argument("workflow")
@reaching
def delete(*, workflow: str, reach: Reach) -> None:
    """Delete WORKFLOW, if no run is in it."""
    from spaced.client import calls, workflow_calls

    place = reach.place()
    calls.perform(place, workflow_calls.delete_workflow(_named(place, workflow)))
    if not reach.as_json:
        click.echo("deleted")


def _show_made(place: "Place", call: Any, reach: Reach) -> None:
    from spaced.client import calls

    made = calls.perform(place, call)
    if reach.as_json:
        print_json(made)
    else:
        click.echo(f"{made.id}  {made.name}")


def _show_preview(preview: "ImportPreview", reach: Reach) -> None:
    if reach.as_json:
        print_json(preview)
        return
    for name in preview.created:
        click.echo(f"would create {name!r}")
    for name in preview.skipped:
        click.echo(f"would skip {name!r}: there is one of this name")
    for one in preview.profiles:
        if one.profile_id is None:
            owner = "default" if one.step_position is None else f"{one.step_position}"
            wanted = " ".join(str(part) for part in one.requested_profile.values() if part)
            near = f"; perhaps {', '.join(one.candidates)}" if one.candidates else ""
            click.echo(f"unbound: {one.workflow_index}/{owner} wants {wanted!r}{near}")


def _choice(text: str, preview: "ImportPreview") -> dict[str, Any]:
    place, _, profile = text.partition("=")
    index, _, position = place.rpartition("/")
    for one in preview.profiles:
        at = "default" if one.step_position is None else str(one.step_position)
        if str(one.workflow_index) == (index or "0") and at == position and profile:
            return {
                "workflow_index": one.workflow_index,
                "step_position": one.step_position,
                "requested_profile": one.requested_profile,
                "profile_id": profile,
            }
    raise InvalidRequest(
        f"{text!r} names no step that wants a profile",
        remedy="`--dry-run` shows the places; write 0/10=prof_… or 0/default=prof_….",
    )


def _named(place: "Place", name: str) -> str:
    """Return the id of the workflow that is meant; one that is no name is taken for an id."""
    from spaced.client import calls, workflow_calls

    found = calls.perform(place, workflow_calls.workflows()).workflows
    same = [one.id for one in found if one.name == name]
    if any(one.id == name for one in found) or not same:
        return name
    if len(same) > 1:
        raise InvalidRequest(
            f"{len(same)} workflows are called {name!r}", remedy=f"Name one: {', '.join(same)}."
        )
    return same[0]


def _source(workflow: "Workflow") -> str:
    origin = workflow.origin
    if workflow.source == "synced":
        return f"{origin.get('path')}/{origin.get('file')}:{origin.get('line')}"
    return f"{workflow.source}, edited" if origin.get("edited") else workflow.source


def _profile(owner: "Workflow | Step") -> str:
    if owner.profile_status != "unbound":
        return owner.agent_profile_id or ""
    wanted = " ".join(str(part) for part in (owner.agent_profile or {}).values() if part)
    near = f"; perhaps {', '.join(owner.profile_candidates)}" if owner.profile_candidates else ""
    return f"unbound: {wanted}{near}"


def _moves(workflow: "Workflow", step: "Step") -> list[str]:
    names = {one.id: one.name for one in workflow.steps}
    moves = []
    for trigger, actions in step.events.items():
        for action in actions:
            if action["type"].startswith("move_"):
                to = names.get(action["config"].get("step_id"), action["type"].split("_")[-1])
                asks = " if approved" if action["config"].get("requires_approval") else ""
                moves.append(f"{trigger} → {to}{asks}")
    return moves


def _flags(step: "Step") -> list[str]:
    told = {
        "start": step.is_start_step,
        "by hand": step.allow_manual_move,
        "signal": step.auto_advance_requires_signal,
        "finishes": step.complete_task_on_enter,
        "new session": step.profile_session_start_policy == "new",
        "completes session": step.profile_session_end_policy == "complete",
    }
    target = step.session_target
    aim = [] if target is None else [f"session of {target.get('step_id') or 'the start'}"]
    return [name for name, holds in told.items() if holds] + aim


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

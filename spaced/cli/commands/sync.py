"""`spaced sync`: folders that workflows are read from."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spaced.cli.listing_group import ListingGroup
from spaced.cli.output import facts, print_json, table
from spaced.cli.reach import Reach, reaching
from spaced.errors import SpacedError
from spaced.workflow_refusals import UnknownSource

if TYPE_CHECKING:
    from spaced.client.place import Place
    from spaced.wire.workflow_shapes import SyncRun, SyncSource, SyncWarning


@click.group(cls=ListingGroup)
def sync() -> None:
    """Read workflows from folders, and keep up with them; alone it lists the folders."""


@sync.command("list")
@reaching
def list_sources(*, reach: Reach) -> None:
    """List the folders that workflows are read from."""
    from spaced.client import calls, workflow_calls

    found = calls.perform(reach.place(), workflow_calls.sync_sources())
    if reach.as_json:
        print_json(found)
        return
    table(
        ("source", "folder", "is", "last run", "warnings"),
        [
            (one.id, one.name or one.path, _state(one), one.last_run_at, len(one.warnings))
            for one in found.sources
        ],
        nothing="No folder is read; `spaced sync add FOLDER` reads one.",
    )


@sync.command()
@click.argument("folder")
@click.option("--name", help="What the source is called.")
@click.option(
    "--polling", is_flag=True, help="Look at the folder regularly, as network folders need it."
)
@reaching
def add(*, folder: str, name: str | None, polling: bool, reach: Reach) -> None:
    """Read the workflows in FOLDER, now and whenever a file in it changes."""
    from spaced.client import calls, workflow_calls
    from spaced.client.fresh_ids import fresh_id

    more = {"polling": polling} | ({} if name is None else {"name": name})
    call = workflow_calls.add_sync_source(fresh_id("src"), str(Path(folder).absolute()), **more)
    added = calls.perform(reach.place(), call)
    if reach.as_json:
        print_json(added)
    else:
        _show_source(added)


@sync.command()
@click.argument("source")
@reaching
def show(*, source: str, reach: Reach) -> None:
    """Show SOURCE, named by its id, its name or its folder."""
    place = reach.place()
    found = _named(place, source)
    if reach.as_json:
        print_json(found)
    else:
        _show_source(found)


@sync.command()
@reaching
@click.pass_context
def status(context: click.Context, *, reach: Reach) -> None:
    """Show how the last run of every source ended; exit code 1 if one has failed."""
    from spaced.client import calls, workflow_calls

    found = calls.perform(reach.place(), workflow_calls.sync_sources())
    if reach.as_json:
        print_json(found)
    else:
        for place, one in enumerate(found.sources):
            if place:
                click.echo()
            _show_source(one)
        if not found.sources:
            click.echo("No folder is read; `spaced sync add FOLDER` reads one.")
    context.exit(1 if any(one.ok is False for one in found.sources) else 0)


@sync.command()
@click.argument("sources", nargs=-1, metavar="[SOURCE...]")
@click.option("--dry-run", is_flag=True, help="Only tell what would be done.")
@reaching
def now(*, sources: tuple[str, ...], dry_run: bool, reach: Reach) -> None:
    """Read sources now, paused ones too; all of them if none is named."""
    from spaced.cli import failures
    from spaced.client import calls, workflow_calls

    place = reach.place()
    chosen = [_named(place, one) for one in sources]
    if not chosen:
        chosen = list(calls.perform(place, workflow_calls.sync_sources()).sources)
    runs: list[SyncRun] = []
    failed: SpacedError | None = None
    for one in chosen:
        try:
            runs.append(calls.perform(place, workflow_calls.run_sync(one.id, dry_run=dry_run)))
        except SpacedError as error:
            # The others are read all the same; the last failure is how the command ends.
            if failed is not None:
                failures.tell(failed, as_json=reach.as_json)
            failed = error
            continue
        if not reach.as_json:
            _show_run(one, runs[-1])
    if reach.as_json:
        print_json({"runs": runs})
    if failed is not None:
        raise failed


@sync.command()
@click.argument("source")
@reaching
def pause(*, source: str, reach: Reach) -> None:
    """Stop watching the folder of SOURCE; its workflows stay as they are."""
    _change(reach, source, paused=True)


@sync.command()
@click.argument("source")
@reaching
def resume(*, source: str, reach: Reach) -> None:
    """Watch the folder of SOURCE again."""
    _change(reach, source, paused=False)


@sync.command()
@click.argument("source")
@reaching
def remove(*, source: str, reach: Reach) -> None:
    """Read the folder of SOURCE no more; its workflows stay, and can be changed here."""
    from spaced.client import calls, workflow_calls

    place = reach.place()
    calls.perform(place, workflow_calls.remove_sync_source(_named(place, source).id))
    if not reach.as_json:
        click.echo("removed; its workflows are local ones now")


def _change(reach: Reach, source: str, *, paused: bool) -> None:
    from spaced.client import calls, workflow_calls

    place = reach.place()
    call = workflow_calls.change_sync_source(_named(place, source).id, paused=paused)
    changed = calls.perform(place, call)
    if reach.as_json:
        print_json(changed)
    else:
        click.echo(changed.status)


def _named(place: "Place", name: str) -> "SyncSource":
    from spaced.client import calls, workflow_calls

    path = str(Path(name).absolute())
    for one in calls.perform(place, workflow_calls.sync_sources()).sources:
        if name in (one.id, one.name) or path == one.path:
            return one
    raise UnknownSource(name)


def _state(source: "SyncSource") -> str:
    outcome = {None: "not read yet", True: "in order", False: "failed"}[source.ok]
    return f"{source.status}, {outcome}"


def _show_source(source: "SyncSource") -> None:
    facts(
        {
            "source": source.id,
            "folder": source.path,
            "is": _state(source),
            "last run": source.last_run_at,
            "commit": source.commit,
            "workflows": ", ".join(f"{n} {word}" for word, n in source.counts.items()),
        }
    )
    if source.problem is not None:
        click.echo(f"failed: {source.problem['message']}")
        click.echo(f"  → {source.problem['remedy']}")
    _show_warnings(source.warnings)


def _show_run(source: "SyncSource", run: "SyncRun") -> None:
    words = ", ".join(f"{number} {action}" for action, number in run.counts.items())
    click.echo(f"{source.name or source.path}: {words or 'no workflows'}")
    for change in run.changes:
        told = [change.action, repr(change.name), f"({change.file})"]
        if change.fields:
            told.append(f"— {'; '.join(change.fields)}")
        if change.run_ids:
            told.append(f"— {', '.join(change.run_ids)}")
        if change.renamed_to:
            told.append(f"— renamed to {change.renamed_to!r}")
        click.echo(f"  {' '.join(told)}")
    _show_warnings(run.warnings)


def _show_warnings(warnings: "Sequence[SyncWarning]") -> None:
    from spaced.cli.output import shown

    for one in warnings:
        place = f":{one.line}:{one.column}" if one.line else ""
        click.echo(shown(f"{one.file}{place}: {one.severity}: {one.message}"))

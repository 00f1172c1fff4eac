"""The table `run`: one row for each run, found by id and listed by age."""

from collections.abc import Iterable
from typing import Final

import msgspec

from spaced.clock import from_rfc3339
from spaced.domain.events.event import StreamFamily
from spaced.domain.events.run import RunCreated
from spaced.domain.run import Run, apply_to_run, create_run
from spaced.errors import CorruptStream, InvalidTimestamp
from spaced.log.fact import Fact
from spaced.log.read_models.read_model import RowsInHand
from spaced.log.table import Column, Index, IndexColumn, Key, Row, Table

RUN: Final = Table(
    name="run",
    key=("id",),
    columns=(
        Column(name="id"),
        Column(name="stream"),
        Column(name="workflow_id"),
        Column(name="step_id"),
        Column(name="is_live", type="integer"),
        Column(name="status"),
        Column(name="visibility"),
        Column(name="created_at", type="integer"),
        Column(name="purge_at", type="integer"),
        Column(name="state"),
        Column(name="damage", required=False),
    ),
    indexes=(
        Index(
            name="newest",
            columns=(
                IndexColumn(name="visibility"),
                IndexColumn(name="created_at", descending=True),
            ),
        ),
        Index(
            name="due",
            columns=(IndexColumn(name="visibility"), IndexColumn(name="purge_at")),
        ),
        Index(
            name="in_step",
            columns=(
                IndexColumn(name="is_live"),
                IndexColumn(name="workflow_id"),
                IndexColumn(name="step_id"),
            ),
        ),
    ),
    text_columns=("title", "description"),
    role="derived",
)

_READ = msgspec.json.Decoder(Run)


def run_of(row: Row) -> Run:
    """Return the run that a row of `run` holds."""
    return _READ.decode(str(row["state"]))


class Runs:
    """Keeps `run` equal to the log."""

    table = RUN

    def keys(self, fact: Fact) -> Iterable[tuple[str, Key]]:
        """Every fact of a run's stream may change the run."""
        if fact.event.family is StreamFamily.RUN:
            yield RUN.name, (fact.stream,)

    def apply(self, fact: Fact, rows: RowsInHand) -> None:
        """Write the run's row if the fact changes it."""
        if fact.event.family is not StreamFamily.RUN:
            return
        if isinstance(fact.event, RunCreated):
            self._create(fact, fact.event, rows)
            return
        row = rows.get(RUN.name, (fact.stream,))
        if row is None:
            raise CorruptStream(f"{fact.stream!r} holds {fact.event.kind!r} before `run-created`")
        if row["damage"] is not None:
            raise CorruptStream(str(row["damage"]))  # the row ends there, so nothing can follow it
        before = run_of(row)
        after = apply_to_run(before, fact.event, session_id=fact.session_id)
        if after != before:
            changed = (after.title, after.description) != (before.title, before.description)
            rows.put(RUN.name, _row(after), _texts(after) if changed else None)

    def _create(self, fact: Fact, event: RunCreated, rows: RowsInHand) -> None:
        if rows.get(RUN.name, (fact.stream,)) is not None:
            raise CorruptStream(f"{fact.stream!r} is created twice")
        run = create_run(fact.stream, event, created_at=fact.created_at)
        rows.insert(RUN.name, _row(run), _texts(run))


def _row(run: Run) -> Row:
    return {
        "id": run.id,
        "stream": run.id,
        "workflow_id": run.workflow_id if run.entry is None else run.entry.workflow_id,
        "step_id": "" if run.entry is None else run.entry.step_id,
        "is_live": int(run.is_live),
        "status": run.status,
        "visibility": _visibility(run),
        "created_at": run.created_at,
        "purge_at": _purge_at(run),
        "state": msgspec.json.encode(run).decode(),
        "damage": None,
    }


def _purge_at(run: Run) -> int:
    try:
        return 0 if run.purge_at is None else from_rfc3339(run.purge_at)
    except InvalidTimestamp as error:
        raise CorruptStream(f"{run.id!r} is to be purged at no time: {error}") from error


def _visibility(run: Run) -> str:
    if run.is_deleted:
        return "hidden"
    return "archived" if run.is_archived else "listed"


def _texts(run: Run) -> dict[str, str]:
    texts = {"title": run.title, "description": run.description}
    return {name: text for name, text in texts.items() if text}

"""What a run has to say: what it did with every workflow, and what people should know."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from spaced.domain.json_values import JsonObject
from spaced.engine.workflows.bindings import KnownProfiles
from spaced.portable.findings import Finding
from spaced.sync.files import FileVerdict
from spaced.sync.folders import Skipped
from spaced.sync.plan import Change

MOST_RECORDED: Final = 200
"""Warnings that are kept with a source; a run that is asked for tells all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """What a run did, or would do.

    Attributes:
        changes: every workflow of the source; what is unchanged too.
        warnings: `{file, line, column, severity, code, message}` each.
    """

    source_id: str
    is_dry: bool
    commit: str | None
    changes: Sequence[Change]
    warnings: tuple[JsonObject, ...]

    @property
    def counts(self) -> Mapping[str, int]:
        """How many workflows there are of each kind of change."""
        return dict(Counter(change.action for change in self.changes))

    @property
    def kept_warnings(self) -> tuple[JsonObject, ...]:
        """The warnings that are kept: the first ones, and how many more there are."""
        more = len(self.warnings) - MOST_RECORDED
        if more <= 0:
            return self.warnings
        rest = _told(
            "", "more-warnings", f"and {more} more; `spaced sync now` tells all", "warning"
        )
        return (*self.warnings[:MOST_RECORDED], rest)


def warnings_of(
    skipped: Sequence[Skipped],
    verdicts: Sequence[FileVerdict],
    changes: Sequence[Change],
    profiles: KnownProfiles,
) -> tuple[JsonObject, ...]:
    """Return everything that people should know, by file and place."""
    told = [_told(one.name, "skipped-file", one.reason, "warning") for one in skipped]
    for verdict in verdicts:
        told += [_finding(verdict.name, one) for one in verdict.findings]
        told += [
            _finding(verdict.name, warning)
            for descriptor, warning in verdict.unbound
            if not profiles.is_bound(descriptor)
        ]
    for change in changes:
        if change.action == "blocked":
            told.append(_told(change.file, "step-in-use", _blocked(change), "warning"))
        elif change.action == "frozen":
            message = f"workflow {change.name!r} stays as it is: {change.reason}"
            told.append(_told(change.file, "frozen", message, "warning"))
    return tuple(sorted(told, key=lambda one: (one["file"], one["line"], one["column"])))


def _blocked(change: Change) -> str:
    steps = " and ".join(repr(step.name) for step in change.removed)
    are = "are" if len(change.run_ids) > 1 else "is"
    return (
        f"workflow {change.name!r} stays as it is: the file no longer has the step {steps}, "
        f"and {' and '.join(change.run_ids)} {are} in it"
    )


def _told(file: str, code: str, message: str, severity: str) -> dict[str, object]:
    return {
        "file": file,
        "line": 0,
        "column": 0,
        "severity": severity,
        "code": code,
        "message": message,
    }


def _finding(file: str, one: Finding) -> dict[str, object]:
    where = f"{one.where}: " if one.where else ""
    return {
        "file": file,
        "line": one.line,
        "column": one.column,
        "severity": one.severity,
        "code": one.code,
        "message": f"{where}{one.message}; {one.remedy}",
    }

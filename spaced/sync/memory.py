"""What a running daemon remembers of a source's last run, so that the next one looks at little."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from spaced.engine.workflows.bindings import KnownProfiles
from spaced.sync.files import FileVerdict, FolderContents, FoundFile
from spaced.sync.folders import Skipped
from spaced.sync.plan import Change

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class LastRun:
    """A run, as the next one needs it; only sync changes what it tells of.

    Attributes:
        digests: of each file by name.
        verdicts: of each file by name, without its workflows.
        changes: by file, as they would be if the file were the same again.
        blocked: files whose change could not be done, so each run looks at them again.
    """

    digests: Mapping[str, str]
    skipped: Sequence[Skipped]
    profiles: KnownProfiles
    verdicts: Mapping[str, FileVerdict]
    changes: Mapping[str, tuple[Change, ...]]
    blocked: frozenset[str]

    def holds_for(self, contents: FolderContents, profiles: KnownProfiles) -> bool:
        """Tell whether only files have changed since."""
        return self.skipped == contents.skipped and self.profiles == profiles

    def to_look_at(self, contents: FolderContents) -> Sequence[FoundFile]:
        """Return the files that are other ones, and those whose change could not be done."""
        digests, blocked = self.digests, self.blocked
        return [
            file
            for file in contents.files
            if digests.get(file.name) != file.digest or file.name in blocked
        ]

    def gone(self, contents: FolderContents) -> AbstractSet[str]:
        """Return the files that are no longer there."""
        return self.digests.keys() - contents.digests.keys()

    def ids_of(self, names: AbstractSet[str]) -> Sequence[str]:
        """Return the workflows that files had."""
        return [change.workflow_id for name in names for change in self.changes.get(name, ())]

    def others(self, names: AbstractSet[str]) -> Sequence[Change]:
        """Return what is to be said of the workflows of all other files."""
        return [change for name, own in self.changes.items() if name not in names for change in own]


NOTHING: Final = LastRun(
    digests={},
    skipped=(),
    profiles=KnownProfiles(profiles={}, bound={}),
    verdicts={},
    changes={},
    blocked=frozenset(),
)


def remembered(
    last: LastRun | None,
    contents: FolderContents,
    profiles: KnownProfiles,
    *,
    verdicts: Sequence[FileVerdict],
    changes: Sequence[Change],
    touched: AbstractSet[str],
) -> LastRun:
    """Return what the next run needs of one that is done.

    Args:
        last: the run before, where its outcome for all other files still holds.
        verdicts: of the files that were looked at.
        changes: of their workflows.
        touched: the names of these files, and of those that are gone.
    """
    before = last or NOTHING
    by_file: dict[str, tuple[Change, ...]] = {}
    for change in changes:
        if change.action != "retire":
            by_file[change.file] = (*by_file.get(change.file, ()), _as_it_is_now(change))
    blocked = {change.file for change in changes if change.action == "blocked"}
    return LastRun(
        digests=contents.digests,
        skipped=contents.skipped,
        profiles=profiles,
        verdicts=_without(before.verdicts, touched)
        | {one.name: without_workflows(one) for one in verdicts},
        changes=_without(before.changes, touched) | by_file,
        blocked=(before.blocked - touched) | blocked,
    )


def _without(found: Mapping[str, _T], names: AbstractSet[str]) -> dict[str, _T]:
    kept = dict(found)
    for name in names:
        kept.pop(name, None)
    return kept


def without_workflows(verdict: FileVerdict) -> FileVerdict:
    """Return a verdict that is small enough to be kept."""
    entries = tuple(replace(entry, workflow=None) for entry in verdict.entries)
    return replace(verdict, entries=entries)


def _as_it_is_now(change: Change) -> Change:
    if change.action in ("frozen", "blocked"):
        return change
    return replace(change, action="unchanged", definition=None, fields=(), removed=())

"""Checks portable files for the command line: files, folders and the standard input."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from spaced.cli.reach import Reach
from spaced.client import calls, workflow_calls
from spaced.domain.definitions import DefinedProfile
from spaced.domain.profile import Profile
from spaced.domain.workflow import ProfileDescriptor
from spaced.engine.workflows.bindings import KnownProfiles
from spaced.errors import SpacedError
from spaced.portable.checking import IsBound, check, nothing_bound
from spaced.portable.findings import Finding, finding
from spaced.portable.limits import LARGEST
from spaced.portable.tree import START
from spaced.refusals import InvalidRequest
from spaced.sync.folders import LocalFolder

STANDARD_INPUT = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedFile:
    """A file, and what is to be said about it."""

    name: str
    version: int | None
    workflows: Sequence[str]
    findings: Sequence[Finding]

    @property
    def is_accepted(self) -> bool:
        """Whether it could be used."""
        return all(one.severity != "error" for one in self.findings)


def check_paths(paths: Sequence[str], *, strict: bool, reach: Reach) -> Sequence[CheckedFile]:
    """Check everything that paths name.

    Raises:
        InvalidRequest: one of them cannot be read.
    """
    is_bound = _bound_here(reach)
    return [one for path in paths for one in _checked(path, strict=strict, is_bound=is_bound)]


def told(one: CheckedFile) -> dict[str, Any]:
    """Return a checked file as JSON."""
    return {
        "file": one.name,
        "accepted": one.is_accepted,
        "version": one.version,
        "workflows": list(one.workflows),
        "findings": [
            {name: getattr(found, name) for name in Finding.__slots__} for found in one.findings
        ],
    }


def text_of(file: str) -> str:
    """Return the text of a file, or of the standard input.

    Raises:
        InvalidRequest: it cannot be read, or is no text.
    """
    try:
        return _content(file).decode()
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{file} is not UTF-8", remedy="Save it as UTF-8.") from error


def _checked(path: str, *, strict: bool, is_bound: IsBound) -> Iterator[CheckedFile]:
    if path == STANDARD_INPUT or not Path(path).is_dir():
        yield _file(path, _content(path), strict=strict, is_bound=is_bound)
        return
    folder = LocalFolder(path)
    try:
        listing = folder.list()
        for name in listing.names:
            whole = str(Path(path) / name)
            yield _file(whole, folder.read(name), strict=strict, is_bound=is_bound)
    except OSError as error:
        raise _unreadable(path, error) from error
    for skipped in listing.skipped:
        remedy = "sync skips it too"
        warning = finding(START, "skipped-file", skipped.reason, remedy, is_error=False)
        name = str(Path(path) / skipped.name)
        yield CheckedFile(name=name, version=None, workflows=(), findings=(warning,))


def _file(name: str, content: bytes, *, strict: bool, is_bound: IsBound) -> CheckedFile:
    checked = check(content, name, strict=strict, is_bound=is_bound)
    return CheckedFile(
        name=name,
        version=checked.version,
        workflows=tuple(workflow.name for workflow in checked.workflows),
        findings=checked.findings,
    )


def _content(path: str) -> bytes:
    if path == STANDARD_INPUT:
        return sys.stdin.buffer.read(LARGEST + 1)
    try:
        with Path(path).open("rb") as file:
            return file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: str, error: Exception) -> InvalidRequest:
    what = getattr(error, "strerror", None) or str(error)
    return InvalidRequest(f"{path!r} cannot be read: {what}")


def _bound_here(reach: Reach) -> IsBound:
    """Return what tells which descriptors the daemon here knows; without one it knows none."""
    try:
        place = reach.place()
        found = calls.perform(place, calls.profiles()).profiles
        bindings = calls.perform(place, workflow_calls.profile_bindings()).bindings
    except SpacedError:
        return nothing_bound
    profiles = {
        one.id: DefinedProfile(
            profile=msgspec.convert(msgspec.structs.asdict(one), Profile),
            version=one.revision,
            status=one.status,
        )
        for one in found
    }
    bound = {
        ProfileDescriptor(agent_name=b.agent_name, model=b.model, mode=b.mode): b.profile_id
        for b in bindings
    }
    return KnownProfiles(profiles=profiles, bound=bound).is_bound

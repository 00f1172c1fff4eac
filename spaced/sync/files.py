"""What a run finds in a folder: each file read once, and parsed only if its bytes are new."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from spaced.domain.workflow import ProfileDescriptor, Workflow
from spaced.portable.findings import Finding
from spaced.sync.folders import Skipped, WorkflowFolder

READER: Final = 1
"""Raised whenever the same bytes would be read as something else: then all are parsed anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """A file and its bytes."""

    name: str
    content: bytes
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderContents:
    """All files of a folder at one time."""

    files: Sequence[FoundFile]
    skipped: Sequence[Skipped]

    @property
    def digests(self) -> Mapping[str, str]:
        """The digest of each file by its name: what a run with the same ones need not look at."""
        return {file.name: file.digest for file in self.files}


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowEntry:
    """A workflow of a file.

    Attributes:
        line: where it begins.
        workflow: as it was read; `None` if the file was not parsed again.
        trouble: why it is left alone; `None` if it can be used.
    """

    id: str
    name: str
    line: int
    workflow: Workflow | None = None
    trouble: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileVerdict:
    """What a file says; small enough to be kept for every file.

    Attributes:
        entries: none if the file is refused.
        unbound: descriptors with the place that names them, from 1.
    """

    name: str
    digest: str
    is_accepted: bool
    entries: Sequence[WorkflowEntry] = ()
    findings: Sequence[Finding] = ()
    unbound: Sequence[tuple[ProfileDescriptor, Finding]] = field(default_factory=tuple)


def read_all(folder: WorkflowFolder) -> FolderContents:
    """Return all files of a folder.

    A file that is gone when it is to be read is a sign that somebody is at work in the folder, so
    it is listed once more.

    Raises:
        OSError: the folder or a file of it cannot be read.
    """
    try:
        return _read(folder)
    except FileNotFoundError:
        return _read(folder)


def _read(folder: WorkflowFolder) -> FolderContents:
    listing = folder.list()
    files = []
    for name in listing.names:
        content = folder.read(name)
        digest = f"{READER}:{hashlib.sha256(content).hexdigest()}"
        files.append(FoundFile(name=name, content=content, digest=digest))
    return FolderContents(files=files, skipped=listing.skipped)

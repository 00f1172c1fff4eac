"""Where workflow files are read from: what a source of them can do, and folders on this machine."""

import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from spaced.portable.limits import LARGEST

_ENDINGS: Final = (".yml", ".yaml", ".json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """An entry with the name of a workflow file that is none."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What a folder holds.

    Attributes:
        names: of its workflow files, sorted.
    """

    names: Sequence[str]
    skipped: Sequence[Skipped]


class WorkflowFolder(Protocol):
    """A place with workflow files; looked at in a thread."""

    def list(self) -> Listing:
        """Return its files.

        Raises:
            OSError: it cannot be read.
        """
        ...

    def read(self, name: str) -> bytes:
        """Return the bytes of a file; of one that is too large as many as show that it is.

        Raises:
            FileNotFoundError: it is gone.
            OSError: it cannot be read.
        """
        ...


class LocalFolder:
    """A folder of this machine; nothing outside of it is ever read, and nothing that blocks."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._folder = str(self._path)

    def list(self) -> Listing:
        """Return its files, without those in folders below and those that begin with a dot."""
        names: list[str] = []
        skipped: list[Skipped] = []
        with os.scandir(self._path) as entries:
            found = {entry.name: entry.is_file(follow_symlinks=False) for entry in entries}
        for name in sorted(found):
            if name.startswith(".") or not name.lower().endswith(_ENDINGS):
                continue
            is_plain = found[name] and name.isascii()
            reason = None if is_plain else self._reason_to_skip(name)
            if reason is None:
                names.append(name)
            else:
                shown = name.encode(errors="replace").decode()
                skipped.append(Skipped(name=shown, reason=reason))
        return Listing(names=names, skipped=skipped)

    def read(self, name: str) -> bytes:
        """Return the bytes of a file."""
        opened = self._opened(name)
        try:
            facts = os.fstat(opened)
            if not stat.S_ISREG(facts.st_mode):
                raise FileNotFoundError(errno.ENOENT, "it is no file any more", name)
            return _bytes(opened, facts.st_size)
        finally:
            os.close(opened)

    def _opened(self, name: str) -> int:
        # Without waiting: between listing and reading a file may have become a pipe.
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            return os.open(f"{self._folder}/{name}", flags)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
        if self._reason_to_skip(name) is not None:
            raise FileNotFoundError(errno.ENOENT, "it leaves the folder", name)
        return os.open((self._path / name).resolve(strict=True), flags)

    def _reason_to_skip(self, name: str) -> str | None:
        try:
            name.encode()
        except UnicodeEncodeError:
            return "its name is not UTF-8"
        path = self._path / name
        try:
            facts = path.lstat()
            if stat.S_ISLNK(facts.st_mode):
                target = path.resolve(strict=True)
                if not target.is_relative_to(self._path.resolve()):
                    return "it is a link that leaves the folder"
                facts = target.lstat()
        except FileNotFoundError:
            return "it is a link to nothing" if path.is_symlink() else None
        except (OSError, RuntimeError):
            return "it is a link that leads nowhere"
        return _kind_to_skip(facts.st_mode)


def _bytes(opened: int, size: int) -> bytes:
    """Return a file's bytes; a file object would take longer than the reading itself."""
    pieces: list[bytes] = []
    left = LARGEST + 1
    while left and (piece := os.read(opened, min(left, size + 1))):
        pieces.append(piece)
        left -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _kind_to_skip(mode: int) -> str | None:
    if stat.S_ISREG(mode):
        return None
    if stat.S_ISDIR(mode):
        return "it is a folder"
    return "it is no file but a pipe, a socket or a device"

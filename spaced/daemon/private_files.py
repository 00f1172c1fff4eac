"""Files that only their owner can read and write, from their first instant and whatever the umask.

The folder of such a file is private too (`directories.private_folder`); these checks hold where it
was not always so.
"""

import errno
import logging
import os
import stat
from pathlib import Path
from typing import Final

from spaced.errors import SpacedError, StorageFull
from spaced.refusals import UnsafePlace

FILE_MODE: Final = 0o600
LARGEST: Final = 1024 * 1024
"""Bytes of the largest file that is read."""

_OTHERS: Final = 0o077
_FULL: Final = {errno.ENOSPC, errno.EDQUOT}

log = logging.getLogger(__name__)


def write_private(path: Path, content: bytes) -> None:
    """Write a file whole: whoever reads it meanwhile, or after a crash, finds the old or the new.

    What has the name already is replaced, also a link, and never followed.

    Raises:
        StorageFull: there is no space.
        UnsafePlace: the folder takes no file of ours.
    """
    # A random name, so that two writers never share one file, which a rename would publish half.
    draft = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:
        try:
            _write_new(draft, content)
            draft.replace(path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)
    except OSError as error:
        raise os_refusal(path, "written", error) from error


def read_private(path: Path, *, largest: int = LARGEST) -> bytes:
    """Return what a private file holds; one that others could read is closed to them, and said.

    Raises:
        FileNotFoundError: there is none.
        UnsafePlace: it is a link or no plain file, belongs to somebody else, cannot be read, or
            has more than `largest` bytes.
    """
    descriptor = open_private(path, os.O_RDONLY)
    try:
        content = bytearray()
        while len(content) <= largest and (part := os.read(descriptor, largest + 1)):
            content += part
    except OSError as error:
        raise os_refusal(path, "read", error) from error
    finally:
        os.close(descriptor)
    if len(content) > largest:
        raise UnsafePlace(
            f"{path} has more than {largest} bytes, so spaced did not write it",
            remedy="Look at what it is, and move it away.",
        )
    return bytes(content)


def open_private(path: Path, flags: int) -> int:
    """Return the descriptor of a private file, which no child process inherits.

    Args:
        flags: of `os.open`, for the way of access, and to create the file.

    Raises:
        FileNotFoundError: there is none, and the flags do not create it.
        UnsafePlace: see `read_private`.
    """
    # Without O_NONBLOCK, opening a pipe that somebody put here would wait for its other end.
    careful = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags | careful, FILE_MODE)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise os_refusal(path, "opened", error) from error
    try:
        _check_file(path, os.fstat(descriptor))
        tighten(path, descriptor, FILE_MODE)
        if flags & os.O_CREAT:
            os.fchmod(descriptor, FILE_MODE)  # a strict umask takes bits away from a new file
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def tighten(path: Path, descriptor: int, mode: int) -> None:
    """Give something of ours that others have access to the mode it should have, and say so.

    Raises:
        UnsafePlace: the file system does not let us.
    """
    found = stat.S_IMODE(os.fstat(descriptor).st_mode)
    if not found & _OTHERS:
        return
    try:
        os.fchmod(descriptor, mode)
    except OSError as error:
        raise os_refusal(path, "closed to other users", error) from error
    log.warning(
        "%s was open to other users (mode %04o) and was closed to them; what lay there may have"
        " been read",
        path,
        found,
        extra={"event": "mode-tightened", "path": str(path), "mode": f"{found:04o}"},
    )


def os_refusal(path: Path, done: str, error: OSError) -> SpacedError:
    """Return what the system would not let us do, as a sentence.

    Args:
        done: the participle of what was tried, such as `"written"`.
    """
    if error.errno in _FULL:
        return StorageFull(f"there is no space left where {path} has to be {done}")
    if error.errno == errno.ELOOP and path.is_symlink():
        return UnsafePlace(f"{path} is a symbolic link, and is not followed")
    return UnsafePlace(
        f"{path} cannot be {done}: {error.strerror}",
        remedy="Check the owner and the mode of that path and of the folders above it.",
    )


def _write_new(path: Path, content: bytes) -> None:
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, FILE_MODE)
    try:
        os.fchmod(descriptor, FILE_MODE)  # a strict umask takes bits away from what `open` makes
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check_file(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise UnsafePlace(f"{path} is no plain file, so spaced did not make it")
    if found.st_uid != os.geteuid():
        raise UnsafePlace(f"{path} belongs to another user (uid {found.st_uid})")

"""Files and folders that only their owner can read, whatever the umask.

A folder of another user is refused: whoever owns it could replace what lies in it. A mode that lets
others in is tightened, and said, since what lay there may have been read already.
"""

import os
import stat
from pathlib import Path
from typing import Final

from spaced.plugin_api import StorageRefused

FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, that only we can enter; one that exists stays as it is."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
        # Again by name, since a strict umask takes bits away from what `mkdir` was asked for.
        folder.chmod(FOLDER_MODE)


def create_file(path: Path) -> int:
    """Create a file that only we can read and return its descriptor; it must not exist yet."""
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, FILE_MODE)
    os.fchmod(descriptor, FILE_MODE)
    return descriptor


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def tighten(path: Path, mode: int) -> str | None:
    """Give a path that exists the mode it should have; return a warning if others had access.

    Raises:
        StorageRefused: it belongs to another user, or is of another kind.
    """
    is_folder = mode == FOLDER_MODE
    try:
        # A folder may be a link to a larger disk; a file that is one was not made by us.
        found = path.stat() if is_folder else path.lstat()
    except FileNotFoundError:
        return None
    if not (stat.S_ISDIR if is_folder else stat.S_ISREG)(found.st_mode):
        raise StorageRefused(f"{path} is a link or something else than spaced made there")
    if found.st_uid != os.geteuid():
        raise StorageRefused(f"{path} belongs to another user (uid {found.st_uid})")
    if stat.S_IMODE(found.st_mode) & 0o077 == 0:
        return None
    path.chmod(mode)
    return (
        f"{path} was open to other users (mode {stat.S_IMODE(found.st_mode):04o}) and was closed "
        "to them; what lay there may have been read."
    )

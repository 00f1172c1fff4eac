"""Where things lie by default, and folders that belong to us alone."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spaced.daemon.private_files import os_refusal, tighten
from spaced.refusals import InvalidSettings, SocketPathTooLong, UnsafePlace

FOLDER_MODE: Final = 0o700
LONGEST_SOCKET_PATH: Final = 103
"""Bytes of a Unix socket's path that every system takes; Linux takes four more than macOS."""

SOCKET_NAME: Final = "control.sock"

_WRITABLE_BY_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True, kw_only=True)
class Directories:
    """The user's own places; none of them need exist.

    Attributes:
        config: holds `config.toml`.
        data: what has to be kept: sessions, token, lock.
        state: logs.
    """

    config: Path
    data: Path
    state: Path


def default_directories() -> Directories:
    """Return the places that the system's conventions and this process's environment name.

    Raises:
        InvalidSettings: they name none, or some that mean another place in every folder.
    """
    from platformdirs import PlatformDirs

    names = PlatformDirs("spaced", appauthor=False)
    try:
        found = Directories(
            config=Path(names.user_config_dir),
            data=Path(names.user_data_dir),
            state=Path(names.user_state_dir),
        )
    except RuntimeError as error:  # it found no home folder; older versions return a relative one
        raise _no_home() from error
    if not all(place.is_absolute() for place in (found.config, found.data, found.state)):
        raise _no_home()
    return found


def default_socket(data_dir: Path, *, is_default: bool) -> Path:
    """Return where the socket of a data directory lies if nobody says otherwise.

    It is `$XDG_RUNTIME_DIR/spaced/control.sock` if that folder is ours alone and the path is not
    too long; else, and for every data directory but the default one, `run/control.sock` inside of
    it, so that two data directories never share a socket.

    Args:
        is_default: whether this is the default data directory.
    """
    runtime_dir = os.environ.get("XDG_RUNTIME_DIR", "")
    if is_default and _is_usable(runtime_dir):
        path = Path(runtime_dir) / "spaced" / SOCKET_NAME
        if _is_short_enough(path):
            return path
    return data_dir / "run" / SOCKET_NAME


def check_socket_path(path: Path) -> None:
    """Refuse a path that no socket can have; call this before anything is made.

    Raises:
        SocketPathTooLong: it has more bytes than fit into a socket's address.
    """
    if not _is_short_enough(path):
        raise SocketPathTooLong(
            f"the socket's path {path} has {len(os.fsencode(path))} bytes; at most"
            f" {LONGEST_SOCKET_PATH} are possible"
        )


def private_folder(path: Path) -> Path:
    """Return a folder that only we can enter; it is made if it is missing, with those above it.

    Whatever is made has the mode 0700, whatever the umask. A folder of ours that others can read
    is closed to them, and a warning says so.

    Args:
        path: an absolute path.

    Raises:
        UnsafePlace: it is a link or no folder, belongs to somebody else, others may write to it,
            everybody may replace something on the way to it, or the system refuses to make it.
        StorageFull: there is no space to make it.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        _check_way(path)
        _make(path)
        _check_folder(path, path.lstat())
        descriptor = os.open(path, flags)
    except OSError as error:
        raise os_refusal(path, "used as a folder of the daemon", error) from error
    try:
        tighten(path, descriptor, FOLDER_MODE)
    finally:
        os.close(descriptor)
    return path


def _no_home() -> InvalidSettings:
    return InvalidSettings(
        "this user has no home folder, so there are no default places",
        remedy="Set HOME, or SPACED_DATA_DIR.",
    )


def _is_usable(runtime_dir: str) -> bool:
    if not runtime_dir.startswith("/"):
        return False
    try:
        found = Path(runtime_dir).stat()
    except OSError:
        return False
    return (
        stat.S_ISDIR(found.st_mode)
        and found.st_uid == os.geteuid()
        and not found.st_mode & _WRITABLE_BY_OTHERS
        and os.access(runtime_dir, os.W_OK | os.X_OK)
    )


def _is_short_enough(path: Path) -> bool:
    return len(os.fsencode(path)) <= LONGEST_SOCKET_PATH


def _check_way(path: Path) -> None:
    """Refuse folders above in which everybody may rename what is not theirs.

    Both ways are looked at: as it is written, since a link on it can be replaced too, and as it
    is in truth.
    """
    truth = Path(os.path.realpath(path.parent))
    for folder in sorted({*path.parents, truth, *truth.parents}):
        if not folder.exists():
            continue
        mode = folder.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise UnsafePlace(
                f"everybody may replace what lies in {folder}, and so {path}",
                remedy=f"Choose another place, or close that folder with `chmod o-w {folder}`.",
            )


def _make(path: Path) -> None:
    if not os.path.lexists(path):
        _make(path.parent)
        try:
            path.mkdir(mode=FOLDER_MODE)
        except FileExistsError:
            return  # somebody else was faster; what they made is judged as if it was there before
        # Again by name, since a strict umask takes bits away from what `mkdir` was asked for.
        path.chmod(FOLDER_MODE)


def _check_folder(path: Path, found: os.stat_result) -> None:
    mode = stat.S_IMODE(found.st_mode)
    if stat.S_ISLNK(found.st_mode):
        raise UnsafePlace(f"{path} is a symbolic link, and is not followed")
    if not stat.S_ISDIR(found.st_mode):
        raise UnsafePlace(f"{path} is no folder")
    if found.st_uid != os.geteuid():
        raise UnsafePlace(f"{path} belongs to another user (uid {found.st_uid})")
    if mode & _WRITABLE_BY_OTHERS:
        raise UnsafePlace(
            f"others may write to {path} (mode {mode:04o})",
            remedy=f"Look at what lies there, then close it with `chmod 700 {path}`.",
        )

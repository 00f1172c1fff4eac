"""The secret that a client on TCP shows: one line of text in a file that only we can read."""

import re
import secrets
from pathlib import Path
from typing import Final

from spaced.daemon.private_files import read_private, write_private
from spaced.refusals import InvalidSettings

TOKEN_NAME: Final = "token"  # noqa: S105 - the name of the file, not the secret
SHORTEST: Final = 16
LONGEST: Final = 512

_BYTES: Final = 32
_VISIBLE: Final = re.compile(r"[!-~]*")


def access_token(data_dir: Path) -> str:
    """Return the token of a data directory; the first call makes it.

    Args:
        data_dir: an existing private folder, whose lock is held.

    Raises:
        InvalidSettings: what the file holds is no token that a request could carry, or one that
            is guessed too easily. The message never tells what it is.
        UnsafePlace: the file is not ours alone.
    """
    path = data_dir / TOKEN_NAME
    try:
        content = read_private(path, largest=4 * LONGEST)
    except FileNotFoundError:
        token = secrets.token_urlsafe(_BYTES)
        write_private(path, f"{token}\n".encode())
        return token
    return _read(path, content)


def _read(path: Path, content: bytes) -> str:
    token = content.decode("latin-1").removesuffix("\n").removesuffix("\r")
    if not token:
        raise _refusal(path, "is empty")
    if _VISIBLE.fullmatch(token) is None:
        raise _refusal(path, "holds spaces, several lines, or other characters than ASCII's")
    if not SHORTEST <= len(token) <= LONGEST:
        raise _refusal(path, f"does not have from {SHORTEST} to {LONGEST} characters")
    return token


def _refusal(path: Path, what: str) -> InvalidSettings:
    return InvalidSettings(
        f"the access token in {path} {what}",
        remedy="Delete the file; the next start makes a new token.",
    )

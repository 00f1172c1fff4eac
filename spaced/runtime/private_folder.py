"""Files that a runtime lays down for an agent to read: nobody else's, whatever the umask."""

import asyncio
import os
import re
from pathlib import Path
from typing import Final

_UNSAFE: Final = re.compile(r"[^\w.-]+")
_LONGEST_NAME: Final = 120


class PrivateFolder:
    """A folder below a runtime's state folder; it is made when the first file is."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def put(self, name: str, content: bytes) -> Path:
        """Write a file and return its path.

        Args:
            name: whatever a person has called it; it never leads out of the folder.
        """
        return await asyncio.to_thread(self._put, _safe(name), content)

    async def remove(self, name: str) -> None:
        """Remove a file; one that is not there is fine."""
        await asyncio.to_thread((self._path / _safe(name)).unlink, missing_ok=True)

    def _put(self, name: str, content: bytes) -> Path:
        self._path.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._path / name
        with open(path, "wb", opener=_private) as file:
            file.write(content)
        return path


def _safe(name: str) -> str:
    return _UNSAFE.sub("_", Path(name).name)[-_LONGEST_NAME:].lstrip(".") or "file"


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)

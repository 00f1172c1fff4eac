"""What a command is given: one text of all that a turn has, and files beside it."""

import asyncio
import os
import re
from pathlib import Path
from typing import Final

from spaced.plugin_api import JsonObject, RuntimeProblem, RuntimeServices, Turn, UnknownBlob

LONGEST_ARGUMENT: Final = 120_000
"""Bytes; the system takes 128 KiB as one argument at most."""

_UNSAFE: Final = re.compile(r"[^\w.-]+")
_LONGEST_NAME: Final = 100


class PromptTexts:
    """Puts turns into words for one session."""

    def __init__(self, services: RuntimeServices, session_id: str) -> None:
        self._read_blob = services.read_blob
        self._folder = services.state_folder / session_id

    async def of(self, turn: Turn) -> str:
        """Return a turn as one text: what was said before, instructions, prompts.

        Raises:
            RuntimeProblem: a file that a prompt names is not there.
        """
        texts = [text for text in (turn.history, turn.instructions) if text]
        for prompt in turn.prompts:
            texts += [await self._part(part) for part in prompt.parts]
        return "\n\n".join(texts)

    async def as_file(self, turn_id: str, text: str) -> Path:
        """Write a text into a file that is ours alone, and return it."""
        return await asyncio.to_thread(self._write, f"{turn_id}.txt", text.encode())

    async def _part(self, part: JsonObject) -> str:
        match part.get("type"):
            case "text":
                return str(part["text"])
            case "file":
                return f"File {part.get('name')}: {await self._place(part)}"
            case _:
                return f"@{part.get('name', '')}"

    async def _place(self, part: JsonObject) -> str:
        if isinstance(part.get("path"), str):
            return str(part["path"])
        blob_id = str(part.get("blob"))
        try:
            content = await self._read_blob(blob_id)
        except UnknownBlob as error:
            raise RuntimeProblem(error.message, remedy=error.remedy) from error
        name = _UNSAFE.sub("_", Path(str(part.get("name"))).name)[-_LONGEST_NAME:]
        return str(await asyncio.to_thread(self._write, f"{blob_id[-16:]}-{name}", content))

    def _write(self, name: str, content: bytes) -> Path:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._folder / name
        with open(path, "wb", opener=_private) as file:
            file.write(content)
        return path


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)

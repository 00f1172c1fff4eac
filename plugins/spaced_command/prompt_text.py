"""What a command is given: one text of all that a turn has, and files beside it."""

from pathlib import Path
from typing import Final

from spaced.plugin_api import (
    JsonObject,
    PrivateFolder,
    RuntimeProblem,
    RuntimeServices,
    Turn,
    UnknownBlob,
)

LONGEST_ARGUMENT: Final = 120_000
"""Bytes; the system takes 128 KiB as one argument at most."""


class PromptTexts:
    """Puts turns into words for one session."""

    def __init__(self, services: RuntimeServices, session_id: str) -> None:
        self._read_blob = services.read_blob
        self._folder = PrivateFolder(services.state_folder / session_id)

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
        """Write a turn's text into a file, and return that."""
        return await self._folder.put(f"{turn_id}.txt", text.encode("utf-8", "replace"))

    async def remove_file(self, turn_id: str) -> None:
        """Remove a turn's file, if it has one."""
        await self._folder.remove(f"{turn_id}.txt")

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
        return str(await self._folder.put(f"{blob_id[-16:]}-{part.get('name')}", content))

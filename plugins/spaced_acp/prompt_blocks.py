"""What an agent is given: a turn's history, instructions and prompts, as the protocol's blocks.

Texts go over as they are, each as a block of its own: what the agent got is what the log says.
"""

import base64
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final
from urllib.parse import quote

from spaced.plugin_api import JsonObject, PrivateFolder, RuntimeProblem, Turn, UnknownBlob
from spaced_acp.codec_v1 import AgentFacts

_TEXTS: Final = ("application/json", "application/xml", "application/yaml", "application/toml")


class PromptBlocks:
    """Makes the blocks of turns for one agent."""

    def __init__(
        self,
        facts: AgentFacts,
        directory: str,
        folder: PrivateFolder,
        read_blob: Callable[[str], Awaitable[bytes]],
    ) -> None:
        """Know the agent.

        Args:
            directory: what paths without a beginning begin in.
            folder: where the content of blobs is laid that the agent does not take by itself.
        """
        self._facts = facts
        self._directory = directory
        self._folder = folder
        self._read_blob = read_blob

    async def of(self, turn: Turn) -> list[JsonObject]:
        """Return a turn's blocks.

        Raises:
            RuntimeProblem: a file that a prompt names is not there.
        """
        texts = [text for text in (turn.history, turn.instructions) if text]
        blocks: list[JsonObject] = [{"type": "text", "text": text} for text in texts]
        for prompt in turn.prompts:
            blocks += [await self._block(part) for part in prompt.parts]
        return blocks

    async def _block(self, part: JsonObject) -> JsonObject:
        match part.get("type"):
            case "text":
                return {"type": "text", "text": str(part["text"])}
            case "file" if isinstance(part.get("path"), str):
                return self._link(part, os.path.join(self._directory, str(part["path"])))  # noqa: PTH118
            case "file":
                return await self._content(part)
            case _:
                return {"type": "text", "text": f"@{part.get('name', '')}"}

    def _link(self, part: JsonObject, path: str) -> JsonObject:
        uri = f"file://{quote(path)}"
        return {
            "type": "resource_link",
            "uri": uri,
            "name": str(part.get("name")),
            "mimeType": str(part.get("mime")),
        }

    async def _content(self, part: JsonObject) -> JsonObject:
        blob_id, mime = str(part.get("blob")), str(part.get("mime"))
        try:
            content = await self._read_blob(blob_id)
        except UnknownBlob as error:
            raise RuntimeProblem(error.message, remedy=error.remedy) from error
        if mime.startswith("image/") and self._facts.takes_images:
            return {"type": "image", "mimeType": mime, "data": _base64(content)}
        if mime.startswith("audio/") and self._facts.takes_audio:
            return {"type": "audio", "mimeType": mime, "data": _base64(content)}
        if self._facts.takes_resources:
            return {"type": "resource", "resource": _resource(part, blob_id, mime, content)}
        path = await self._folder.put(f"{blob_id[-16:]}-{part.get('name')}", content)
        return self._link(part, str(path))


def _resource(part: Mapping[str, Any], blob_id: str, mime: str, content: bytes) -> JsonObject:
    resource: dict[str, object] = {"uri": f"blob:{blob_id}/{quote(str(part.get('name')))}"}
    resource["mimeType"] = mime
    if mime.startswith("text/") or mime in _TEXTS:
        try:
            return {**resource, "text": content.decode()}
        except UnicodeDecodeError:
            pass
    return {**resource, "blob": _base64(content)}


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()

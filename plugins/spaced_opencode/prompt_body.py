"""What a prompt of ours is on the server: one message, whose parts say that they are ours."""

import base64
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from spaced.plugin_api import JsonObject, Prompt, RuntimeProblem, Turn, UnknownBlob
from spaced_opencode.message_ids import part_id_of

_MARK: Final = "spaced"


class PromptBody:
    """Makes messages for one session."""

    def __init__(self, directory: str, read_blob: Callable[[str], Awaitable[bytes]]) -> None:
        """Know the session.

        Args:
            directory: what paths without a beginning begin in.
        """
        self._directory = directory
        self._read_blob = read_blob

    async def parts_of_turn(self, turn: Turn) -> list[JsonObject]:
        """Return what a turn hands over.

        Raises:
            RuntimeProblem: a file that a prompt names is not there.
        """
        # The server's own clients hide what is synthetic; the model gets it all the same.
        said: list[JsonObject] = [
            {"type": "text", "text": text, "synthetic": True}
            for text in (turn.history, turn.instructions)
            if text
        ]
        return said + await self.parts_of(turn.prompts)

    async def parts_of(self, prompts: Sequence[Prompt]) -> list[JsonObject]:
        """Return what prompts hand over.

        Raises:
            RuntimeProblem: a file that a prompt names is not there.
        """
        return [await self._part(part) for prompt in prompts for part in prompt.parts]

    async def _part(self, part: JsonObject) -> JsonObject:
        match part.get("type"):
            case "text":
                return {"type": "text", "text": str(part["text"])}
            case "file":
                return {
                    "type": "file",
                    "mime": str(part.get("mime") or "text/plain"),
                    "filename": str(part.get("name") or "file"),
                    "url": await self._url(part),
                }
            case _:
                return {"type": "text", "text": f"@{part.get('name', '')}"}

    async def _url(self, part: JsonObject) -> str:
        if isinstance(part.get("path"), str):
            place = os.path.join(self._directory, str(part["path"]))  # noqa: PTH118 - there, not here
            return f"file://{quote(place)}"
        try:
            content = await self._read_blob(str(part.get("blob")))
        except UnknownBlob as error:
            raise RuntimeProblem(error.message, remedy=error.remedy) from error
        return f"data:{part.get('mime')};base64,{base64.b64encode(content).decode()}"


def message_body(
    message_id: str,
    parts: Sequence[JsonObject],
    *,
    turn_id: str,
    model: tuple[str, str] | None,
    agent: str,
) -> JsonObject:
    """Return the request that hands a message over.

    Args:
        model: its provider and its name; `None` leaves the choice to the server.
        agent: empty leaves it to the server.
    """
    body: dict[str, object] = {"messageID": message_id}
    if model is not None:
        body["model"] = {"providerID": model[0], "modelID": model[1]}
    if agent:
        body["agent"] = agent
    body["parts"] = [
        {"id": part_id_of(message_id, number), **_marked(part, turn_id)}
        for number, part in enumerate(parts)
    ]
    return body


def turn_of(row: Mapping[str, Any]) -> str | None:
    """Return the turn that a stored message of ours belongs to; `None`: it is not ours."""
    parts = row.get("parts")
    for part in parts if isinstance(parts, list) else []:
        metadata = part.get("metadata") if isinstance(part, dict) else None
        mark = metadata.get(_MARK) if isinstance(metadata, dict) else None
        if isinstance(mark, dict) and isinstance(mark.get("turn"), str):
            return str(mark["turn"])
    return None


def is_ours(part: Mapping[str, Any]) -> bool:
    """Tell whether a part of a user's message was handed over by us."""
    metadata = part.get("metadata")
    return isinstance(metadata, dict) and _MARK in metadata


def _marked(part: JsonObject, turn_id: str) -> JsonObject:
    if part.get("type") != "text":
        return part  # only texts can carry a mark
    return {**part, "metadata": {_MARK: {"turn": turn_id}}}

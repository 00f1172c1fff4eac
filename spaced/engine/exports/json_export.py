"""A chat as one JSON document that holds everything of it.

| field | what it holds |
| --- | --- |
| `format`, `format_version` | `spaced-chat` and 1; a reader refuses what it does not know |
| `log_id`, `version` | the log that it comes from, and the version of the run's stream |
| `session_id` | the session that the export was asked for |
| `redacted` | whether secrets are hidden |
| `damage` | why the run's stream cannot be read further; null if it can |
| `run` | the run |
| `left_out_sessions` | ids of the sessions that were deleted: nothing about them is here |
| `sessions` | the others, each with all of its `items` |
| `prompts`, `turns`, `asks`, `executions` | all of them, ended or not |
| `events` | all events in their order; from their bodies everything above can be folded again |
| `blobs` | what prompts and items name: `base64`, or `missing` |
| `problems` | sentences on what could not be exported |

Times are RFC 3339. A body that is no JSON stands under `body_base64`.

Where secrets are hidden, events about items come without bodies and are marked `withheld`: text
reaches the log in pieces, and a secret that lies across two of them could not be seen. The items
hold their whole text. In blobs only text can be looked at, so other content is as it is.
"""

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from spaced.domain.session import Session
from spaced.engine.exports.chat_reader import ChatReader
from spaced.engine.exports.encoding import Encoded, Encoder, fields_of
from spaced.engine.exports.redacting import UNREDACTED, Redacting
from spaced.errors import UnknownBlob
from spaced.log.read_models.lives import ASKS, EXECUTIONS, PROMPTS, TURNS, Lives
from spaced.storage.protocol import Storage

FORMAT: Final = "spaced-chat"
FORMAT_VERSION: Final = 1

_PIECE: Final = 3 * 64 * 1024
"""Bytes of a blob that are written at once; a multiple of three needs no padding in between."""

_LIVES: Final[Mapping[str, Lives[Any]]] = {
    "prompts": PROMPTS,
    "turns": TURNS,
    "asks": ASKS,
    "executions": EXECUTIONS,
}

_T = TypeVar("_T")


async def export_json(
    storage: Storage, session_id: str, *, redactor: Redacting = UNREDACTED
) -> AsyncIterator[bytes]:
    """Write a chat as a JSON document, in pieces; nothing comes before the chat was found.

    One page of the chat is in memory at a time, or one blob.

    Raises:
        UnknownSession: there is no such session, or it was deleted.
    """
    chat = await ChatReader.open(storage, session_id)
    async for piece in _JsonExport(storage, chat, Encoder(redactor)).pieces():
        yield piece


class _JsonExport:
    """One export on its way; blobs and problems come last, so they are gathered."""

    def __init__(self, storage: Storage, chat: ChatReader, encoder: Encoder) -> None:
        self._storage = storage
        self._chat = chat
        self._encoder = encoder
        self._blobs: dict[str, str | None] = {}
        self._problems: list[str] = []

    async def pieces(self) -> AsyncIterator[bytes]:
        """Write the document."""
        yield self._encoder.value(self._head())[:-1]
        parts: dict[str, AsyncIterator[bytes]] = {"sessions": self._sessions()}
        for name, lives in _LIVES.items():
            pages = self._chat.lives(lives)
            parts[name] = self._array(pages, self._encoder.states)
        parts["events"] = self._events()
        parts["blobs"] = self._all_blobs()
        for name, pieces in parts.items():
            yield b',"%s":' % name.encode()
            async for piece in pieces:
                yield piece
        yield b',"problems":[' + b",".join(map(self._encoder.value, self._problems)) + b"]}\n"

    def _head(self) -> dict[str, object]:
        chat = self._chat
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "log_id": self._storage.log_id,
            "version": chat.version,
            "session_id": chat.session.id,
            "redacted": self._encoder.hides,
            "damage": chat.damage,
            "run": fields_of(chat.run),
            "left_out_sessions": sorted(chat.left_out),
        }

    async def _sessions(self) -> AsyncIterator[bytes]:
        separator = b"["
        for session in self._chat.sessions:
            yield separator + self._encoder.value(fields_of(session))[:-1] + b',"items":'
            async for piece in self._items(session):
                yield piece
            yield b"}"
            separator = b","
        yield b"]"

    async def _items(self, session: Session) -> AsyncIterator[bytes]:
        found = 0

        async def counted() -> AsyncIterator[Sequence[Any]]:
            nonlocal found
            async for page in self._chat.items(session):
                found += len(page)
                yield page

        async for piece in self._array(counted(), self._encoder.items):
            yield piece
        missing = session.item_count - found
        if missing and await self._storage.version(self._chat.run.id) == self._chat.version:
            self._problems.append(
                f"{missing} items of {session.id!r} were not found; `spaced doctor` says why"
            )

    async def _events(self) -> AsyncIterator[bytes]:
        async for piece in self._array(self._chat.events(), self._encoder.events):
            yield piece
        if await self._storage.version(self._chat.run.id) < self._chat.version:
            self._problems.append("the run was deleted for good while it was exported")

    async def _all_blobs(self) -> AsyncIterator[bytes]:
        separator = b"["
        for blob_id, mime in self._blobs.items():
            yield separator
            async for piece in self._blob(blob_id, mime):
                yield piece
            separator = b","
        yield b"[]" if separator == b"[" else b"]"

    async def _blob(self, blob_id: str, mime: str | None) -> AsyncIterator[bytes]:
        fields: dict[str, object] = {"id": blob_id, "mime": mime}
        try:
            stored = await self._storage.get_blob(blob_id)
        except UnknownBlob as error:
            self._problems.append(str(error))
            yield self._encoder.value({**fields, "missing": True})
            return
        content = await asyncio.to_thread(self._encoder.content, stored)
        fields |= {"bytes": len(content), "redacted": content != stored}
        yield self._encoder.value(fields)[:-1] + b',"base64":"'
        for start in range(0, len(content), _PIECE):
            yield base64.b64encode(content[start : start + _PIECE])
        yield b'"}'

    async def _array(
        self, pages: AsyncIterator[Sequence[_T]], encode: Callable[[Sequence[_T]], Encoded]
    ) -> AsyncIterator[bytes]:
        """Write pages as one array; each is encoded in a thread, since it may be large."""
        separator = b"["
        async for page in pages:
            encoded = await asyncio.to_thread(encode, page)
            for blob_id, mime in encoded.blobs.items():
                self._blobs[blob_id] = mime or self._blobs.get(blob_id)
            self._problems += encoded.problems
            if encoded.values:
                yield separator + b",".join(encoded.values)
                separator = b","
        yield b"[]" if separator == b"[" else b"]"

"""The blobs that a prompt's or an item's fields name: `{blob, mime?, …}`, at any depth."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

_BLOB_ID: Final = re.compile(r"blob_[0-9a-f]{64}")
_MOVED_OUT: Final = '{"blob":'
"""How the arguments of a tool call begin that were too long: they are JSON text, and stay so."""


def blobs_in(value: object) -> Iterator[tuple[str, str | None]]:
    """Find the blobs that a JSON value names, each with its media type if that is told."""
    match value:
        case str() if value.startswith(_MOVED_OUT):
            try:
                yield from blobs_in(msgspec.json.decode(value))
            except msgspec.MsgspecError:
                return
        case Mapping():
            blob_id, mime = value.get("blob"), value.get("mime")
            if isinstance(blob_id, str) and _BLOB_ID.fullmatch(blob_id):
                yield blob_id, mime if isinstance(mime, str) else None
            for part in value.values():
                yield from blobs_in(part)
        case list() | tuple():
            for part in value:
                yield from blobs_in(part)

"""Output that is far too long for the log, and text that is merely long."""

import tracemalloc
from hashlib import sha256

from spaced_scripted.pieces import flood
from tests.integration.engine.house import House, Step, say

_OUTPUT = 50_000_000
_MESSAGE = 20_000_000
_HEAD = 128 * 1024
_STORED = 256 * 1024
_LINE = 10_000
_MARKER = 100
_MEMORY = 16_000_000


def _flood(size: int, field: str) -> Step:
    return {"do": "flood", "bytes": size, "field": field, "line_length": _LINE}


def _made(size: int) -> str:
    return "".join(flood(size, line_length=_LINE, piece=65536))


async def test_a_huge_output_is_kept_as_its_beginning_its_end_and_its_digest(house: House) -> None:
    """50 MB cost a quarter of a megabyte in the log and a bounded amount of memory."""
    chat = await house.chat([_flood(_OUTPUT, "output")], [say("Still here.")])
    tracemalloc.start()
    try:
        await house.turn(chat)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    result = next(item for item in await house.items(chat) if item["type"] == "tool-result")
    whole, stored = _made(_OUTPUT), str(result["output"])

    assert peak < _MEMORY
    assert len(stored.encode()) <= _STORED + _MARKER
    assert stored.startswith(whole[:_HEAD])
    assert stored.endswith(whole[len(whole) - _HEAD :])
    assert "characters left out" in stored
    assert result["full_length"] == _OUTPUT
    assert result["digest"] == sha256(whole.encode()).hexdigest()

    await house.turn(chat)

    assert (await house.texts(chat))[-1] == "assistant: Still here."


async def test_a_long_message_is_kept_whole(house: House) -> None:
    """What an agent says is never cut, also if it is 20 MB."""
    chat = await house.chat([_flood(_MESSAGE, "content")])
    await house.turn(chat)
    said = next(item for item in await house.items(chat) if item.get("role") == "assistant")

    assert said["content"] == _made(_MESSAGE)
    assert said["stream_status"] == "complete"

"""Output of tools, bounded: the beginning and the end of a text that is too long, and its digest.

A log that prints hundreds of megabytes must cost neither their memory nor their space. The first
128 KiB go through as they come, so that a person can watch; of what follows only the end is held.
What fits into 256 KiB is kept whole. Sizes are bytes of UTF-8, and a cut never splits a code point.
"""

from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from spaced.domain.json_values import JsonObject

HEAD_BYTES: Final = 128 * 1024
WHOLE_BYTES: Final = 256 * 1024
_ANY_CODE_POINT: Final = "surrogatepass"  # a lone surrogate is not expected, and no reason to fail


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """What is to be stored behind what went through already.

    Attributes:
        facts: `{full_length, digest}` of the whole text, in code points and as SHA-256 in hex;
            `None` if nothing was left out.
    """

    text: str
    facts: JsonObject | None


class CappedText:
    """One output on its way into the log; the pieces that it comes in make no difference."""

    def __init__(self) -> None:
        self._digest = sha256()
        self._length = 0
        self._head_bytes = 0
        self._head_length = 0
        self._is_head_full = False
        self._tail = bytearray()
        self._tail_bytes = 0

    def add(self, text: str) -> str:
        """Take text of the tool; return what of it is to be stored now, perhaps nothing."""
        content = text.encode("utf-8", _ANY_CODE_POINT)
        self._digest.update(content)
        self._length += len(text)
        if self._is_head_full:
            self._hold(content)
            return ""
        cut = self._cut(content)
        head = text if cut == len(content) else _decoded(content[:cut])
        self._head_bytes += cut
        self._head_length += len(head)
        self._hold(content[cut:])
        return head

    def finish(self) -> Rest:
        """Return the rest at the output's end; asked again, it is the same."""
        limit = self._limit
        if self._tail_bytes <= limit:
            return Rest(text=_decoded(bytes(self._tail)), facts=None)
        start = len(self._tail) - limit
        while _continues(self._tail[start]):
            start += 1
        tail = _decoded(bytes(self._tail[start:]))
        left_out = self._length - self._head_length - len(tail)
        return Rest(
            text=f"\n[… {left_out:,} characters left out …]\n{tail}",
            facts={"full_length": self._length, "digest": self._digest.hexdigest()},
        )

    @property
    def _limit(self) -> int:
        """The most that is kept behind the head; a head that ends early leaves it the more."""
        return WHOLE_BYTES - self._head_bytes

    def _cut(self, content: bytes) -> int:
        """Return where the head ends in this content."""
        room = HEAD_BYTES - self._head_bytes
        if len(content) <= room:
            return len(content)
        # Once something did not fit the head is over, also for a smaller character behind it.
        self._is_head_full = True
        while _continues(content[room]):
            room -= 1
        return room

    def _hold(self, content: bytes) -> None:
        self._tail_bytes += len(content)
        self._tail += content[-self._limit :]
        # Cutting at each small piece would move the whole tail each time.
        if len(self._tail) > 2 * self._limit:
            del self._tail[: -self._limit]


def cap(text: str) -> tuple[str, JsonObject | None]:
    """Return what is stored of an output that arrives whole, and the facts as in `Rest`."""
    capped = CappedText()
    head = capped.add(text)
    rest = capped.finish()
    return head + rest.text, rest.facts


def _continues(byte: int) -> bool:
    """Tell whether a code point goes on with this byte of UTF-8."""
    return byte & 0xC0 == 0x80  # noqa: PLR2004  # the encoding's own numbers


def _decoded(content: bytes) -> str:
    return content.decode("utf-8", _ANY_CODE_POINT)

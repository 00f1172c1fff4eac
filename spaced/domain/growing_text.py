"""One growing text of an item, from what a runtime reports to what is announced and recorded.

It passes the door for what can be stored, then the cap where it is a tool's output, then gathers
into pieces for the log. A runtime may report it as deltas, as the whole text so far, or mixed.
"""

from dataclasses import dataclass, field
from hashlib import sha256

from spaced.domain.capped_text import HEAD_BYTES, CappedText
from spaced.domain.json_values import JsonObject
from spaced.domain.open_text import Due, OpenText, Piece
from spaced.domain.text_door import TextDoor


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """What came of a report.

    Attributes:
        text: what can be announced now.
        offset: where it begins, in code points of the stored text.
        due: what has to be written now.
    """

    text: str
    offset: int
    due: list[Due]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What is left at the item's end.

    Attributes:
        facts: fields for the item: `full_length` and `digest` of a capped output, `replaced`.
    """

    pieces: list[Piece]
    facts: JsonObject = field(default_factory=dict)


class GrowingText:
    """The text of one field of one open item."""

    def __init__(self, *, is_capped: bool, stored_length: int = 0) -> None:
        """Begin behind what the log already has, in code points."""
        self._door = TextDoor()
        self._cap = CappedText() if is_capped else None
        self._open = OpenText(stored_length=stored_length)
        self._reported = 0
        self._replaced = 0
        self._digest = sha256()

    @classmethod
    def stored(cls, text: str, *, is_capped: bool) -> "GrowingText":
        """Go on behind a text that the log has, as if all of it had been reported."""
        growing = cls(is_capped=is_capped and len(text.encode()) <= HEAD_BYTES)
        growing.begin(text)
        return growing

    @property
    def has_tail(self) -> bool:
        """Whether an open tail was offered, so that its row has to go."""
        return self._open.has_tail

    @property
    def is_safe(self) -> bool:
        """Whether the log holds all that came."""
        return self._open.is_safe

    @property
    def length(self) -> int:
        """Code points of the stored text, with what is on its way."""
        return self._open.length

    def begin(self, text: str) -> str:
        """Take the first text, which its caller stores with the item itself; return that."""
        self._note(text)
        storable = self._passed(text)
        self._open = OpenText(stored_length=self._open.length + len(storable))
        return storable

    def grow(self, text: str, *, now: int) -> Growth:
        """Take further text, or with an empty one only look at the time."""
        self._note(text)
        offset = self._open.length
        storable = self._passed(text)
        return Growth(text=storable, offset=offset, due=self._open.add(storable, now=now))

    def beyond(self, whole: str) -> str | None:
        """Return by how much a whole text extends what was reported; `None`: it is another one."""
        known, rest = whole[: self._reported], whole[self._reported :]
        if len(known) < self._reported or _digest_of(known) != self._digest.digest():
            return None
        return rest

    def close(self) -> Ending:
        """Return what is left to be recorded; nothing more comes."""
        facts: dict[str, object] = {}
        rest = self._door.end()
        if self._cap is not None:
            capped = self._cap.add(rest)
            ending = self._cap.finish()
            rest = capped + ending.text
            facts.update(ending.facts or {})
        if self._door.replaced:
            facts["replaced"] = self._replaced + self._door.replaced
        return Ending(pieces=self._open.close(rest), facts=facts)

    def after_end(self) -> "GrowingText":
        """Return what takes text that comes behind the end; it is not capped again."""
        late = GrowingText(is_capped=False, stored_length=self._open.length)
        late._reported, late._digest = self._reported, self._digest
        late._replaced = self._replaced + self._door.replaced
        return late

    def _passed(self, text: str) -> str:
        storable = self._door.accept(text)
        return storable if self._cap is None else self._cap.add(storable)

    def _note(self, text: str) -> None:
        self._reported += len(text)
        self._digest.update(_bytes_of(text))


def _digest_of(text: str) -> bytes:
    return sha256(_bytes_of(text)).digest()


def _bytes_of(text: str) -> bytes:
    # Halves of characters are written too, each by itself, so that two runs of the same text give
    # the same bytes however they are split.
    return text.encode("utf-8", "surrogatepass")

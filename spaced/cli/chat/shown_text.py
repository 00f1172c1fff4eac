"""One growing text, and what of it stands on the screen.

Text is announced before it is recorded, both in pieces that may overlap, and after a crash what
was announced last may never be recorded. What is shown is never shown again; what turns out not to
be so is taken back in words, since a terminal cannot unprint.

Offsets count Unicode code points of the whole text.
"""

from dataclasses import dataclass
from hashlib import sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is to be shown now.

    Attributes:
        text: goes behind what is shown, or behind the correction.
        wrong: the end of what is shown, if it is not so.
        is_anew: whether all that is shown is not so.
    """

    text: str = ""
    wrong: str = ""
    is_anew: bool = False


class ShownText:
    """The text of one field of one item.

    The screen shows what is recorded, then what was announced behind it, then what was announced
    before the connection broke and has not been confirmed since.
    """

    def __init__(self, *, begins_at: int = 0) -> None:
        """Begin with nothing shown.

        Args:
            begins_at: the length of what is recorded and is not shown here.
        """
        self._recorded: list[str] = []
        self._digest = sha256()
        self._length = begins_at
        self._announced = ""
        self._doubtful = ""
        self._ahead: dict[int, str] = {}
        self._is_closed = begins_at > 0

    def announce(self, offset: int, text: str) -> Change:
        """Take text that is not recorded yet."""
        if offset > self._known_length:
            # What is missing in between comes from the log.
            self._ahead[offset] = max(text, self._ahead.get(offset, ""), key=len)
            return Change()
        return self._with_what_came_ahead(self._announce(offset, text))

    def append(self, offset: int, text: str) -> Change:
        """Take text that is recorded."""
        fresh = text[max(0, self._length - offset) :]
        if not fresh:
            return Change()
        change, beyond = _beside(self._announced + self._doubtful, fresh)
        announced = max(0, len(self._announced) - len(fresh))
        self._announced, self._doubtful = beyond[:announced], beyond[announced:]
        self._record(fresh)
        self._length = max(self._length, offset) + len(fresh)
        return self._with_what_came_ahead(change)

    def replace(self, whole: str) -> Change:
        """Take the whole text, as it is recorded."""
        if self._is_closed and self._digest.digest() == _digest_of(whole):
            return Change()
        if self._is_closed:
            # Nothing is kept of what was shown, so all of it is shown anew.
            change, self._doubtful = Change(text=whole, is_anew=True), ""
        else:
            shown = "".join(self._recorded) + self._announced + self._doubtful
            change, self._doubtful = _beside(shown, whole)
        self._announced = ""
        self._ahead.clear()
        self._recorded, self._digest, self._length = [], sha256(), len(whole)
        self._record(whole)
        return change

    def reconnect(self) -> None:
        """Doubt what was announced: who announced it may be gone."""
        self._announced, self._doubtful = "", self._announced + self._doubtful
        self._ahead.clear()

    def close(self) -> Change:
        """Take the end of the text: what is not recorded now never will be."""
        wrong = self._announced + self._doubtful
        self._recorded, self._announced, self._doubtful = [], "", ""
        self._ahead.clear()
        self._is_closed = True
        return Change(wrong=wrong)

    @property
    def _known_length(self) -> int:
        return self._length + len(self._announced)

    def _record(self, text: str) -> None:
        self._digest.update(text.encode("utf-8", "surrogatepass"))
        if not self._is_closed:
            self._recorded.append(text)

    def _announce(self, offset: int, text: str) -> Change:
        fresh = text[self._known_length - offset :]
        change, self._doubtful = _beside(self._doubtful, fresh)
        self._announced += fresh
        return change

    def _with_what_came_ahead(self, change: Change) -> Change:
        """Add announced text whose beginning has come meanwhile."""
        for offset in sorted(self._ahead):
            if offset > self._known_length:
                break
            more = self._announce(offset, self._ahead.pop(offset))
            change = Change(text=change.text + more.text, wrong=change.wrong + more.wrong)
        return change


def _beside(shown: str, told: str) -> tuple[Change, str]:
    """Compare what is shown at a place with what stands there, as far as that is told.

    Returns:
        What is to be shown, and what of the shown text lies behind all that is told.
    """
    if shown.startswith(told):
        return Change(), shown[len(told) :]
    if told.startswith(shown):
        return Change(text=told[len(shown) :]), ""
    pairs = zip(shown, told, strict=False)
    same = next(place for place, (one, other) in enumerate(pairs) if one != other)
    return Change(text=told[same:], wrong=shown[same:]), ""


def _digest_of(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()

"""The words of a query inside a text: where they stand, and a short piece of text around them.

A word is what `Storage.search` says: a run of letters and digits, case-folded, of which the first
64 characters count. So what a storage has found is also found here.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from spaced.errors import UnusableQuery

LONGEST_SNIPPET: Final = 240
"""Code points of a snippet."""

_WORD_LENGTH: Final = 64
_BEFORE: Final = 60
"""Code points of a snippet that stand before the first word that matches."""
_LOOKED_AT: Final = 4 * LONGEST_SNIPPET
"""Code points of a text, blanks of all kinds among them, that a snippet is made of."""

_WORD: Final = re.compile(r"[^\W_]+")
_QUERY_WORD: Final = re.compile(r"([^\W_]+)(\*?)")
_GAP: Final = "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """A piece of a text on one line.

    Attributes:
        matches: start and end of each word that matches, in code points of `text`.
    """

    text: str
    matches: Sequence[tuple[int, int]] = ()


class QueryWords:
    """What a query looks for."""

    def __init__(self, query: str) -> None:
        """Take a query apart.

        Raises:
            UnusableQuery: it holds no word.
        """
        found = [(w.casefold()[:_WORD_LENGTH], star) for w, star in _QUERY_WORD.findall(query)]
        if not found:
            raise UnusableQuery(f"the query {query[:100]!r} holds no word")
        self._whole = frozenset(word for word, star in found if not star)
        self._beginnings = tuple({word for word, star in found if star})

    def matches(self, text: str, start: int = 0) -> Iterator[tuple[int, int]]:
        """Return start and end of each word of a text that the query names, in order."""
        whole, beginnings = self._whole, self._beginnings
        for found in _WORD.finditer(text, start):
            word = found[0].casefold()[:_WORD_LENGTH]
            if word in whole or (beginnings and word.startswith(beginnings)):
                yield found.span()

    def first_match(self, text: str) -> int | None:
        """Return where the first word that matches begins."""
        start = 0
        # Where folding moves characters, a place has to be looked for word by word in its line.
        for line in [text] if _folds_in_place(text) else text.split("\n"):
            place = self._first_place(line)
            match = None if place is None else next(self.matches(line, place), None)
            if match is not None:
                return start + match[0]
            start += len(line) + 1
        return None

    def _first_place(self, line: str) -> int | None:
        """Return a place before which no word of a line matches; `None` if none matches at all."""
        folded = line.casefold()
        places = [folded.find(word) for word in (*self._whole, *self._beginnings)]
        place = min((place for place in places if place >= 0), default=None)
        if place is None or not _folds_in_place(line):
            return None if place is None else 0
        while place > 0 and line[place - 1].isalnum():
            place -= 1
        return place

    def snippet(self, text: str) -> Snippet:
        """Return the text around the first word that matches, or its beginning if none does."""
        first = self.first_match(text) or 0
        start = _beginning(text, first)
        end = _word_end(text, start + _LOOKED_AT, after=first)
        piece = _GAP * (start > 0) + " ".join(text[start:end].split())
        if end < len(text) or len(piece) > LONGEST_SNIPPET:
            match = next(self.matches(piece), (0, 0))
            room = LONGEST_SNIPPET - len(_GAP)
            piece = piece[: _word_end(piece, room, after=match[0])].rstrip() + _GAP
        return Snippet(text=piece, matches=tuple(self.matches(piece)))


def _folds_in_place(text: str) -> bool:
    """Whether every character stays where it is when the text is folded, which never shortens."""
    return text.isascii() or len(text.casefold()) == len(text)


def _beginning(text: str, first: int) -> int:
    """Return where a snippet begins: some words before its first match, which has to fit in."""
    match = _WORD.match(text, first)
    if match is None or len(match[0]) > LONGEST_SNIPPET // 2:
        return first
    start = max(0, first - _BEFORE)
    if start > 0 and text[start - 1].isalnum():
        while start < first and text[start].isalnum():
            start += 1
    return start


def _word_end(text: str, end: int, *, after: int) -> int:
    """Return the last place up to `end` at which no word is cut in two.

    Args:
        after: where a word begins that stays in any case, even if it is cut.
    """
    if end >= len(text):
        return len(text)
    place = end
    while place > after and text[place - 1].isalnum() and text[end].isalnum():
        place -= 1
    return place if place > after else end

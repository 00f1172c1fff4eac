"""Puts text of anybody into Markdown so that it stays in its place, as CommonMark reads it.

Prose keeps its own Markdown inside of a quote, where headings, lists and tables harm nothing. What
could get out of a quote is taken care of: HTML, and blocks of code that begin and never end.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

_SPECIAL: Final = re.compile(
    r"([\\`*\[\]<>&|~#$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))"  # inside of a word `_` means nothing
)
_LINE_BREAK: Final = re.compile(r"\r\n?")
_TICKS: Final = re.compile(r"`+")
_FENCE: Final = re.compile(r"(`{3,})([^`]*)|(~{3,})(.*)")
_UNCERTAIN_FENCE: Final = re.compile(r"[\s>*+\-0-9.)]+(?:```|~~~)")
_HTML: Final = re.compile(r"<(?=[A-Za-z/!?])")
_CONTROLS: Final = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"},
    **dict.fromkeys((0x7F, *range(0x80, 0xA0)), 0xFFFD),
    **dict.fromkeys((0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD),
}
"""What a terminal would obey, or what turns the direction of text, as something to be seen."""
_INFO: Final = re.compile(r"[\w+#.-]{0,30}")


def inline(text: str) -> str:
    """Return a text on one line, with nothing in it that Markdown would read as its own."""
    return _SPECIAL.sub(r"\\\1", " ".join(_tamed(text).split()))


def fenced(text: str, info: str = "") -> str:
    """Return a block of code; its fence is longer than any that is in it.

    Args:
        info: what language it is.
    """
    text = _tamed(text)
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{info}\n{text}\n{fence}"


def quoted(text: str) -> str:
    """Return prose as a quote that keeps its Markdown, and nothing of it gets out."""
    quotes: list[list[str]] = [[]]
    is_certain = True
    for block in _blocks(_tamed(text).split("\n")):
        if isinstance(block, _Code):
            if not is_certain:
                # Whether this fence would begin a block or end one is open; a new quote is none.
                quotes.append([])
                is_certain = True
            quotes[-1] += fenced("\n".join(block.lines), block.info).split("\n")
        else:
            quotes[-1] += _without_html(block, may_hold_code=is_certain)
            is_certain = is_certain and not any(map(_UNCERTAIN_FENCE.match, block))
    return "\n\n".join(
        "\n".join(f"> {line}" if line else ">" for line in lines) for lines in quotes if lines
    )


def _tamed(text: str) -> str:
    return _LINE_BREAK.sub("\n", text).translate(_CONTROLS)


class _Code:
    def __init__(self, info: str, lines: Sequence[str]) -> None:
        self.info = info
        self.lines = lines


def _blocks(lines: Sequence[str]) -> Iterator[list[str] | _Code]:
    """Tell blocks of code, as far as they begin at the line's beginning, from other lines."""
    place = 0
    while place < len(lines):
        start = place
        while place < len(lines) and _FENCE.fullmatch(lines[place]) is None:
            place += 1
        if place > start:
            yield list(lines[start:place])
        if place < len(lines):
            end = _end_of_code(lines, place)
            yield _Code(_info(lines[place]), lines[place + 1 : end])
            place = end + 1


def _end_of_code(lines: Sequence[str], start: int) -> int:
    found = _FENCE.fullmatch(lines[start])
    assert found is not None
    fence = found[1] or found[3]
    closing = re.compile(rf" {{0,3}}{fence[0]}{{{len(fence)},}}[ \t]*")
    ends = (n for n in range(start + 1, len(lines)) if closing.fullmatch(lines[n]))
    return next(ends, len(lines))


def _info(fence: str) -> str:
    words = fence.lstrip("`~").split()
    found = _INFO.fullmatch(words[0]) if words else None
    return found[0] if found else ""


def _without_html(lines: Sequence[str], *, may_hold_code: bool) -> Iterator[str]:
    """Make HTML plain text, but leave it in spans of code that surely are some.

    That is sure on a line whose backticks pair up, if they do on every line before it up to the
    last empty one: a reader that goes through the whole paragraph finds the same pairs then.
    """
    is_sure = may_hold_code
    for line in lines:
        may_hold_code = may_hold_code and _UNCERTAIN_FENCE.match(line) is None
        if not line.strip():
            is_sure = may_hold_code
        spans = _code_spans(line) if is_sure and may_hold_code else None
        is_sure = spans is not None
        yield _escaped(line, spans or [])


def _escaped(line: str, spans: Sequence[tuple[int, int]]) -> str:
    pieces: list[str] = []
    place = 0
    for start, end in spans:
        pieces += [_HTML.sub("&lt;", line[place:start]), line[start:end]]
        place = end
    return "".join([*pieces, _HTML.sub("&lt;", line[place:])])


def _code_spans(line: str) -> list[tuple[int, int]] | None:
    """Return where spans of code stand; `None` if a backtick is left over or may be no mark."""
    spans: list[tuple[int, int]] = []
    runs = list(_TICKS.finditer(line))
    place = 0
    while place < len(runs):
        opening = runs[place]
        place = next(
            (n for n in range(place + 1, len(runs)) if len(runs[n][0]) == len(opening[0])), 0
        )
        code = line[opening.end() : runs[place].start()]
        # In a row of a table a bar ends the cell, also in the middle of code.
        if not place or "|" in code or line[opening.start() - 1 : opening.start()] == "\\":
            return None
        spans.append((opening.start(), runs[place].end()))
        place += 1
    return spans

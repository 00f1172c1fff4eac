"""What is printed, as one endless strip: blocks of text, each beginning on a line of its own."""

from typing import Final

from spaced.cli.chat.spans import Span

_LONGEST_LINES: Final = 8
_LONGEST_TEXT: Final = 2000


class Paper:
    """Gathers spans, and knows whose block is being written.

    Attributes:
        owner: the id of what the last block shows; `None` for remarks.
    """

    def __init__(self) -> None:
        self.owner: str | None = None
        self._spans: list[Span] = []
        self._is_at_line_start = True
        self._is_new = True

    def begin(self, owner: str | None) -> None:
        """Begin a block on a new line."""
        self.end_line()
        self.owner = owner

    def end_line(self) -> None:
        """End the line, if anything stands on it."""
        if not self._is_at_line_start:
            self._add(Span(text="\n"))

    def leave_room(self) -> None:
        """Leave an empty line, but not at the top."""
        if not self._is_new:
            self._add(Span(text="\n"))

    def write(self, *spans: Span) -> None:
        """Go on in the block."""
        for span in spans:
            if span.text:
                self._add(span)

    def remark(self, *spans: Span) -> None:
        """Write a line that belongs to nothing."""
        self.begin(None)
        self.write(*spans, Span(text="\n"))

    def tear_off(self) -> list[Span]:
        """Return what was written since the last time."""
        spans, self._spans = self._spans, []
        return spans

    def _add(self, span: Span) -> None:
        self._spans.append(span)
        self._is_new = False
        self._is_at_line_start = span.text.endswith("\n")


class OutputHead:
    """The first lines of a growing output, each behind a mark, and a count of what follows."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._lines = 0
        self._length = 0
        self._hidden = 0
        self._hidden_lines = 0
        self._is_at_line_start = True

    def add(self, text: str) -> str:
        """Return what of further text is shown."""
        shown = ""
        for line in _lines_of(text):
            shown += self._add_line(line)
        return shown

    def rest(self) -> str:
        """Return how much is not shown; empty if all of it is."""
        if not self._hidden:
            return ""
        begun = 0 if self._is_at_line_start else 1
        lines = self._hidden_lines + begun
        return f"… {lines} more lines" if lines > 1 else f"… {self._hidden} more characters"

    def _add_line(self, line: str) -> str:
        is_begun = not self._is_at_line_start
        self._is_at_line_start = line.endswith("\n")
        room = _LONGEST_TEXT - self._length
        if room <= 0 or (self._lines >= _LONGEST_LINES and not is_begun) or self._hidden:
            self._hide(line)
            return ""
        self._length += len(line)
        self._lines += self._is_at_line_start
        if rest := line[room:]:
            self._hide(rest)
        return ("" if is_begun else self._mark) + line[:room]

    def _hide(self, text: str) -> None:
        self._hidden += len(text)
        self._hidden_lines += text.count("\n")


def _lines_of(text: str) -> list[str]:
    """Split at newlines alone: `splitlines` also splits at what only Unicode calls a line's end."""
    *lines, rest = text.split("\n")
    whole = [line + "\n" for line in lines]
    return [*whole, rest] if rest else whole

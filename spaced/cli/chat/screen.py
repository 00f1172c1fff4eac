"""Where a chat is shown and lines come from; here, for any output and input at all.

It needs no terminal: text goes out as it comes, line by line what is typed or piped comes in.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TextIO

from spaced.cli.chat.input_lines import InputLines
from spaced.cli.chat.open_ask import Focus
from spaced.cli.chat.spans import Span, Style

_LOOKS: Final[dict[Style, str]] = {
    "plain": "",
    "dim": "2",
    "bold": "1",
    "error": "31",
    "asking": "1;33",
}

FocusNow = Callable[[], Focus | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line that somebody entered.

    Attributes:
        focus: the question that was on the screen when it was begun.
    """

    text: str
    focus: Focus | None


class Screen(Protocol):
    """Shows spans and reads lines."""

    @property
    def takes_its_time(self) -> bool:
        """Whether each line is to wait until the one before it is dealt with."""
        ...

    def show(self, spans: Sequence[Span]) -> None:
        """Print spans behind the others."""
        ...

    def show_state(self, status: str, marker: str) -> None:
        """Tell what the session is doing, and what the next line would be."""
        ...

    def put_back(self, text: str) -> None:
        """Offer a line again that could not be used."""
        ...

    def clear_input(self) -> bool:
        """Remove what is being typed; false: nothing is."""
        ...

    def lines(self, focus: FocusNow) -> AsyncGenerator[Line]:
        """Return the lines as they are entered, until there are no more."""
        ...

    async def run(self) -> None:
        """Do what has to be done beside everything else, until it is cancelled."""
        ...


def styled(span: Span) -> str:
    """Return a span with the codes that make a terminal show its style."""
    look = _LOOKS[span.style]
    return f"\x1b[{look}m{span.text}\x1b[0m" if look and span.text else span.text


class PlainScreen:
    """Any output and any input.

    Attributes:
        takes_its_time: true for a script, in which a line may answer what the one before it
            brought up; a person can wait by himself.
    """

    def __init__(
        self, output: TextIO, input_fd: int | None, *, is_styled: bool, takes_its_time: bool
    ) -> None:
        self.takes_its_time = takes_its_time
        self._output = output
        self._input_fd = input_fd
        self._is_styled = is_styled

    def show(self, spans: Sequence[Span]) -> None:
        """Print spans, at once.

        Raises:
            BrokenPipeError: nobody reads any more.
        """
        for span in spans:
            self._output.write(styled(span) if self._is_styled else span.text)
        self._output.flush()

    def show_state(self, status: str, marker: str) -> None:
        """Do nothing: there is no place for it."""

    def put_back(self, text: str) -> None:
        """Do nothing: it stands where it was typed."""

    def clear_input(self) -> bool:
        """Return false: what is typed is the terminal's until the line is whole."""
        return False

    async def lines(self, focus: FocusNow) -> AsyncGenerator[Line]:
        """Return the lines of the input until its end."""
        if self._input_fd is None:
            return
        with InputLines(self._input_fd) as source:
            while (text := await source.next()) is not None:
                yield Line(text=text, focus=focus())

    async def run(self) -> None:
        """Do nothing."""

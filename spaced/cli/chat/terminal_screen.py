"""A terminal in which the line that is typed stays below what streams in.

Whole lines are printed above, into the terminal's own scrollback; the line that is still growing,
the status and the input are drawn at the bottom. Nothing else of the screen is touched, so it works
in tmux, over ssh and in a terminal of three lines.
"""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from typing import Final

from prompt_toolkit.application import Application
from prompt_toolkit.application.current import set_app
from prompt_toolkit.application.run_in_terminal import run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.data_structures import Size
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    Dimension,
    FormattedTextControl,
    HSplit,
    Layout,
    Window,
)
from prompt_toolkit.layout.processors import BeforeInput
from prompt_toolkit.output.vt100 import Vt100_Output

from spaced.cli.chat.open_ask import Focus
from spaced.cli.chat.screen import FocusNow, Line, styled
from spaced.cli.chat.spans import Span, Style

_STYLES: Final[dict[Style, str]] = {
    "plain": "",
    "dim": "dim",
    "bold": "bold",
    "error": "ansired",
    "asking": "bold ansiyellow",
}
_REDRAW_SECONDS: Final = 0.03
_GROWING_ROWS: Final = 8
_INPUT_ROWS: Final = 10


class TerminalScreen:
    """The terminal of this process."""

    def __init__(
        self,
        *,
        is_styled: bool,
        on_interrupt: Callable[[], None],
        on_leave: Callable[[], None],
    ) -> None:
        """Draw nothing yet.

        Args:
            is_styled: whether colours and the like are wanted.
            on_interrupt: called for Ctrl-C.
            on_leave: called for Ctrl-D on an empty line, and when the terminal is gone.
        """
        self.takes_its_time = False
        self._is_styled = is_styled
        self._on_interrupt = on_interrupt
        self._on_leave = on_leave
        self._entered: asyncio.Queue[Line] = asyncio.Queue()
        self._whole: list[Span] = []
        self._growing: list[Span] = []
        self._has_news = asyncio.Event()
        self._status = ""
        self._marker = "> "
        self._focus_now: FocusNow = lambda: None
        self._focus: Focus | None = None
        self._begun = False
        self._buffer = Buffer(
            multiline=True,
            history=InMemoryHistory(),
            accept_handler=self._accept,
            on_text_changed=self._note_beginning,
        )
        self._app = self._application()

    def show(self, spans: Sequence[Span]) -> None:
        """Print spans: whole lines above, what is left of the last one at the bottom."""
        for span in spans:
            head, newline, rest = span.text.rpartition("\n")
            if newline:
                self._whole += [*self._growing, Span(text=head + newline, style=span.style)]
                self._growing.clear()
            if rest:
                self._growing.append(Span(text=rest, style=span.style))
        if self._app.is_running:
            self._has_news.set()
        else:
            self._print()

    def show_state(self, status: str, marker: str) -> None:
        """Draw what the session is doing, and what stands before the input."""
        if (status, marker) != (self._status, self._marker):
            self._status, self._marker = status, marker
            self._has_news.set()

    def put_back(self, text: str) -> None:
        """Put a line back into the input, unless something else is being typed."""
        if not self._buffer.text:
            self._buffer.insert_text(text)
            self._has_news.set()

    def clear_input(self) -> bool:
        """Remove what was typed; false: nothing was."""
        has_some = bool(self._buffer.text)
        self._buffer.reset()
        self._begun = False
        return has_some

    async def lines(self, focus: FocusNow) -> AsyncGenerator[Line]:
        """Return the lines that are entered."""
        self._focus_now = focus
        while True:
            yield await self._entered.get()

    async def run(self) -> None:
        """Draw, until it is cancelled; then leave the terminal as it was."""
        try:
            async with asyncio.TaskGroup() as group:
                drawing = group.create_task(self._draw(), name="drawing")
                await self._app.run_async(handle_sigint=False, set_exception_handler=False)
                drawing.cancel()
        except* EOFError:
            self._on_leave()
        finally:
            if self._growing:
                self._whole += [*self._growing, Span(text="\n")]
                self._growing.clear()
            with suppress(OSError):  # there may be no terminal any more
                self._print()

    async def _draw(self) -> None:
        with set_app(self._app):
            while True:
                await self._has_news.wait()
                self._has_news.clear()
                if self._whole:
                    await run_in_terminal(self._print)
                self._app.invalidate()

    def _print(self) -> None:
        spans, self._whole = self._whole, []
        text = "".join(styled(span) if self._is_styled else span.text for span in spans)
        sys.stdout.write(text)
        sys.stdout.flush()

    def _accept(self, buffer: Buffer) -> bool:
        self._entered.put_nowait(Line(text=buffer.text, focus=self._focus))
        self._begun = False
        return False

    def _note_beginning(self, buffer: Buffer) -> None:
        """Remember what was asked when the first letter was typed."""
        if buffer.text and not self._begun:
            self._focus = self._focus_now()
        self._begun = bool(buffer.text)

    def _application(self) -> Application[None]:
        growing = ConditionalContainer(
            Window(
                FormattedTextControl(self._growing_text),
                wrap_lines=True,
                dont_extend_height=True,
                height=Dimension(max=_GROWING_ROWS),
            ),
            Condition(lambda: bool(self._growing)),
        )
        status = Window(FormattedTextControl(self._status_text), height=1)
        control = BufferControl(self._buffer, input_processors=[BeforeInput(lambda: self._marker)])
        entry = Window(
            control,
            wrap_lines=True,
            dont_extend_height=True,
            height=Dimension(min=1, max=_INPUT_ROWS),
        )
        return Application(
            Layout(HSplit([growing, status, entry]), focused_element=entry),
            key_bindings=self._keys(),
            erase_when_done=True,
            min_redraw_interval=_REDRAW_SECONDS,
            # The system tells of each change; looking for one twice a second wakes the machine.
            terminal_size_polling_interval=None,
            # Asking terminals where their cursor is leaves answers behind in some of them.
            output=Vt100_Output(
                sys.stdout, _size, term=os.environ.get("TERM"), enable_cpr=False, enable_bell=False
            ),
        )

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("enter")
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.validate_and_handle()

        @keys.add("escape", "enter")
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        is_empty = Condition(lambda: not self._buffer.text)
        keys.add("c-c")(lambda _: self._on_interrupt())
        keys.add("c-d", filter=is_empty)(lambda _: self._on_leave())

        @keys.add("c-z")
        def _(event: KeyPressEvent) -> None:
            event.app.suspend_to_background()

        return keys

    def _growing_text(self) -> StyleAndTextTuples:
        room = _size().columns * (_GROWING_ROWS - 1) // 2  # a letter may take two columns
        shown: StyleAndTextTuples = []
        for span in reversed(self._growing):
            text = span.text[-room:]
            shown.insert(0, (self._look(span.style), text))
            room -= len(text)
            if room <= 0:
                break
        return shown

    def _status_text(self) -> StyleAndTextTuples:
        return [(self._look("dim"), self._status)]

    def _look(self, style: Style) -> str:
        return _STYLES[style] if self._is_styled else ""


def _size() -> Size:
    try:
        columns, rows = os.get_terminal_size(sys.stdout.fileno())
    except OSError:
        columns, rows = 80, 24
    return Size(rows=rows or 24, columns=columns or 80)

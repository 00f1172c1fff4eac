"""Puts a chat or a stream in front of a person: picks the screen and listens to signals."""

import asyncio
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeAlias

from spaced.cli.chat.conversation import Conversation
from spaced.cli.chat.screen import PlainScreen, Screen
from spaced.cli.chat.tailing import Tail, Tailing, closing_noticed
from spaced.cli.chat.together import together
from spaced.client.client import Client
from spaced.client.place import Place
from spaced.clock import SystemClock

Signals: TypeAlias = Mapping[signal.Signals, Callable[[], None]]

_INTERRUPTED: Final = 130
_TERMINATED: Final = 143
_HUNG_UP: Final = 129


async def chat(place: Place, session_id: str, *, history: int) -> int:
    """Chat in a session until somebody leaves; returns the exit code.

    Raises:
        SpacedError: the session cannot be had.
        BrokenPipeError: nobody reads what is shown.
    """
    # At first somebody waits for an answer; later one waits for the daemon.
    await Client(place, patience=0.0).session(session_id)
    conversation = Conversation(Client(place), session_id, clock=SystemClock(), history=history)
    signals: Signals = {
        signal.SIGINT: conversation.press_interrupt,
        signal.SIGTERM: lambda: conversation.leave(_TERMINATED),
        signal.SIGHUP: lambda: conversation.leave(_HUNG_UP),
    }
    with heard(signals):
        return await conversation.hold(_screen(conversation))


async def tail(place: Place, told: Tail) -> int:
    """Print a stream until nobody wants it any more; returns the exit code.

    Raises:
        SpacedError: the stream cannot be had.
        BrokenPipeError: nobody reads what is printed.
    """
    ending = _Ending()
    tailing = Tailing(Client(place), told, clock=SystemClock(), out=sys.stdout, err=sys.stderr)
    signals: Signals = {
        signal.SIGINT: lambda: ending.end(_INTERRUPTED),
        signal.SIGTERM: lambda: ending.end(_TERMINATED),
        signal.SIGHUP: lambda: ending.end(_HUNG_UP),
    }
    with heard(signals), closing_noticed(sys.stdout, ending.wanted):
        async with together() as group:
            working = group.create_task(tailing.run())
            waiting = group.create_task(ending.wanted.wait())
            await asyncio.wait({working, waiting}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            working.cancel()
    return ending.code


class _Ending:
    """Whether something is to end, and with which exit code."""

    def __init__(self) -> None:
        self.wanted = asyncio.Event()
        self.code = 0

    def end(self, code: int) -> None:
        self.code = code
        self.wanted.set()


def forget_output() -> None:
    """Let nothing be flushed into a pipe that nobody reads."""
    with Path(os.devnull).open("wb") as nothing:
        os.dup2(nothing.fileno(), sys.stdout.fileno())


@contextmanager
def heard(signals: Signals) -> Iterator[None]:
    """Call something for each of these signals."""
    loop = asyncio.get_running_loop()
    for number, react in signals.items():
        loop.add_signal_handler(number, react)
    try:
        yield
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


def prepare_output() -> None:
    """Let no letter that the locale cannot write end a command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _screen(conversation: Conversation) -> Screen:
    is_typed = sys.stdin is not None and sys.stdin.isatty()
    is_dumb = os.environ.get("TERM", "dumb") in ("dumb", "")
    is_styled = sys.stdout.isatty() and not is_dumb and not os.environ.get("NO_COLOR")
    if is_typed and sys.stdout.isatty() and not is_dumb:
        from spaced.cli.chat.terminal_screen import TerminalScreen  # it takes long to import

        return TerminalScreen(
            is_styled=is_styled,
            on_interrupt=conversation.press_interrupt,
            on_leave=conversation.leave,
        )
    source = None if sys.stdin is None else sys.stdin.fileno()
    return PlainScreen(sys.stdout, source, is_styled=is_styled, takes_its_time=not is_typed)

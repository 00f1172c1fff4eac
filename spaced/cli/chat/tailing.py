"""Prints the frames of a stream as they come, over cuts and restarts."""

import asyncio
import json
import os
import stat
from collections.abc import AsyncGenerator, Collection, Iterator
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass
from typing import Final, TextIO

from spaced.cli.chat.following import Away, follow
from spaced.cli.chat.frame_lines import QUIET, line_of
from spaced.client import calls
from spaced.client.client import Client
from spaced.client.sse import Frame
from spaced.clock import Clock
from spaced.wire.problems import error_of

_STATUS: Final = "status"
_RESET: Final = "reset"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """What is wanted of a stream.

    Attributes:
        session_id: whose; `None` for everything.
        after: the cursor to go on from; `None` begins now.
        kinds: kinds of events and names of other frames; `None` for all.
        until_idle: whether it ends when nothing is going on any more.
        as_json: one JSON object for each frame, for programs.
    """

    session_id: str | None
    after: str | None
    kinds: Collection[str] | None
    until_idle: bool
    as_json: bool


class Tailing:
    """Prints a stream, to a file that somebody may close."""

    def __init__(
        self, client: Client, tail: Tail, *, clock: Clock, out: TextIO, err: TextIO
    ) -> None:
        self._client = client
        self._tail = tail
        self._clock = clock
        self._out = out
        self._err = err
        self._active: set[str] = set()
        self._is_away = False

    async def run(self) -> None:
        """Print until there is nothing more to wait for.

        Raises:
            BrokenPipeError: nobody reads any more.
            SpacedError: the stream cannot be had.
        """
        await self._look()
        async with aclosing(self._frames()) as frames:
            async for told in frames:
                if isinstance(told, Away):
                    self._say("the daemon is away, waiting …")
                    self._is_away = True
                    continue
                if self._is_away:
                    self._say("the daemon is back")
                    self._is_away = False
                if told.name == "problem":
                    raise error_of(told.data)
                self._print(told)
                if self._tail.until_idle and self._is_idle_after(told):
                    return

    async def _look(self) -> None:
        """Fail at once if there is no daemon, or no such session."""
        at_once = Client(self._client.place, patience=0.0)
        if self._tail.session_id is None:
            await at_once.do(calls.health())
        else:
            await at_once.session(self._tail.session_id)

    def _frames(self) -> AsyncGenerator[Frame | Away]:
        tail = self._tail
        kinds = (
            None if tail.kinds is None else [*tail.kinds, *([_STATUS] if tail.until_idle else [])]
        )
        return follow(
            self._client,
            tail.session_id,
            after=tail.after,
            clock=self._clock,
            kinds=None if kinds is None else sorted(kinds),
        )

    def _print(self, frame: Frame) -> None:
        kinds = self._tail.kinds
        is_wanted = kinds is not None and frame.name in kinds
        is_needed = frame.name not in QUIET if kinds is None else frame.name == _RESET
        if not (is_wanted or is_needed):
            return
        if self._tail.as_json:
            told = {"name": frame.name, "cursor": frame.cursor, "data": frame.data}
            # ASCII alone: what a terminal would obey, or not show, is escaped.
            line: str | None = json.dumps(told, separators=(",", ":"))
        else:
            is_of_many = self._tail.session_id is None
            line = line_of(frame, is_wanted=is_wanted, shows_session=is_of_many)
        if line is not None:
            self._out.write(line + "\n")
            self._out.flush()

    def _is_idle_after(self, frame: Frame) -> bool:
        if frame.name == "live":
            self._active = set(frame.data["statuses"])
            return not self._active
        if frame.name != _STATUS:
            return False
        session_id = str(frame.data["session_id"])
        if frame.data["live"]["word"] == "idle":
            self._active.discard(session_id)
        else:
            self._active.add(session_id)
        return not self._active

    def _say(self, text: str) -> None:
        with suppress(OSError):
            self._err.write(f"{text}\n")
            self._err.flush()


@contextmanager
def closing_noticed(out: TextIO, closed: asyncio.Event) -> Iterator[None]:
    """Set an event when whoever reads a pipe goes away, also while nothing is written."""
    try:
        descriptor = out.fileno()
        is_pipe = stat.S_ISFIFO(os.fstat(descriptor).st_mode)
    except (OSError, ValueError):
        is_pipe = False
    if not is_pipe:
        yield
        return
    loop = asyncio.get_running_loop()
    # The writing end of a pipe has nothing to be read; it is ready only when it is broken.
    loop.add_reader(descriptor, closed.set)
    try:
        yield
    finally:
        loop.remove_reader(descriptor)

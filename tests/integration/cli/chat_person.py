"""A person in front of a chat, who reads what is shown and types lines."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from spaced.cli.chat.conversation import Conversation
from spaced.cli.chat.screen import FocusNow, Line
from spaced.cli.chat.spans import Span
from spaced.client.client import Client
from spaced.client.place import Place
from spaced.testing.fake_clock import FakeClock
from spaced.testing.samples import next_turn

PATIENCE: Final = 20
"""Seconds that only a failing test waits."""


@dataclass(eq=False)
class Person:
    """A screen in memory.

    Attributes:
        takes_its_time: whether the lines are a script.
        text: everything that was shown.
        status: what the session is said to be doing.
        marker: what stands before the input.
        input: what stands in the input line.
    """

    takes_its_time: bool = False
    text: str = ""
    status: str = ""
    marker: str = ""
    input: str = ""
    clock: FakeClock = field(default_factory=FakeClock)
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _lines: asyncio.Queue[str | None] = field(default_factory=asyncio.Queue)
    _focus: FocusNow = lambda: None
    conversation: Conversation = field(init=False)

    def show(self, spans: Sequence[Span]) -> None:
        """Read spans."""
        self.text += "".join(span.text for span in spans)
        self._news.set()

    def show_state(self, status: str, marker: str) -> None:
        """Read what the session is doing."""
        self.status, self.marker = status, marker
        self._news.set()

    def put_back(self, text: str) -> None:
        """Find a line in the input again."""
        self.input = text

    def clear_input(self) -> bool:
        """Lose what was typed."""
        has_some = bool(self.input)
        self.input = ""
        return has_some

    async def lines(self, focus: FocusNow) -> AsyncGenerator[Line]:
        """Return what is typed."""
        while (text := await self._lines.get()) is not None:
            yield Line(text=text, focus=focus())

    async def run(self) -> None:
        """Do nothing."""

    def type(self, *lines: str) -> None:
        """Enter lines."""
        for line in lines:
            self._lines.put_nowait(line)

    def end_input(self) -> None:
        """End the input, as the end of a file does."""
        self._lines.put_nowait(None)

    async def until(self, *texts: str, times: int = 1) -> str:
        """Wait until texts were shown so often; returns everything that was shown."""
        await self._until(lambda: all(self.text.count(text) >= times for text in texts))
        return self.text

    async def until_status(self, text: str) -> None:
        """Wait until the session is said to be doing this."""
        await self._until(lambda: text in self.status)

    async def until_marker(self, text: str) -> None:
        """Wait until the next line would be this."""
        await self._until(lambda: text in self.marker)

    async def until_after_a_while(self, text: str) -> str:
        """Let time pass until a text is shown: a chat waits before it looks for a daemon again."""
        async with asyncio.timeout(PATIENCE):
            while text not in self.text:
                if self.clock.sleepers:
                    self.clock.advance(seconds=3)
                await next_turn()
        return self.text

    async def _until(self, is_so: Any) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                while not is_so():
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(f"it never came:\n{self.text}\n[{self.status}]") from None


@asynccontextmanager
async def chatting(
    place: Place, session_id: str, *, script: Sequence[str] | None = None, history: int = 20
) -> AsyncIterator[Person]:
    """Let a person chat; with a script the lines are all there, and end."""
    person = Person(takes_its_time=script is not None)
    client = Client(place, pause=lambda seconds: person.clock.sleep(int(seconds * 1000)))
    person.conversation = Conversation(client, session_id, clock=person.clock, history=history)
    if script is not None:
        person.type(*script)
        person.end_input()
    talking = asyncio.ensure_future(person.conversation.hold(person))
    try:
        yield person
    finally:
        person.conversation.leave()
        await talking


async def played(place: Place, session_id: str, *script: str) -> tuple[int, str]:
    """Let a script chat to its end; returns the exit code and what was shown."""
    person = Person(takes_its_time=True)
    conversation = Conversation(Client(place), session_id, clock=person.clock)
    person.type(*script)
    person.end_input()
    async with asyncio.timeout(PATIENCE):
        code = await conversation.hold(person)
    return code, person.text

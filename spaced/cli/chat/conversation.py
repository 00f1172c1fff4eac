"""A chat in a terminal: shows what its session does, and passes on what is typed.

Three things go on at once, and none waits for another: the stream is followed, lines are read, and
what the lines ask for is done, one after the other.
"""

import asyncio
from contextlib import aclosing, suppress
from typing import Final

from spaced.cli.chat.chat_view import ChatView
from spaced.cli.chat.following import PASSING, Away, follow
from spaced.cli.chat.open_ask import hint_of
from spaced.cli.chat.orders import Answer, Meaning, Nonsense, Order, Prompt, meaning_of
from spaced.cli.chat.outbox import Outbox
from spaced.cli.chat.performing import Performer
from spaced.cli.chat.screen import Screen
from spaced.cli.chat.spans import escaped
from spaced.cli.chat.together import together
from spaced.client import calls
from spaced.client.client import Client
from spaced.client.sse import Frame
from spaced.clock import Clock
from spaced.errors import StorageClosed, StorageFull
from spaced.identifiers import IdGenerator
from spaced.refusals import DaemonStopping
from spaced.wire.problems import error_of
from spaced.wire.shapes import Session

HISTORY: Final = 20
LEFT: Final = 0
UNANSWERED: Final = 1
STOPPED: Final = 130

_PAUSE_MS: Final = 2000
_PASSING_PROBLEMS: Final = (DaemonStopping, StorageClosed, StorageFull)


class Conversation:
    """One session and the person in front of it."""

    def __init__(
        self, client: Client, session_id: str, *, clock: Clock, history: int = HISTORY
    ) -> None:
        """Begin with nothing shown.

        Args:
            history: how many of the newest items are shown at first.
        """
        self.view = ChatView()
        self._client = client
        self._session_id = session_id
        self._clock = clock
        self._history = history
        self._new_id = IdGenerator(clock.now).new
        self._performer = Performer(client, session_id, self.view, self._new_id)
        self._outbox = Outbox(client, session_id, self.view, self._new_id)
        self._news = asyncio.Event()
        self._left = asyncio.Event()
        self._code = LEFT
        self._presses = 0
        self._group: asyncio.TaskGroup | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._screen: Screen

    async def hold(self, screen: Screen) -> int:
        """Show and read until somebody leaves; returns the exit code.

        Raises:
            SpacedError: the session cannot be had.
            BrokenPipeError: nobody reads what is shown.
        """
        self._screen = screen
        if not screen.takes_its_time:
            self.view.remark("/help says what can be typed")
        after = await self._begin()
        self._refresh()
        try:
            async with together() as group:
                self._group = group
                sending = self._outbox.run(put_back=screen.put_back, on_change=self._refresh)
                works = (self._follow(after), self._read(), sending, screen.run())
                self._tasks = [group.create_task(work) for work in works]
                await self._left.wait()
                for task in self._tasks:
                    task.cancel()
        finally:
            self._group = None
        self._say_goodbye()
        return self._code

    def leave(self, code: int = LEFT) -> None:
        """End, and let the session go on."""
        self._code = code
        self._left.set()

    def press_interrupt(self) -> None:
        """Do what Ctrl-C is for right now."""
        if self.view.is_away:
            self.view.remark("the daemon is away, so nothing can be interrupted; Ctrl-D leaves")
        elif self.view.is_busy and self._group is not None:
            self._presses += 1
            self._tasks.append(self._group.create_task(self._interrupt(self._presses)))
        elif self._screen.takes_its_time:
            self.leave(STOPPED)
        elif not self._screen.clear_input():
            self.view.remark("nothing is running; Ctrl-D or /quit leaves, the session goes on")
        self._refresh()

    async def _begin(self) -> str:
        """Show what is there, and return the cursor from which the stream goes on."""
        # The transcript comes first: what the others tell more than it, the stream tells again.
        page = await self._client.items(self._session_id, limit=self._history)
        session = await self._client.session(self._session_id)
        pending = await self._client.do(calls.pending(self._session_id))
        if page.before is not None:
            self.view.remark("there is more above; /export writes all of it into a file")
        self.view.begin(session, pending.prompts, page.items)
        self._note_damage(session)
        return page.as_of

    async def _begin_again(self) -> str:
        while True:
            with suppress(*PASSING):
                return await self._begin()
            await self._clock.sleep(_PAUSE_MS)

    def _note_damage(self, session: Session) -> None:
        if session.damage is not None:
            self.view.complain(escaped(session.damage))
        if session.problem is not None:
            told = f"{session.problem.get('message')} {session.problem.get('remedy')}"
            self.view.complain(escaped(told))

    async def _follow(self, after: str) -> None:
        while True:
            stream = follow(self._client, self._session_id, after=after, clock=self._clock)
            async with aclosing(stream) as frames:
                async for told in frames:
                    if isinstance(told, Frame) and told.name == "reset":
                        break
                    self._take(told)
            self.view.remark("the daemon has another log, so all is shown anew")
            after = await self._begin_again()
            self._refresh()

    def _take(self, told: Frame | Away) -> None:
        if isinstance(told, Away):
            self._outbox.is_there.clear()
            self.view.is_away = True
            self.view.remark(f"the daemon is away, waiting … ({escaped(told.why.message)})")
        elif told.name == "problem":
            error = error_of(told.data)
            if not isinstance(error, _PASSING_PROBLEMS):
                raise error
        else:
            self._take_frame(told)
        self._refresh()

    def _take_frame(self, frame: Frame) -> None:
        if frame.name == "hello" and self.view.is_away:
            self.view.is_away = False
            self.view.remark("the daemon is back")
        if frame.name == "live":
            self._outbox.is_there.set()
        self.view.take(frame)
        if not self.view.is_busy:
            self._presses = 0
        if self.view.is_over:
            self.leave(UNANSWERED)

    async def _read(self) -> None:
        is_script = self._screen.takes_its_time
        if is_script:
            await self._until_ready()
        async with aclosing(self._screen.lines(lambda: self.view.asks.focus)) as lines:
            async for line in lines:
                self._do(meaning_of(line))
                if is_script:
                    await self._until_ready()
        self._end_of_input(is_script=is_script)

    def _end_of_input(self, *, is_script: bool) -> None:
        has_failed = self.view.queue.has_failure or bool(self.view.queue.awaited)
        self.leave(UNANSWERED if is_script and has_failed else LEFT)

    async def _until_ready(self) -> None:
        """Wait until the next line of a script has something to answer or to follow."""
        while not self._is_ready():
            self._news.clear()
            await self._news.wait()

    def _is_ready(self) -> bool:
        view = self.view
        if not view.is_caught_up or self._outbox.unfinished:
            return False
        is_stuck = view.queue.is_paused and not view.is_busy
        return not view.queue.awaited or view.asks.focus is not None or is_stuck

    def _do(self, meaning: Meaning) -> None:
        match meaning:
            case Prompt():
                self._outbox.admit(meaning)
            case Answer():
                self._outbox.answer(meaning)
            case Order(name="quit"):
                self.leave()
            case Order():
                self._outbox.add(lambda: self._performer.perform(meaning))
            case Nonsense(why=why):
                self.view.complain(why)
        self._refresh()

    async def _interrupt(self, presses: int) -> None:
        is_first = presses == 1
        told = "interrupting; Ctrl-C once more kills the agent" if is_first else "killing the agent"
        self.view.remark(told)
        self._refresh()
        await self._performer.interrupt()
        self._refresh()

    def _refresh(self) -> None:
        self._screen.show(self.view.tear_off())
        current = self.view.asks.current
        marker = "> " if current is None else f"answer ({hint_of(current)})> "
        self._screen.show_state(self.view.status, marker)
        self._news.set()

    def _say_goodbye(self) -> None:
        for text in self._outbox.unsent:
            self.view.complain(f"not sent: {escaped(text)}")
        # A script knows where it was; that something still goes on, it may not know.
        is_news = self.view.is_busy or not self._screen.takes_its_time
        if is_news and not self.view.is_over:
            doing = "goes on with what it does" if self.view.is_busy else "stays"
            self.view.remark(f"the session {doing}; come back with: spaced chat {self._session_id}")
        self._screen.show(self.view.tear_off())

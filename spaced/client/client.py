"""The Python client: calls without blocking, and streams that go on by themselves.

A call that may be repeated is, while the daemon is away: reading, and everything that carries an
id. Every other one says honestly that it does not know what became of it.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from spaced.client import calls
from spaced.client.calls import Call, perform
from spaced.client.fresh_ids import fresh_id
from spaced.client.place import Place
from spaced.refusals import DaemonGone, DaemonStopping, NoDaemon
from spaced.wire import reports, shapes

if TYPE_CHECKING:
    from spaced.client.sse import Frame

_T = TypeVar("_T")

_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 1.0
_PASSING: Final = (NoDaemon, DaemonGone, DaemonStopping)

Pause = Callable[[float], Awaitable[None]]
JsonValue = Mapping[str, Any]


class Client:
    """Speaks to one daemon.

    It holds no connection, so there is nothing to close, and a daemon that was restarted is the
    same daemon to it. What is not a method here is a call of `spaced.client.calls`, for `do`.
    """

    def __init__(
        self,
        place: Place,
        *,
        patience: float = 10.0,
        pause: Pause = asyncio.sleep,  # noqa: TID251 - whoever has a clock passes its own
    ) -> None:
        """Remember where the daemon is.

        Args:
            patience: for how many seconds a call that may be repeated waits for a daemon that is
                away, such as one that is being restarted.
            pause: waits for some seconds.
        """
        self.place = place
        self._patience = patience
        self._pause = pause

    async def do(self, call: Call[_T]) -> _T:
        """Do a call, again if it may be repeated and the daemon is away.

        Raises:
            NoDaemon: nobody is there.
            DaemonGone: what became of the call is unknown.
            SpacedError: it was refused, as the daemon says.
        """
        away, wait = 0.0, _FIRST_PAUSE
        while True:
            try:
                return await self._once(call)
            except _PASSING as error:
                # What never reached the daemon may be repeated, whatever it is.
                is_safe = call.repeatable or not isinstance(error, DaemonGone)
                if not is_safe or away >= self._patience:
                    raise
            await self._pause(wait)
            away += wait
            wait = min(wait * 2, _LONGEST_PAUSE)

    async def status(self) -> reports.Status:
        """Return what the daemon is doing."""
        return await self.do(calls.status())

    async def create_session(
        self, *, profile: str, directory: str, session_id: str | None = None, **more: Any
    ) -> shapes.Session:
        """Create a chat.

        Args:
            profile: the id of a profile.
            directory: the absolute path of an existing folder.
            session_id: the caller's own id; without one a new one is made here, so that asking
                again is safe either way.
            more: `title mode model options permissions headless`, as in the API.
        """
        name = session_id or fresh_id("ses")
        return await self.do(calls.create_session(name, profile, directory, **more))

    async def session(self, session_id: str) -> shapes.Session:
        """Return a session."""
        return await self.do(calls.session(session_id))

    async def sessions(self, **filters: Any) -> AsyncGenerator[shapes.Session]:
        """Return all sessions that a filter lets pass, page by page as they are asked for."""
        cursor: str | None = None
        while True:
            page = await self.do(calls.sessions(cursor=cursor, **filters))
            for session in page.sessions:
                yield session
            cursor = page.next_cursor
            if cursor is None:
                return

    async def prompt(
        self,
        session_id: str,
        content: str | Sequence[JsonValue],
        *,
        prompt_id: str | None = None,
        delivery: Literal["queue", "steer"] = "queue",
        wake: bool = True,
        on_busy: Literal["queue", "replace"] = "queue",
    ) -> shapes.Receipt:
        """Admit a prompt; when this returns it is on disk.

        Args:
            content: text, or parts.
            prompt_id: the caller's own id; without one a new one is made here.
        """
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        name = prompt_id or fresh_id("msg")
        call = calls.prompt(session_id, name, parts, delivery=delivery, wake=wake, on_busy=on_busy)
        return await self.do(call)

    async def items(
        self, session_id: str, *, before: str | None = None, limit: int = 100
    ) -> shapes.ItemPage:
        """Return the newest items of a transcript, or the newest before one of them."""
        return await self.do(calls.items(session_id, before=before, limit=limit))

    async def wait(self, session_id: str, *, timeout: float = 30.0) -> shapes.Progress:  # noqa: ASYNC109 - it is the daemon that waits
        """Wait until a session is idle, or for this many seconds; then say how far it is."""
        return await self.do(calls.wait(session_id, timeout=timeout))

    async def interrupt(self, session_id: str) -> bool:
        """End what a session is doing; false: it was doing nothing."""
        return (await self.do(calls.interrupt(session_id))).interrupted

    async def answer_permission(
        self, ask_id: str, option_id: str, *, digest: str | None = None
    ) -> shapes.Ask:
        """Choose one of the options of a permission request."""
        return await self.do(calls.answer_permission(ask_id, option_id, digest=digest))

    async def answer_question(self, ask_id: str, answers: Sequence[Sequence[str]]) -> shapes.Ask:
        """Answer a question: one list of labels or texts for each of its questions."""
        return await self.do(calls.answer_question(ask_id, answers))

    def events(
        self,
        session_id: str | None = None,
        *,
        after: str | None = None,
        kinds: Sequence[str] | None = None,
        patience: float | None = None,
    ) -> AsyncGenerator["Frame"]:
        """Return the frames of a session, or of the whole log, for ever.

        Each durable event comes once and in order, also over cuts and restarts. After such a gap
        `hello` and `live` come again, and an open item's text is what was recorded and what `live`
        tells.

        Args:
            after: the cursor to go on from; `None` begins now.
            kinds: only these kinds of events and names of ephemeral frames.
            patience: seconds to wait for a daemon that is away; `None` waits for ever.
        """
        from spaced.client.streams import follow  # aiohttp takes long to import

        wanted = None if kinds is None else ",".join(kinds)
        target = calls.events(session_id, kinds=wanted).request.target
        return follow(self.place, target, after=after, patience=patience, pause=self._pause)

    async def _once(self, call: Call[_T]) -> _T:
        if call.timeout <= calls.TIMEOUT:
            return await asyncio.to_thread(perform, self.place, call)
        from spaced.client.streams import long_exchange

        # Threads are few, and this one would be waiting for long.
        body = await long_exchange(self.place, call.request, timeout=call.timeout)
        return call.read(body)

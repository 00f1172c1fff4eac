"""The process of an agent and the messages between it and us, in one order.

What the agent writes is taken line by line by one task: the next line waits until the last one was
dealt with. So nothing overtakes anything, and an agent that floods waits for whoever records it.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Final, Protocol, TypeAlias

from spaced.plugin_api import (
    Child,
    ChildGone,
    ChildRequest,
    Clock,
    Exit,
    JsonObject,
    LineTooLong,
    RuntimeServices,
    Tasks,
    Timestamp,
)
from spaced_acp.messages import (
    Answer,
    ErrorAnswer,
    Message,
    MessageId,
    Notification,
    Request,
    read_message,
    write_error,
    write_notification,
    write_request,
    write_result,
)

OnAnswer: TypeAlias = Callable[[Answer], Awaitable[None]]

_JUNK_LINES: Final = 1000
_JUNK_BYTES: Final = 1024 * 1024
_KEPT_JUNK: Final = 20
_JUNK_LENGTH: Final = 200
_LAST_WORDS: Final = 2000
_ENDING_MS: Final = 2000


class Listener(Protocol):
    """Takes what the agent says, one thing after the other."""

    async def notified(self, notification: Notification) -> None:
        """Take what the agent tells."""
        ...

    async def asked(self, request: Request, link: "AgentLink") -> None:
        """Take what the agent wants; it is to be answered with `AgentLink.answer` or `refuse`."""
        ...

    async def ended(self, ending: "LinkEnding", link: "AgentLink") -> None:
        """Take that nothing more comes; the process is gone."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkEnding:
    """Why nothing more comes.

    Attributes:
        fault: what the agent did that nobody can read; `None` if it just ended.
    """

    exit: Exit
    fault: str | None = None


class AgentLink:
    """A running agent; `start` makes one.

    Attributes:
        heard_at: when the agent last said something that could be read.
    """

    def __init__(self, child: Child, services: RuntimeServices, tasks: Tasks) -> None:
        self._child = child
        self._clock: Clock = services.clock
        self._services = services
        self._tasks = tasks
        self._numbers = count(1)
        self._pending: dict[MessageId, OnAnswer] = {}
        self._junk: deque[str] = deque(maxlen=_KEPT_JUNK)
        self._junk_count = 0
        self._junk_in_a_row = (0, 0)
        self._over = asyncio.Event()
        self.heard_at: Timestamp = self._clock.now()

    @classmethod
    async def start(
        cls, request: ChildRequest, listener: Listener, services: RuntimeServices, tasks: Tasks
    ) -> "AgentLink":
        """Start the agent's process and begin to listen.

        Raises:
            SpawnRefused: it cannot be started.
        """
        child = await services.spawn(request)
        link = cls(child, services, tasks)
        tasks.start(link._serve(listener), name=f"acp agent {child.pid}")
        return link

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes."""
        return self._over.is_set()

    @property
    def junk(self) -> JsonObject:
        """How many lines were no messages, and the last of them."""
        return {"count": self._junk_count, "last": list(self._junk)} if self._junk_count else {}

    def last_words(self) -> str:
        """Return the end of the agent's error output, without secrets."""
        return self._services.redact(self._child.error_output()).strip()[-_LAST_WORDS:]

    async def until_over(self) -> None:
        """Return when nothing more comes."""
        await self._over.wait()

    async def request(self, method: str, params: JsonObject, on_answer: OnAnswer) -> MessageId:
        """Ask the agent for something.

        Args:
            on_answer: called in order with everything else that the agent says; never, if it ends.

        Raises:
            ChildGone: it reads no more, so it has not got the request.
        """
        message_id = next(self._numbers)
        self._pending[message_id] = on_answer
        try:
            await self._child.write(write_request(message_id, method, params))
        except ChildGone:
            self._pending.pop(message_id, None)
            raise
        return message_id

    def notify(self, method: str, params: JsonObject) -> None:
        """Tell the agent something."""
        self._send(write_notification(method, params))

    def answer(self, message_id: MessageId, result: JsonObject) -> None:
        """Answer a request of the agent."""
        self._send(write_result(message_id, result))

    def refuse(self, message_id: MessageId, code: int, message: str) -> None:
        """Refuse a request of the agent."""
        self._send(write_error(message_id, code, message))

    async def stop(self, grace_ms: int) -> Exit:
        """End the agent and everything that it has started."""
        return await self._child.stop(grace_ms)

    def _send(self, line: bytes) -> None:
        # In a task: an agent that does not read now must not keep us from reading what it writes.
        self._tasks.start(self._write(line), name="acp message")

    async def _write(self, line: bytes) -> None:
        try:
            await self._child.write(line)
        except ChildGone:
            self._services.log.debug("an agent has gone before it could be told", exc_info=True)

    async def _serve(self, listener: Listener) -> None:
        watching = self._tasks.start(self._release_pipes(), name="acp exit")
        fault = None
        try:
            fault = await self._listen(listener)
        except LineTooLong as error:
            fault = error.message
        if fault is None and not await self._ends_by_itself():
            fault = "it closed its output and did not end"
        ending = LinkEnding(exit=await self._child.stop(0), fault=fault)
        watching.cancel()
        self._pending.clear()
        self._over.set()
        await listener.ended(ending, self)

    async def _ends_by_itself(self) -> bool:
        """Tell whether it ends soon: one that has closed its output is mostly about to."""
        ending = self._tasks.start(self._child.wait(), name="acp ending")
        alarm = self._tasks.start(self._clock.sleep(_ENDING_MS), name="acp alarm")
        first: set[asyncio.Task[Any]] = {ending, alarm}
        await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        alarm.cancel()
        return ending.done()

    async def _release_pipes(self) -> None:
        """End what a process that has ended left behind: it may hold our end of the pipes open."""
        await self._child.wait()
        await self._child.stop(0)

    async def _listen(self, listener: Listener) -> str | None:
        """Take line after line; returns what is wrong with them, if something is."""
        async for line in self._child.lines():
            message = read_message(line)
            if message is None:
                if self._is_hopeless(line):
                    return "the program writes lines that are no messages, and nothing else"
                continue
            self._junk_in_a_row = (0, 0)
            self.heard_at = self._clock.now()
            try:
                await self._take(message, listener)
            except Exception:  # one thing that it said must not cost all that follows
                self._services.log.exception("an agent's message could not be taken")
        return None

    async def _take(self, message: Message, listener: Listener) -> None:
        match message:
            case Answer(id=message_id):
                on_answer = self._pending.pop(message_id, None)
                if on_answer is not None:
                    await on_answer(self._without_secrets(message))
            case Notification():
                await listener.notified(message)
            case Request():
                await listener.asked(message, self)

    def _without_secrets(self, answer: Answer) -> Answer:
        """Hide what a fault tells of keys: it goes into the log, and to every client."""
        if answer.error is None:
            return answer
        hidden = ErrorAnswer(
            code=answer.error.code, message=self._services.redact(answer.error.text)
        )
        return replace(answer, error=hidden)

    def _is_hopeless(self, line: bytes) -> bool:
        """Count a line that is no message; true if there were too many of them in a row."""
        text = line[:_JUNK_LENGTH].decode(errors="replace")
        if text.strip():
            self._junk_count += 1
            self._junk.append(self._services.redact(text))
        lines, size = self._junk_in_a_row
        self._junk_in_a_row = (lines + 1, size + len(line))
        return lines >= _JUNK_LINES or size + len(line) >= _JUNK_BYTES

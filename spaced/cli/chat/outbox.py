"""What a person asks for on its way to the daemon: one thing after the other, in the order typed.

A prompt is sent until it is admitted or refused, always with the same id; so it arrives once,
whatever becomes of the daemon. An answer is sent once: if it is lost, it is asked for again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, TypeVar

from spaced.cli.chat.asks import PermissionReply, QuestionReply, Unclear
from spaced.cli.chat.chat_view import ChatView
from spaced.cli.chat.following import PASSING
from spaced.cli.chat.orders import Answer, Prompt
from spaced.cli.chat.spans import escaped, one_line
from spaced.client import calls
from spaced.client.calls import Call
from spaced.client.client import Client
from spaced.errors import SpacedError
from spaced.identifiers import IdPrefix
from spaced.refusals import AskAnswered, AskChanged, AskExpired, DaemonGone

_T = TypeVar("_T")

_SETTLED_ELSEWHERE: Final = (AskAnswered, AskChanged, AskExpired)
_LONGEST: Final = 60


class Outbox:
    """Sends what is typed.

    Attributes:
        is_there: set while the daemon can be reached.
        unfinished: how many things are not done yet.
    """

    def __init__(
        self, client: Client, session_id: str, view: ChatView, new_id: Callable[[IdPrefix], str]
    ) -> None:
        self.is_there = asyncio.Event()
        self.unfinished = 0
        self._client = client
        self._session_id = session_id
        self._view = view
        self._new_id = new_id
        self._jobs: asyncio.Queue[Callable[[], Awaitable[None]]] = asyncio.Queue()
        self._unsent: dict[str, str] = {}
        self._put_back: Callable[[str], None] = lambda _: None
        self._on_change: Callable[[], None] = lambda: None

    @property
    def unsent(self) -> tuple[str, ...]:
        """Prompts that were neither admitted nor refused."""
        return tuple(self._unsent.values())

    async def run(self, *, put_back: Callable[[str], None], on_change: Callable[[], None]) -> None:
        """Do one thing after the other, until it is cancelled.

        Args:
            put_back: offers a line again that could not be used.
            on_change: called when something was done.
        """
        self._put_back, self._on_change = put_back, on_change
        while True:
            job = await self._jobs.get()
            await job()
            self.unfinished -= 1
            on_change()

    def add(self, job: Callable[[], Awaitable[None]]) -> None:
        """Do something after everything that was asked for before it."""
        self.unfinished += 1
        self._jobs.put_nowait(job)

    def admit(self, prompt: Prompt) -> None:
        """Send a prompt."""
        prompt_id = self._new_id("msg")
        self._unsent[prompt_id] = prompt.text
        self._view.queue.awaited.add(prompt_id)
        if self._view.is_away:
            text = one_line(prompt.text, longest=_LONGEST)
            self._view.remark(f"kept until it can be sent: {text}")
        self.add(lambda: self._send(prompt_id, prompt))

    def answer(self, answer: Answer) -> None:
        """Send an answer to what was asked when the line was begun."""
        line = answer.line
        assert line.focus is not None
        reply = self._view.asks.answer(line.text, line.focus)
        match reply:
            case Unclear(why=why):
                self._view.complain(why)
                self._put_back(line.text)
            case None:
                self._view.show_new_asks()
            case _:
                self.add(lambda: self._send_answer(reply))

    async def _send(self, prompt_id: str, prompt: Prompt) -> None:
        parts = [{"type": "text", "text": prompt.text}]
        call = calls.prompt(self._session_id, prompt_id, parts, delivery=prompt.delivery)
        try:
            receipt = await self._patiently(call)
        except SpacedError as error:
            self._view.queue.give_up(prompt_id)
            self._view.complain(escaped(f"not sent: {error.message}. {error.remedy}"))
            self._put_back(prompt.text)
        else:
            if receipt.session_id != self._session_id:
                self._view.queue.awaited.discard(prompt_id)
                follow_up = escaped(receipt.session_id)
                self._view.remark(f"it went to what follows this session: spaced chat {follow_up}")
        del self._unsent[prompt_id]

    async def _patiently(self, call: Call[_T]) -> _T:
        """Do a call that may be repeated, until it is answered."""
        while True:
            with suppress(*PASSING):
                return await self._client.do(call)
            await self.is_there.wait()

    async def _send_answer(self, reply: PermissionReply | QuestionReply) -> None:
        try:
            if isinstance(reply, PermissionReply):
                digest = reply.digest or None
                await self._client.answer_permission(reply.ask_id, reply.option_id, digest=digest)
            else:
                await self._client.answer_question(reply.ask_id, reply.answers)
        except SpacedError as error:
            self._view.complain(escaped(f"{error.message}. {error.remedy}"))
            if isinstance(error, DaemonGone):
                self._view.remark("if the answer did not arrive, the question stays open")
            if not isinstance(error, _SETTLED_ELSEWHERE):
                self._view.asks.give_back(reply.ask_id)
                self._view.show_new_asks()

"""Does what orders to the chat ask for, and says what came of it."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from spaced.cli.chat.chat_view import ChatView
from spaced.cli.chat.orders import HELP, Order
from spaced.cli.chat.queue_view import text_of
from spaced.cli.chat.spans import escaped, one_line
from spaced.client import calls
from spaced.client.client import Client
from spaced.errors import SpacedError
from spaced.identifiers import IdPrefix

_MODE: Final = 0o600
_LONGEST: Final = 200


class Performer:
    """Performs orders, in the session of a chat."""

    def __init__(
        self, client: Client, session_id: str, view: ChatView, new_id: Callable[[IdPrefix], str]
    ) -> None:
        self._client = client
        # What is not done at once may be wrong later: it may meet another turn.
        self._at_once = Client(client.place, patience=0.0)
        self._session_id = session_id
        self._view = view
        self._new_id = new_id
        self._listed: list[str] = []

    async def perform(self, order: Order) -> None:
        """Do what an order asks for; a refusal is shown."""
        try:
            await self._perform(order)
        except SpacedError as error:
            self._view.complain(escaped(f"{error.message}. {error.remedy}"))
        except OSError as error:
            self._view.complain(escaped(f"{error.filename}: {error.strerror}"))

    async def interrupt(self) -> None:
        """End what the session is doing; a second time at once."""
        try:
            answer = await self._at_once.do(calls.interrupt(self._session_id))
        except SpacedError as error:
            self._view.complain(escaped(f"not interrupted: {error.message}"))
            return
        if not answer.interrupted:
            self._view.remark("there was nothing left to interrupt")

    async def _perform(self, order: Order) -> None:
        match order.name:
            case "help":
                self._view.tell(HELP)
            case "show":
                self._view.show_ask()
            case "queue":
                await self._list()
            case "cancel" | "now":
                await self._change_prompt(order)
            case "pause":
                await self._client.do(calls.pause(self._session_id))
            case "resume":
                await self._client.do(calls.resume(self._session_id))
            case "title" | "model" | "mode":
                await self._configure(order.name, order.rest)
            case "fork":
                await self._fork()
            case "export":
                await self._export(order.rest)

    async def _list(self) -> None:
        listed = (await self._client.do(calls.pending(self._session_id))).prompts
        self._listed = [prompt.id for prompt in listed]
        if not listed:
            self._view.remark("no prompt waits")
        for number, prompt in enumerate(listed, start=1):
            marks = [prompt.delivery] * (prompt.delivery == "steer") + ["held"] * prompt.held
            told = f" ({', '.join(marks)})" if marks else ""
            self._view.tell(f"  {number}  {text_of(prompt.parts)}{told}\n")

    async def _change_prompt(self, order: Order) -> None:
        if not self._listed:
            await self._list()
        number = int(order.rest) if order.rest.isascii() and order.rest.isdecimal() else 0
        if not 1 <= number <= len(self._listed):
            self._view.complain(f"/{order.name} needs a number that /queue shows")
            return
        # The number is that of the list which was shown, whatever has become of the queue since.
        prompt_id = self._listed[number - 1]
        if order.name == "cancel":
            await self._client.do(calls.cancel_prompt(self._session_id, prompt_id))
        else:
            await self._client.do(calls.send_now(self._session_id, prompt_id))

    async def _configure(self, name: str, value: str) -> None:
        call = calls.change_session(self._session_id, **{name: value})
        report = (await self._client.do(call)).report
        for setting, outcome in report.items():
            self._view.remark(f"{one_line(setting, longest=40)}: {one_line(outcome, longest=40)}")

    async def _fork(self) -> None:
        fork = await self._client.do(calls.fork(self._session_id, self._new_id("ses")))
        self._view.remark(f"forked; go on there with: spaced chat {fork.id}")

    async def _export(self, name: str) -> None:
        content = await self._client.do(calls.export(self._session_id, "md"))
        path = name or f"{self._session_id}.md"
        await asyncio.to_thread(_write_new, path, content)
        self._view.remark(f"written to {one_line(path, longest=_LONGEST)}")


def _write_new(name: str, content: bytes) -> None:
    """Write a file that nobody else can read; one that exists is left alone."""
    path = Path(name).expanduser()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, _MODE), "wb") as file:
        file.write(content)

"""One turn of a command: a process from its start to its end, and what it printed on the way."""

import asyncio
from dataclasses import dataclass
from typing import Final

from spaced.plugin_api import (
    Child,
    ChildGone,
    Exit,
    LineTooLong,
    Problem,
    Reporter,
    RuntimeServices,
    Tasks,
    TextAppended,
    TurnFinished,
)
from spaced_command.options import CommandOptions
from spaced_command.printed_json import PrintedJson
from spaced_command.printed_text import PrintedText

_LAST_WORDS: Final = 2000
_NOTHING: Final = Exit()


@dataclass(slots=True, kw_only=True, eq=False)
class RunningTurn:
    """A turn whose process runs.

    Attributes:
        text: what it gets on its input; `None` closes that at once.
        ended_by: why somebody ended it: an interrupt, or its time.
        conversation: the tool's name for it, as it was told.
    """

    id: str
    child: Child
    options: CommandOptions
    text: str | None
    reporter: Reporter
    tasks: Tasks
    services: RuntimeServices
    ended_by: str | None = None
    conversation: str | None = None
    has_spoken: bool = False
    exit: Exit = _NOTHING

    async def run(self) -> TurnFinished:
        """Let the process run to its end, and return how the turn ended."""
        writing = self.tasks.start(self._write(), name="command input")
        watching = self.tasks.start(self._watch_exit(), name="command exit")
        timing = self.tasks.start(self._watch_time(), name="command time")
        fault: str | None = None
        printed: PrintedJson | None = None
        try:
            if self.options.output == "text":
                await self._read_text()
            else:
                printed = PrintedJson(self.options.output, self.id)
                await self._read_json(printed)
        except LineTooLong as error:
            fault = error.message
            await self.child.stop(0)
        await asyncio.wait([watching])
        for task in (writing, timing):
            task.cancel()
        return self._finished(printed, fault)

    async def end(self, why: str, grace_ms: int) -> None:
        """End the process."""
        self.ended_by = self.ended_by or why
        await self.child.stop(grace_ms)

    async def _write(self) -> None:
        try:
            if self.text is not None:
                await self.child.write(self.text.encode("utf-8", "replace"))
        except ChildGone:
            return  # a program need not read what it is given
        self.child.close_input()

    async def _watch_exit(self) -> None:
        """Note how it ended, and end what it left behind, which may hold its output open."""
        self.exit = await self.child.wait()
        await self.child.stop(0)

    async def _watch_time(self) -> None:
        if self.options.timeout_seconds:
            await self.services.clock.sleep(int(self.options.timeout_seconds * 1000))
            await self.end("timeout", 0)

    async def _read_text(self) -> None:
        text = PrintedText(keep_ansi=self.options.keep_ansi)
        async for block in self.child.chunks():
            await self._say(text.feed(block))
        await self._say(text.end())

    async def _read_json(self, printed: PrintedJson) -> None:
        async for line in self.child.lines():
            for update in printed.feed(line):
                self.has_spoken = True
                await self.reporter.report(update)
            self.conversation = printed.conversation

    async def _say(self, text: str) -> None:
        if not text:
            return
        self.has_spoken = True
        opening = {"role": "assistant", "stream_status": "streaming"}
        await self.reporter.report(
            TextAppended(source=f"{self.id}:text", text=text, opens_with=opening, turn_id=self.id)
        )

    def _finished(self, printed: PrintedJson | None, fault: str | None) -> TurnFinished:
        usage = None if printed is None else printed.usage
        problem = self._problem(printed, fault)
        if self.ended_by == "interrupt":
            return TurnFinished(turn_id=self.id, outcome="interrupted", stop_reason="cancelled")
        if problem is not None:
            return TurnFinished(turn_id=self.id, outcome="failed", problem=problem, usage=usage)
        return TurnFinished(turn_id=self.id, stop_reason="end_turn", usage=usage)

    def _problem(self, printed: PrintedJson | None, fault: str | None) -> Problem | None:
        if fault is not None:
            return _failed(f"the command cannot be understood: {fault}")
        if self.ended_by == "timeout":
            return _failed(f"the command took more than {self.options.timeout_seconds:g} seconds")
        if printed is not None and printed.failure is not None:
            return _failed(f"the command failed: {printed.failure[:_LAST_WORDS]}")
        if self.exit.code in self.options.ok_exit_codes:
            return None
        how = (
            f"was ended by signal {self.exit.signal}"
            if self.exit.signal is not None
            else f"ended with exit code {self.exit.code}"
        )
        return _failed(f"the command {how}{self._last_words(printed)}")

    def _last_words(self, printed: PrintedJson | None) -> str:
        words = self.services.redact(self.child.error_output()).strip()
        if not words and printed is not None and printed.junk:
            words = self.services.redact(printed.junk[-1])
        lines = words.splitlines()
        return f"; its last words: {lines[-1][:_LAST_WORDS]}" if lines else ""


def _failed(message: str) -> Problem:
    return Problem(
        code="command-failed",
        message=message,
        remedy="Run the profile's command in a terminal to see what it says, then prompt again.",
    )

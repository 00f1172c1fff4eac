"""What a scripted agent remembers, in files: its conversations, and what was handed to it.

A conversation is one file, replaced as a whole, so that a reader finds the old or the new one.
`deliveries.jsonl` only grows: one line, in one write that is synced, for every hand-over, before
anything else comes of it. So a test can count after `kill -9` how often a prompt was handed over.
"""

import asyncio
import json
import logging
import os
import re
import threading
from itertools import count
from pathlib import Path
from typing import Any, Final

import msgspec

from spaced.plugin_api import JsonObject, RuntimeProblem

_NAME: Final = re.compile(r"[0-9A-Za-z-]{1,64}")


class TurnRecord(msgspec.Struct, kw_only=True):
    """A turn as far as it was played.

    Attributes:
        number: which turn of the conversation it is, from 1.
        conversation: the id of the conversation that it began in.
        steps: what is played, as JSON; `None` as long as it was not chosen.
        index: the step that is being played.
        items: what was reported, whole, by source; only kept if the turn can be found again.
        answers: what was answered, by ask.
        started: the sources of commands that were started.
        steered: how many of the prompts were handed in while it ran.
        is_default: whether steps come from the default agent, which answers steered prompts too.
        answered: how many prompts it has answered.
        finished: the fields of its end, once it has one.
    """

    id: str
    number: int
    conversation: str
    prompts: list[dict[str, Any]]
    instructions: str = ""
    history: str = ""
    steps: list[Any] | None = None
    index: int = 0
    items: dict[str, dict[str, Any]] = {}
    answers: dict[str, dict[str, Any]] = {}
    started: list[str] = []
    steered: int = 0
    is_default: bool = False
    answered: int = 0
    finished: dict[str, Any] | None = None


class Conversation(msgspec.Struct, kw_only=True):
    """What the agent knows about one conversation.

    Attributes:
        begun: turns that it was handed.
        ended: turns that have come to an end.
        said: what was said to it, the newest last.
        refused: how often it did not take a turn, by the turn's id.
        turn: the turn that goes on although the daemon may die; `None` if there is none.
        is_reachable: whether an execution that survives the daemon holds it.
    """

    id: str
    session_id: str
    begun: int = 0
    ended: int = 0
    said: list[str] = []
    refused: dict[str, int] = {}
    turn: TurnRecord | None = None
    is_reachable: bool = False

    def continuity(self) -> JsonObject:
        """What continues it."""
        return {"runtime": "scripted", "id": self.id, "turns": self.ended}


class Memory:
    """The files of all conversations; every method does its work in a thread.

    A file that cannot be written makes the agent forgetful, which is logged; it never ends a turn.
    """

    def __init__(self, folder: Path, log: logging.Logger) -> None:
        self._folder = folder
        self._log = log
        self._lock = threading.Lock()
        self._order = count(1)
        self._newest: dict[str, int] = {}

    async def load(self, continuity: JsonObject) -> Conversation | None:
        """Return the conversation that a continuity names; `None` if it is gone or unreadable."""
        name = continuity.get("id")
        if not isinstance(name, str) or _NAME.fullmatch(name) is None:
            return None
        return await asyncio.to_thread(self._load, name)

    async def save(self, conversation: Conversation) -> None:
        """Replace the file of a conversation."""
        text = json.dumps(msgspec.to_builtins(conversation))  # escapes what is no UTF-8
        await self._write(conversation.id, text)

    async def forget(self, conversation: Conversation) -> None:
        """Delete the file of a conversation."""
        await self._write(conversation.id, None)

    async def note_delivery(self, line: JsonObject) -> None:
        """Write down that something was handed over.

        Raises:
            RuntimeProblem: it cannot be written, so nothing must come of the hand-over.
        """
        try:
            await asyncio.to_thread(self._append, json.dumps(line).encode() + b"\n")
        except OSError as error:
            words = f"the scripted agent cannot write its memory: {error}"
            raise RuntimeProblem(words, remedy="Free some space, or mend the folder.") from error

    async def _write(self, name: str, text: str | None) -> None:
        try:
            await asyncio.to_thread(self._replace, name, next(self._order), text)
        except OSError:
            self._log.exception("a scripted agent cannot write its memory")

    def _path(self, name: str) -> Path:
        return self._folder / "conversations" / f"{name}.json"

    def _load(self, name: str) -> Conversation | None:
        try:
            return msgspec.convert(json.loads(self._path(name).read_text()), type=Conversation)
        except (OSError, ValueError):
            return None

    def _replace(self, name: str, order: int, text: str | None) -> None:
        # A cancelled caller leaves its thread behind; a newer state must not be written over by it.
        with self._lock:
            if self._newest.get(name, 0) > order:
                return
            self._newest[name] = order
            path = self._path(name)
            if text is None:
                path.unlink(missing_ok=True)
                return
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            fresh = path.with_suffix(".new")
            made = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(made, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)

    def _append(self, line: bytes) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._folder / "deliveries.jsonl"
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, line)
            os.fsync(file)
        finally:
            os.close(file)

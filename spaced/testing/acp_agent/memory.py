"""What the agent remembers: its conversations, and everything that it was sent, as files."""

import json
import os
from pathlib import Path
from typing import Any
from uuid import uuid4


class Memory:
    """Keeps things in a folder, if it was given one, and in memory alone if not."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._conversations: dict[str, list[dict[str, Any]]] = {}
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def begin(self) -> str:
        """Begin a conversation and return its id."""
        conversation = f"conv-{uuid4().hex[:12]}"
        self._conversations[conversation] = []
        self._save(conversation)
        return conversation

    def load(self, conversation: str) -> list[dict[str, Any]] | None:
        """Return the updates of a conversation; `None`: there is none of this id."""
        if conversation not in self._conversations:
            path = self._path(conversation)
            if path is None or not path.exists():
                return None
            self._conversations[conversation] = json.loads(path.read_text())
        return self._conversations[conversation]

    def forget(self, conversation: str) -> None:
        """Lose everything of a conversation."""
        self._conversations[conversation] = []
        self._save(conversation)

    def ids(self) -> list[str]:
        """Return the ids of all conversations."""
        files = [] if self._folder is None else sorted(self._folder.glob("conv-*.json"))
        return sorted({*self._conversations, *(path.stem for path in files)})

    def add(self, conversation: str, update: dict[str, Any]) -> None:
        """Remember an update."""
        self._conversations.setdefault(conversation, []).append(update)

    def keep(self, conversation: str) -> None:
        """Write down what was said: agents do that at the end of a turn, and not before."""
        self._save(conversation)

    def note(self, name: str, value: Any) -> None:
        """Add a line to a journal that tests read, safe before anything comes of it."""
        if self._folder is not None:
            line = json.dumps(value).encode() + b"\n"
            descriptor = os.open(
                self._folder / f"{name}.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600
            )
            os.write(descriptor, line)
            os.close(descriptor)

    def _save(self, conversation: str) -> None:
        path = self._path(conversation)
        if path is not None:
            path.write_text(json.dumps(self._conversations[conversation]))

    def _path(self, conversation: str) -> Path | None:
        safe = conversation.replace("/", "_")
        return None if self._folder is None else self._folder / f"{safe}.json"

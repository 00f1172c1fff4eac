"""The agent's side of the pipes: lines of JSON in and out, and answers to its own requests."""

import json
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any


class Wire:
    """Reads on a thread of its own, so that a cancel is heard in the middle of everything.

    Attributes:
        inbox: requests in their order; `None` is the end of the input.
        was_cancelled: set by a cancel, cleared by the next prompt.
    """

    def __init__(self, note: Callable[[Any], None]) -> None:
        self.inbox: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        self.was_cancelled = threading.Event()
        self._note = note
        self._answers: dict[int, SimpleQueue[dict[str, Any]]] = {}
        self._number = 0
        self._lock = threading.Lock()

    def start(self) -> None:
        """Begin to read."""
        threading.Thread(target=self._read, daemon=True, name="reader").start()

    def send(self, message: dict[str, Any]) -> None:
        """Write a message."""
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def write(self, data: bytes) -> None:
        """Write bytes as they are."""
        with self._lock:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()

    def ask(self, method: str, params: Any) -> dict[str, Any]:
        """Ask for something and wait for the answer."""
        with self._lock:
            number, self._number = self._number, self._number + 1
            queue = self._answers[number] = SimpleQueue()
        self.send({"id": number, "method": method, "params": params})
        return queue.get()

    def _read(self) -> None:
        for line in sys.stdin.buffer:
            message = json.loads(line)
            self._note(message)
            if "method" not in message:
                self._answers[message["id"]].put(message)
            elif message["method"] == "session/cancel":
                self.was_cancelled.set()
            elif "id" in message:
                if message["method"] == "session/prompt":
                    # Here and not where the turn begins: a cancel may come before that.
                    self.was_cancelled.clear()
                self.inbox.put(message)
        self.inbox.put(None)

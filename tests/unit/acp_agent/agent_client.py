"""A client that does nothing by itself: it writes what a test says and reads line after line."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

Message = Mapping[str, Any]


class AgentClient:
    """Runs a scripted agent in a process; a context manager that leaves none behind."""

    def __init__(self, script: Mapping[str, Any] | None = None, state: Path | None = None) -> None:
        kept = [] if state is None else ["--state", str(state)]
        module = ["-I", "-m", "spaced.testing.acp_agent"]
        self.process = subprocess.Popen(
            [sys.executable, *module, "--script", json.dumps(script or {}), *kept],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.told: list[Message] = []
        self._number = 0

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()

    def send(self, message: Message) -> None:
        """Write a message."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def begin(self, method: str, **params: Any) -> int:
        """Ask for something and return the request's id."""
        self._number += 1
        self.send({"id": self._number, "method": method, "params": params})
        return self._number

    def line(self) -> bytes:
        """Return the next line as it is; without bytes: there is none."""
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def read(self) -> Message:
        """Return the next message."""
        message: Message = json.loads(self.line())
        return message

    def finish(self, request_id: int) -> Message:
        """Return a request's answer; what is told before goes to `told`."""
        while (message := self.read()).get("id") != request_id or "method" in message:
            self.told.append(message)
        return message

    def call(self, method: str, **params: Any) -> Any:
        """Ask for something and return its result."""
        return self.finish(self.begin(method, **params))["result"]

    def refused(self, method: str, **params: Any) -> int:
        """Ask for something that is refused, and return the code."""
        code: int = self.finish(self.begin(method, **params))["error"]["code"]
        return code

    def new(self) -> str:
        """Begin a conversation and return its id."""
        conversation: str = self.call("session/new", cwd="/", mcpServers=[])["sessionId"]
        return conversation

    def begin_prompt(self, conversation: str, text: str = "go") -> int:
        """Send a prompt and return the request's id."""
        blocks = [{"type": "text", "text": text}]
        return self.begin("session/prompt", sessionId=conversation, prompt=blocks)

    def prompt(self, conversation: str, text: str = "go") -> str:
        """Send a prompt and return why its turn ended."""
        reason: str = self.finish(self.begin_prompt(conversation, text))["result"]["stopReason"]
        return reason

    def cancel(self, conversation: str) -> None:
        """Cancel the turn."""
        self.send({"method": "session/cancel", "params": {"sessionId": conversation}})

    def updates(self) -> list[Message]:
        """Return the updates that were told until now."""
        return [m["params"]["update"] for m in self.told if m.get("method") == "session/update"]

    def said(self) -> str:
        """Return what the agent said until now."""
        kind = "agent_message_chunk"
        return "".join(u["content"]["text"] for u in self.updates() if u["sessionUpdate"] == kind)

    def end_of_input(self) -> None:
        """Close the agent's input."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.stdin = None

    def ended(self) -> int:
        """Wait until it has ended, and return its code; negative: the signal."""
        return self.process.wait(10)


def fifo_in(folder: Path) -> Path:
    """Make a pipe with a name: to open one end is to wait for the other."""
    path = folder / "fifo"
    os.mkfifo(path)
    return path

"""An agent in this process: what it answers is a function, and nothing of it runs by itself."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from spaced.domain.json_values import JsonObject
from spaced.domain.profile import Profile
from spaced.errors import ChildGone, UnknownBlob
from spaced.runtime.child import Child, ChildRequest, Exit
from spaced.runtime.protocol import AgentConnection, RuntimeServices, SessionSpec, Turn
from spaced.testing.fake_clock import FakeClock
from spaced.testing.recording_sink import RecordingSink
from spaced.testing.runtime_harness import prompt_with
from spaced.testing.samples import next_turn
from spaced_acp.runtime import AcpRuntime

Params: TypeAlias = Mapping[str, Any]
Reply: TypeAlias = Callable[["Puppet", Params], Any]
"""Returns the result of a request, raises `Refusal`, or returns `SILENCE`."""

SILENCE = object()


class Refusal(Exception):
    """The puppet answers with an error."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message, "data": data}


class Puppet:
    """Implements `Child`, with an agent behind it that answers as it is told.

    Attributes:
        heard: every message that it was sent, in order.
        replies: by method.
        stops: the grace of each stop that it got.
    """

    pid = 4711

    def __init__(self, **replies: Reply) -> None:
        self.heard: list[JsonObject] = []
        self.replies: dict[str, Reply] = dict(FRIENDLY)
        self.replies |= {name.replace("__", "/"): reply for name, reply in replies.items()}
        self.stops: list[int] = []
        self.errors = ""
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._ended = asyncio.Event()
        self._exit = Exit(code=0)

    def tell(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self.write_line({"jsonrpc": "2.0", "method": method, "params": params})

    def update(self, kind: str, /, *, session: str = "conv-1", **fields: Any) -> None:
        """Send an update of a conversation."""
        self.tell("session/update", sessionId=session, update={"sessionUpdate": kind, **fields})

    def say(self, text: str, **more: Any) -> None:
        """Send a piece of an answer."""
        self.update("agent_message_chunk", content={"type": "text", "text": text}, **more)

    def ask(self, request_id: int, method: str, **params: Any) -> None:
        """Send a request."""
        self.write_line({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})

    def answer(self, request_id: object, result: Any) -> None:
        """Answer a request late."""
        self.write_line({"jsonrpc": "2.0", "id": request_id, "result": result})

    def write_line(self, message: Any) -> None:
        """Write a message, or bytes as they are."""
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        self._lines.put_nowait(line)

    def close_output(self) -> None:
        """Say nothing more, and stay."""
        self._lines.put_nowait(None)

    def end(self, code: int = 0) -> None:
        """End as a process does."""
        self._exit = Exit(code=code)
        self._ended.set()
        self._lines.put_nowait(None)

    def methods(self) -> list[str]:
        """Return the methods that it was asked for or told of."""
        return [str(message["method"]) for message in self.heard if "method" in message]

    def params_of(self, method: str) -> Params:
        """Return the parameters of the last request or notification of a method."""
        found = [m["params"] for m in self.heard if m.get("method") == method]
        assert found, f"nobody asked for {method}: {self.methods()}"
        return found[-1]  # type: ignore[return-value]

    def id_of(self, method: str) -> object:
        """Return the id of the last request of a method."""
        return [m["id"] for m in self.heard if m.get("method") == method][-1]

    def answers(self) -> dict[object, Any]:
        """Return what our side answered to the puppet's requests."""
        return {
            message["id"]: message.get("result", message.get("error"))
            for message in self.heard
            if "method" not in message
        }

    async def write(self, data: bytes) -> None:
        """Take a message and reply to it."""
        if self._ended.is_set():
            raise ChildGone("the puppet has ended")
        message = json.loads(data)
        self.heard.append(message)
        if "method" not in message:
            return
        reply = self.replies.get(message["method"], _unknown)
        try:
            result = reply(self, message.get("params", {}))
        except Refusal as refusal:
            self.write_line({"jsonrpc": "2.0", "id": message["id"], "error": refusal.error})
            return
        if "id" in message and result is not SILENCE:
            self.answer(message["id"], result)

    def close_input(self) -> None:
        """Nothing holds it open."""

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield what it writes."""
        while (line := await self._lines.get()) is not None:
            yield line

    def chunks(self) -> AsyncIterator[bytes]:
        """Nobody reads it like that."""
        raise NotImplementedError

    def error_output(self) -> str:
        """Return what it has complained about."""
        return self.errors

    async def wait(self) -> Exit:
        """Return how it ended."""
        await self._ended.wait()
        return self._exit

    async def stop(self, grace_ms: int) -> Exit:
        """End it."""
        self.stops.append(grace_ms)
        if not self._ended.is_set():
            self._exit = Exit(signal=9)
            self._ended.set()
            self._lines.put_nowait(None)
        return self._exit


def _unknown(puppet: Puppet, params: Params) -> Any:
    raise Refusal(-32601, "Method not found")


def _silent(puppet: Puppet, params: Params) -> Any:
    return SILENCE


FRIENDLY: Mapping[str, Reply] = {
    "initialize": lambda puppet, params: greeting(),
    "session/new": lambda puppet, params: {"sessionId": "conv-1"},
    "session/load": lambda puppet, params: {},
    "session/resume": lambda puppet, params: {},
    "session/prompt": lambda puppet, params: {"stopReason": "end_turn"},
    "session/cancel": _silent,
    "$/cancel_request": _silent,
}


def greeting(**capabilities: Any) -> dict[str, Any]:
    """Return what an agent says to `initialize`."""
    return {
        "protocolVersion": 1,
        "agentCapabilities": {"loadSession": True, **capabilities},
        "agentInfo": {"name": "puppet", "version": "1"},
        "authMethods": [{"id": "key", "name": "Key"}],
    }


class Stage:
    """Opens connections to a puppet.

    Attributes:
        sink: takes what is reported; a new one for each connection.
    """

    def __init__(self, folder: Path) -> None:
        self.clock = FakeClock()
        self.sink = RecordingSink()
        self.blobs: dict[str, bytes] = {}
        self.read_blob = self._read_blob
        self._folder = folder
        self._puppet = Puppet()
        self._number = 0
        self._runtimes: list[AcpRuntime] = []

    async def open(
        self,
        puppet: Puppet,
        continuity: JsonObject | None = None,
        *,
        profile: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        **session: Any,
    ) -> AgentConnection:
        """Open a connection whose agent is the puppet."""
        self.sink = RecordingSink()
        profile_fields = {"options": dict(options or {}), **(profile or {})}
        spec = self.session(profile_of(**profile_fields), **session)
        return await self.play(puppet).open(spec, continuity, self.sink)

    def session(self, profile: Profile | None = None, **more: Any) -> SessionSpec:
        """Return a session with a new execution."""
        self._number += 1
        return SessionSpec(
            session_id="ses_1",
            run_id="run_1",
            execution_id=f"exe_{self._number}",
            generation=1,
            profile_id="prof_1",
            directory=str(self._folder),
            profile=profile or profile_of(),
            **more,
        )

    def services(self) -> RuntimeServices:
        """Return what the runtime is lent."""
        return RuntimeServices(
            clock=self.clock,
            log=logging.getLogger("puppet"),
            state_folder=self._folder / "state",
            spawn=self._spawn,
            redact=lambda text: text.replace("hunter2", "***"),
            read_blob=self._read_whatever,
        )

    def play(self, puppet: Puppet) -> AcpRuntime:
        """Return a runtime whose next agent is the puppet."""
        self._puppet = puppet
        runtime = AcpRuntime({}, self.services())
        self._runtimes.append(runtime)
        return runtime

    async def settle(self) -> None:
        """Let everything happen that happens without the clock."""
        for _ in range(50):
            await next_turn()

    async def close(self) -> None:
        """Close everything."""
        for runtime in self._runtimes:
            await runtime.close()

    async def _spawn(self, request: ChildRequest) -> Child:
        return self._puppet

    async def _read_whatever(self, blob_id: str) -> bytes:
        return await self.read_blob(blob_id)

    async def _read_blob(self, blob_id: str) -> bytes:
        if blob_id not in self.blobs:
            raise UnknownBlob(blob_id)
        return self.blobs[blob_id]


def profile_of(**fields: Any) -> Profile:
    """Return a profile whose program nobody starts."""
    known = {"name": "puppet", "agent_name": "puppet", "runtime": "acp", "command": ("/puppet",)}
    return Profile(**{**known, **fields})


def turn_of(*texts: str, turn_id: str = "turn_1", **more: Any) -> Turn:
    """Return a turn with a prompt for each text."""
    prompts = tuple(prompt_with(text, prompt_id=f"{turn_id}.{i}") for i, text in enumerate(texts))
    return Turn(id=turn_id, prompts=prompts, **more)

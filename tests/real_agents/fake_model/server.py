"""A model on loopback that answers as prompts say, in the shape of OpenAI's chat completions."""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from tests.real_agents.fake_model.script import (
    Step,
    ToolCall,
    due_answer,
    prompts_in,
    tool_call,
)

_MODEL: Final = "fake-model"
_PIECE: Final = 12
_MOMENT: Final = 0.02
_SIDE_JOBS: Final = ("title", "summar")


class FakeModel:
    """A running model.

    Attributes:
        conversations: the user's words in each conversation that it was sent, in order; what an
            agent asks on the side, such as for a title, is left out.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.conversations: list[list[str]] = []
        self.is_over = threading.Event()
        self._news = threading.Condition()

    def note(self, prompts: list[str]) -> None:
        """Remember that it was asked."""
        with self._news:
            self.conversations.append(prompts)
            self._news.notify_all()

    def wait_until_asked(self, times: int, seconds: float) -> None:
        """Return once it was asked this often, the time is over, or the model."""

        def is_so() -> bool:
            return len(self.conversations) >= times or self.is_over.is_set()

        with self._news:
            self._news.wait_for(is_so, seconds)

    def close(self) -> None:
        """Let nobody wait any more."""
        with self._news:
            self.is_over.set()
            self._news.notify_all()

    @property
    def url(self) -> str:
        """Where its API begins."""
        return f"http://127.0.0.1:{self.port}/v1"


@contextmanager
def fake_model(port: int = 0) -> Iterator[FakeModel]:
    """Run a model in threads of this process.

    Args:
        port: where it listens; 0 is any that is free.
    """
    server = ThreadingHTTPServer(("127.0.0.1", port), _Handler)
    server.daemon_threads = True
    model = FakeModel(server.server_address[1])
    server.model = model  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield model
    finally:
        model.close()
        server.shutdown()
        thread.join()
        server.server_close()


class _Gone(Exception):
    """Nothing more is to be sent."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name is given
        """Say nothing."""

    def do_GET(self) -> None:
        """Tell which models there are."""
        self._answer(200, {"object": "list", "data": [{"id": _MODEL, "object": "model"}]})

    def do_POST(self) -> None:
        """Answer a conversation."""
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        if not self.path.endswith("/chat/completions"):
            self._answer(404, {"error": {"message": "the fake model has no such route"}})
            return
        with suppress(_Gone, ConnectionError):
            self._complete(body)

    @property
    def _model(self) -> FakeModel:
        model: FakeModel = self.server.model  # type: ignore[attr-defined]
        return model

    def _complete(self, body: Mapping[str, Any]) -> None:
        messages, tools = body["messages"], body.get("tools") or []
        steps = [Step("text", "Fake title")] if _is_side_job(messages, tools) else None
        if steps is None:
            self._model.note(prompts_in(messages))
            steps = due_answer(messages)
        if steps[0].verb == "error":
            code = int(steps[0].argument)
            self._answer(code, {"error": {"message": f"the fake model fails with {code}"}})
        elif body.get("stream"):
            self._stream(steps, messages, tools)
        else:
            self._answer(200, _whole(steps, messages, tools))

    def _stream(self, steps: Sequence[Step], messages: Sequence[Any], tools: Sequence[Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        calls = 0
        for step in steps:
            calls += self._play(step, messages, tools, calls)
        self._event(_delta({}, finish="tool_calls" if calls else "stop"))
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        self._event({**_delta({}), "choices": [], "usage": usage})
        self._write(b"data: [DONE]\n\n")

    def _play(self, step: Step, messages: Sequence[Any], tools: Sequence[Any], calls: int) -> int:
        """Play a step; returns how many tool calls that was."""
        match step.verb:
            case "text" | "recall":
                self._say(_words(step, messages))
            case "wait":
                while not Path(step.argument).exists():
                    self._pause()
            case "hang":
                while True:
                    self._pause()
            case "cut":
                self.connection.close()
                raise _Gone
            case _:
                call = tool_call(step, tools)
                if call is None:
                    self._say(f"(no tool for {step.verb})")
                    return 0
                self._event(_delta({"tool_calls": [_told(call, calls)]}))
                return 1
        return 0

    def _say(self, text: str) -> None:
        for at in range(0, len(text), _PIECE):
            self._event(_delta({"content": text[at : at + _PIECE]}))

    def _pause(self) -> None:
        """Wait a moment; whoever has gone, or the end of the test, ends it."""
        if self._model.is_over.wait(_MOMENT):
            raise _Gone
        self._write(b": waiting\n\n")

    def _event(self, value: Mapping[str, Any]) -> None:
        self._write(b"data: " + json.dumps(value).encode() + b"\n\n")

    def _write(self, data: bytes) -> None:
        self.wfile.write(data)
        self.wfile.flush()

    def _answer(self, code: int, value: Mapping[str, Any]) -> None:
        body = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _is_side_job(messages: Sequence[Any], tools: Sequence[Any]) -> bool:
    system = " ".join(str(m.get("content")) for m in messages if m.get("role") == "system").lower()
    return not tools and any(word in system for word in _SIDE_JOBS)


def _words(step: Step, messages: Sequence[Any]) -> str:
    return "\n".join(prompts_in(messages)) if step.verb == "recall" else step.argument


def _delta(delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": finish}
    return {
        "id": "fake",
        "object": "chat.completion.chunk",
        "model": _MODEL,
        "created": 0,
        "choices": [choice],
    }


def _told(call: ToolCall, index: int) -> dict[str, Any]:
    function = {"name": call.name, "arguments": json.dumps(call.arguments)}
    call_id = f"call_{uuid4().hex[:12]}"
    return {"index": index, "id": call_id, "type": "function", "function": function}


def _whole(steps: Sequence[Step], messages: Sequence[Any], tools: Sequence[Any]) -> dict[str, Any]:
    calls = [
        call for step in steps if step.verb in ("sh", "write") and (call := tool_call(step, tools))
    ]
    text = "".join(_words(step, messages) for step in steps if step.verb in ("text", "recall"))
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [_told(call, index) for index, call in enumerate(calls)]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    return {
        "id": "fake",
        "object": "chat.completion",
        "model": _MODEL,
        "choices": [choice],
        "usage": usage,
    }

"""Lines of JSON as command-line agents print them, each kind of agent in its own way.

The shapes are those of Claude Code 2, Codex 0.1 and Mistral Vibe 3. What a line does not have is
left out; a line of a kind that nobody knows is kept, and one that is no JSON is counted.
"""

import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from spaced.plugin_api import ItemUpserted, UnknownReport, Update

_KEPT_JUNK: Final = 20
_JUNK_LENGTH: Final = 300
_MOST_UNKNOWN: Final = 100
_QUIET: Final = frozenset(
    {"turn.started", "stream_event", "rate_limit_event", "item.updated", "user_message"}
)


class PrintedJson:
    """Reads the lines of one turn.

    Attributes:
        conversation: the tool's name for the conversation, once it was told.
        failure: why the turn failed, as the tool tells it.
        usage: what the turn used.
        junk: the last lines that were no JSON.
    """

    def __init__(self, kind: str, turn_id: str) -> None:
        """Begin with nothing read.

        Args:
            kind: `claude`, `codex` or `vibe`.
        """
        self.conversation: str | None = None
        self.failure: str | None = None
        self.usage: dict[str, object] | None = None
        self.junk: deque[str] = deque(maxlen=_KEPT_JUNK)
        self._turn_id = turn_id
        self._read: Callable[[Mapping[str, Any]], list[Update]] = {
            "claude": self._claude,
            "codex": self._codex,
            "vibe": self._vibe,
        }[kind]
        self._unknown = 0
        self._texts = 0

    def feed(self, line: bytes) -> Sequence[Update]:
        """Return what a line tells."""
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            return self._read(value)
        if line.strip():
            self.junk.append(line[:_JUNK_LENGTH].decode(errors="replace"))
        return []

    def _claude(self, line: Mapping[str, Any]) -> list[Update]:
        if isinstance(line.get("session_id"), str):
            self.conversation = line["session_id"]
        match line.get("type"):
            case "system":
                return []
            case "assistant" | "user":
                message = _object(line.get("message"))
                is_fault = message.get("model") == "<synthetic>"
                blocks = [] if is_fault else _objects(message.get("content"))
                return [u for block in blocks for u in self._claude_block(block, message)]
            case "result":
                self._claude_result(line)
                return []
            case kind:
                return self._keep(str(kind), line)

    def _claude_block(self, block: Mapping[str, Any], message: Mapping[str, Any]) -> list[Update]:
        call_id = str(block.get("id") or block.get("tool_use_id"))
        match block.get("type"):
            case "text" if message.get("role") == "assistant":
                return [self._message(str(block.get("text", "")), message.get("id"))]
            case "thinking":
                return [self._reasoning(str(block.get("thinking", "")), message.get("id"))]
            case "tool_use":
                return [self._call(call_id, block.get("name"), block.get("input"), "running")]
            case "tool_result":
                is_error = block.get("is_error") is True
                output = _text_of(block.get("content"))
                return self._result(call_id, output, is_error=is_error)
            case _:
                return []

    def _claude_result(self, line: Mapping[str, Any]) -> None:
        if line.get("is_error") is True:
            self.failure = str(line.get("result") or line.get("subtype") or "it failed")
        usage = _numbers(_object(line.get("usage")), "input_tokens", "output_tokens")
        cost = line.get("total_cost_usd")
        self.usage = usage | ({"cost_usd": cost} if isinstance(cost, int | float) else {})

    def _codex(self, line: Mapping[str, Any]) -> list[Update]:
        match line.get("type"):
            case "thread.started":
                self.conversation = str(line.get("thread_id"))
                return []
            case "item.started" | "item.completed":
                is_done = line["type"] == "item.completed"
                return self._codex_item(_object(line.get("item")), is_done=is_done)
            case "turn.completed":
                self.usage = _numbers(_object(line.get("usage")), "input_tokens", "output_tokens")
                return []
            case "turn.failed" | "error":
                error = _object(line.get("error"))
                self.failure = str(error.get("message") or line.get("message"))
                return []
            case kind:
                return self._keep(str(kind), line)

    def _codex_item(self, item: Mapping[str, Any], *, is_done: bool) -> list[Update]:
        item_id = str(item.get("id"))
        match item.get("type"):
            case "agent_message":
                return [self._message(str(item.get("text", "")), item_id)] if is_done else []
            case "reasoning":
                return [self._reasoning(str(item.get("text", "")), item_id)] if is_done else []
            case "command_execution":
                command = {"command": item.get("command")}
                if not is_done:
                    return [self._call(item_id, "shell", command, "running")]
                output, code = str(item.get("aggregated_output", "")), item.get("exit_code")
                return [
                    self._call(item_id, "shell", command, "running"),
                    *self._result(item_id, output, is_error=code != 0),
                ]
            case kind:
                return self._keep(f"item-{kind}", item) if is_done else []

    def _vibe(self, line: Mapping[str, Any]) -> list[Update]:
        if isinstance(line.get("sessionId"), str):
            self.conversation = line["sessionId"]
        match line.get("type"):
            case "message" if line.get("role") == "assistant":
                return [self._message(_text_of(line.get("content")), line.get("id"))]
            case "message":
                return []
            case "effect":
                detail = _object(line.get("detail"))
                call_id = str(line.get("id"))
                name = str(detail.get("toolName") or line.get("title"))
                message = _object(detail.get("display")).get("message")
                return [
                    self._call(call_id, name, {"message": message}, "running"),
                    *self._result(call_id, str(message or ""), is_error=False),
                ]
            case kind:
                return self._keep(str(kind), line)

    def _message(self, text: str, message_id: object) -> ItemUpserted:
        item = {"type": "message", "role": "assistant", "content": text}
        return self._item(message_id, item)

    def _reasoning(self, text: str, message_id: object) -> ItemUpserted:
        return self._item(message_id, {"type": "reasoning", "content": text})

    def _item(self, message_id: object, item: Mapping[str, object]) -> ItemUpserted:
        # One message of the tool's may come in several pieces under one name: each is an item.
        self._texts += 1
        source = f"{self._turn_id}:{message_id}:{self._texts}"
        whole = {**item, "stream_status": "complete"}
        return ItemUpserted(source=source, item=whole, turn_id=self._turn_id)

    def _call(self, call_id: str, name: object, arguments: object, status: str) -> ItemUpserted:
        item = {
            "type": "tool-call",
            "call_id": call_id,
            "name": str(name),
            "arguments": json.dumps(arguments, ensure_ascii=False),
            "status": status,
        }
        return ItemUpserted(
            source=f"{self._turn_id}:call:{call_id}", item=item, turn_id=self._turn_id
        )

    def _result(self, call_id: str, output: str, *, is_error: bool) -> list[Update]:
        status = "failed" if is_error else "completed"
        call = {"type": "tool-call", "call_id": call_id, "status": status}
        result = {
            "type": "tool-result",
            "call_id": call_id,
            "output": output,
            "is_error": is_error,
            "stream_status": "complete",
        }
        prefix = self._turn_id
        return [
            ItemUpserted(source=f"{prefix}:call:{call_id}", item=call, turn_id=prefix),
            ItemUpserted(source=f"{prefix}:result:{call_id}", item=result, turn_id=prefix),
        ]

    def _keep(self, kind: str, line: Mapping[str, Any]) -> list[Update]:
        self._unknown += 1
        if kind in _QUIET or self._unknown > _MOST_UNKNOWN:
            return []
        payload = {str(name): _shortened(value) for name, value in line.items()}
        return [UnknownReport(kind=f"command:{kind}", payload=payload, turn_id=self._turn_id)]


def _shortened(value: object) -> object:
    text = json.dumps(value, ensure_ascii=False)
    return value if len(text) <= _JUNK_LENGTH else f"{text[:_JUNK_LENGTH]}…"


def _text_of(content: object) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", "")) for block in _objects(content))


def _numbers(told: Mapping[str, Any], *names: str) -> dict[str, object]:
    return {name: told[name] for name in names if isinstance(told.get(name), int | float)}


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []

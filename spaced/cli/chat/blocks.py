"""How items look that do not grow: one block of lines each."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from spaced.cli.chat.spans import Span, bold, dim, escaped, failing, one_line, plain

Item = Mapping[str, Any]

_TITLE: Final = 100
_ARGUMENTS: Final = 120
_DETAILS: Final = 300
_STEPS: Final = {"completed": "[x]", "in_progress": "[>]", "pending": "[ ]"}
_EVENTS: Final = {
    "turn-interrupted": "interrupted",
    "turn-abandoned": "the daemon was restarted, and the agent is gone: this turn is over",
    "turn-not-dispatched": "the agent was not given this; it is pending again",
    "turn-daemon-stopped": "the daemon was stopped: this turn is over",
    "compaction": "the conversation was shortened for the agent",
    "conversation-lost": "the agent has lost the conversation and begins a new one",
}
_ORIGINS: Final = {
    "recovery": "after the restart",
    "question-answer": "your answer",
    "step-entry": "the step",
}


def block_of(item: Item) -> list[Span]:
    """Return the lines that show an item; nothing for types that are not known."""
    match item.get("type"):
        case "tool-call":
            return _call(item)
        case "plan":
            return _plan(item)
        case "event":
            return _event(item)
        case "error":
            return [failing(f"! {escaped(_text(item, 'error'))}\n")]
    return []


def call_ending(item: Item) -> Span | None:
    """Return how a tool call ended, if it has."""
    match item.get("status"):
        case "completed":
            return dim("  = completed")
        case "failed":
            return failing("  = failed")
        case "interrupted":
            return failing("  = interrupted")
    return None


def call_title(item: Item) -> str:
    """Return what a tool call is called."""
    return one_line(_text(item, "title") or _text(item, "name") or "tool", longest=_TITLE)


def opening_of(item: Item) -> Span:
    """Return what stands before the text of a message or a reasoning."""
    if item.get("type") == "reasoning":
        return dim("~ ")
    if item.get("role") == "user":
        origin = _ORIGINS.get(str(item.get("origin")))
        return bold("> " if origin is None else f"> ({origin}) ")
    return plain("")


def attachments_of(item: Item) -> str:
    """Return the files and mentions of a prompt."""
    parts = item.get("parts")
    named = [p for p in parts if isinstance(p, Mapping)] if isinstance(parts, list | tuple) else []
    return "".join(
        f" [{one_line(str(part.get('type')), longest=20)} "
        f"{one_line(str(part.get('name') or part.get('path') or ''), longest=_TITLE)}]"
        for part in named
        if part.get("type") != "text"
    )


def _call(item: Item) -> list[Span]:
    arguments = one_line(_text(item, "arguments"), longest=_ARGUMENTS)
    told = "" if arguments in ("", "{}") else f"  {arguments}"
    return [bold(f"* {call_title(item)}"), dim(f"{told}\n")]


def _plan(item: Item) -> list[Span]:
    entries = item.get("entries")
    steps = [e for e in entries if isinstance(e, Mapping)] if isinstance(entries, list) else []
    lines = [
        plain(f"  {_STEPS.get(str(step.get('status')), '[ ]')} {_step(step)}\n") for step in steps
    ]
    return [bold("# plan\n"), *lines]


def _step(step: Item) -> str:
    return one_line(str(step.get("content") or ""), longest=_DETAILS)


def _event(item: Item) -> list[Span]:
    name = _text(item, "event")
    details = item.get("details")
    told = details if isinstance(details, Mapping) else {}
    message = told.get("message")
    if isinstance(message, str) and message:
        rest = f": {one_line(message, longest=_DETAILS)}"
    else:
        shown = {key: value for key, value in told.items() if key not in ("cause", "wanted")}
        rest = f": {one_line(_json(shown), longest=_DETAILS)}" if shown else ""
    return [dim(f"- {_EVENTS.get(name) or one_line(name, longest=_TITLE)}{rest}\n")]


def _json(value: Mapping[str, Any]) -> str:
    return msgspec.json.encode(value).decode()


def _text(item: Item, name: str) -> str:
    value = item.get(name)
    return value if isinstance(value, str) else ""

"""The agent that plays without a script: a few commands, and an echo of everything else.

It answers a prompt with steps, as a script would, so that its turns are kept and shown like any.
"""

import asyncio
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

Steps: TypeAlias = list[dict[str, Any]]
READ_LIMIT: Final = 64 * 1024
LIST_LIMIT: Final = 200
HELP: Final = """\
I am the scripted agent of spaced. I have no model; I do what I am told:

- `help`: this text
- `list` or `ls`: what is in this session's folder
- `read NAME`: a file in it
- `run COMMAND`: run a command in it, if you allow that
- `recall`: what you have said so far

Everything else I repeat. A prompt with a fenced block `script` makes me play its steps.
"""


async def answer(prompt: str, directory: str) -> Steps:
    """Return the steps that answer a prompt."""
    word, _, rest = prompt.strip().partition(" ")
    match word.lower(), rest.strip():
        case "help", "":
            return [_say(HELP)]
        case (("list" | "ls"), ""):
            return await asyncio.to_thread(_list, Path(directory))
        case "read", name if name:
            return await asyncio.to_thread(_read, Path(directory), name)
        case "run", line if line:
            return _run(line)
        case "recall", "":
            return [{"do": "recall"}]
        case _:
            return [_say(f"You said:\n\n{prompt}" if prompt else "You said nothing.")]


def _run(line: str) -> Steps:
    try:
        command = shlex.split(line)
    except ValueError as error:
        return [_say(f"I cannot read that command: {error}.")]
    if not command:
        return [_say("There is no command in that.")]
    call = {"name": "run", "kind": "execute", "title": line, "subject": line}
    return [
        {"do": "tool", **call, "command": command, "permission": True, "on_reject": "end"},
        _say("That was it."),
    ]


def _list(folder: Path) -> Steps:
    try:
        found = sorted(folder.iterdir(), key=lambda path: path.name)
    except OSError as error:
        return _tool("list", "read", {}, f"The folder cannot be read: {error.strerror}", bad=True)
    names = [path.name + ("/" if path.is_dir() else "") for path in found[:LIST_LIMIT]]
    more = [f"… and {len(found) - LIST_LIMIT} more"] if len(found) > LIST_LIMIT else []
    output = "\n".join([*names, *more])
    lines = [f"- `{name}`" for name in names] + [f"- {line}" for line in more]
    words = "The folder is empty." if not names else "In this folder:\n\n" + "\n".join(lines)
    return [*_tool("list", "read", {}, output), _say(words)]


def _read(folder: Path, name: str) -> Steps:
    text, problem = _text_of(folder, name)
    if problem:
        return _tool("read", "read", {"name": name}, problem, bad=True)
    fence = "`" * max(3, _longest_run_of_ticks(text) + 1)
    words = f"`{name}`:\n\n{fence}\n{text}{'' if text.endswith(chr(10)) else chr(10)}{fence}\n"
    return [*_tool("read", "read", {"name": name}, text), _say(words)]


def _text_of(folder: Path, name: str) -> tuple[str, str]:
    try:
        path, root = (folder / name).resolve(), folder.resolve()
        if not path.is_relative_to(root):
            return "", f"{name!r} lies outside of this session's folder."
        if not path.is_file():  # a device or a pipe could be read for ever
            return "", f"{name!r} is not a file in this session's folder."
        with path.open("rb") as file:
            raw = file.read(READ_LIMIT + 1)
    except (OSError, ValueError, RuntimeError) as error:
        return "", f"{name!r} cannot be read: {error}"
    if b"\0" in raw:
        return "", f"{name!r} is not a text."
    cut_off = f"\n… (the first {READ_LIMIT} bytes)" if len(raw) > READ_LIMIT else ""
    return raw[:READ_LIMIT].decode(errors="replace") + cut_off, ""


def _tool(
    name: str, kind: str, arguments: Mapping[str, object], output: str, *, bad: bool = False
) -> Steps:
    call = {"name": name, "kind": kind, "arguments": dict(arguments)}
    steps: Steps = [{"do": "tool", **call, "output": output, "is_error": bad}]
    return [*steps, _say(output)] if bad else steps


def _say(text: str) -> dict[str, Any]:
    return {"do": "say", "text": text}


def _longest_run_of_ticks(text: str) -> int:
    longest = current = 0
    for character in text:
        current = current + 1 if character == "`" else 0
        longest = max(longest, current)
    return longest

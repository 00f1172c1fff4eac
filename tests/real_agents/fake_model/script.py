"""What the fake model answers: the prompt itself says it, so the model needs to remember nothing.

A prompt carries directives, which together are a script:

    [[text:Hello]] [[sh:ls -l]] [[write:/path|content]] [[wait:/path]] [[recall]]
    [[error:400]] [[cut]] [[hang]]

A model answers until it calls a tool; what stands behind a call belongs to its next answer. Which
answer is due is told by how many answers follow the prompt in the conversation that the agent sends
along. Without directives the model repeats the prompt.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

Verb: TypeAlias = Literal["text", "sh", "write", "wait", "recall", "error", "cut", "hang"]
Message: TypeAlias = Mapping[str, Any]

_DIRECTIVE: Final = re.compile(
    r"\[\[(text|sh|write|wait|recall|error|cut|hang)(?::(.*?))?\]\]", re.DOTALL
)
_TOOLS: Final = ("sh", "write")
_SHELLS: Final = ("bash", "shell", "run_shell_command", "execute")
_WRITERS: Final = ("write", "write_file", "create_file")


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that the model does."""

    verb: Verb
    argument: str = ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model wants to be used."""

    name: str
    arguments: Mapping[str, Any]


def due_answer(messages: Sequence[Message]) -> list[Step]:
    """Return what the model does next in a conversation, in the shape of chat completions."""
    place = _scripted(messages)
    if place is None:
        prompts = [text_of(m) for m in messages if m.get("role") == "user"]
        return [Step("text", f"fake model: {prompts[-1][:200] if prompts else ''}")]
    steps = [Step(m[1], m[2] or "") for m in _DIRECTIVE.finditer(text_of(messages[place]))]  # type: ignore[arg-type]
    answers = _answers(steps)
    given = sum(1 for m in messages[place + 1 :] if m.get("role") == "assistant")
    return answers[given] if given < len(answers) else [Step("text", "(the script is over)")]


def prompts_in(messages: Sequence[Message]) -> list[str]:
    """Return what the user has said in a conversation."""
    return [text_of(m) for m in messages if m.get("role") == "user"]


def tool_call(step: Step, tools: Sequence[Mapping[str, Any]]) -> ToolCall | None:
    """Return the call of the agent's own tool that does a step; `None`: it offers none."""
    offered = {tool["function"]["name"]: tool["function"] for tool in tools}
    name = next((n for n in (_SHELLS if step.verb == "sh" else _WRITERS) if n in offered), None)
    if name is None:
        return None
    schema = offered[name].get("parameters", {})
    path, _, content = step.argument.partition("|")
    given = {"command": step.argument, "description": "a scripted command"}
    if step.verb == "write":
        given = dict.fromkeys(("filePath", "file_path", "path"), path) | {"content": content}
    known = schema.get("properties", {})
    return ToolCall(name, {key: value for key, value in given.items() if key in known})


def text_of(message: Message) -> str:
    """Return a message's text, whatever its parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part.get("text", "")) for part in parts if isinstance(part, Mapping))


def _scripted(messages: Sequence[Message]) -> int | None:
    """Return the place of the newest prompt that carries a script."""
    found = [
        place
        for place, message in enumerate(messages)
        if message.get("role") == "user" and _DIRECTIVE.search(text_of(message))
    ]
    return found[-1] if found else None


def _answers(steps: Sequence[Step]) -> list[list[Step]]:
    answers: list[list[Step]] = [[]]
    for step in steps:
        if answers[-1] and answers[-1][-1].verb in _TOOLS:
            answers.append([])
        answers[-1].append(step)
    return answers

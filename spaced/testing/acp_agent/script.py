"""What a scripted agent is told to do: how it is greeted, and what it does in its turns.

    python -m spaced.testing.acp_agent --script '{"turns": [[{"do": "echo"}]]}' --state FOLDER

A script is an object; every key may be left out, and an empty script is a friendly agent that
repeats what it is told.

| key | meaning |
| --- | --- |
| `greeting` | laid over its answer to `initialize`, one level deep into `agentCapabilities` |
| `conversation` | laid over its answers to `session/new`, `session/load` and `session/resume` |
| `login` | true: it answers -32000 until it was logged in |
| `ignores` | any of `cancel`, `eof` and `sigterm` |
| `forgets` | true: a load tells nothing again, and what it had is gone |
| `on` | steps by method, played before the method is answered; a step may answer itself |
| `turns` | a list of steps for each prompt of a process; the last one is played again and again |

Steps are objects with `do`:

| step | further keys | meaning |
| --- | --- | --- |
| `echo` | `id` | says the texts of the prompt |
| `say`, `think` | `text`, `pieces`, `id` | says it, in pieces, under a name or none |
| `recall` | | says what it was told in this conversation, a line for each prompt |
| `tool` | `command title kind id permission session` | runs it, if it is allowed to |
| `plan` | `entries` | tells its plan |
| `update` | `update`, `session` | tells any update |
| `notify`, `request` | `method`, `params` | tells or asks anything; waits for the answer |
| `line` | `text` or `hex`, `times` | writes a line as it is |
| `flood` | `bytes`, `on` | writes so much to `stderr`, or as one message to `stdout` |
| `spawn` | `wait`, `write`, `holds` | leaves a child in a session of its own: it waits for the \
file `wait` and then writes the file `write`; `holds` keeps our output open |
| `wait`, `touch` | `file` | waits for a file, or makes it |
| `pause` | | waits until it is cancelled |
| `hang` | | waits for ever |
| `answer`, `error` | `result`; `code`, `message` | answers what was asked, now |
| `later` | `steps` | plays steps after the answer |
| `exit` | `code`, `line`, `complaint` | ends, perhaps in the middle of a line, or with a word |
| `die` | | ends by SIGKILL |
"""

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True, kw_only=True)
class Script:
    """A script that was read."""

    greeting: dict[str, Any] = field(default_factory=dict)
    conversation: dict[str, Any] = field(default_factory=dict)
    login: bool = False
    ignores: list[str] = field(default_factory=list)
    forgets: bool = False
    on: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    turns: list[list[dict[str, Any]]] = field(default_factory=list)

    def turn(self, number: int) -> list[dict[str, Any]]:
        """Return the steps of the n-th prompt, counted from 0."""
        return self.turns[min(number, len(self.turns) - 1)] if self.turns else [{"do": "echo"}]


def read_script(text: str) -> Script:
    """Read a script.

    Raises:
        ValueError, TypeError: it is none.
    """
    return Script(**json.loads(text))

"""What a profile's options say about its command: how it is prompted and how it is understood.

| option | default | meaning |
| --- | --- | --- |
| `preset` | none | `claude`, `codex`, `vibe` or `fast-agent`: all that follows, for that tool |
| `arguments` | none | arguments behind the profile's command |
| `prompt` | `stdin` | `stdin`, `argument` (the last one), or `file` (its path is the last one) |
| `output` | `text` | `text`, `claude`, `codex` or `vibe`: what it prints |
| `resume` | none | arguments that continue a conversation; `{id}` in them is its name |
| `model_flag`, `mode_flag` | none | the flags for the profile's model and mode |
| `ok_exit_codes` | `[0]` | exit codes that mean that all went well |
| `timeout_seconds` | 0 | after how long a turn is ended; 0 waits for ever |
| `keep_ansi` | false | whether colours and the like stay in a text |
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

import msgspec

from spaced.plugin_api import JsonObject, RuntimeProblem

Output: TypeAlias = Literal["text", "claude", "codex", "vibe"]


class BadOptions(RuntimeProblem):
    """The profile's options cannot be read."""

    code = "bad-options"
    remedy = "Correct them with `spaced profiles edit`; docs/agents.md lists them."


class CommandOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A profile's options, with those of its preset filled in."""

    preset: str | None = None
    arguments: tuple[str, ...] = ()
    prompt: Literal["stdin", "argument", "file"] = "stdin"
    output: Output = "text"
    resume: tuple[str, ...] = ()
    model_flag: str | None = None
    mode_flag: str | None = None
    ok_exit_codes: tuple[int, ...] = (0,)
    timeout_seconds: float = 0
    keep_ansi: bool = False


PRESETS: Final[Mapping[str, Mapping[str, Any]]] = {
    "claude": {
        "arguments": ("-p", "--output-format", "stream-json", "--verbose"),
        "output": "claude",
        "resume": ("--resume", "{id}"),
        "model_flag": "--model",
        "mode_flag": "--permission-mode",
    },
    "codex": {
        "arguments": ("exec", "--json", "--skip-git-repo-check"),
        "output": "codex",
        "resume": ("resume", "{id}", "-"),
        "model_flag": "--model",
        "mode_flag": "--sandbox",
    },
    "vibe": {
        "arguments": ("--output", "streaming", "-p"),
        "prompt": "argument",
        "output": "vibe",
        "mode_flag": "--agent",
    },
    "fast-agent": {
        "arguments": ("go", "-q", "-m"),
        "prompt": "argument",
        "model_flag": "--model",
    },
}


def read_options(options: JsonObject | None) -> CommandOptions:
    """Return the options of a profile.

    Raises:
        BadOptions: one of them is unknown or has no fitting value.
    """
    given = dict(options or {})
    preset = given.get("preset")
    if preset is not None and preset not in PRESETS:
        names = ", ".join(PRESETS)
        raise BadOptions(f"there is no preset {preset!r} of a command; there is: {names}")
    known = PRESETS[preset] if isinstance(preset, str) else {}
    try:
        read = msgspec.convert({**known, **given}, CommandOptions)
    except msgspec.ValidationError as error:
        raise BadOptions(f"the options of a command cannot be read: {error}") from error
    if read.timeout_seconds < 0:
        raise BadOptions("the option 'timeout_seconds' is 0 or more")
    return read

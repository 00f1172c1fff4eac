"""How the command runtime is made to behave as the contract wants: by small programs."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from spaced.domain.profile import Profile
from spaced.testing.runtime_harness import STREAMED, Behaviour, RuntimeHarness
from spaced_command.runtime import CommandRuntime

_TALKING: Final = """
import json, sys, uuid
def tell(**fields): print(json.dumps(fields), flush=True)
def say(text): tell(type="assistant", message={"role": "assistant", "content": [{"type": "text", "text": text}]})
known = sys.argv[sys.argv.index("--resume") + 1] if "--resume" in sys.argv else str(uuid.uuid4())
tell(type="system", session_id=known)
prompt = sys.stdin.read()
"""
_REPLIES: Final = _TALKING + "say(prompt); tell(type='result', session_id=known)"
_TOOL: Final = (
    _TALKING
    + """
tell(type="assistant", message={"content": [{"type": "tool_use", "id": "c1", "name": "Bash", "input": {}}]})
tell(type="user", message={"content": [{"type": "tool_result", "tool_use_id": "c1", "content": "made by a tool"}]})
tell(type="result", session_id=known)
"""
)
# Each piece is written when the last one was read: a pipe would hand them over as one.
_STREAMS: Final = f"""
import array, fcntl, termios, threading
text, unread = {STREAMED!r}, array.array("i", [1])
for at in range(0, len(text), 97):
    print(text[at:at + 97], end="", flush=True)
    while not fcntl.ioctl(1, termios.FIONREAD, unread) and unread[0]: threading.Event().wait(0.001)
"""
_HANGS: Final = "import threading; print('at it', flush=True); threading.Event().wait()"
_JSON: Final = {"output": "claude", "resume": ["--resume", "{id}"]}
_PROGRAMS: Final[Mapping[Behaviour, tuple[str, Mapping[str, Any]]]] = {
    "replies": (_REPLIES, _JSON),
    "streams": (_STREAMS, {}),
    "uses a tool": (_TOOL, _JSON),
    "hangs": (_HANGS, {}),
}
_WHY_NOT: Final[Mapping[Behaviour, str]] = {
    "refuses to stop": "a command that refuses to stop is killed by its interrupt",
    "crashes": "a command that crashes fails its turn; the next one starts it anew",
}


class CommandHarness(RuntimeHarness):
    """Runs Python programs."""

    def __init__(self, scratch: Path) -> None:
        super().__init__(CommandRuntime, scratch)

    def profile_that(self, behaviour: Behaviour) -> Profile | None:
        """Return a profile whose command behaves like this."""
        if behaviour == "broken":
            return command_profile("", command=("/nowhere/agent",))
        found = _PROGRAMS.get(behaviour)
        return None if found is None else command_profile(found[0], options=dict(found[1]))

    def why_not(self, behaviour: Behaviour) -> str:
        """Say why a command cannot."""
        return _WHY_NOT.get(behaviour, f"a command asks nobody: {behaviour}")


def command_profile(program: str, **fields: Any) -> Profile:
    """Return a profile whose command is a Python program."""
    known: dict[str, Any] = {
        "name": "command",
        "agent_name": "command",
        "runtime": "command",
        "command": (sys.executable, "-I", "-c", program),
    }
    return Profile(**{**known, **fields})

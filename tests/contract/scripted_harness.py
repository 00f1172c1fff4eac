"""How the scripted runtime is made to behave as the contract wants."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from spaced.domain.profile import Profile
from spaced.runtime.protocol import RuntimeFactory
from spaced.testing.recording_sink import PATIENCE_SECONDS
from spaced.testing.runtime_harness import STREAMED, Behaviour, RuntimeHarness
from spaced_scripted.runtime import ScriptedRuntime

_WAITING: Final = "import sys, threading; print('up', flush=True); threading.Event().wait()"
_STUBBORN: Final = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {_WAITING}"


def _python(program: str) -> Mapping[str, object]:
    command = [sys.executable, "-c", program]
    return {"do": "tool", "name": "run", "kind": "execute", "command": command}


_TURNS: Final[Mapping[Behaviour, Sequence[Mapping[str, object]]]] = {
    "replies": [{"do": "echo"}],
    "streams": [{"do": "say", "text": STREAMED}],
    "uses a tool": [_python("print('made by a tool')"), {"do": "say", "text": "Done."}],
    "asks permission": [{"do": "tool", "name": "edit", "kind": "edit", "permission": True}],
    "asks a question": [
        {"do": "question", "questions": [{"text": "Which one?"}], "echo": True},
    ],
    "hangs": [{"do": "say", "text": "I am at it."}, _python(_WAITING)],
    "refuses to stop": [
        {"do": "refuse_to_stop"},
        {"do": "say", "text": "You cannot stop me."},
        _python(_STUBBORN),
    ],
    "crashes": [{"do": "say", "text": "Oh no."}, {"do": "crash"}],
    "broken": [{"do": "nonsense"}],
}


def profile_with(turns: object, **options: Any) -> Profile:
    """Return a profile that plays turns."""
    return Profile(
        name="scripted",
        agent_name="scripted",
        runtime="scripted",
        options={"script": turns, **options},
    )


class ScriptedHarness(RuntimeHarness):
    """Makes scripts for the behaviours."""

    def __init__(
        self,
        scratch: Path,
        factory: RuntimeFactory = ScriptedRuntime,
        *,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        environment = {"PATH": os.environ.get("PATH", os.defpath)}
        super().__init__(
            factory, scratch, environment=environment, patience_seconds=patience_seconds
        )

    def profile_that(self, behaviour: Behaviour) -> Profile | None:
        """Return a profile with a script; a scripted agent can do everything."""
        return profile_with([_TURNS[behaviour]])

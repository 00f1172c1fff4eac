"""How an agent that speaks the Agent Client Protocol is made to behave as the contract wants."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from spaced.domain.profile import Profile
from spaced.runtime.protocol import RuntimeFactory
from spaced.testing.recording_sink import PATIENCE_SECONDS
from spaced.testing.runtime_harness import STREAMED, Behaviour, RuntimeHarness

_HANGING: Final = [{"do": "say", "text": "I am at it."}, {"do": "pause"}]
_SCRIPTS: Final[Mapping[Behaviour, Mapping[str, Any]]] = {
    "replies": {},
    "streams": {"turns": [[{"do": "say", "text": STREAMED, "pieces": 7, "id": "streamed"}]]},
    "uses a tool": {
        "turns": [
            [
                {"do": "tool", "command": [sys.executable, "-c", "print('made by a tool')"]},
                {"do": "say", "text": "Done."},
            ]
        ]
    },
    "asks permission": {"turns": [[{"do": "tool", "kind": "edit", "permission": True}]]},
    "hangs": {"turns": [_HANGING]},
    "refuses to stop": {"ignores": ["cancel", "eof", "sigterm"], "turns": [_HANGING]},
    "crashes": {"turns": [[{"do": "say", "text": "Oh no."}, {"do": "exit", "code": 3}]]},
    "broken": {"on": {"initialize": [{"do": "exit", "code": 4}]}},
}


class AcpHarness(RuntimeHarness):
    """Starts the scripted agent of `spaced.testing.acp_agent` for each behaviour."""

    def __init__(
        self,
        factory: RuntimeFactory,
        scratch: Path,
        *,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        environment = {name: os.environ[name] for name in ("PATH",) if name in os.environ}
        super().__init__(
            factory, scratch, environment=environment, patience_seconds=patience_seconds
        )
        self._memory = scratch / "memory"

    def profile_that(self, behaviour: Behaviour) -> Profile | None:
        """Return a profile with a script for the behaviour."""
        script = _SCRIPTS.get(behaviour)
        return None if script is None else acp_profile(script, self._memory)

    def why_not(self, behaviour: Behaviour) -> str:
        """Say what the protocol lacks."""
        return f"version 1 of the Agent Client Protocol has no way to do this: {behaviour}"


def acp_profile(script: Mapping[str, Any], memory: Path, **fields: Any) -> Profile:
    """Return a profile of the scripted agent.

    Args:
        script: as `spaced.testing.acp_agent.script` describes it.
        memory: the folder that the agent remembers things in.
    """
    module = ("-m", "spaced.testing.acp_agent")
    arguments = ("--script", json.dumps(script), "--state", str(memory))
    # The contract lets hours pass, in which an agent that hangs would be taken for a dead one.
    options = {"idle_seconds": 0, **fields.pop("options", {})}
    known: dict[str, Any] = {
        "name": "scripted acp",
        "agent_name": "scripted-acp",
        "runtime": "acp",
        "command": (sys.executable, "-I", *module, *arguments),
        "options": options,
    }
    return Profile(**{**known, **fields})

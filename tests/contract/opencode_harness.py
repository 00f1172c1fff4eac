"""How a session of an OpenCode server is made to behave as the contract wants."""

import os
import sys
from pathlib import Path
from typing import Any, Final

from spaced.domain.profile import Profile
from spaced.testing.recording_sink import PATIENCE_SECONDS
from spaced.testing.runtime_harness import STREAMED, Behaviour, RuntimeHarness
from spaced_opencode.runtime import OpenCodeRuntime
from tests.contract.opencode_server import FakeOpenCode

_NOBODY: Final = "http://127.0.0.1:1"
_CHECKOUT: Final = str(Path(__file__).parents[2])
PROGRAM: Final = (sys.executable, "-P", "-m", "tests.contract.opencode_server")


class OpenCodeHarness(RuntimeHarness):
    """Uses a server that runs anyway; the model that a profile names says what its agents do."""

    def __init__(
        self,
        server: FakeOpenCode,
        scratch: Path,
        *,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        super().__init__(OpenCodeRuntime, scratch, patience_seconds=patience_seconds)
        self.server = server

    def profile_that(self, behaviour: Behaviour) -> Profile | None:
        """Return a profile whose model behaves like this."""
        if behaviour == "broken":
            return opencode_profile(url=_NOBODY)
        return opencode_profile(url=self.server.url, model=f"fake/{behaviour}")


class LocalOpenCodeHarness(RuntimeHarness):
    """Uses a server of each session's own, started by the profile's command."""

    def __init__(self, scratch: Path, *, patience_seconds: float = PATIENCE_SECONDS) -> None:
        environment = {
            "FAKE_OPENCODE_STREAMED": STREAMED,
            "PATH": os.environ.get("PATH", os.defpath),
            "PYTHONPATH": _CHECKOUT,
        }
        super().__init__(
            OpenCodeRuntime, scratch, environment=environment, patience_seconds=patience_seconds
        )

    def profile_that(self, behaviour: Behaviour) -> Profile | None:
        """Return a profile whose model behaves like this."""
        if behaviour == "broken":
            return opencode_profile(command=(sys.executable, "-c", "import sys; sys.exit('no')"))
        return opencode_profile(command=PROGRAM, model=f"fake/{behaviour}")


def opencode_profile(url: str | None = None, **fields: Any) -> Profile:
    """Return a profile of an OpenCode server.

    Args:
        url: where it listens; `None` leaves it to a command.
    """
    options = {**({} if url is None else {"url": url}), **fields.pop("options", {})}
    known: dict[str, Any] = {
        "name": "fake opencode",
        "agent_name": "opencode",
        "runtime": "opencode",
        "options": options,
    }
    return Profile(**{**known, **fields})

"""Starts lives of the kill sweep in processes of their own and hears what they said."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from tests.end_to_end.sweep_life import AgentKind, Household

REPOSITORY: Final = Path(__file__).parents[2]

_ALLOWED: Final = {"do": "tool", "name": "look", "permission": True, "output": "seen"}

# The grandchild leaves the group and the session of its parent, and waits for a word that would
# make it leave a trace.
_COMMAND: Final = (
    "setsid /bin/sh -c 'read word < fifo && echo word > trace' >/dev/null 2>&1 & echo started"
)
_FIRST_LIFE: Final = {
    "first": [
        {"do": "think", "text": "Let me see.", "pieces": 2},
        {"do": "say", "text": "I look at it.", "pieces": 2},
        {"do": "tool", "name": "run", "command": ["/bin/sh", "-c", _COMMAND]},
        _ALLOWED,
        {"do": "steered"},
        {"do": "say", "text": "Done.", "pieces": 2},
    ],
    "*": [{"do": "echo"}],
}
# No steer may come any more, since it may have been handed over before the kill.
_LATER_LIFE: Final = {
    "first": [{"do": "say", "text": "Again.", "pieces": 2}, _ALLOWED],
    "*": [{"do": "echo"}],
}


@dataclass(kw_only=True)
class Told:
    """What a life said before it was gone.

    Attributes:
        receipts: of every prompt that it admitted for a client.
        seen: the places that it passed; only of a life that was not killed.
        end: the code that its process ended with.
    """

    receipts: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    seen: tuple[str, ...] = ()
    end: int = 0

    def take(self, line: Mapping[str, Any]) -> bool:
        """Take what was said; false: it is gone."""
        if "receipt" in line:
            self.receipts.setdefault(line["receipt"]["id"], line["receipt"])
        if "seen" in line:
            self.seen = tuple(line["seen"])
        if "gone" in line:
            self.end = line["gone"]
        return "gone" not in line


class Nursery:
    """The process that forks lives."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def live(
        self, household: Household, life: Literal["first", "again"], place: str = "never"
    ) -> Told:
        """Let a life run until it ends or is killed at a place, and return what it said."""
        _write_script(household, _FIRST_LIFE if life == "first" else _LATER_LIFE)
        order = {"folder": str(household.folder), "agent": household.agent}
        order |= {"life": life, "place": place}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        told = Told()
        while told.take(json.loads(self._process.stdout.readline())):
            pass
        assert told.end in (0, -signal.SIGKILL), f"the life that was to end at {place} failed"
        return told


@contextmanager
def nursery() -> Iterator[Nursery]:
    """Run the process that forks lives."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.end_to_end.sweep_process"],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Nursery(process)
    finally:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.stdout.close()
        process.wait(timeout=30)


def new_household(folder: Path, agent: AgentKind = "mortal") -> Household:
    """Make the folders of a household, and the pipe at which what is left over would wait."""
    household = Household(folder=folder, agent=agent)
    household.workplace.mkdir(parents=True)
    os.mkfifo(household.workplace / "fifo")
    return household


def prepare_return(household: Household) -> None:
    """Let turns that begin from now on be those of a later life."""
    _write_script(household, _LATER_LIFE)


def _write_script(household: Household, script: Mapping[str, Any]) -> None:
    (household.workplace / "script.json").write_text(json.dumps(script))

"""The mark in the environment by which everything that an execution started is found again.

It is inherited by whatever a child starts, also by what leaves its process group and its session.
The variable holds one mark, `<owner>/<execution id>`, for each daemon that the process runs under,
separated by spaces: an agent may start a daemon itself, and then both find what that one started.
"""

from collections.abc import Mapping
from typing import Final

VARIABLE: Final = "SPACED_MARKER"

_ENTRY: Final = f"{VARIABLE}=".encode()


def marker_of(owner: str, execution_id: str) -> str:
    """Return the mark of an execution."""
    return f"{owner}/{execution_id}"


def execution_of(mark: str, owner: str) -> str | None:
    """Return the execution that a mark names, if it is this owner's."""
    mine, slash, execution_id = mark.partition("/")
    return execution_id if slash and mine == owner else None


def marked_environment(
    environment: Mapping[str, str], *, owner: str, execution_id: str, outer: str = ""
) -> dict[str, str]:
    """Return an environment with the mark in it.

    Args:
        outer: the variable as the daemon itself has it.
    """
    # An agent of ours that starts the daemon anew hands its own mark down to it. That one must not
    # go further, or the end of that old execution would take every new one with it.
    others = [mark for mark in outer.split() if execution_of(mark, owner) is None]
    return {**environment, VARIABLE: " ".join([*others, marker_of(owner, execution_id)])}


def marks_in(environment: bytes) -> frozenset[str]:
    """Return the marks in an environment as the system shows it: entries that end with a NUL."""
    for entry in environment.split(b"\0"):
        if entry.startswith(_ENTRY):
            return frozenset(entry.removeprefix(_ENTRY).decode(errors="replace").split())
    return frozenset()

"""Starting a program as it was asked for, or saying in a sentence why that cannot be done."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from spaced.errors import SpawnRefused
from spaced.runtime.child import ChildRequest


def start(request: ChildRequest, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start it in a session of its own, with three pipes and no other descriptor.

    Raises:
        SpawnRefused: it cannot be started; the message names what is in the way, and never an
            argument or a variable's value.
    """
    _check(request)
    try:
        return subprocess.Popen(  # noqa: S603 - an absolute path, and no shell
            request.command,
            cwd=request.directory,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    except OSError as error:
        reason = error.strerror or "the system refuses it"
        raise SpawnRefused(f"{request.command[0]!r} cannot be started: {reason}") from error
    except ValueError as error:
        raise SpawnRefused(
            f"{request.command[0]!r} cannot be started: its arguments or its environment hold"
            " what no program can take"
        ) from error


def _check(request: ChildRequest) -> None:
    if not request.command:
        raise SpawnRefused("a command needs a program")
    program = Path(request.command[0])
    if not program.is_absolute():
        raise SpawnRefused(f"the program {str(program)!r} is not given by its absolute path")
    if not program.is_file():
        raise SpawnRefused(f"the program {str(program)!r} does not exist")
    if not os.access(program, os.X_OK):
        raise SpawnRefused(f"the file {str(program)!r} is not executable")
    if not Path(request.directory).is_dir():
        raise SpawnRefused(f"the folder {request.directory!r} does not exist")

"""Errors as a person reads them: what happened, and what to do next; the exit code says which."""

import sys
from typing import Final

import click

from spaced.errors import SpacedError
from spaced.refusals import DaemonGone, NoDaemon

REFUSED: Final = 1
USAGE: Final = 2
NO_DAEMON: Final = 3
NOT_FOUND: Final = 4
CONFLICT: Final = 5
INTERRUPTED: Final = 130

_CODES: Final = {404: NOT_FOUND, 410: NOT_FOUND, 409: CONFLICT}


def exit_code_of(error: SpacedError) -> int:
    """Return the exit code that tells of an error."""
    from spaced.wire.problems import status_of

    if isinstance(error, (NoDaemon, DaemonGone)):
        return NO_DAEMON
    return _CODES.get(status_of(error), REFUSED)


def tell(error: SpacedError, *, as_json: bool) -> None:
    """Write an error to the standard error, in two lines or as its problem document."""
    if as_json:
        import msgspec

        from spaced.wire.problems import document_of

        click.echo(msgspec.json.encode(document_of(error)), err=True)
        return
    from spaced.cli.chat.spans import escaped

    click.echo(f"spaced: {escaped(error.message)}", err=True)
    if error.remedy:
        click.echo(f"  → {escaped(error.remedy)}", err=True)


def tell_fault(error: Exception) -> None:
    """Write that something went wrong that nobody thought of."""
    fault = SpacedError(
        f"this command met a fault of its own: {type(error).__name__}: {error}",
        remedy="Run it again with --debug and report what it prints.",
    )
    tell(fault, as_json=False)


def quiet_output() -> None:
    """Make the end of the process silent after whoever read the output has gone."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

"""Checks that a command that a page shows is one, and takes what it is given."""

from collections.abc import Sequence

import click

from spaced.cli.main import spaced


def check_command(words: Sequence[str]) -> None:
    """Check the words behind `spaced`: the command exists, and its arguments can be read.

    Raises:
        AssertionError, click.UsageError: it is no command, or does not take them.
    """
    rest = list(words)
    command: click.Command = spaced
    context = click.Context(spaced)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        found = command.get_command(context, rest[0])
        assert found is not None, rest[0]
        command, rest = found, rest[1:]
    if not isinstance(command, click.Group):
        command.make_context("x", rest)

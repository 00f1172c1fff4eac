"""A group whose commands are imported when somebody uses them: help is there at once."""

from collections.abc import Mapping
from importlib import import_module

import click


class LazyGroup(click.Group):
    """Commands by name, each with the line that help shows.

    A command `a-b` is `a_b` in `spaced.cli.commands.a_b`.
    """

    def __init__(self, *, lines: Mapping[str, str], **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]  # whatever click takes
        self._lines = lines

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in the order in which they are explained."""
        del ctx
        return list(self._lines)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        del ctx
        if cmd_name not in self._lines:
            return None
        name = cmd_name.replace("-", "_")
        found = getattr(import_module(f"spaced.cli.commands.{name}"), name)
        assert isinstance(found, click.Command)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what each command does, without importing any."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(self._lines.items()))

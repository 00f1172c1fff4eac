"""A group that lists when nothing else is said: `agents --json` means `agents list --json`."""

import click


class ListingGroup(click.Group):
    """Commands of which one is `list`, the one that is meant when none is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `list` where no command stands."""
        is_named = bool(args) and not args[0].startswith("-")
        if not is_named and args[:1] != ["--help"]:
            args = ["list", *args]
        return super().parse_args(ctx, args)

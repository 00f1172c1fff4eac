"""`spaced env`: where everything lies."""

import click

from spaced.cli.output import facts, print_json
from spaced.cli.reach import Reach, reaching


@click.command()
@reaching
def env(*, reach: Reach) -> None:
    """Show where everything lies, and which daemon a command would speak to."""
    import platform

    from spaced import __version__
    from spaced.daemon.runtime_file import read_runtime_file

    loaded = reach.loaded()
    settings = loaded.settings
    running = read_runtime_file(settings.data_dir)
    told = {
        "spaced": __version__,
        "python": f"{platform.python_version()} on {platform.system()}",
        "config": str(loaded.config_file),
        "data": str(settings.data_dir),
        "logs": str(settings.state_dir),
        "socket": str(settings.socket),
        "token": str(settings.data_dir / "token"),
        "daemon": "not running" if running is None else f"pid {running.pid}, {running.version}",
    }
    if reach.as_json:
        print_json(told)
    else:
        facts(told)

"""`spaced env`: where everything lies."""

from typing import TYPE_CHECKING

import click

from spaced.cli.output import facts, print_json
from spaced.cli.reach import Reach, reaching

if TYPE_CHECKING:
    from spaced.daemon.runtime_file import RunningDaemon


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
        "daemon": _daemon(running),
    }
    if reach.as_json:
        print_json(told)
    else:
        facts(told)


def _daemon(running: "RunningDaemon | None") -> str:
    import os

    if running is None:
        return "not running"
    try:
        os.kill(running.pid, 0)
    except ProcessLookupError:
        return f"not running; pid {running.pid} ended without a word"
    except PermissionError:
        pass  # it is there, and somebody else's
    return f"pid {running.pid}, spaced {running.version}, since {running.started_at}"

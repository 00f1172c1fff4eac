"""Runs the daemon in this process."""

import sys
from collections.abc import Callable, MutableMapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spaced.daemon.settings import LoadedSettings
    from spaced.wire.reports import ListenerFacts


def run_daemon(
    loaded: "LoadedSettings",
    *,
    environment: MutableMapping[str, str],
    started: Callable[["ListenerFacts"], None],
) -> None:
    """Run until a signal ends it.

    Args:
        environment: this process's variables; those of a service manager are taken out of it.
        started: called with where it is reached, once it is.
    """
    import asyncio

    from spaced.daemon.lifecycle import Surroundings, serve

    around = Surroundings(environment=environment, console=True, started=started)
    asyncio.run(serve(loaded, around))
    sys.stdout.flush()

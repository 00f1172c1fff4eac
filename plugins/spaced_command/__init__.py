"""Agents that are one program run for each turn.

Only the hook lives here, so that finding the plugin costs nothing until it is chosen.
"""

from spaced.plugin_api import RegisterRuntime, hookimpl


@hookimpl
def spaced_register_runtimes(register: RegisterRuntime) -> None:
    """Offer the runtime under the name `command`."""
    from spaced_command.runtime import CommandRuntime

    register("command", CommandRuntime, summary="Agents that are one program run for each turn.")

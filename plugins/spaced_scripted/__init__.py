"""Scripted agents for spaced: a friendly default to try things with, and a test double.

Only the hook lives here, so that finding the plugin costs nothing until it is chosen.
"""

from spaced.plugin_api import RegisterRuntime, hookimpl


@hookimpl
def spaced_register_runtimes(register: RegisterRuntime) -> None:
    """Offer the runtime under the name `scripted`."""
    from spaced_scripted.runtime import ScriptedRuntime

    register("scripted", ScriptedRuntime, summary="An agent that plays a script; needs no model.")

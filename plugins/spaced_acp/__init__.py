"""Agents that speak the Agent Client Protocol over their standard streams.

Only the hook lives here, so that finding the plugin costs nothing until it is chosen.
"""

from spaced.plugin_api import RegisterRuntime, hookimpl


@hookimpl
def spaced_register_runtimes(register: RegisterRuntime) -> None:
    """Offer the runtime under the name `acp`."""
    from spaced_acp.runtime import AcpRuntime

    register("acp", AcpRuntime, summary="Agents that speak the Agent Client Protocol.")

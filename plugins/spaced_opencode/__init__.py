"""Sessions of an OpenCode server, here or elsewhere.

Only the hook lives here, so that finding the plugin costs nothing until it is chosen.
"""

from spaced.plugin_api import RegisterRuntime, hookimpl


@hookimpl
def spaced_register_runtimes(register: RegisterRuntime) -> None:
    """Offer the runtime under the name `opencode`."""
    from spaced_opencode.runtime import OpenCodeRuntime

    register("opencode", OpenCodeRuntime, summary="Sessions of an OpenCode server.")

"""The hooks that a plugin can implement: all of them, and nothing else.

Hooks are synchronous and quick, and they only register named factories; everything asynchronous
lives on the objects that the factories make. A hook exists only if a first-party plugin uses it.
`docs/plugins.md` shows each one with its exact signature.
"""

import inspect
import sys
from collections.abc import Mapping

import pluggy

from spaced.plugin_api import RegisterRuntime, RegisterStorage

_PROJECT = "spaced"

hookspec = pluggy.HookspecMarker(_PROJECT)


@hookspec
def spaced_register_storages(register: RegisterStorage) -> None:
    """Called once while the daemon starts, before any storage is opened.

    Call `register` for each storage that the plugin offers. Open nothing here, read no settings,
    start no thread: the factory is asked to open a storage only if the user chose its name.
    """


@hookspec
def spaced_register_runtimes(register: RegisterRuntime) -> None:
    """Called once while the daemon starts, before any session is continued.

    Call `register` for each runtime that the plugin offers. Start no process, make no connection
    and look for no agent here: the factory is called only when a profile uses its name.
    """


def declared_hooks() -> Mapping[str, inspect.Signature]:
    """Return every hook's name and signature, in alphabetical order."""
    found = inspect.getmembers(sys.modules[__name__], inspect.isfunction)
    prefix = f"{_PROJECT}_"
    return {name: inspect.signature(hook) for name, hook in found if name.startswith(prefix)}


def new_plugin_manager() -> pluggy.PluginManager:
    """Return a manager that knows the hooks and holds no plugin yet."""
    manager = pluggy.PluginManager(_PROJECT)
    manager.add_hookspecs(sys.modules[__name__])
    return manager

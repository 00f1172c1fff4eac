"""Takes what one plugin registers and refuses what cannot work.

Offers are collected here and reach a registry only when the whole plugin loaded. So a plugin that
breaks half-way leaves nothing behind, and one that goes on after its time changes nothing.
"""

import inspect
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Generic, Literal, TypeVar

from spaced.errors import PluginProblem
from spaced.plugin_api import RuntimeFactory, StorageFactory

log = logging.getLogger(__name__)

Kind = Literal["storage", "runtime"]
FactoryT = TypeVar("FactoryT")

_NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_STORAGE_METHODS: Final = ("open", "restore")


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer(Generic[FactoryT]):
    """A factory that a plugin offers under a name.

    Attributes:
        owner: the name of the plugin.
        summary: one line for lists; may be empty.
    """

    name: str
    factory: FactoryT
    owner: str
    summary: str


class Registrar:
    """The two `register` functions that a plugin's hooks receive."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._closed = False
        self._storages: dict[str, Offer[StorageFactory]] = {}
        self._runtimes: dict[str, Offer[RuntimeFactory]] = {}

    def register_storage(self, name: str, factory: StorageFactory, *, summary: str = "") -> None:
        """Take a storage; see `spaced.plugin_api.RegisterStorage`."""
        _check_storage_factory(name, factory)
        self._take("storage", self._storages, name, factory, summary)

    def register_runtime(self, name: str, factory: RuntimeFactory, *, summary: str = "") -> None:
        """Take a runtime; see `spaced.plugin_api.RegisterRuntime`."""
        if not callable(factory):
            raise PluginProblem(f"its factory for the runtime {name!r} cannot be called")
        self._take("runtime", self._runtimes, name, factory, summary)

    @property
    def storages(self) -> Mapping[str, Offer[StorageFactory]]:
        """What was offered as storages so far, by name."""
        return dict(self._storages)

    @property
    def runtimes(self) -> Mapping[str, Offer[RuntimeFactory]]:
        """What was offered as runtimes so far, by name."""
        return dict(self._runtimes)

    def close(self) -> None:
        """Ignore whatever the plugin registers from now on."""
        self._closed = True

    def _take(
        self,
        kind: Kind,
        offers: dict[str, Offer[FactoryT]],
        name: str,
        factory: FactoryT,
        summary: str,
    ) -> None:
        if not is_name(name):
            raise PluginProblem(
                f"it registers a {kind} as {name!r}; names are lower-case words joined by dashes"
            )
        if name in offers:
            raise PluginProblem(f"it registers the {kind} {name!r} twice")
        if self._closed:
            log.warning(
                "plugin %s registered the %s %s too late; it is ignored",
                self._owner,
                kind,
                name,
                extra={"event": "late-registration", "plugin": self._owner},
            )
            return
        offers[name] = Offer(name=name, factory=factory, owner=self._owner, summary=str(summary))


def is_name(name: object) -> bool:
    """Tell whether something can name a storage or a runtime in settings."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def _check_storage_factory(name: str, factory: object) -> None:
    missing = [m for m in _STORAGE_METHODS if not callable(getattr(factory, m, None))]
    if missing:
        raise PluginProblem(f"its factory for the storage {name!r} has no method {missing[0]!r}")
    if inspect.isclass(factory) and inspect.isfunction(inspect.getattr_static(factory, "open")):
        raise PluginProblem(
            f"its factory for the storage {name!r} is the class {factory.__name__!r};"
            " register an instance"
        )

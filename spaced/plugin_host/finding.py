"""Finds the plugins that are installed: entry points of the group `spaced`.

Distributions are read one by one, so that one with damaged metadata is a broken plugin in the list
and never the end of the search. Finding imports nothing.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import Distribution, distributions
from importlib.util import find_spec

from spaced.errors import PluginProblem
from spaced.plugin_api import ENTRY_POINT_GROUP

_UNNAMED = "(unnamed)"
_VALUE = re.compile(r"(?P<module>[\w.]+)\s*(:\s*(?P<attributes>[\w.]+)\s*)?(\[.*\])?")
_SPACED_REQUIREMENT = re.compile(r"spaced(?![\w.-])", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPlugin:
    """A plugin that is installed and not loaded yet.

    Attributes:
        name: the entry point's name; settings and lists call the plugin by it.
        value: what the entry point names: a module, or an object in one.
        distribution: what was installed.
        version: the distribution's version.
        load: imports the plugin and returns it; it runs the plugin's code and may do anything.
        wanted_spaced: the distribution's requirement on spaced, where it states one.
    """

    name: str
    value: str
    distribution: str
    version: str
    load: Callable[[], object]
    wanted_spaced: str | None = None

    @property
    def origin(self) -> str | None:
        """Where the plugin's top-level module lies, found without importing it."""
        top_level = re.split(r"[.:\s]", self.value.strip(), maxsplit=1)[0]
        try:
            spec = find_spec(top_level)
        except (ImportError, ValueError):
            return None
        if spec is None:
            return None
        return spec.origin or next(iter(spec.submodule_search_locations or ()), None)


FindPlugins = Callable[[], Sequence[FoundPlugin]]


def installed_plugins() -> Sequence[FoundPlugin]:
    """Return the plugins of every distribution that Python can see."""
    return plugins_of(distributions())


def plugins_of(found: Iterable[Distribution]) -> Sequence[FoundPlugin]:
    """Return the plugins of some distributions; of two with one name the first one counts.

    That is the one whose modules an import finds: the order is that of `sys.path`.
    """
    plugins: list[FoundPlugin] = []
    seen: set[str] = set()
    for distribution in found:
        read = _read(distribution)
        names = {_normalized(p.distribution) for p in read if p.distribution != _UNNAMED}
        if seen.isdisjoint(names):
            plugins.extend(read)
        seen |= names
    return plugins


def load_object(value: str) -> object:
    """Import what an entry point names.

    Raises:
        PluginProblem: the entry point is misspelt or names something that is not there.
    """
    match = _VALUE.fullmatch(value.strip())
    if match is None:
        raise PluginProblem(f"its entry point {value!r} is neither 'module' nor 'module:name'")
    loaded = _import(match["module"])
    for attribute in filter(None, (match["attributes"] or "").split(".")):
        try:
            loaded = getattr(loaded, attribute)
        except AttributeError as error:
            raise PluginProblem(
                f"its entry point {value!r} names {attribute!r}, which is not there"
            ) from error
    return loaded


def _import(module: str) -> object:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise PluginProblem(
            f"its entry point names the module {module!r}, which is not installed"
        ) from error


def _read(distribution: Distribution) -> Sequence[FoundPlugin]:
    try:
        return _declared(distribution)
    except Exception as error:  # noqa: BLE001 - a stranger's metadata can be damaged in any way
        return [_unreadable(distribution, error)]


def _declared(distribution: Distribution) -> Sequence[FoundPlugin]:
    text = distribution.read_text("entry_points.txt")
    if text is None or f"[{ENTRY_POINT_GROUP}]" not in text:
        return []
    requirements = [r for r in distribution.requires or () if _SPACED_REQUIREMENT.match(r)]
    return [
        FoundPlugin(
            name=entry.name,
            value=entry.value,
            distribution=_field(distribution, "Name") or _UNNAMED,
            version=_field(distribution, "Version"),
            load=partial(load_object, entry.value),
            wanted_spaced=next(iter(requirements), None),
        )
        for entry in distribution.entry_points.select(group=ENTRY_POINT_GROUP)
    ]


def _unreadable(distribution: Distribution, error: Exception) -> FoundPlugin:
    try:
        name = _field(distribution, "Name") or _UNNAMED
    except Exception:  # noqa: BLE001 - see above; the first error is the one that is reported
        name = _UNNAMED
    folder = distribution.locate_file("")
    sentence = f"the metadata of {name} in {str(folder)!r} cannot be read"
    return FoundPlugin(
        name=name, value="", distribution=name, version="", load=partial(_raise, sentence, error)
    )


def _field(distribution: Distribution, name: str) -> str:
    # Not `metadata[name]` alone: looking up a missing field is deprecated, and about to raise.
    metadata = distribution.metadata
    return metadata[name] if name in metadata else ""  # noqa: SIM401 - 3.11 promises no `get`


def _normalized(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


def _raise(sentence: str, cause: Exception) -> object:
    raise PluginProblem(sentence) from cause

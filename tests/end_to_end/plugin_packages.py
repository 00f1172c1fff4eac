"""One good plugin and every kind of broken one, as packages to build and install."""

from textwrap import dedent

from tests.end_to_end.wheels import PluginPackage

_OFFER = """
from spaced.plugin_api import hookimpl

class Runtime:
    async def close(self):
        pass

def make(config, services):
    return Runtime()

@hookimpl
def spaced_register_runtimes(register):
    register({name!r}, make)
"""


def package(
    name: str,
    source: str,
    *,
    plugin: str | None = None,
    value: str | None = None,
    version: str = "1.0",
) -> PluginPackage:
    """Return a distribution with one module and one entry point.

    Args:
        name: of the distribution; the module is called the same, with underscores.
        source: of the module.
        plugin: the entry point's name; without one that of the distribution.
        value: what the entry point names; without one the module.
        version: of the distribution.
    """
    module = name.replace("-", "_")
    return PluginPackage(
        name=name,
        version=version,
        files={f"{module}.py": dedent(source)},
        entry_points={plugin or name: value or module},
        requires=["spaced>=0.1"],
    )


def offering(name: str, *, runtime: str, plugin: str | None = None) -> PluginPackage:
    """Return a healthy distribution that offers one runtime."""
    return package(name, _OFFER.format(name=runtime), plugin=plugin)


GOOD = offering("acme-good", runtime="acme")

BROKEN_IMPORT = package("acme-import", "raise RuntimeError('the stars are not right')\n")
FIXED_IMPORT = package("acme-import", _OFFER.format(name="stars"), version="1.1")

EXITING = package("acme-exit", "import sys\nsys.exit('goodbye')\n")

WRONG_SIGNATURE = package(
    "acme-signature",
    """
    from spaced.plugin_api import hookimpl

    @hookimpl
    def spaced_register_runtimes(registry):
        pass
    """,
)

MISSPELT_HOOK = package(
    "acme-misspelt",
    """
    from spaced.plugin_api import hookimpl

    @hookimpl
    def spaced_register_runtime(register):
        pass
    """,
)

HALF_WAY = package(
    "acme-half",
    _OFFER.format(name="half") + "    raise LookupError('the second half is missing')\n",
)

HANGING = package("acme-hang", "import threading\nthreading.Event().wait()\n")

STALE_MODULE = package("acme-stale", "", value="acme_gone.plugin")
STALE_ATTRIBUTE = package("acme-attribute", "", value="acme_attribute:plugin")

ASYNCHRONOUS = package(
    "acme-async",
    """
    from spaced.plugin_api import hookimpl

    @hookimpl
    async def spaced_register_runtimes(register):
        pass
    """,
)

TOO_NEW = package("acme-new", "from spaced.plugin_api import Teleport\n")

NAMESAKES = (
    offering("acme-twin-one", plugin="twin", runtime="twin-one"),
    offering("acme-twin-two", plugin="twin", runtime="twin-two"),
)

RIVALS = (
    offering("acme-rival-one", runtime="contested"),
    offering("acme-rival-two", runtime="contested"),
)

ALL = (
    GOOD,
    BROKEN_IMPORT,
    EXITING,
    WRONG_SIGNATURE,
    MISSPELT_HOOK,
    HALF_WAY,
    HANGING,
    STALE_MODULE,
    STALE_ATTRIBUTE,
    ASYNCHRONOUS,
    TOO_NEW,
    *NAMESAKES,
    *RIVALS,
)

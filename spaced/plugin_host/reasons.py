"""Says in one sentence why a plugin does not work, for people who did not write it."""

import traceback
from typing import Final

from spaced.errors import PluginProblem

_PLUGIN_API: Final = "spaced.plugin_api"
_DETAIL_LIMIT: Final = 300
_TRACEBACK_LIMIT: Final = 20_000


def reason_of(error: BaseException, *, stage: str, wanted_spaced: str | None = None) -> str:
    """Explain an error.

    Args:
        error: what came out of the plugin's code.
        stage: what ran, as the subject of a sentence.
        wanted_spaced: the plugin's requirement on spaced, where it states one.
    """
    match error:
        case PluginProblem():
            return error.message
        case SystemExit():
            return f"{stage} called sys.exit({error.code!r})"
        case ModuleNotFoundError(name=str() as module):
            return f"{stage} needs the module {module!r}, which is not installed"
        case ImportError(name=str() as module, msg=detail) if module == _PLUGIN_API:
            needs = f"; it requires {wanted_spaced!r}" if wanted_spaced else ""
            return f"{stage} wants what this version of spaced does not have: {detail}{needs}"
        case _:
            return f"{stage} raised {_detail(error)}"


def traceback_of(error: BaseException) -> str:
    """Return the end of an error's traceback: all of it, unless it is very long."""
    return "".join(traceback.format_exception(error))[-_TRACEBACK_LIMIT:]


def _detail(error: BaseException) -> str:
    # Not str(error): an exception of a stranger may fail to describe itself.
    lines = str(traceback.TracebackException.from_exception(error)).splitlines()
    name = type(error).__name__
    return f"{name}: {lines[0]}"[:_DETAIL_LIMIT] if lines else name

"""Loads one plugin so that nothing it does can stop another one or the daemon.

The plugin is imported, registered with pluggy, checked and has its hooks called in a daemon thread
of its own, under a time limit. Whatever it raises is its outcome; `SystemExit` and
`KeyboardInterrupt` too, for a real interrupt reaches the main thread and never this one. A plugin
that exceeds its time is set aside: its thread is left behind, and what it registers later is
ignored. No thread can protect from a plugin that ends the process or crashes the interpreter.
"""

import inspect
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from threading import Thread
from typing import Final

import pluggy

from spaced.errors import PluginProblem
from spaced.plugin_host.finding import FoundPlugin
from spaced.plugin_host.hookspecs import declared_hooks, new_plugin_manager
from spaced.plugin_host.reasons import reason_of, traceback_of
from spaced.plugin_host.registration import Registrar

DEFAULT_TIME_LIMIT: Final = 10.0
"""Seconds that one plugin may take to be imported and to register."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakage:
    """Why a plugin does not work: one sentence, and where it happened."""

    reason: str
    traceback: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a plugin.

    Attributes:
        hooks: the hooks that it implements, as far as it came.
        registrar: what it registered; not to be used if it is broken.
        breakage: why it does not work, or `None` if it does.
    """

    hooks: Sequence[str]
    registrar: Registrar
    breakage: Breakage | None


def load_plugin(found: FoundPlugin, *, time_limit: float) -> Outcome:
    """Load a plugin, or find out why that does not work; this blocks for up to the limit."""
    attempt = _Attempt(found)
    thread = Thread(target=attempt.run, name=f"loading plugin {found.name}", daemon=True)
    thread.start()
    thread.join(time_limit)
    # Asked before the registrar closes: a plugin that finishes right now has then registered all.
    is_late = thread.is_alive()
    attempt.registrar.close()
    if is_late:
        return attempt.given_up(time_limit, _stack_of(thread))
    return attempt.outcome


class _Attempt:
    """One plugin on its way from an entry point to its offers."""

    def __init__(self, found: FoundPlugin) -> None:
        self.registrar = Registrar(found.name)
        self._found = found
        self._stage = "its import"
        self._hooks: Sequence[str] = ()
        self._breakage: Breakage | None = None

    @property
    def outcome(self) -> Outcome:
        return Outcome(hooks=self._hooks, registrar=self.registrar, breakage=self._breakage)

    def given_up(self, time_limit: float, stack: str) -> Outcome:
        reason = f"{self._stage} took longer than {time_limit:g} s"
        breakage = Breakage(reason=reason, traceback=stack)
        return Outcome(hooks=self._hooks, registrar=self.registrar, breakage=breakage)

    def run(self) -> None:
        try:
            self._load()
        except BaseException as error:  # noqa: BLE001 - anything a stranger's code can raise
            self._breakage = Breakage(
                reason=reason_of(error, stage=self._stage, wanted_spaced=self._found.wanted_spaced),
                traceback=traceback_of(error),
            )

    def _load(self) -> None:
        plugin = self._found.load()
        self._stage = "its registration"
        # A manager of its own: a call of a hook then reaches this plugin and no other one, and
        # nothing has to be taken back if it breaks.
        manager = new_plugin_manager()
        self._hooks = _register(manager, plugin, self._found.name)
        registers = {
            "spaced_register_storages": self.registrar.register_storage,
            "spaced_register_runtimes": self.registrar.register_runtime,
        }
        for name, register in registers.items():
            self._stage = f"its hook {name}"
            for result in getattr(manager.hook, name)(register=register):
                _refuse_deferred(name, result)


def _register(manager: pluggy.PluginManager, plugin: object, name: str) -> Sequence[str]:
    if inspect.isclass(plugin):
        raise PluginProblem(
            f"its entry point names the class {plugin.__name__!r}; name a module or an instance"
        )
    try:
        manager.register(plugin, name=name)
    except pluggy.PluginValidationError as error:
        raise PluginProblem(_explain_signature(plugin, error)) from error
    try:
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        raise PluginProblem(_explain_unknown(manager)) from error
    implemented = {caller.name for caller in manager.get_hookcallers(plugin) or ()}
    hooks = sorted(implemented & declared_hooks().keys())
    if not hooks:
        raise PluginProblem(_explain_absence(plugin))
    return hooks


def _explain_signature(plugin: object, error: Exception) -> str:
    for name, signature in declared_hooks().items():
        hook = getattr(plugin, name, None)
        if not inspect.isroutine(hook):
            continue
        required = [p for p in inspect.signature(hook).parameters.values() if p.default is p.empty]
        if unknown := [repr(p.name) for p in required if p.name not in signature.parameters]:
            known = ", ".join(repr(name) for name in signature.parameters)
            return f"its hook {name} asks for {', '.join(unknown)}; spaced passes only {known}"
    return " ".join(str(error).split())


def _explain_unknown(manager: pluggy.PluginManager) -> str:
    known = declared_hooks()
    callers = [caller for name, caller in vars(manager.hook).items() if name not in known]
    unknown = min(c.name for c in callers if any(not i.optionalhook for i in c.get_hookimpls()))
    nearest = get_close_matches(unknown, known, n=1)
    hint = f"did you mean {nearest[0]!r}?" if nearest else f"hooks are {', '.join(known)}"
    return f"it implements {unknown!r}, which is no hook of spaced; {hint}"


def _explain_absence(plugin: object) -> str:
    unmarked = [name for name in dir(plugin) if name.startswith("spaced_register_")]
    hint = f"; {unmarked[0]!r} is not marked with @hookimpl" if unmarked else ""
    return f"it implements no hook{hint}"


def _refuse_deferred(hook: str, result: object) -> None:
    """Refuse a hook that returned its work instead of doing it."""
    if inspect.iscoroutine(result) or inspect.isgenerator(result):
        result.close()
    elif not (inspect.isawaitable(result) or inspect.isasyncgen(result)):
        return
    raise PluginProblem(
        f"its hook {hook} is asynchronous or a generator, so it never ran;"
        " hooks are plain functions that return when their work is done"
    )


def _stack_of(thread: Thread) -> str:
    frame = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001 - the documented door
    return "".join(traceback.format_stack(frame)) if frame else ""

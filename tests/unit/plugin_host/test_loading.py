"""What can be wrong with one plugin, and the sentence that says so."""

import threading
from collections.abc import Callable, Iterator
from typing import NoReturn

import pytest

from spaced.plugin_api import RegisterRuntime, RegisterStorage, hookimpl
from spaced.plugin_host.finding import FoundPlugin
from spaced.plugin_host.loading import Outcome, load_plugin
from tests.unit.plugin_host.fake_plugins import (
    FakeStorageFactory,
    fake_runtime,
    found,
    module_with,
    offering_runtimes,
)


def _outcome(plugin: FoundPlugin) -> Outcome:
    return load_plugin(plugin, time_limit=10)


def _reason(plugin: object) -> str:
    breakage = _outcome(found("acme", plugin)).breakage
    assert breakage is not None
    return breakage.reason


def _reason_of_import(error: BaseException, wanted_spaced: str | None = None) -> str:
    def load() -> NoReturn:
        raise error

    breakage = _outcome(found("acme", load=load, wanted_spaced=wanted_spaced)).breakage
    assert breakage is not None
    return breakage.reason


def _registering(act: Callable[[RegisterRuntime], None]) -> object:
    @hookimpl
    def spaced_register_runtimes(register: RegisterRuntime) -> None:
        act(register)

    return module_with(spaced_register_runtimes=spaced_register_runtimes)


def _registering_storage(name: object, factory: object) -> object:
    @hookimpl
    def spaced_register_storages(register: Callable[[object, object], None]) -> None:
        register(name, factory)

    return module_with(spaced_register_storages=spaced_register_storages)


def test_an_instance_can_be_a_plugin_too() -> None:
    """An entry point may name an object whose methods are hooks."""

    class Plugin:
        @hookimpl
        def spaced_register_runtimes(self, register: RegisterRuntime) -> None:
            register("acme", fake_runtime)

    assert set(_outcome(found("acme", Plugin())).registrar.runtimes) == {"acme"}


def test_a_hook_may_leave_out_its_argument() -> None:
    """Fewer arguments than the hook offers are fine, so that hooks can gain some."""

    @hookimpl
    def spaced_register_runtimes() -> None:
        return

    plugin = module_with(spaced_register_runtimes=spaced_register_runtimes)
    assert _outcome(found("acme", plugin)).breakage is None


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ZeroDivisionError("division by zero"), "raised ZeroDivisionError: division by zero"),
        (RuntimeError(), "raised RuntimeError"),
        (ValueError("first line\nsecond line"), "raised ValueError: first line"),
        (SystemExit(3), "called sys.exit(3)"),
        (KeyboardInterrupt(), "raised KeyboardInterrupt"),
        (ModuleNotFoundError("", name="numpy"), "needs the module 'numpy', which is not installed"),
        (ImportError("cannot import name 'x'"), "raised ImportError: cannot import name 'x'"),
    ],
)
def test_an_import_that_fails_is_explained(error: BaseException, reason: str) -> None:
    """Whatever an import raises becomes one sentence, and never reaches the caller."""
    assert _reason_of_import(error) == f"its import {reason}"


def test_a_plugin_for_a_newer_spaced_says_which_one_it_wants() -> None:
    """A name that the plugin API lacks means another version, so the requirement is quoted."""
    error = ImportError("cannot import name 'Teleport'", name="spaced.plugin_api")

    reason = _reason_of_import(error, wanted_spaced="spaced>=9")

    assert reason == (
        "its import wants what this version of spaced does not have:"
        " cannot import name 'Teleport'; it requires 'spaced>=9'"
    )


def test_an_error_that_cannot_describe_itself_is_explained_all_the_same() -> None:
    """A broken exception class must not break the explanation."""

    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert "raised Mute" in _reason_of_import(Mute())


def test_the_traceback_shows_the_line_that_failed() -> None:
    """A plugin author can fix the plugin without a debugger."""

    def load() -> NoReturn:
        raise RuntimeError("look here")

    breakage = _outcome(found("acme", load=load)).breakage

    assert breakage is not None
    assert 'raise RuntimeError("look here")' in breakage.traceback


@pytest.mark.parametrize("plugin", [module_with(), 7, None, fake_runtime])
def test_something_without_a_hook_is_no_plugin(plugin: object) -> None:
    """An entry point can name anything; what implements no hook is refused."""
    assert _reason(plugin) == "it implements no hook"


def test_a_forgotten_marker_is_pointed_out() -> None:
    """The most likely reason for a plugin without hooks is a missing decorator."""
    plugin = module_with(spaced_register_runtimes=lambda register: None)

    assert _reason(plugin) == (
        "it implements no hook; 'spaced_register_runtimes' is not marked with @hookimpl"
    )


def test_a_class_is_no_plugin() -> None:
    """Hooks of a class would be called without an instance."""

    class Plugin:
        @hookimpl
        def spaced_register_runtimes(self, register: RegisterRuntime) -> None:
            register("acme", fake_runtime)

    assert _reason(Plugin) == (
        "its entry point names the class 'Plugin'; name a module or an instance"
    )


def test_a_misspelt_hook_is_named_with_the_nearest_known_one() -> None:
    """A hook that is never called would be a silent failure."""

    @hookimpl
    def spaced_register_runtime(register: RegisterRuntime) -> None:
        register("acme", fake_runtime)

    assert _reason(module_with(spaced_register_runtime=spaced_register_runtime)) == (
        "it implements 'spaced_register_runtime', which is no hook of spaced;"
        " did you mean 'spaced_register_runtimes'?"
    )


def test_a_hook_unlike_any_other_gets_the_list_of_hooks() -> None:
    """Without a similar name the reader sees all there are."""

    @hookimpl
    def teleport() -> None:
        return

    assert "hooks are spaced_register_runtimes, spaced_register_storages" in _reason(
        module_with(teleport=teleport)
    )


def test_an_optional_hook_of_another_version_is_no_mistake() -> None:
    """`optionalhook=True` lets one plugin serve several versions of spaced."""

    @hookimpl(optionalhook=True)
    def spaced_register_teleports(register: object) -> None:
        raise AssertionError

    plugin = offering_runtimes("acme")
    vars(plugin).update(spaced_register_teleports=spaced_register_teleports)

    outcome = _outcome(found("acme", plugin))

    assert outcome.breakage is None
    assert list(outcome.hooks) == ["spaced_register_runtimes"]


def test_an_optional_unknown_hook_alone_makes_no_plugin() -> None:
    """It would be listed as loaded and do nothing."""

    @hookimpl(optionalhook=True)
    def spaced_register_teleports(register: object) -> None:
        raise AssertionError

    plugin = module_with(spaced_register_teleports=spaced_register_teleports)
    assert _reason(plugin).startswith("it implements no hook")


def test_a_hook_with_an_unknown_argument_is_explained() -> None:
    """The sentence names the argument and the ones there are."""

    @hookimpl
    def spaced_register_runtimes(registry: object, option: int = 1) -> None:
        raise AssertionError

    assert _reason(module_with(spaced_register_runtimes=spaced_register_runtimes)) == (
        "its hook spaced_register_runtimes asks for 'registry'; spaced passes only 'register'"
    )


def test_an_unknown_argument_of_a_renamed_hook_is_explained_by_pluggy() -> None:
    """A function with `specname` is called otherwise than its hook; the sentence still comes."""

    @hookimpl(specname="spaced_register_runtimes")
    def offer(registry: object) -> None:
        raise AssertionError

    assert "'registry'" in _reason(module_with(offer=offer))


def test_an_asynchronous_hook_is_refused() -> None:
    """Nobody would await it, so it would register nothing and warn of nothing."""

    @hookimpl
    async def spaced_register_runtimes(register: RegisterRuntime) -> None:
        register("acme", fake_runtime)

    assert "spaced_register_runtimes is asynchronous" in _reason(
        module_with(spaced_register_runtimes=spaced_register_runtimes)
    )


def test_a_generator_as_a_hook_is_refused() -> None:
    """Calling it runs none of its lines."""

    @hookimpl
    def spaced_register_runtimes(register: RegisterRuntime) -> Iterator[None]:
        register("acme", fake_runtime)
        yield

    assert "or a generator" in _reason(
        module_with(spaced_register_runtimes=spaced_register_runtimes)
    )


def test_what_a_hook_returns_does_not_matter() -> None:
    """Only what was registered counts."""

    @hookimpl
    def spaced_register_runtimes(register: RegisterRuntime) -> int:
        register("acme", fake_runtime)
        return 7

    plugin = module_with(spaced_register_runtimes=spaced_register_runtimes)
    assert set(_outcome(found("acme", plugin)).registrar.runtimes) == {"acme"}


def test_a_hook_that_raises_is_named() -> None:
    """The stage in the sentence is the hook and no longer the import."""

    def act(register: RegisterRuntime) -> None:
        register("half", fake_runtime)
        raise LookupError("no agent here")

    assert _reason(_registering(act)) == (
        "its hook spaced_register_runtimes raised LookupError: no agent here"
    )


def test_a_hook_that_hangs_is_named() -> None:
    """The time limit holds for hooks as for imports; the stack shows where it waits."""
    never = threading.Event()

    def act(register: RegisterRuntime) -> None:
        never.wait()

    breakage = load_plugin(found("acme", _registering(act)), time_limit=0.05).breakage

    never.set()

    assert breakage is not None
    assert breakage.reason == "its hook spaced_register_runtimes took longer than 0.05 s"
    assert "never.wait()" in breakage.traceback


def test_a_name_that_one_plugin_registers_twice_breaks_it() -> None:
    """Which of the two is meant is not for the host to guess."""

    def act(register: RegisterRuntime) -> None:
        register("acme", fake_runtime)
        register("acme", fake_runtime)

    assert _reason(_registering(act)) == "it registers the runtime 'acme' twice"


@pytest.mark.parametrize("name", ["", "Acme", "acme_two", "-acme", "acme-", "a b", "7up", "é", 7])
def test_a_name_that_settings_cannot_hold_is_refused(name: object) -> None:
    """Names appear in settings and on the command line, so they are plain words with dashes."""
    assert "names are lower-case words joined by dashes" in _reason(
        _registering_storage(name, FakeStorageFactory())
    )


@pytest.mark.parametrize("name", ["acme", "acme-2", "x", "a1-b2-c3"])
def test_words_with_digits_and_dashes_are_names(name: str) -> None:
    """The rule refuses nothing that is sensible."""
    plugin = _registering_storage(name, FakeStorageFactory())
    assert set(_outcome(found("acme", plugin)).registrar.storages) == {name}


def test_a_storage_factory_needs_its_methods() -> None:
    """It is refused at start and not when the user's data is to be opened."""
    assert _reason(_registering_storage("disk", object())) == (
        "its factory for the storage 'disk' has no method 'open'"
    )


def test_a_class_instead_of_a_storage_factory_is_pointed_out() -> None:
    """The methods are there, but calling them would miss the instance."""
    assert _reason(_registering_storage("disk", FakeStorageFactory)) == (
        "its factory for the storage 'disk' is the class 'FakeStorageFactory'; register an instance"
    )


def test_a_runtime_factory_must_be_callable() -> None:
    """A string or a module cannot make a runtime."""

    @hookimpl
    def spaced_register_runtimes(register: Callable[[str, object], None]) -> None:
        register("acme", "acme.runtime:make")

    assert _reason(module_with(spaced_register_runtimes=spaced_register_runtimes)) == (
        "its factory for the runtime 'acme' cannot be called"
    )


def test_a_registration_after_the_hook_is_ignored() -> None:
    """A plugin that keeps `register` for later changes nothing behind the host's back."""
    kept: list[RegisterStorage] = []

    @hookimpl
    def spaced_register_storages(register: RegisterStorage) -> None:
        kept.append(register)

    plugin = module_with(spaced_register_storages=spaced_register_storages)
    outcome = _outcome(found("acme", plugin))
    kept[0]("late", FakeStorageFactory())

    assert not outcome.registrar.storages

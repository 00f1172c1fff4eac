"""A pytest plugin that fails the test which makes a mess, instead of a later one that meets it.

`pytest_plugins = ["spaced.testing.guards"]` in the top `conftest.py` turns it on for every test:

- home and XDG folders lie in the test's `tmp_path`;
- environment variables, working folder and umask are afterwards what they were before;
- no thread and no asyncio task outlives its test;
- a connection to anything but this machine is an error.
"""

import asyncio
import os
import socket
import threading
from asyncio import runners
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Final

import pytest

_HOMES: Final = {
    "HOME": "home",
    "USERPROFILE": "home",
    "XDG_CONFIG_HOME": "home/.config",
    "XDG_DATA_HOME": "home/.local/share",
    "XDG_STATE_HOME": "home/.local/state",
    "XDG_CACHE_HOME": "home/.cache",
    "XDG_RUNTIME_DIR": "home/.runtime",
}
_JOIN_SECONDS: Final = 2.0
_BEFORE: Final = pytest.StashKey["Surroundings"]()

_left_tasks: list[str] = []


class OutboundConnection(AssertionError):
    """A test tried to reach another machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a test shares with all others in its process."""

    environment: Mapping[str, str]
    folder: str
    umask: int
    threads: frozenset[threading.Thread]

    @classmethod
    def now(cls) -> "Surroundings":
        """Look at what there is."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
        umask = os.umask(0)
        os.umask(umask)
        return cls(
            environment=environment,
            folder=os.getcwd(),  # noqa: PTH109 - a plain string is all that is compared
            umask=umask,
            threads=frozenset(threading.enumerate()),
        )

    def put_back(self) -> list[str]:
        """Undo every change since then, and return a sentence for each."""
        now, complaints = Surroundings.now(), []
        for name in sorted(now.environment.keys() | self.environment.keys()):
            if now.environment.get(name) != self.environment.get(name):
                complaints.append(f"the environment variable {name} was left changed")
                _set_variable(name, self.environment.get(name))
        if now.folder != self.folder:
            complaints.append(f"the working folder was left at {now.folder}")
            os.chdir(self.folder)
        if now.umask != self.umask:
            complaints.append(f"the umask was left at {now.umask:03o}")
            os.umask(self.umask)
        return complaints + [f"the thread {t.name!r} was left running" for t in self._new_threads()]

    def _new_threads(self) -> list[threading.Thread]:
        new = [t for t in threading.enumerate() if t not in self.threads]
        for thread in new:
            thread.join(_JOIN_SECONDS)
        return [thread for thread in new if thread.is_alive()]


def _set_variable(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


@pytest.fixture(autouse=True)
def hermetic_home(tmp_path: Path) -> Iterator[None]:
    """Point every home folder into the test's own folder; none of them exists yet."""
    with pytest.MonkeyPatch.context() as patch:
        for name, place in _HOMES.items():
            patch.setenv(name, str(tmp_path / place))
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop() -> Generator[None, object, object]:
    """Guard the whole run."""
    with no_outbound_network(), left_tasks_are_noted(_left_tasks):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    """Look around before the first fixture."""
    _left_tasks.clear()
    item.stash[_BEFORE] = Surroundings.now()
    yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Look around after the last fixture."""
    yield
    complaints = item.stash[_BEFORE].put_back()
    complaints += [f"the task {name!r} was left running" for name in _left_tasks]
    if complaints:
        pytest.fail("; ".join(complaints), pytrace=False)


@contextmanager
def left_tasks_are_noted(names: list[str]) -> Iterator[None]:
    """Note the tasks that an event loop has to cancel when it is closed."""
    # Neither a fixture nor the end of the test will do: tasks may belong to fixtures that end after
    # it, and when all of those have ended the loop is closed and its tasks are gone.
    cancel_all = runners._cancel_all_tasks  # type: ignore[attr-defined]  # noqa: SLF001

    def note_and_cancel(loop: asyncio.AbstractEventLoop) -> None:
        names.extend(task.get_name() for task in asyncio.all_tasks(loop))
        cancel_all(loop)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runners, "_cancel_all_tasks", note_and_cancel)
        yield


@contextmanager
def no_outbound_network() -> Iterator[None]:
    """Let sockets of this process connect to this machine only."""

    def refuse_others(method: str) -> None:
        connect = getattr(socket.socket, method)

        def guarded(self: socket.socket, address: object) -> object:
            if not _is_local(self, address):
                raise OutboundConnection(f"a test tried to connect to {address!r}")
            return connect(self, address)

        patch.setattr(socket.socket, method, guarded)

    with pytest.MonkeyPatch.context() as patch:
        refuse_others("connect")
        refuse_others("connect_ex")
        yield


def _is_local(connecting: socket.socket, address: object) -> bool:
    if connecting.family not in (socket.AF_INET, socket.AF_INET6):
        return connecting.family == socket.AF_UNIX
    host = str(address[0]) if isinstance(address, tuple) else ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False

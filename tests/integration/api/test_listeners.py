"""What the daemon listens on: opened safely, and removed when it ends."""

import os
import socket
import stat
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from aiohttp import web

from spaced.api.listeners import LONGEST_SOCKET_PATH, RUNNER_OPTIONS, Listeners, hosts_of
from spaced.api.slow_heads import SlowHeads
from spaced.daemon import directories
from spaced.refusals import CannotListen, SocketPathTooLong, UnsafePlace


@pytest.fixture
def place() -> Iterator[Path]:
    """A private folder with a short name."""
    with tempfile.TemporaryDirectory(prefix="spaced-", dir="/tmp") as name:
        yield Path(name)


@pytest.fixture
async def listeners() -> AsyncIterator[Listeners]:
    """Listeners of an application without routes."""
    runner = web.AppRunner(web.Application(), **RUNNER_OPTIONS)
    await runner.setup()
    made = Listeners(runner, SlowHeads())
    yield made
    await made.close()


def _names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
async def test_the_socket_is_ours_alone_whatever_the_umask(
    listeners: Listeners, place: Path, umask: int
) -> None:
    """And nothing but the socket is left of its making."""
    before = os.umask(umask)
    try:
        await listeners.open_unix(place / "a.sock")
    finally:
        os.umask(before)

    assert _names(place) == ["a.sock"]
    assert stat.S_IMODE((place / "a.sock").stat().st_mode) == 0o600


async def test_the_socket_goes_with_its_listener(listeners: Listeners, place: Path) -> None:
    """But only if it is still the one that was made."""
    await listeners.open_unix(place / "a.sock")
    await listeners.close()
    assert not (place / "a.sock").exists()

    runner = web.AppRunner(web.Application(), **RUNNER_OPTIONS)
    await runner.setup()
    again = Listeners(runner, SlowHeads())
    await again.open_unix(place / "a.sock")
    (place / "a.sock").unlink()
    (place / "a.sock").write_text("somebody else's")
    await again.close()

    assert (place / "a.sock").read_text() == "somebody else's"


async def test_a_socket_that_nobody_answers_on_is_replaced(
    listeners: Listeners, place: Path
) -> None:
    """A daemon that was killed leaves one behind."""
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(place / "a.sock"))

    await listeners.open_unix(place / "a.sock")

    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect(str(place / "a.sock"))


async def test_a_socket_that_somebody_answers_on_is_left_alone(
    listeners: Listeners, place: Path
) -> None:
    """He goes on unharmed."""
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(place / "a.sock"))
        other.listen()
        with pytest.raises(CannotListen, match="already"):
            await listeners.open_unix(place / "a.sock")
        assert (place / "a.sock").is_socket()


async def test_what_is_no_socket_is_left_alone(listeners: Listeners, place: Path) -> None:
    """Whatever lies there may be dear to somebody."""
    (place / "a.sock").write_text("dear")
    with pytest.raises(UnsafePlace, match="no socket"):
        await listeners.open_unix(place / "a.sock")
    (place / "link.sock").symlink_to(place / "a.sock")
    with pytest.raises(UnsafePlace):
        await listeners.open_unix(place / "link.sock")

    assert (place / "a.sock").read_text() == "dear"


async def test_a_folder_that_others_can_change_is_refused(
    listeners: Listeners, place: Path
) -> None:
    """They could put a socket of their own there."""
    (place / "open").mkdir()
    (place / "open").chmod(0o777)
    (place / "link").symlink_to(place)
    for folder in ("open", "link", "absent"):
        with pytest.raises(UnsafePlace):
            await listeners.open_unix(place / folder / "a.sock")


async def test_a_path_that_no_system_takes_is_refused_before_anything_is_made(
    listeners: Listeners, place: Path
) -> None:
    """With its length and the limit, in bytes."""
    name = "ä" * 60
    with pytest.raises(SocketPathTooLong, match=str(LONGEST_SOCKET_PATH)):
        await listeners.open_unix(place / name)

    assert _names(place) == []


async def test_a_free_port_is_the_same_for_both_kinds_of_addresses(listeners: Listeners) -> None:
    """So one `localhost:port` is enough to say where."""
    await listeners.open_tcp("localhost", 0)

    assert len({port for _, port in listeners.tcp}) == 1
    assert {host for host, _ in listeners.tcp} <= {"127.0.0.1", "::1"}


async def test_a_port_that_is_taken_is_named(listeners: Listeners) -> None:
    """With its address."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(CannotListen, match=f"127.0.0.1:{port}"):
            await listeners.open_tcp("127.0.0.1", port)


async def test_an_inherited_socket_is_served_and_not_removed(
    listeners: Listeners, place: Path
) -> None:
    """Its file belongs to the service manager."""
    given = socket.socket(socket.AF_UNIX)
    given.bind(str(place / "a.sock"))
    given.listen()
    await listeners.open_inherited(given)
    assert listeners.socket_path == place / "a.sock"
    await listeners.close()

    assert (place / "a.sock").is_socket()


def test_settings_and_listeners_know_the_same_limit() -> None:
    """What the one lets through the other takes; they stand too far apart to share a name."""
    assert directories.LONGEST_SOCKET_PATH == LONGEST_SOCKET_PATH


def test_hosts_are_exact_literals() -> None:
    """With brackets around an address of the sixth version."""
    hosts = hosts_of([("127.0.0.1", 80), ("::1", 80), ("192.0.2.7", 81)])

    assert hosts == {"127.0.0.1:80", "localhost:80", "[::1]:80", "192.0.2.7:81"}

"""The guards find what a test leaves behind."""

import asyncio
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from spaced.testing import guards
from spaced.testing.guards import OutboundConnection, Surroundings


def change_environment(_: Path) -> None:
    os.environ["SPACED_LEFT_BEHIND"] = "1"


def change_folder(folder: Path) -> None:
    os.chdir(folder)


def change_umask(_: Path) -> None:
    os.umask(0o123)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (change_environment, "SPACED_LEFT_BEHIND"),
        (change_folder, "working folder"),
        (change_umask, "umask was left at 123"),
    ],
)
def test_a_change_is_found_and_undone(
    change: Callable[[Path], None], complaint: str, tmp_path: Path
) -> None:
    """The test that made it fails, and the next one is not troubled."""
    before = Surroundings.now()
    change(tmp_path)
    complaints = before.put_back()
    assert len(complaints) == 1
    assert complaint in complaints[0]
    assert Surroundings.now() == before


def test_a_thread_that_goes_on_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that ends by itself is none."""
    monkeypatch.setattr("spaced.testing.guards._JOIN_SECONDS", 0.01)
    before, is_over = Surroundings.now(), threading.Event()
    thread = threading.Thread(target=is_over.wait, name="left")
    thread.start()
    complaints = before.put_back()
    is_over.set()
    thread.join()
    assert complaints == ["the thread 'left' was left running"]
    assert before.put_back() == []


def test_a_task_that_goes_on_is_found() -> None:
    """It is noted when its loop is closed, for the end of the test."""

    async def leave() -> None:
        loop = asyncio.get_running_loop()
        left.append(loop.create_task(asyncio.Event().wait(), name="left"))

    left: list[asyncio.Task[bool]] = []
    with asyncio.Runner() as runner:
        runner.run(leave())
    assert guards._left_tasks == ["left"]
    guards._left_tasks.clear()


def test_another_machine_cannot_be_reached() -> None:
    """Neither by address nor by name, and before anything is sent."""
    for family, address in (
        (socket.AF_INET, ("192.0.2.1", 80)),
        (socket.AF_INET, ("example.invalid", 80)),
        (socket.AF_INET6, ("2001:db8::1", 80)),
    ):
        with socket.socket(family) as connecting, pytest.raises(OutboundConnection):
            connecting.connect(address)


def test_this_machine_can_be_reached(tmp_path: Path) -> None:
    """By loopback and by a socket in the file system."""
    with socket.socket() as listening, socket.socket() as connecting:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        connecting.connect(listening.getsockname())
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as connecting:
        listening.bind(str(tmp_path / "s"))
        listening.listen()
        connecting.connect(str(tmp_path / "s"))


def test_home_lies_in_the_tests_own_folder(tmp_path: Path) -> None:
    """No test finds or leaves anything in the home of whoever runs it."""
    assert Path.home() == tmp_path / "home"
    assert Path(os.environ["XDG_STATE_HOME"]).is_relative_to(tmp_path)

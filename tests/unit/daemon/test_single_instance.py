"""The lock of a data directory, within one process."""

import json
import os
from pathlib import Path

import pytest

from spaced.daemon.single_instance import Lock
from spaced.refusals import AlreadyRunning, UnsafePlace
from tests.unit.daemon.privacy import mode_of

NOON = "2026-12-01T12:00:00.000Z"


def test_the_holder_is_named_to_whoever_comes_second(tmp_path: Path) -> None:
    """Its pid and its start tell which one to use or to stop."""
    with Lock.take(tmp_path, started_at=NOON), pytest.raises(AlreadyRunning) as refused:
        Lock.take(tmp_path, started_at=NOON)

    assert refused.value.message == (
        f"a daemon with pid {os.getpid()}, started at {NOON}, already serves the data directory"
        f" {tmp_path}"
    )


def test_a_lock_that_was_closed_can_be_taken_again(tmp_path: Path) -> None:
    """A daemon that stops makes room for the next."""
    lock = Lock.take(tmp_path, started_at=NOON)
    lock.close()
    lock.close()

    Lock.take(tmp_path, started_at=NOON).close()


def test_being_refused_costs_the_holder_nothing(tmp_path: Path) -> None:
    """It is refused every time, and the file still names the first."""
    with Lock.take(tmp_path, started_at=NOON):
        before = (tmp_path / "lock").read_bytes()
        for _ in range(3):
            with pytest.raises(AlreadyRunning):
                Lock.take(tmp_path, started_at="later")

        assert (tmp_path / "lock").read_bytes() == before


def test_every_data_directory_has_its_own_lock(tmp_path: Path) -> None:
    """Two daemons with two directories do not know of each other."""
    (tmp_path / "other").mkdir()

    with Lock.take(tmp_path, started_at=NOON), Lock.take(tmp_path / "other", started_at=NOON):
        pass


def test_the_file_tells_who_holds_the_lock_and_is_private(tmp_path: Path) -> None:
    """It is JSON on one line."""
    with Lock.take(tmp_path, started_at=NOON):
        content = (tmp_path / "lock").read_text()

        assert json.loads(content) == {"pid": os.getpid(), "started_at": NOON}
        assert content.count("\n") == 1
        assert mode_of(tmp_path / "lock") == 0o600


@pytest.mark.parametrize(
    "left", [b"", b"\x00\xff", b'{"pid": 1, "started_at": "long ago"}\n' * 9, b"[" * 9999]
)
def test_a_file_that_was_left_behind_is_no_obstacle(tmp_path: Path, left: bytes) -> None:
    """Also if its pid is that of a living process, as 1 always is."""
    (tmp_path / "lock").write_bytes(left)

    with Lock.take(tmp_path, started_at=NOON):
        assert json.loads((tmp_path / "lock").read_text())["pid"] == os.getpid()


def test_the_file_stays_when_the_lock_is_let_go(tmp_path: Path) -> None:
    """A second daemon may have opened it already, and would lock a file that is gone."""
    with Lock.take(tmp_path, started_at=NOON):
        file = (tmp_path / "lock").stat().st_ino

    assert (tmp_path / "lock").stat().st_ino == file


def test_a_lock_file_that_is_a_link_is_refused(tmp_path: Path) -> None:
    """Writing our pid through it would destroy what it leads to."""
    (tmp_path / "other").write_text("precious")
    (tmp_path / "lock").symlink_to(tmp_path / "other")

    with pytest.raises(UnsafePlace, match="is a symbolic link"):
        Lock.take(tmp_path, started_at=NOON)
    assert (tmp_path / "other").read_text() == "precious"


@pytest.mark.parametrize("content", ["", "{}", '{"pid": "x", "started_at": 1}', "null"])
def test_a_holder_that_has_not_told_its_pid_is_refused_all_the_same(
    tmp_path: Path, content: str
) -> None:
    """Between locking and writing there is a moment without a pid."""
    with Lock.take(tmp_path, started_at=NOON):
        (tmp_path / "lock").write_text(content)

        with pytest.raises(AlreadyRunning, match="a daemon that has not told its pid yet"):
            Lock.take(tmp_path, started_at=NOON)

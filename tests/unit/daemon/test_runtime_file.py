"""The file that tells clients where the daemon is."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from spaced.daemon.runtime_file import (
    RunningDaemon,
    read_runtime_file,
    remove_runtime_file,
    write_runtime_file,
)
from tests.unit.daemon.privacy import mode_of

DAEMON = RunningDaemon(
    pid=4711,
    version="0.1.0",
    socket="/run/user/1000/spaced/control.sock",
    host="127.0.0.1",
    port=40123,
    started_at="2026-12-01T09:30:00.000Z",
)


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    """Also without a TCP port, or without a socket."""
    for daemon in (DAEMON, replace(DAEMON, host=None, port=None), replace(DAEMON, socket=None)):
        write_runtime_file(tmp_path, daemon)

        assert read_runtime_file(tmp_path) == daemon


def test_the_file_is_plain_json_that_only_we_can_read(tmp_path: Path) -> None:
    """Clients in other languages read it too."""
    write_runtime_file(tmp_path, DAEMON)

    assert json.loads((tmp_path / "daemon.json").read_text()) == asdict(DAEMON)
    assert mode_of(tmp_path / "daemon.json") == 0o600


def test_without_a_file_there_is_no_daemon(tmp_path: Path) -> None:
    """Nothing has started here yet, or it has stopped."""
    assert read_runtime_file(tmp_path) is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b"[" * 50_000,
        b" " * 70_000,
        json.dumps({**asdict(DAEMON), "pid": "4711"}).encode(),
        json.dumps({**asdict(DAEMON), "pid": True}).encode(),
        json.dumps({**asdict(DAEMON), "port": 1.5}).encode(),
        json.dumps({"pid": 4711}).encode(),
    ],
)
def test_a_malformed_file_is_as_good_as_none(tmp_path: Path, content: bytes) -> None:
    """Whoever looks for a daemon goes on to the socket."""
    (tmp_path / "daemon.json").write_bytes(content)

    assert read_runtime_file(tmp_path) is None


def test_facts_of_a_later_version_are_no_obstacle(tmp_path: Path) -> None:
    """An older client reads what it knows."""
    content = json.dumps({**asdict(DAEMON), "more": [1]})
    (tmp_path / "daemon.json").write_text(content)

    assert read_runtime_file(tmp_path) == DAEMON


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """A client would send its token to whatever address it says."""
    (tmp_path / "other").write_text(json.dumps(asdict(DAEMON)))
    (tmp_path / "daemon.json").symlink_to(tmp_path / "other")

    assert read_runtime_file(tmp_path) is None


def test_a_daemon_removes_its_own_file(tmp_path: Path) -> None:
    """What has stopped is not found."""
    write_runtime_file(tmp_path, DAEMON)

    assert remove_runtime_file(tmp_path, pid=4711)
    assert not (tmp_path / "daemon.json").exists()


def test_a_daemon_leaves_the_file_of_its_successor(tmp_path: Path) -> None:
    """The next one may have started while the last one was still tidying up."""
    write_runtime_file(tmp_path, replace(DAEMON, pid=4712))

    assert not remove_runtime_file(tmp_path, pid=4711)
    assert read_runtime_file(tmp_path) == replace(DAEMON, pid=4712)


def test_removing_what_is_not_there_is_no_mistake(tmp_path: Path) -> None:
    """A stop may come before the file was written."""
    assert not remove_runtime_file(tmp_path, pid=4711)

"""Private places under every umask, and the lock between real processes."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from spaced.daemon.directories import private_folder
from spaced.daemon.private_files import write_private
from spaced.daemon.runtime_file import RunningDaemon, write_runtime_file
from spaced.daemon.single_instance import Lock
from spaced.daemon.token import access_token
from spaced.refusals import AlreadyRunning

NOON = "2026-12-01T12:00:00.000Z"
PATIENCE = 30

HOLD = """
import sys
from pathlib import Path
from spaced.daemon.single_instance import Lock
lock = Lock.take(Path(sys.argv[1]), started_at=sys.argv[2])
print("held", flush=True)
sys.stdin.read()
"""

HOLD_WITH_CHILD = """
import subprocess, sys
from pathlib import Path
from spaced.daemon.single_instance import Lock
lock = Lock.take(Path(sys.argv[1]), started_at=sys.argv[2])
child = [sys.executable, "-c", "import sys; print('child', flush=True); sys.stdin.read()"]
subprocess.Popen(child, close_fds=False)
sys.stdin.read()
"""

WITHOUT_HOME = """
import os, sys
import platformdirs
from pathlib import Path
from spaced.daemon.settings import load_settings
from spaced.refusals import InvalidSettings
os.setuid(int(sys.argv[1]))
for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
    os.environ.pop(name, None)
try:
    load_settings(environment={}, flags={})
except InvalidSettings as error:
    print(error)
print(load_settings(environment={"SPACED_DATA_DIR": "/srv/d"}, flags={}).settings.state_dir)
"""


@contextmanager
def _holder(program: str, data_dir: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a process that holds the lock until its input ends."""
    command = [sys.executable, "-c", program, str(data_dir), NOON]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )
    with process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() in ("held\n", "child\n")
            yield process
        finally:
            process.kill()


@contextmanager
def _umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077, 0o277, 0o777])
def test_everything_is_private_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    """Neither an open nor a forbidding umask changes what is made."""
    data_dir = tmp_path / "new" / "data"
    facts = RunningDaemon(pid=1, version="1", socket=None, host=None, port=None, started_at=NOON)
    with _umask(mask):
        private_folder(data_dir)
        access_token(data_dir)
        write_runtime_file(data_dir, facts)
        write_private(data_dir / "file", b"content")
        Lock.take(data_dir, started_at=NOON).close()

    modes = {path.name: path.stat().st_mode & 0o7777 for path in (tmp_path / "new").rglob("*")}
    assert modes == {
        "data": 0o700,
        "token": 0o600,
        "daemon.json": 0o600,
        "file": 0o600,
        "lock": 0o600,
    }
    assert (tmp_path / "new").stat().st_mode & 0o7777 == 0o700


def test_a_second_daemon_is_refused_while_the_first_one_lives(tmp_path: Path) -> None:
    """It names the pid of the first, and does it no harm."""
    with _holder(HOLD, tmp_path) as first:
        with pytest.raises(AlreadyRunning, match=f"a daemon with pid {first.pid}, started at"):
            Lock.take(tmp_path, started_at=NOON)

        assert first.poll() is None
        assert json.loads((tmp_path / "lock").read_text())["pid"] == first.pid


def test_a_daemon_that_was_killed_leaves_no_lock(tmp_path: Path) -> None:
    """The system lets go of it, so the next start needs no cleaning up."""
    with _holder(HOLD, tmp_path) as first:
        first.send_signal(signal.SIGKILL)
        first.wait(PATIENCE)

        with Lock.take(tmp_path, started_at=NOON):
            assert json.loads((tmp_path / "lock").read_text())["pid"] == os.getpid()


def test_a_daemon_that_ends_leaves_no_lock(tmp_path: Path) -> None:
    """Also if it did not close it."""
    with _holder(HOLD, tmp_path) as first:
        first.communicate(timeout=PATIENCE)

        Lock.take(tmp_path, started_at=NOON).close()


def test_a_child_that_outlives_the_daemon_does_not_hold_its_lock(tmp_path: Path) -> None:
    """An agent inherits nothing that would keep the next daemon from starting."""
    with _holder(HOLD_WITH_CHILD, tmp_path) as first:
        first.kill()
        first.wait(PATIENCE)

        assert first.stdin is not None
        Lock.take(tmp_path, started_at=NOON).close()
        # The child reads from the same pipe and is still there: there is a reader for this.
        first.stdin.write("x")
        first.stdin.flush()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user without a home")
def test_a_user_without_a_home_learns_what_to_set() -> None:
    """In a container nobody may have one; then the data directory has to be said."""
    told = subprocess.run(
        [sys.executable, "-c", WITHOUT_HOME, "54321"],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )

    refusal, state_dir = told.stdout.splitlines()
    assert refusal.startswith("data_dir has no default place, since this user has no home folder")
    assert state_dir == "/srv/d/state"

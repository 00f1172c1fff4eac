"""What `/proc` and `ps` say, read."""

from pathlib import Path

import pytest

from spaced.runtime.processes.process_table import Process, ProcessTable, parse_ps, parse_stat


def _stat(name: str = "sh", state: str = "S", threads: int = 1) -> bytes:
    before = "10 11 12 0 -1 4194304 1 2 3 4 5 6 7 8 20 0"
    return f"42 ({name}) {state} {before} {threads} 0 9876 1000 200\n".encode()


@pytest.mark.parametrize("name", ["sh", "a b", "x) S 1 (y", ")", ""])
def test_a_program_may_be_called_anything(name: str) -> None:
    """The name stands unquoted in the middle of the line."""
    assert parse_stat(_stat(name), frozenset({"a/1"})) == Process(
        pid=42, parent=10, group=11, session=12, started="9876", marks=frozenset({"a/1"})
    )


def test_only_a_process_without_threads_is_a_zombie() -> None:
    """When the first thread has ended, the others go on."""
    assert parse_stat(_stat(state="Z")).is_zombie
    assert not parse_stat(_stat(state="Z", threads=2)).is_zombie
    assert not parse_stat(_stat(state="D")).is_zombie


def test_a_listing_of_ps_is_read() -> None:
    """Start times are full dates of several words; groups stand in for sessions."""
    listing = (
        "    1     0     1 Ss   Tue Dec  1 03:18:47 2026\n"
        "   43     1    42 Z+   Tue Dec  1 03:18:48 2026    \n"
        "\n"
    )

    assert list(parse_ps(listing)) == [
        Process(pid=1, parent=0, group=1, session=1, started="Tue Dec  1 03:18:47 2026"),
        Process(
            pid=43,
            parent=1,
            group=42,
            session=42,
            started="Tue Dec  1 03:18:48 2026",
            is_zombie=True,
        ),
    ]


def _show(proc: Path, name: str, stat: bytes, environment: bytes | None = None) -> None:
    (proc / name).mkdir(parents=True)
    (proc / name / "stat").write_bytes(stat)
    if environment is not None:
        (proc / name / "environ").write_bytes(environment)


def test_processes_that_vanish_or_are_hidden_do_no_harm(tmp_path: Path) -> None:
    """A folder without its files is a process that has just ended, or is somebody else's."""
    _show(tmp_path, "self", _stat())
    _show(tmp_path, "42", _stat(), b"SPACED_MARKER=a/1\0")
    _show(tmp_path, "43", _stat())
    (tmp_path / "44").mkdir()
    (tmp_path / "sys").mkdir()

    found = ProcessTable(tmp_path).processes()

    assert [sorted(process.marks) for process in found].count(["a/1"]) == 1
    assert len(found) == 2
    assert ProcessTable(tmp_path).started(44) is None
    assert ProcessTable(tmp_path).boot_id() == ""

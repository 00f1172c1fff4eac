"""The log file: it rotates, stays private, and survives a full disk and whoever takes it away."""

import errno
import logging
import os
import threading
from pathlib import Path

import pytest

from spaced.daemon.log_file import LogFile
from tests.unit.daemon.privacy import mode_of


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the log lies; its folder is not there yet."""
    return tmp_path / "logs" / "spaced.log"


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines()


def numbered(record: logging.LogRecord) -> str:
    return record.getMessage()


def record_of(message: str) -> logging.LogRecord:
    return logging.makeLogRecord({"msg": message})


@pytest.mark.parametrize("umask", [0o000, 0o277])
def test_files_rotate_by_size_and_are_all_private(file: Path, umask: int) -> None:
    """The newest is the one without a number; what is too old is gone."""
    before = os.umask(umask)
    handler = LogFile(file, numbered, largest=20, files=5)
    try:
        for n in range(100, 120):
            handler.handle(record_of(f"{n} 6789"))
    finally:
        handler.close()
        os.umask(before)

    names = [file, *(Path(f"{file}.{n}") for n in range(1, 5))]
    assert sorted(file.parent.iterdir()) == sorted(names)
    assert [mode_of(path) for path in names] == [0o600] * 5
    assert mode_of(file.parent) == 0o700
    assert [lines_of(path)[-1] for path in names] == [
        f"{n} 6789" for n in (119, 117, 115, 113, 111)
    ]
    assert handler.dropped == 0


def test_a_line_larger_than_a_file_is_written_whole(file: Path) -> None:
    """It gets a file of its own."""
    handler = LogFile(file, numbered, largest=20)
    for message in ("a", "b" * 50, "c"):
        handler.handle(record_of(message))
    handler.close()

    assert [lines_of(Path(f"{file}{end}")) for end in ("", ".1", ".2")] == [
        ["c"],
        ["b" * 50],
        ["a"],
    ]


def test_a_restart_goes_on_in_the_same_file(file: Path) -> None:
    """Also after half a line, which a crash leaves."""
    file.parent.mkdir(mode=0o700)
    file.write_bytes(b"one\nhal")
    file.chmod(0o600)
    handler = LogFile(file, numbered)
    handler.handle(record_of("two"))
    handler.close()

    assert lines_of(file) == ["one", "hal", "two"]


@pytest.mark.parametrize("what", ["folder", "file", "moved"])
def test_a_log_that_was_taken_away_is_made_again(
    file: Path, tmp_path: Path, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Records must not go on into a file that nobody can find."""
    handler = LogFile(file, numbered)
    handler.handle(record_of("one"))
    match what:
        case "folder":
            file.unlink()
            file.parent.rmdir()
        case "file":
            file.unlink()
        case "moved":
            file.rename(tmp_path / "moved")
    handler.handle(record_of("two"))
    handler.close()

    assert lines_of(file) == ["two"]
    assert mode_of(file) == 0o600
    assert capsys.readouterr() == ("", "")


def test_what_cannot_be_written_is_counted_and_told_later(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder that cannot be made again costs records, and nothing else."""
    handler = LogFile(file, numbered)
    handler.handle(record_of("one"))
    file.unlink()
    file.parent.rmdir()
    file.parent.write_text("in the way")
    handler.handle(record_of("two"))
    handler.handle(record_of("three"))
    assert handler.dropped == 2

    file.parent.unlink()
    handler.handle(record_of("four"))
    handler.close()

    assert lines_of(file) == ["2 records before this one could not be written", "four"]
    assert handler.dropped == 0
    assert capsys.readouterr() == ("", "")


def test_a_full_disk_leaves_no_half_line(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The part that still fitted would spoil the next line."""
    real_write = os.write
    is_full = False

    def write(descriptor: int, content: bytes) -> int:
        if is_full and len(content) < 5:
            raise OSError(errno.ENOSPC, "full")
        return real_write(descriptor, content[:3] if is_full else content)

    monkeypatch.setattr(os, "write", write)
    handler = LogFile(file, numbered)
    handler.handle(record_of("one"))
    is_full = True
    handler.handle(record_of("two!"))
    is_full = False
    handler.handle(record_of("three"))
    handler.close()

    assert lines_of(file) == ["one", "1 records before this one could not be written", "three"]


def test_a_file_that_cannot_be_put_aside_is_written_on(file: Path) -> None:
    """A log that is too large is better than none."""
    handler = LogFile(file, numbered, largest=10, files=2)
    (file.parent / "spaced.log.1" / "in the way").mkdir(parents=True)
    file.parent.chmod(0o700)
    for message in ("12345678", "abcdefgh"):
        handler.handle(record_of(message))
    handler.close()

    assert lines_of(file) == ["12345678", "abcdefgh"]


def test_many_threads_write_whole_lines(file: Path) -> None:
    """The daemon's storage logs from a thread of its own."""
    handler = LogFile(file, numbered, largest=1000, files=50)
    threads = [
        threading.Thread(
            target=lambda name=name: [handler.handle(record_of(f"{name} {n}")) for n in range(100)]
        )
        for name in "abcd"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    handler.close()

    lines = [line for path in file.parent.iterdir() for line in lines_of(path)]
    assert sorted(lines) == sorted(f"{name} {n}" for name in "abcd" for n in range(100))

"""Handlers for log records that never raise into the program and never print about themselves.

What cannot be written, because a disk is full or a folder is gone, is counted; the first line that
can be written again says how many are missing before it.
"""

import logging
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from spaced.daemon.directories import private_folder
from spaced.daemon.private_files import open_private

LARGEST: Final = 5 * 1024 * 1024
"""Bytes after which a log file is put aside."""

FILES: Final = 5
"""How many there are, the current one among them."""

Write = Callable[[logging.LogRecord], str]


class QuietHandler(logging.Handler):
    """Takes a record, or counts that it could not.

    Args:
        write: turns a record into a line without its end.

    Attributes:
        dropped: how many records were lost since the last that was taken.
    """

    def __init__(self, write: Write) -> None:
        super().__init__()
        self.dropped = 0
        self._write = write

    def emit(self, record: logging.LogRecord) -> None:
        """Take a record."""
        try:
            self._take(record)
        except Exception:  # noqa: BLE001 - a log that fails must not stop what it tells of
            self.dropped += 1

    def _take(self, record: logging.LogRecord) -> None:
        raise NotImplementedError


class ConsoleHandler(QuietHandler):
    """Prints records to where errors go at that moment."""

    def _take(self, record: logging.LogRecord) -> None:
        stream = sys.stderr
        if stream is not None:  # a program without a terminal may have none
            stream.write(self._write(record) + "\n")
            stream.flush()


class LogFile(QuietHandler):
    """Appends records to a private file, which is put aside when it gets too large.

    Args:
        path: the current file; older ones lie beside it as `.1`, `.2` and so on.
        write: see `QuietHandler`.
        largest: bytes after which a file is put aside.
        files: how many are kept, the current one among them.
    """

    def __init__(
        self, path: Path, write: Write, *, largest: int = LARGEST, files: int = FILES
    ) -> None:
        super().__init__(write)
        self._path = path
        self._largest = largest
        self._files = files
        self._descriptor: int | None = None
        self._size = 0
        self._is_busy = False
        self._waiting: list[logging.LogRecord] = []

    def open(self) -> None:
        """Open the file now, so that a place that cannot be used is refused at a start.

        Raises:
            UnsafePlace: the file or its folder is not ours alone, or cannot be written.
            StorageFull: there is no space to make it.
        """
        self.acquire()
        try:
            self._in_turn(self._reopen)
        finally:
            self.release()

    def close(self) -> None:
        """Close the file; a record that still comes opens it again."""
        self.acquire()
        try:
            self._close_file()
        finally:
            self.release()
        super().close()

    def _take(self, record: logging.LogRecord) -> None:
        if self._is_busy:
            self._waiting.append(record)  # opening a file may log something itself
        else:
            self._in_turn(lambda: self._append_record(record))

    def _in_turn(self, action: Callable[[], None]) -> None:
        self._is_busy = True
        try:
            action()
        except BaseException:
            self._close_file()
            raise
        finally:
            self._is_busy = False
            waiting, self._waiting = self._waiting, []
            for record in waiting:
                self.emit(record)

    def _append_record(self, record: logging.LogRecord) -> None:
        line = self._write(record)
        if not self._is_in_place():
            self._reopen()
        if self.dropped:
            self._append(self._write(_note_of(self.dropped)))
            self.dropped = 0
        self._append(line)

    def _append(self, line: str) -> None:
        content = line.encode(errors="backslashreplace") + b"\n"
        if self._size and self._size + len(content) > self._largest:
            self._put_aside()
        descriptor = self._descriptor
        assert descriptor is not None
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        except OSError:
            # Half a line would spoil the next one; a full disk lets go of what it took.
            with suppress(OSError):
                os.ftruncate(descriptor, self._size)
            raise
        self._size += len(content)

    def _put_aside(self) -> None:
        names = [self._path, *(Path(f"{self._path}.{n}") for n in range(1, self._files))]
        with suppress(OSError):  # better one file that is too large than records that are lost
            for older, newer in zip(reversed(names), reversed(names[:-1]), strict=False):
                with suppress(FileNotFoundError):
                    newer.replace(older)
        self._reopen()

    def _is_in_place(self) -> bool:
        """Tell whether the open file is the one that has the name; somebody may have moved it."""
        if self._descriptor is None:
            return False
        try:
            named = self._path.lstat()
        except OSError:
            return False
        return os.path.samestat(named, os.fstat(self._descriptor))

    def _reopen(self) -> None:
        self._close_file()
        private_folder(self._path.parent)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
        self._descriptor = descriptor = open_private(self._path, flags)
        self._size = os.fstat(descriptor).st_size
        if self._size and os.pread(descriptor, 1, self._size - 1) != b"\n":
            self._size += os.write(descriptor, b"\n")  # a crash left half a line

    def _close_file(self) -> None:
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            with suppress(OSError):
                os.close(descriptor)


def _note_of(dropped: int) -> logging.LogRecord:
    return logging.makeLogRecord(
        {
            "name": __name__,
            "levelno": logging.WARNING,
            "levelname": "WARNING",
            "msg": "%d records before this one could not be written",
            "args": (dropped,),
            "event": "log-records-dropped",
            "count": dropped,
        }
    )

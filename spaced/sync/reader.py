"""A process that reads workflow files for the daemon: `python -m spaced.sync.reader`.

Reading many files would take the interpreter from everybody that the daemon serves, and a file that
somebody wrote to be slow or large does no harm here. It reads frames of files from its standard
input and writes frames of verdicts, in their order, until the daemon closes the pipe or is gone.
"""

import os
import resource
import signal
import struct
import sys
from typing import BinaryIO, Final

import msgspec

from spaced.sync.files import FileVerdict, FoundFile
from spaced.sync.verdicts import verdict_of

LENGTH: Final = struct.Struct(">I")
"""What stands before each frame."""
_MEMORY: Final = 1024 * 1024 * 1024
_POLITENESS: Final = 10


class Work(msgspec.Struct, frozen=True):
    """A file that is to be read, and the source that it is of."""

    source_id: str
    file: FoundFile


def main() -> None:
    """Read files until there are no more."""
    # Ctrl-C in the daemon's terminal is for the daemon, which ends this by closing the pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _be_polite()
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, most))
    serve(sys.stdin.buffer, sys.stdout.buffer)


def _be_polite() -> None:
    """Take only what nobody else wants: the daemon's own work always goes first."""
    os.nice(_POLITENESS)
    if sys.platform == "linux":
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def serve(source: BinaryIO, sink: BinaryIO) -> None:
    """Answer every frame of a file with a frame of its verdict."""
    decoder = msgspec.msgpack.Decoder(Work)
    while len(head := source.read(LENGTH.size)) == LENGTH.size:
        (size,) = LENGTH.unpack(head)
        work = decoder.decode(source.read(size))
        answer = encoded(verdict_of(work.file, work.source_id))
        sink.write(LENGTH.pack(len(answer)) + answer)
        sink.flush()


def encoded(verdict: FileVerdict) -> bytes:
    """Return a verdict as a frame's content."""
    return msgspec.msgpack.encode(verdict)


if __name__ == "__main__":
    main()

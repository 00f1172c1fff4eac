"""Lines from pipes and files, and text to any output."""

import asyncio
import io
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from spaced.cli.chat.input_lines import InputLines
from spaced.cli.chat.screen import PlainScreen
from spaced.cli.chat.spans import bold, dim, plain


async def every_line(source: int) -> list[str]:
    """Return all lines of a descriptor."""
    found = []
    with InputLines(source) as lines:
        while (line := await lines.next()) is not None:
            found.append(line)
    return found


@pytest.fixture
async def pipe() -> AsyncIterator[tuple[int, int]]:
    """A pipe's two ends."""
    read, write = os.pipe()
    yield read, write
    for end in (read, write):
        os.close(end)


@pytest.mark.parametrize(
    ("written", "lines"),
    [
        (b"", []),
        (b"one\ntwo\n", ["one", "two"]),
        (b"one\r\ntwo", ["one", "two"]),
        (b"one\n\ntwo\n", ["one", "", "two"]),
        ("gr\u00fc\u00df \U0001f600\n".encode(), ["gr\u00fc\u00df \U0001f600"]),
        (b"\xff\n", ["\ufffd"]),
        (b"a\x0bb\x1cc\xc2\x85d\n", ["a\x0bb\x1cc\x85d"]),
    ],
)
async def test_the_lines_of_a_file_are_those_between_its_newlines(
    tmp_path: Path, written: bytes, lines: list[str]
) -> None:
    """A regular file, which no event loop can wait for; nothing but a newline ends a line."""
    path = tmp_path / "lines.txt"
    path.write_bytes(written)
    with path.open("rb") as file:
        assert await every_line(file.fileno()) == lines


async def test_a_letter_that_comes_in_two_pieces_is_one_letter(pipe: tuple[int, int]) -> None:
    """A pipe cuts wherever it likes."""
    read, write = pipe
    with InputLines(read) as lines:
        reading = asyncio.ensure_future(lines.next())
        os.write(write, b"gr\xc3")
        os.write(write, b"\xbc\xc3\x9f\n")

        assert await reading == "gr\u00fc\u00df"


async def test_waiting_for_a_line_can_be_given_up(pipe: tuple[int, int]) -> None:
    """Leaving a chat does not wait for whoever might still write."""
    read, _ = pipe
    with InputLines(read) as lines:
        reading = asyncio.ensure_future(lines.next())
        await asyncio.wait({reading}, timeout=0)
        reading.cancel()

    with pytest.raises(asyncio.CancelledError):
        await reading


async def test_nothing_is_read_before_somebody_wants_a_line(pipe: tuple[int, int]) -> None:
    """What a script does not use is left to whoever comes after it."""
    read, write = pipe
    os.write(write, b"for the next one\n")

    with InputLines(read):
        pass

    assert os.read(read, 100) == b"for the next one\n"


@pytest.mark.parametrize(
    ("is_styled", "text"), [(False, "a b c"), (True, "a \x1b[2mb \x1b[0m\x1b[1mc\x1b[0m")]
)
def test_styles_are_written_only_where_they_are_wanted(*, is_styled: bool, text: str) -> None:
    """A file gets the words alone."""
    output = io.StringIO()
    screen = PlainScreen(output, None, is_styled=is_styled, takes_its_time=True)

    screen.show([plain("a "), dim("b "), bold("c")])

    assert output.getvalue() == text

"""Lines out of blocks, wherever the blocks happen to end."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaced.errors import LineTooLong
from spaced.runtime.processes.line_splitter import LineSplitter

LIMIT = 8


def _split(blocks: list[bytes], limit: int = LIMIT) -> list[bytes]:
    splitter = LineSplitter(limit)
    for block in blocks:
        splitter.feed(block)
    splitter.end()
    return list(iter(splitter.take, None))


@settings(deadline=None, derandomize=True)
@given(st.lists(st.binary(max_size=6).map(lambda block: block.replace(b"x", b"\n"))))
def test_where_blocks_end_makes_no_difference(blocks: list[bytes]) -> None:
    """A pipe cuts anywhere, also between the bytes of one line end."""
    whole = b"".join(blocks)

    assert _split(blocks, limit=len(whole)) == _split([whole], limit=len(whole))


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (b"", []),
        (b"\n", [b""]),
        (b"a\nb\n", [b"a", b"b"]),
        (b"a\nb", [b"a", b"b"]),
        (b"\n\na", [b"", b"", b"a"]),
        (b"a\r\nb\rc", [b"a\r", b"b\rc"]),
    ],
)
def test_a_line_ends_with_a_line_feed_and_nothing_else(text: bytes, lines: list[bytes]) -> None:
    """Empty lines are lines, the end of the output ends one, and a carriage return is content."""
    assert _split([text]) == lines


def test_a_line_as_long_as_the_limit_is_fine() -> None:
    """The line's end does not count."""
    assert _split([b"12345678\n12345678"]) == [b"12345678", b"12345678"]


@pytest.mark.parametrize("size", [1, 2, 20])
@pytest.mark.parametrize("end", [b"", b"\n", b"\nmore\n"])
def test_lines_before_one_that_is_too_long_are_given_first(size: int, end: bytes) -> None:
    """What was read before is not lost, and nothing comes after it."""
    text = b"good\n" + b"9" * 9 + end
    splitter = LineSplitter(LIMIT)
    for start in range(0, len(text), size):
        splitter.feed(text[start : start + size])

    assert splitter.take() == b"good"
    for _ in range(2):
        with pytest.raises(LineTooLong, match="8 bytes"):
            splitter.take()

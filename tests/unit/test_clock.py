"""Times as texts and back; what is no RFC 3339 time is refused."""

from time import time_ns

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaced.clock import SystemClock, Timestamp, from_rfc3339, to_rfc3339
from spaced.errors import InvalidTimestamp

FIRST = -62_135_596_800_000
LAST = 253_402_300_799_999


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1, "1970-01-01T00:00:00.001Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (1_796_117_400_000, "2026-12-01T09:30:00.000Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (FIRST, "0001-01-01T00:00:00.000Z"),
        (LAST, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_a_time_is_written_with_milliseconds_in_utc(moment: int, text: str) -> None:
    """One form, always of the same length, and it reads back as the same moment."""
    assert to_rfc3339(Timestamp(moment)) == text
    assert from_rfc3339(text) == moment


@settings(deadline=None, derandomize=True)
@given(st.integers(FIRST, LAST))
def test_every_time_comes_back(moment: int) -> None:
    """No millisecond is lost in either direction."""
    assert from_rfc3339(to_rfc3339(Timestamp(moment))) == moment


@pytest.mark.parametrize("moment", [FIRST - 1, LAST + 1, 10**30, -(10**30)])
def test_a_time_outside_of_the_years_1_to_9999_cannot_be_written(moment: int) -> None:
    """The error says so instead of an overflow."""
    with pytest.raises(InvalidTimestamp, match="outside the years"):
        to_rfc3339(Timestamp(moment))


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("2026-12-01T09:30:00Z", "2026-12-01T09:30:00.000Z"),
        ("2026-12-01t09:30:00z", "2026-12-01T09:30:00.000Z"),
        ("2026-12-01 09:30:00Z", "2026-12-01T09:30:00.000Z"),
        ("2026-12-01T11:30:00+02:00", "2026-12-01T09:30:00.000Z"),
        ("2026-12-01T04:00:00-05:30", "2026-12-01T09:30:00.000Z"),
        ("2026-12-01T09:30:00-00:00", "2026-12-01T09:30:00.000Z"),
        ("2026-12-01T09:30:00.5Z", "2026-12-01T09:30:00.500Z"),
        ("2026-12-01T09:30:00.1239Z", "2026-12-01T09:30:00.123Z"),
        ("2026-12-01T09:30:00.123999999999Z", "2026-12-01T09:30:00.123Z"),
        ("1969-12-31T23:59:59.9999Z", "1969-12-31T23:59:59.999Z"),
        ("2026-12-31T23:30:00-01:00", "2027-01-01T00:30:00.000Z"),
    ],
)
def test_any_offset_and_any_fraction_is_read(text: str, same: str) -> None:
    """Finer fractions than milliseconds are cut off, also before 1970."""
    assert to_rfc3339(from_rfc3339(text)) == same


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "0",
        "1796117400000",
        "2026-12-01",
        "2026-12-01T09:30:00",  # whose time?
        "2026-12-01T09:30Z",
        "2026-12-01T09Z",
        "20261201T093000Z",
        "2026-W49-2T09:30:00Z",
        "2026-12-01x09:30:00Z",
        "2026-12-01T09:30:00,5Z",
        "2026-12-01T09:30:00.Z",
        "2026-12-01T09:30:00+02",
        "2026-12-01T09:30:00+0200",
        "2026-12-01T09:30:00+02:00:30",
        "2026-12-01T09:30:00+24:00",
        "2026-13-01T09:30:00Z",
        "2026-02-29T09:30:00Z",
        "2026-12-01T24:00:00Z",
        "2026-12-01T09:60:00Z",
        "0000-01-01T00:00:00Z",
        "12026-12-01T09:30:00Z",
        " 2026-12-01T09:30:00Z",
        "2026-12-01T09:30:00Z\n",
        "2026-12-01T09:30:00\x00Z",
        "\u0662\u0660\u0662\u0666-12-01T09:30:00Z",  # digits, but not of this alphabet
        "2026-12-01T09:30:00Z" * 1000,
    ],
)
def test_what_is_no_rfc_3339_time_is_refused(text: str) -> None:
    """Other forms of ISO 8601 too: every version of Python reads another set of them."""
    with pytest.raises(InvalidTimestamp):
        from_rfc3339(text)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01"])
def test_a_time_that_could_not_be_written_again_is_refused(text: str) -> None:
    """Accepted, it would fail everybody who shows it later."""
    with pytest.raises(InvalidTimestamp):
        from_rfc3339(text)


def test_the_clock_of_the_machine_tells_milliseconds() -> None:
    """It lies between two looks at the machine's own counter."""
    before = time_ns() // 1_000_000
    now = SystemClock().now()

    assert before <= now <= time_ns() // 1_000_000

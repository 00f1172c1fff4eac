"""What every storage refuses before it writes, and how an append is weighed."""

import msgspec
import pytest

from spaced.clock import Timestamp
from spaced.errors import AppendTooLarge
from spaced.log.table import DeleteRow, InsertRow, PutRow, RowWrite
from spaced.storage.checks import check_append, size_of
from spaced.storage.protocol import MAX_APPEND_BYTES
from spaced.testing.samples import event, start, write
from spaced.testing.storage_topics.appending import WRONG_ROWS
from spaced.testing.tables import SAMPLE_TABLES, label, put_card

TABLES = {table.name: table for table in SAMPLE_TABLES}


@pytest.mark.parametrize("row", WRONG_ROWS.values(), ids=list(WRONG_ROWS))
def test_a_row_that_does_not_fit_its_table_is_refused(row: RowWrite) -> None:
    """With a `ValueError`: it is a mistake of the caller, not a state of the storage."""
    with pytest.raises(ValueError):
        check_append([], [row], TABLES)


def test_a_stream_cannot_be_named_twice() -> None:
    """Which of the two versions would count?"""
    with pytest.raises(ValueError, match="twice"):
        check_append([start("run-1"), write("run-1", 1)], [], TABLES)


def test_a_negative_version_is_refused() -> None:
    """Versions count from 0."""
    with pytest.raises(ValueError, match="negative"):
        check_append([write("run-1", -1)], [], TABLES)


@pytest.mark.parametrize("number", [-(2**63), 0, 2**63 - 1])
def test_integers_of_64_bits_fit(number: int) -> None:
    """Every database can keep these."""
    check_append([], [PutRow(table="label", row=label("a", number))], TABLES)


@pytest.mark.parametrize("number", [-(2**63) - 1, 2**63])
def test_integers_beyond_64_bits_are_refused(number: int) -> None:
    """No database can keep these, so no storage has to fail on them in its own way."""
    with pytest.raises(ValueError, match="number"):
        check_append([], [PutRow(table="label", row=label("a", number))], TABLES)


def test_every_kind_of_row_write_is_let_through() -> None:
    """What fits its table passes."""
    rows: list[RowWrite] = [
        put_card("a", content="word"),
        InsertRow(table="label", row=label("a", 1), text={"words": "word"}),
        DeleteRow(table="label", key=("a", 1)),
    ]
    assert check_append([start("run-1")], rows, TABLES) == size_of([start("run-1")], rows)


def test_an_append_weighs_its_bodies_values_and_texts() -> None:
    """Each event, row and deletion adds the same on top of its content."""
    nothing = size_of([write("run-1", 0, event(b""))], [])
    assert size_of([write("run-1", 0, event(b"12345"))], []) == nothing + 5
    bare = size_of([], [PutRow(table="label", row=label("", 1, note=""))])
    noted = PutRow(table="label", row=label("", 1, note="é"), text={"words": "12"})
    assert size_of([], [noted]) == bare + 4
    assert size_of([], [DeleteRow(table="label", key=("a", 1))]) > 0
    assert size_of([], []) == 0


def test_the_limit_itself_is_allowed() -> None:
    """One byte more is refused, and the error tells both numbers."""
    overhead = size_of([write("run-1", 0, event(b""))], [])
    largest = event(b"x" * (MAX_APPEND_BYTES - overhead))
    assert check_append([write("run-1", 0, largest)], [], TABLES) == MAX_APPEND_BYTES
    with pytest.raises(AppendTooLarge) as caught:
        check_append([write("run-1", 0, event(largest.body + b"x"))], [], TABLES)
    assert (caught.value.size, caught.value.limit) == (MAX_APPEND_BYTES + 1, MAX_APPEND_BYTES)


@pytest.mark.parametrize("place", ["stream", "kind", "session_id", "item_id"])
def test_half_a_character_in_a_name_is_refused(place: str) -> None:
    """No database keeps it, so it must not depend on the storage when that is noticed."""
    lone = "half \ud83d"
    changes = {} if place == "stream" else {place: lone}
    new = msgspec.structs.replace(event(), **changes)
    stream = lone if place == "stream" else "run-1"

    with pytest.raises(ValueError, match="no text"):
        check_append([write(stream, 0, new)], [], TABLES)


def test_a_key_at_the_edge_of_what_a_database_holds_is_allowed() -> None:
    """64 bits, with a sign, and any whole character."""
    for key in (("😀", 2**63 - 1), ("", -(2**63))):
        check_append([], [DeleteRow(table="label", key=key)], TABLES)


@pytest.mark.parametrize("part", ["half \ud83d", 2**63, -(2**63) - 1])
def test_a_key_that_no_database_can_hold_is_refused(part: str | int) -> None:
    """Also where a row is only to be removed."""
    key = (part, 1) if isinstance(part, str) else ("a", part)

    with pytest.raises(ValueError, match="no key"):
        check_append([], [DeleteRow(table="label", key=key)], TABLES)


@pytest.mark.parametrize("moment", [2**63, -(2**63) - 1])
def test_a_time_that_no_database_can_hold_is_refused(moment: int) -> None:
    """A client's wrong unit costs a sentence and not a crash."""
    late = msgspec.structs.replace(event(), created_at=Timestamp(moment))

    with pytest.raises(ValueError, match="happened at"):
        check_append([write("run-1", 0, late)], [], TABLES)


def test_half_a_character_in_a_text_to_index_is_refused() -> None:
    """Texts pass one door before they get here; this is the net below it."""
    with pytest.raises(ValueError, match="no text"):
        check_append([], [put_card("a", content="half \ud83d")], TABLES)

"""Rows that are kept in memory by their only writer."""

from spaced.engine.journal import KnownRows
from spaced.log.read_models.lives import TURNS
from spaced.log.table import DeleteRow, PutRow, Row


def _row(name: str, status: str = "open") -> Row:
    return {"id": name, "stream": "run", "session_id": "run", "status": status, "state": "{}"}


def _known(*rows: Row) -> KnownRows:
    known = KnownRows()
    known.take_rows(TURNS.table, rows)
    return known


def test_a_row_that_was_taken_is_known() -> None:
    """Of all others it is not known whether they are there."""
    known = _known(_row("a"))

    assert (known.knows("turn", ("a",)), known.knows("turn", ("b",))) == (True, False)
    assert (known.find("turn", ("a",)), known.find("turn", ("b",))) == (_row("a"), None)
    assert known.all("turn") == [_row("a")]


def test_a_row_can_be_known_to_be_absent() -> None:
    """So nothing is read for a new id; a row that is there is not forgotten for it."""
    known = _known(_row("a"))
    known.hold_absent("turn", ("a",))
    known.hold_absent("turn", ("b",))

    assert known.find("turn", ("a",)) == _row("a")
    assert known.knows("turn", ("b",))
    assert known.all("turn") == [_row("a")]


def test_what_was_written_is_known() -> None:
    """Changes and deletions alike."""
    known = _known(_row("a"), _row("b"))

    known.take_writes(
        [PutRow(table="turn", row=_row("a", "ended")), DeleteRow(table="turn", key=("b",))]
    )

    assert known.all("turn") == [_row("a", "ended")]
    assert known.knows("turn", ("b",))


def test_a_state_is_read_once_for_as_long_as_its_row_stays() -> None:
    """A command to a run that is in use decodes nothing."""
    known, reads = _known(_row("a")), list[Row]()

    def read(row: Row) -> str:
        reads.append(row)
        return str(row["status"])

    for _ in range(2):
        row = known.find("turn", ("a",))
        assert row is not None
        assert known.state(row, read) == "open"
    assert len(reads) == 1

    known.take_writes([PutRow(table="turn", row=_row("a", "ended"))])
    row = known.find("turn", ("a",))
    assert row is not None
    assert known.state(row, read) == "ended"


def test_finished_and_absent_rows_are_let_go() -> None:
    """Whoever needs them reads them again."""
    known = _known(_row("a"), _row("b", "ended"))
    known.hold_absent("turn", ("c",))

    known.forget_finished("turn", ("open",))

    assert [known.knows("turn", (name,)) for name in "abc"] == [True, False, False]


def test_a_table_can_be_let_go() -> None:
    """Such as the items of a long turn."""
    known = _known(_row("a"))

    known.forget("turn")
    known.forget("never held")

    assert not known.knows("turn", ("a",))

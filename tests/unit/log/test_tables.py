"""Declarations of tables, and the rows that a fold has in its hands."""

from typing import Any

import pytest

from spaced.errors import KeyTaken
from spaced.log.read_models.catalogue import OPEN_TAIL, PROCESS, READ_MODELS, TABLES
from spaced.log.read_models.read_model import RowsInHand
from spaced.log.read_models.sync_rows import SYNC_FILE, SYNC_STATUS
from spaced.log.table import Column, DeleteRow, Index, IndexColumn, InsertRow, PutRow, Row, Table

NOTE = Table(
    name="note",
    key=("id",),
    columns=(Column(name="id"), Column(name="stream"), Column(name="n", type="integer")),
    text_columns=("text",),
    role="derived",
)


def _note(note_id: str, n: int = 1) -> Row:
    return {"id": note_id, "stream": "s", "n": n}


def _rows(*known: Row) -> RowsInHand:
    rows = RowsInHand({"note": NOTE})
    for row in known:
        rows.hold("note", NOTE.key_of(row), row)
    return rows


def _declare(**changes: Any) -> Table:
    fields: dict[str, Any] = {
        "name": "t",
        "key": ("id",),
        "columns": (Column(name="id"), Column(name="stream"), Column(name="x", required=False)),
        "role": "derived",
    }
    return Table(**(fields | changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"key": ()},
        {"key": ("nothing",)},
        {"key": ("x",)},
        {"indexes": (Index(name="i", columns=(IndexColumn(name="x"),)),)},
        {"indexes": (Index(name="i", columns=(IndexColumn(name="nothing"),)),)},
        {"columns": (Column(name="id"), Column(name="id"), Column(name="stream"))},
        {"text_columns": ("id",)},
        {"text_columns": ("a", "a")},
        {"columns": (Column(name="id"),)},
        {"columns": (Column(name="id"), Column(name="stream", required=False))},
    ],
    ids=repr,
)
def test_a_table_that_no_storage_could_keep_is_refused(changes: dict[str, Any]) -> None:
    """A wrong declaration fails when the program starts."""
    with pytest.raises(ValueError, match="table 't'"):
        _declare(**changes)


def test_an_own_table_needs_no_stream() -> None:
    """Its rows follow from no event; without a stream no purge takes them."""
    table = _declare(columns=(Column(name="id"),), role="own")

    assert not table.is_purgeable
    assert _declare().is_purgeable


def test_a_key_column_that_is_null_is_no_key() -> None:
    """It could be neither found nor replaced."""
    with pytest.raises(ValueError, match="null"):
        NOTE.key_of({"id": None, "stream": "s", "n": 1})


def test_an_index_is_found_by_its_name() -> None:
    """A name that was never declared is a mistake of the caller."""
    index = Index(name="by_id", columns=(IndexColumn(name="id"),))

    assert _declare(indexes=(index,)).index("by_id") == index
    with pytest.raises(KeyError, match="no index 'other'"):
        _declare(indexes=(index,)).index("other")


def test_every_read_model_has_a_derived_table_of_its_own() -> None:
    """The doctor compares these; the others, such as tails of open items, fold nothing."""
    names = [model.table.name for model in READ_MODELS]

    assert len(set(names)) == len(names)
    assert {model.table.role for model in READ_MODELS} == {"derived"}
    own = (OPEN_TAIL, PROCESS, SYNC_FILE, SYNC_STATUS)
    assert {table.role for table in own} == {"own"}
    assert set(TABLES) == {*names, *(table.name for table in own)}


def test_a_changed_row_is_read_back_as_changed() -> None:
    """The next fact of the same append builds on it."""
    rows = _rows(_note("a"))
    rows.put("note", _note("a", 2))

    assert rows.get("note", ("a",)) == _note("a", 2)
    assert rows.writes() == [PutRow(table="note", row=_note("a", 2))]


def test_a_row_that_nobody_asked_for_is_a_mistake() -> None:
    """The absence of a row has to be known as well."""
    rows = _rows()
    with pytest.raises(KeyError):
        rows.get("note", ("a",))

    rows.hold("note", ("a",), None)

    assert rows.get("note", ("a",)) is None
    assert rows.holds("note", ("a",))


def test_each_changed_row_is_written_once() -> None:
    """The last value counts, however many facts changed it."""
    rows = _rows()
    rows.put("note", _note("a", 1))
    rows.put("note", _note("b", 1))
    rows.put("note", _note("a", 2))

    assert rows.writes() == [
        PutRow(table="note", row=_note("a", 2)),
        PutRow(table="note", row=_note("b", 1)),
    ]


def test_a_row_that_is_inserted_and_changed_stays_an_insert() -> None:
    """So its uniqueness is still checked when it is written."""
    rows = _rows()
    rows.insert("note", _note("a", 1), {"text": "words"})
    rows.put("note", _note("a", 2))

    assert rows.writes() == [InsertRow(table="note", row=_note("a", 2), text={"text": "words"})]


def test_words_stay_until_a_later_write_names_others() -> None:
    """None leaves them, an empty mapping takes them away."""
    rows = _rows(_note("a"))
    rows.put("note", _note("a", 2), {"text": "first"})
    rows.put("note", _note("a", 3))
    assert rows.writes() == [PutRow(table="note", row=_note("a", 3), text={"text": "first"})]

    rows.put("note", _note("a", 4), {})
    assert rows.writes() == [PutRow(table="note", row=_note("a", 4), text={})]


def test_a_deleted_row_is_gone_for_the_next_fact() -> None:
    """One write is left: the deletion."""
    rows = _rows(_note("a"))
    rows.put("note", _note("a", 2))
    rows.delete("note", ("a",))

    assert rows.get("note", ("a",)) is None
    assert rows.writes() == [DeleteRow(table="note", key=("a",))]


@pytest.mark.parametrize("known", [True, False], ids=["stored", "inserted in this append"])
def test_a_key_that_is_known_to_exist_cannot_be_inserted(known: bool) -> None:
    """Two inserts of one append must not become one row."""
    rows = _rows(_note("a")) if known else _rows()
    if not known:
        rows.insert("note", _note("a"))

    with pytest.raises(KeyTaken):
        rows.insert("note", _note("a", 2))


def test_a_deleted_key_can_be_inserted_again() -> None:
    """What was made and removed in one append leaves nothing behind."""
    rows = _rows()
    rows.insert("note", _note("a"))
    rows.delete("note", ("a",))
    rows.insert("note", _note("a", 2))

    assert rows.get("note", ("a",)) == _note("a", 2)

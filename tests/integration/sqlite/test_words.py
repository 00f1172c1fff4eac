"""Any word of a text is found, and is gone once it was taken out."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlite_utils import Database

from spaced.plugin_api import (
    Column,
    DeleteRow,
    InsertRow,
    KeyTaken,
    PutRow,
    Table,
    UnusableQuery,
)
from spaced.testing.samples import start
from spaced.testing.tables import card
from spaced_sqlite.driver import sqlite3
from spaced_sqlite.row_tables import RowTable, create_row_table
from spaced_sqlite.search_index import SearchIndex, match_expression, words_of
from spaced_sqlite.storage import SqliteStorage

NOTE = RowTable(
    Table(
        name="note",
        key=("note_id",),
        columns=(Column(name="note_id"),),
        role="own",
        text_columns=("content",),
    )
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


class Notes:
    """A word index in memory, without a storage around it."""

    def __init__(self) -> None:
        self.conn = sqlite3.connect(":memory:", isolation_level=None)
        create_row_table(Database(self.conn, execute_plugins=False), NOTE)
        self.index = SearchIndex(self.conn, NOTE)

    def put(self, number: int, text: str) -> None:
        """Index a row."""
        self.conn.execute(
            "insert or ignore into row_note (_id, note_id) values (?, ?)", [number] * 2
        )
        self.index.replace(number, {"content": text})

    def find(self, query: str) -> list[str]:
        """Return the keys of the rows that a query finds."""
        sql, _ = NOTE.search_statement({})
        return [key for (key,) in self.conn.execute(sql, [match_expression(query), 99])]

    def terms(self) -> int:
        """Return how many words the index holds, also of rows that are gone."""
        self.index.merge(-1000)
        self.conn.execute(
            "create virtual table if not exists v using fts5vocab('search:note', row)"
        )
        return int(self.conn.execute("select count(*) from v").fetchone()[0])


@given(TEXTS)
def test_every_word_of_a_text_is_found_and_goes_again(text: str) -> None:
    """In any script and any case, also in part; what a word is, is said by one expression."""
    notes = Notes()
    notes.put(1, text)
    words = [word for word in re.split(r"[\W_]+", text) if word]
    for word in words:
        for query in (word, word.casefold(), word + "*", word[:1] + "*"):
            assert notes.find(query) == ["1"], f"{query!r} in {text!r}"
    if words:
        assert notes.find(text) == ["1"]

    notes.index.remove(1)
    for word in words:
        assert notes.find(word) == []
    assert notes.terms() == 0
    notes.conn.close()


@given(TEXTS, TEXTS)
def test_an_index_holds_the_words_of_the_newest_text_only(old: str, new: str) -> None:
    """Words that both texts have stay, the others go."""
    notes = Notes()
    notes.put(1, old)
    notes.put(1, new)
    kept = set(words_of([new]))
    for word in words_of([old, new]):
        assert notes.find(word) == (["1"] if word in kept else [])
    assert notes.terms() == len(kept)
    notes.conn.close()


@given(st.text(max_size=40).filter(lambda text: not re.search(r"[^\W_]", text)))
def test_a_query_without_a_word_is_refused(query: str) -> None:
    """Signs alone match nothing and are no syntax either."""
    with pytest.raises(UnusableQuery):
        match_expression(query)


@pytest.mark.parametrize(
    "query",
    [
        '"blue',
        "blue AND",
        "blue OR whale",
        "NOT blue",
        "content:blue",
        "blue NEAR whale",
        "NEAR(blue whale)",
        "^blue",
        "(blue",
        "blue' whale",
        "blue; drop table event",
        "-blue +whale",
        "*blue",
    ],
)
def test_the_syntax_of_the_index_is_only_words(query: str) -> None:
    """Whatever people type is looked for, and never obeyed."""
    notes = Notes()
    notes.put(1, "A blue whale AND a red one OR NOT; content near: drop the table of any event")
    assert notes.find(query) == ["1"]
    notes.put(2, "blue whale")
    expected = ["2", "1"] if set(words_of([query])) <= {"blue", "whale"} else ["1"]
    assert notes.find(query) == expected
    notes.conn.close()


def test_underscores_and_signs_separate_words() -> None:
    """A name in code is found by its parts."""
    assert words_of(["read_stream(self, item-ids)\x00Ünïcode naïve"]) == [
        "ids",
        "item",
        "naïve",
        "read",
        "self",
        "stream",
        "ünïcode",
    ]


def test_a_very_long_word_is_indexed_by_its_beginning() -> None:
    """Encoded data does not swell the index, and is found all the same."""
    notes = Notes()
    data = "QUJD" * 5000
    notes.put(1, f"picture {data}")
    assert notes.find(data) == ["1"]
    assert notes.find(data[:80] + "*") == ["1"]
    assert notes.find("qujdqujd*") == ["1"]
    (size,) = notes.conn.execute('select length(words) from "words:note"').fetchone()
    assert size < 200
    notes.conn.close()


async def test_newest_rows_come_first(storage: SqliteStorage) -> None:
    """Also if an older one is indexed again: its place is the row's, not the text's."""
    for name in ("a", "b", "c"):
        put = PutRow(table="card", row=card(name), text={"content": "apple"})
        await storage.append([], [put])
    await storage.append([], [PutRow(table="card", row=card("a"), text={"content": "apple pie"})])

    assert (await storage.search("card", "apple", limit=2)).keys == [("c",), ("b",)]


async def test_a_row_keeps_its_words_while_its_values_change(storage: SqliteStorage) -> None:
    """A status changes often, a text seldom."""
    await storage.append(
        [start("run-1")], [PutRow(table="card", row=card("a"), text={"content": "apple"})]
    )
    await storage.append([], [PutRow(table="card", row=card("a", board="other"))])
    assert (await storage.search("card", "apple", where={"board": "other"}, limit=5)).keys == [
        ("a",)
    ]
    assert (await storage.search("card", "apple", where={"board": "main"}, limit=5)).keys == []

    await storage.append([], [DeleteRow(table="card", key=("a",))])
    await storage.append([], [PutRow(table="card", row=card("a"))])
    assert (await storage.search("card", "apple", limit=5)).keys == []


async def test_a_rolled_back_append_leaves_no_words(storage: SqliteStorage) -> None:
    """The index is part of the transaction, also of a part of it."""
    await storage.append([], [InsertRow(table="card", row=card("a"))])
    with pytest.raises(KeyTaken):
        await storage.append(
            [],
            [
                PutRow(table="card", row=card("b"), text={"content": "apple"}),
                InsertRow(table="card", row=card("a")),
            ],
        )
    assert (await storage.search("card", "apple", limit=5)).keys == []

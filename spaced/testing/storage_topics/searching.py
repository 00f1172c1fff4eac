"""Proves what a search finds; what comes first is the storage's to say."""

import pytest

from spaced.errors import KeyTaken, UnusableQuery
from spaced.log.table import DeleteRow, InsertRow, PutRow
from spaced.storage.protocol import Storage
from spaced.testing.samples import EVERYTHING, start
from spaced.testing.storage_harness import StorageHarness
from spaced.testing.storage_topics.fixtures import StorageFixtures
from spaced.testing.tables import card, label, put_card

NO_WORDS = ("", " ", "*", "***", "_", "- _ !", '"', "()", "\n", "😀")
SYNTAX = ("OR", "AND", "NOT", "NEAR", "content", "heading")


async def found(storage: Storage, query: str) -> set[object]:
    """Return the ids of the cards that match."""
    hits = await storage.search("card", query, limit=EVERYTHING)
    assert len(set(hits.keys)) == len(hits.keys)
    return {key[0] for key in hits.keys}


async def index(storage: Storage, **contents: str) -> None:
    """Write a card for each content."""
    await storage.append([], [put_card(name, content=text) for name, text in contents.items()])


class SearchPromises(StorageFixtures):
    """A search finds every row whose texts hold all the words, and no other."""

    async def test_a_word_is_found_whatever_its_case(self, storage: Storage) -> None:
        """Letters beyond ASCII have case too."""
        await index(storage, a="The Quick fox", b="ÉTÉ quick", c="slow")
        assert await found(storage, "QUICK") == {"a", "b"}
        assert await found(storage, "été") == {"b"}
        assert await found(storage, "Été") == {"b"}

    async def test_all_words_must_be_there(self, storage: Storage) -> None:
        """In any order, in any of the row's texts, as often as they like."""
        texts = {"heading": "red", "content": "blue green"}
        await storage.append([], [PutRow(table="card", row=card("a"), text=texts)])
        await index(storage, b="red red green", c="green")
        assert await found(storage, "green red") == {"a", "b"}
        assert await found(storage, "red blue") == {"a"}
        assert await found(storage, "green green") == {"a", "b", "c"}
        assert await found(storage, "red blue yellow") == set()

    async def test_a_word_is_a_whole_word(self, storage: Storage) -> None:
        """Parts of words are not found unless a beginning is asked for."""
        await index(storage, a="planning", b="plan", c="airplane")
        assert await found(storage, "plan") == {"b"}
        assert await found(storage, "plan*") == {"a", "b"}
        assert await found(storage, "PLANN*") == {"a"}

    async def test_beginnings_and_words_are_combined(self, storage: Storage) -> None:
        """A star belongs to the word before it."""
        await index(storage, a="planning review", b="plan reviewed", c="planning")
        assert await found(storage, "plan* review") == {"a"}
        assert await found(storage, "rev* pla*") == {"a", "b"}

    async def test_words_are_runs_of_letters_and_digits(self, storage: Storage) -> None:
        """Everything else separates, underscores too, in texts and in queries."""
        await index(storage, a="snake_case, e-mail; v2.10 (draft) /srv/x42")
        for query in ("snake", "case", "mail", "10", "v2", "draft", "x42", "srv/x42", "e-mail"):
            assert await found(storage, query) == {"a"}, query
        for query in ("snakecase", "4", "email", "v210"):
            assert await found(storage, query) == set(), query

    async def test_a_query_without_words_is_refused(self, storage: Storage) -> None:
        """Finding all and finding nothing would both be a guess."""
        await index(storage, a="word")
        for query in NO_WORDS:
            with pytest.raises(UnusableQuery):
                await storage.search("card", query, limit=9)

    async def test_a_query_has_no_syntax(self, storage: Storage) -> None:
        """Whatever an engine's query language means by them, these are words or separators."""
        await index(storage, a="red", b="red or blue", c="blue")
        assert await found(storage, "red OR blue") == {"b"}
        for query in ('"red', "red)", "^red", "red AND", "content:red", "-red", "{red} : red"):
            await found(storage, query)
        await index(storage, **{word: f"{word} red" for word in SYNTAX})
        for word in SYNTAX:
            assert word in await found(storage, f"red {word}"), word

    async def test_long_words_are_found(self, storage: Storage) -> None:
        """A digest or a path without separators is a word like any other."""
        await index(storage, a="x" * 300, b="x" * 20)
        assert await found(storage, "x" * 300) == {"a"}
        assert await found(storage, "xxx*") == {"a", "b"}

    async def test_put_without_text_leaves_the_index(self, storage: Storage) -> None:
        """`None` keeps what the key had; the row itself is replaced."""
        await index(storage, a="word")
        await storage.append([], [PutRow(table="card", row=card("a", title="new"))])
        assert await found(storage, "word") == {"a"}

    async def test_put_with_text_replaces_the_index(self, storage: Storage) -> None:
        """Of the older texts nothing is found, also not those of columns left out."""
        texts = {"heading": "old head", "content": "old"}
        await storage.append([], [PutRow(table="card", row=card("a"), text=texts)])
        await index(storage, a="new")
        assert await found(storage, "new") == {"a"}
        assert await found(storage, "old") == await found(storage, "head") == set()

    async def test_put_with_empty_text_clears_the_index(self, storage: Storage) -> None:
        """The row stays, its words go."""
        await index(storage, a="word")
        await storage.append([], [PutRow(table="card", row=card("a"), text={})])
        assert await found(storage, "word") == set()
        assert len((await storage.get_rows("card", [("a",)])).rows) == 1

    async def test_inserted_rows_are_found(self, storage: Storage) -> None:
        """An insert indexes its texts; one that is refused does not."""
        await storage.append([], [InsertRow(table="card", row=card("a"), text={"content": "one"})])
        with pytest.raises(KeyTaken):
            await storage.append(
                [], [InsertRow(table="card", row=card("a"), text={"content": "two"})]
            )
        assert await found(storage, "one") == {"a"}
        assert await found(storage, "two") == set()

    async def test_deleted_rows_are_not_found(self, storage: Storage) -> None:
        """The words go with the row, and do not come back with its key."""
        await index(storage, a="word", b="word")
        await storage.append([], [DeleteRow(table="card", key=("a",))])
        assert await found(storage, "word") == {"b"}
        await storage.append([], [PutRow(table="card", row=card("a"))])
        assert await found(storage, "word") == {"b"}

    async def test_a_search_looks_at_one_table(self, storage: Storage) -> None:
        """Keys are whole keys of that table."""
        await index(storage, a="word")
        row = label("owner", 7)
        await storage.append([], [PutRow(table="label", row=row, text={"words": "word"})])
        hits = await storage.search("label", "word", limit=9)
        assert [tuple(key) for key in hits.keys] == [("owner", 7)]
        assert await found(storage, "word") == {"a"}

    async def test_a_search_is_narrowed_by_equality(self, storage: Storage) -> None:
        """`where` means here what it means in a list, null included."""
        for name, board, note in (("a", "x", None), ("b", "y", "n"), ("c", "x", "n")):
            row = PutRow(table="card", row=card(name, board=board, note=note))
            await storage.append([], [PutRow(table="card", row=row.row, text={"content": "word"})])
        hits = await storage.search("card", "word", where={"board": "x"}, limit=9)
        assert {key[0] for key in hits.keys} == {"a", "c"}
        hits = await storage.search("card", "word", where={"board": "x", "note": None}, limit=9)
        assert [key[0] for key in hits.keys] == ["a"]

    async def test_a_search_stops_at_its_limit(self, storage: Storage) -> None:
        """The limit counts what passed the equalities."""
        await index(storage, **{f"card{n}": "word" for n in range(9)})
        assert len((await storage.search("card", "word", limit=4)).keys) == 4
        hits = await storage.search("card", "word", where={"card_id": "card5"}, limit=1)
        assert [key[0] for key in hits.keys] == ["card5"]

    async def test_hits_tell_of_which_position_they_are_true(self, storage: Storage) -> None:
        """A list of hits can be kept up to date by following the log from there."""
        await storage.append([start("run-1", count=3)], [put_card("a", content="word")])
        assert (await storage.search("card", "word", limit=9)).as_of_position == 3

    async def test_the_index_survives_a_reopen(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """Closing and opening changes no hit, and the next writes find their words."""
        await index(storage, a="word", b="other")
        reopened = await harness.reopen(storage)
        assert await found(reopened, "word") == {"a"}
        await index(reopened, a="changed")
        assert await found(reopened, "word") == set()

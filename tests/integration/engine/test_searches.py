"""What a search finds, in which order, and what it shows of it."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaced.clock import Timestamp, to_rfc3339
from spaced.domain.events.transcript import AgentItemAppended, AgentItemUpserted
from spaced.engine.journal import Entry, Journal, Statement
from spaced.engine.search_hits import Hit
from spaced.engine.searches import Searches
from spaced.engine.sessions import Configuration
from spaced.engine.snippets import LONGEST_SNIPPET, QueryWords
from spaced.errors import StorageClosed, UnusableQuery
from spaced.log.read_models.items import ITEM
from spaced.log.read_models.sessions import SESSION
from spaced.refusals import InvalidRequest
from spaced.storage.protocol import Hits
from spaced.testing.fake_clock import START
from spaced.testing.samples import event, write
from spaced_sqlite.search_index import words_of
from tests.integration.engine.house import House, say

ECHO = {"do": "echo"}
TOOL = {
    "do": "tool",
    "name": "bash",
    "title": "Count penguins",
    "arguments": {"command": "wc penguins.txt"},
    "output": "42 penguins.txt",
}


def _marked(hit: Hit) -> str:
    """Return a hit's snippet with brackets around what matches."""
    text = hit.snippet.text
    for start, end in reversed(hit.snippet.matches):
        text = f"{text[:start]}[{text[start:end]}]{text[end:]}"
    return text


async def _found(house: House, query: str, **conditions: Any) -> list[str]:
    result = await house.engine.searches.search(query, **conditions)
    assert result.is_complete
    return [_marked(hit) for hit in result.hits]


async def _record(house: House, chat: str, *items: dict[str, Any]) -> None:
    """Record items in a chat past its agent."""
    version = await house.storage.version(chat)
    told = [Statement(event=AgentItemAppended(item=item), session_id=chat) for item in items]
    entry = Entry(stream=chat, expected_version=version, statements=told)
    await Journal(house.storage, house.clock).append(entry)


def _message(item_id: str, content: str, *, at: int = START) -> dict[str, Any]:
    moment = to_rfc3339(Timestamp(at))
    return {"id": item_id, "type": "message", "content": content, "created_at": moment}


async def test_titles_messages_and_output_are_found(house: House) -> None:
    """Each hit says what it is and where it stands."""
    chat = await house.chat([TOOL, say("There are 42 penguins.")], request={"title": "Penguins"})
    await house.turn(chat, "How many penguins?")

    hits = (await house.engine.searches.search("penguins")).hits

    assert {(hit.item_type, hit.role, _marked(hit)) for hit in hits} == {
        (None, None, "[Penguins]"),
        ("message", "user", "How many [penguins]?"),
        ("message", "assistant", "There are 42 [penguins]."),
        ("tool-result", None, "42 [penguins].txt"),
        ("tool-call", None, 'Count [penguins] {"command": "wc [penguins].txt"}'),
    }
    items = {item["id"] for item in await house.items(chat)}
    for hit in hits:
        assert (hit.session_id, hit.run_id, hit.title) == (chat, chat, "Penguins")
        assert (hit.directory, hit.is_archived) == (str(house.workplace), False)
        assert hit.item_id is None or hit.item_id in items
        assert hit.created_at == (None if hit.item_id is None else START)


async def test_the_newest_come_first(house: House) -> None:
    """Titles among items, a title at the time at which its session changed last."""
    chat = await house.chat([ECHO], request={"title": "word in a title"})
    for number in (1, 2):
        house.clock.advance(milliseconds=1000)
        await house.turn(chat, f"word {number}")
    last = (await house.session(chat)).updated_at

    hits = (await house.engine.searches.search("word")).hits
    few = (await house.engine.searches.search("word", limit=2)).hits

    assert [hit.at for hit in hits] == sorted([hit.at for hit in hits], reverse=True)
    assert next(hit.at for hit in hits if hit.item_id is None) == last
    assert len(hits) == 5
    assert [hit.at for hit in few] == [hit.at for hit in hits[:2]]


async def test_deleted_sessions_are_never_found(house: House) -> None:
    """Archived ones are, and say so."""
    deleted, purged, archived = [
        await house.chat([ECHO], request={"title": f"word of {name}"}) for name in "dpa"
    ]
    for chat in (deleted, purged, archived):
        await house.turn(chat, "word")
    await house.engine.deletions.delete(deleted)
    await house.engine.deletions.delete(purged, now=True)
    await house.engine.sessions.archive(archived)

    hits = (await house.engine.searches.search("word")).hits

    assert {(hit.session_id, hit.is_archived) for hit in hits} == {(archived, True)}
    assert len(hits) == 3


async def test_a_deleted_session_of_a_run_is_not_found(house: House) -> None:
    """The run's other session is."""
    chat = await house.chat([ECHO])
    await house.turn(chat, "word one")
    await house.engine.sessions.complete(chat)
    follow_up = (await house.send(chat, "word two")).session_id
    await house.idle(follow_up)
    assert len({hit.session_id for hit in (await house.engine.searches.search("word")).hits}) == 2

    await house.engine.deletions.delete(follow_up)

    hits = (await house.engine.searches.search("word")).hits
    assert {hit.session_id for hit in hits} == {chat}


async def test_a_search_is_narrowed_by_profile_folder_and_time(house: House) -> None:
    """Each alone and together."""
    one, two = await house.chat([ECHO]), await house.chat([ECHO])
    await _record(house, one, _message("a", "word", at=100), _message("b", "word", at=200))
    await _record(house, two, _message("c", "word", at=300))
    profile_id = (await house.session(two)).agent_id

    async def found(**conditions: Any) -> list[str | None]:
        return [h.item_id for h in (await house.engine.searches.search("word", **conditions)).hits]

    assert await found() == ["c", "b", "a"]
    assert await found(profile_id=profile_id) == ["c"]
    assert await found(directory=str(house.workplace)) == ["c", "b", "a"]
    assert await found(since=200) == ["c", "b"]
    assert await found(until=200) == ["a"]
    assert await found(since=101, until=300) == ["b"]
    assert await found(profile_id=profile_id, until=300) == []
    for nowhere in ("/nowhere", "", "\ud800", "é" * 5000):
        assert await found(directory=nowhere) == []


async def test_a_rare_match_is_found_behind_many_others(house: House) -> None:
    """However many newer items hold the words but do not meet the conditions."""
    rare, common = await house.chat([ECHO]), await house.chat([ECHO])
    await _record(house, rare, _message("rare", "word"))
    await _record(house, common, *(_message(f"itm_{n}", "word") for n in range(700)))
    profile_id = (await house.session(rare)).agent_id

    hits = (await house.engine.searches.search("word", profile_id=profile_id, limit=1)).hits

    assert [hit.item_id for hit in hits] == ["rare"]


async def test_a_search_ends_also_where_all_match_and_none_is_wanted(house: House) -> None:
    """And says that it has not looked at everything."""
    chat = await house.chat([ECHO])
    keys = [(chat, f"itm_{n}") for n in range(30_000)]
    asked = []

    class AllMatch:
        def __getattr__(self, name: str) -> Any:
            return getattr(house.storage, name)

        async def search(self, table: str, query: str, *, limit: int, **_: Any) -> Hits:
            asked.append(limit)
            return Hits(keys=keys[:limit] if table == ITEM.name else [], as_of_position=1)

    result = await Searches(AllMatch()).search("word", since=5)

    assert (list(result.hits), result.is_complete) == ([], False)
    assert max(asked) == 20_000


async def test_what_is_gone_since_it_was_found_is_left_out(house: House) -> None:
    """The index named it, and a moment later its events are gone."""
    chat, other = await house.chat([ECHO]), await house.chat([ECHO])
    for one in (chat, other):
        await _record(house, one, _message(f"of {one}", "word"))

    class GoesMeanwhile:
        def __getattr__(self, name: str) -> Any:
            return getattr(house.storage, name)

        async def read_items(self, wanted: Any) -> Sequence[Any]:
            await house.storage.purge(chat)
            return await house.storage.read_items(wanted)

    result = await Searches(GoesMeanwhile()).search("word")

    assert [hit.session_id for hit in result.hits] == [other]


async def test_an_item_that_cannot_be_folded_is_found_without_its_text(house: House) -> None:
    """One damaged item costs the others nothing."""
    chat = await house.chat([ECHO])
    await _record(house, chat, _message("a", "word"), _message("b", "word"))
    body = b'{"item_id":5}'
    bad = event(body, kind="agent-item-text-appended", session_id=chat, item_id="a")
    version = await house.storage.version(chat)
    await house.storage.append([write(chat, version, bad)])

    hits = (await house.engine.searches.search("word")).hits

    assert {hit.item_id: _marked(hit) for hit in hits} == {"a": "", "b": "[word]"}


async def test_a_large_item_is_found_by_its_beginning(house: House) -> None:
    """What is indexed of it is looked at, and the event loop is not kept waiting."""
    chat = await house.chat([ECHO])
    await _record(house, chat, _message("a", "x " * 100_000 + "needle " + "y " * 900_000))

    assert await _found(house, "needle") == [f"…{'x ' * 30}[needle]{' y' * 86}…"]


async def test_a_title_that_changed_is_found_by_its_new_words(house: House) -> None:
    """The old ones find nothing any more."""
    chat = await house.chat([ECHO], request={"title": "old words"})
    await house.engine.sessions.configure(chat, Configuration(title="new words"))

    assert await _found(house, "words") == ["new [words]"]
    assert await _found(house, "old") == []


@pytest.mark.parametrize("query", ["", " ", "*", "_", "- !", '"', "\x00", "\ud800", "😀"])
async def test_a_query_without_words_is_refused(house: House, query: str) -> None:
    """Finding all and finding nothing would both be a guess."""
    with pytest.raises(UnusableQuery):
        await house.engine.searches.search(query)


async def test_a_query_and_its_answer_are_bounded(house: House) -> None:
    """Up to the bound anything goes, also hundreds of words."""
    many = " ".join(f"{chr(0x4E00 + n)}" for n in range(500))
    assert await _found(house, many) == []
    assert await _found(house, "a* " * 333) == []
    for query, limit in (("x" * 1001, 5), ("x", 0), ("x", 101), ("x", -1)):
        with pytest.raises(InvalidRequest):
            await house.engine.searches.search(query, limit=limit)


async def test_a_closed_storage_says_so(house: House) -> None:
    """And not a group of errors, which nobody could tell a client."""
    await house.storage.close()

    with pytest.raises(StorageClosed):
        await house.engine.searches.search("word")


async def test_searches_at_once_do_not_mix(house: House) -> None:
    """Each has the answer to its own question."""
    chat = await house.chat([ECHO])
    await _record(house, chat, *(_message(f"itm_{n}", f"word{n}") for n in range(20)))

    found = await asyncio.gather(*(_found(house, f"word{n}") for n in range(20)))

    assert found == [[f"[word{n}]"] for n in range(20)]


WORDS = st.sampled_from(
    ["red", "Red", "reddish", "blue_green", "ÉTÉ", "été", "e\u0301te", "straße", "STRASSE", "ﬁn"]
) | st.sampled_from(
    ["x" * 80, "x" * 300, "7", "x42", "\u0130", "Ǆ", "…", "\n", "\t\t", "   ", "。", "日本語", "²"]
)
TEXTS = st.lists(WORDS | st.text(max_size=4), max_size=120).map(" ".join) | st.lists(
    WORDS, max_size=60
).map("".join)
QUERIES = st.lists(
    st.sampled_from(["red", "re*", "STRASSE", "xx*", "x" * 300, "été", "FIN", "日本*", "7", "i*"]),
    min_size=1,
    max_size=2,
).map(" ".join)


@settings(max_examples=300, deadline=None)
@given(text=TEXTS, query=QUERIES)
def test_a_snippet_shows_a_match_exactly_where_the_index_has_one(text: str, query: str) -> None:
    """In the same words, on one line, and never longer than it may be."""
    words = QueryWords(query)
    indexed = words_of([text])
    snippet = words.snippet(text)
    named = [(w.rstrip("*").casefold()[:64], w.endswith("*")) for w in query.split()]

    def is_named(word: str) -> bool:
        return any(word.startswith(w) if is_start else word == w for w, is_start in named)

    assert bool(snippet.matches) == any(map(is_named, indexed))
    assert len(snippet.text) <= LONGEST_SNIPPET
    assert snippet.text == " ".join(snippet.text.split())
    for start, end in snippet.matches:
        assert words_of([snippet.text[start:end]]) == [snippet.text[start:end].casefold()[:64]]
        assert is_named(snippet.text[start:end].casefold()[:64])


async def test_a_hit_is_where_the_storage_found_it(house: House) -> None:
    """Whatever the words: what the storage finds has its match in the snippet."""
    chat = await house.chat([ECHO])
    texts = ["STRASSE", "straße", "ÉTÉ", "\u0130stanbul", "ﬁne", "x" * 300, "snake_case", "42²"]
    items = [_message(f"itm_{n}", text) for n, text in enumerate(texts)]
    upserts = [AgentItemUpserted(item=item) for item in items]
    entry = Entry(
        stream=chat,
        expected_version=await house.storage.version(chat),
        statements=[Statement(event=one, session_id=chat) for one in upserts],
    )
    await Journal(house.storage, house.clock).append(entry)

    for query in ("strasse", "STRAßE", "été", "\u0130*", "fi*", "x" * 300, "case", "42²", "s*"):
        stored = (await house.storage.search(ITEM.name, query, limit=99)).keys
        hits = (await house.engine.searches.search(query)).hits
        assert {(hit.session_id, hit.item_id) for hit in hits} == set(stored), query
        assert all(hit.snippet.matches for hit in hits), query
    assert SESSION.text_columns == ("title",)

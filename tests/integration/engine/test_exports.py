"""An export as JSON holds everything of a chat, and can be read back without spaced's help."""

import base64
import json
import tempfile
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spaced.clock import from_rfc3339
from spaced.domain.events.transcript import AgentItemAppended
from spaced.engine.doctor import rebuild
from spaced.engine.exports.json_export import export_json
from spaced.engine.exports.redacting import UNREDACTED, Redacting
from spaced.engine.journal import Entry, Journal, Statement
from spaced.engine.prompts import Address, PromptRequest
from spaced.log.fold import StreamFold, fold_stream
from spaced.log.read_models.catalogue import TABLES
from spaced.log.read_models.lives import ASKS, EXECUTIONS, PROMPTS, TURNS, Lives
from spaced.log.record import NewEvent, RecordedEvent, StreamWrite
from spaced.log.table import DeleteRow
from spaced.redaction import Redactor
from spaced.refusals import UnknownSession
from spaced.storage.protocol import Storage
from spaced.testing.samples import event
from spaced.testing.storage_harness import MemoryStorageHarness
from tests.integration.engine.house import House, say
from tests.integration.journal.telling import plant
from tests.unit.log.stories import Story, recorded, run_stories

ECHO = {"do": "echo"}
SECRET = "sk-ant-api03-" + "Abc123Def456" * 4
LIVES: dict[str, Lives[Any]] = {
    "prompts": PROMPTS,
    "turns": TURNS,
    "asks": ASKS,
    "executions": EXECUTIONS,
}


async def _text(storage: Storage, chat: str, redactor: Redacting = UNREDACTED) -> bytes:
    return b"".join([piece async for piece in export_json(storage, chat, redactor=redactor)])


async def _document(storage: Storage, chat: str, redactor: Redacting = UNREDACTED) -> Any:
    return json.loads(await _text(storage, chat, redactor))


def _refolded(document: Any) -> StreamFold:
    """Fold an export's events, as somebody would who has nothing else."""
    return fold_stream(
        [
            RecordedEvent(
                **{key: one[key] for key in ("stream", "version", "position", "kind")},
                session_id=one["session_id"],
                item_id=one["item_id"],
                body=json.dumps(one["body"]).encode(),
                created_at=from_rfc3339(one["created_at"]),
                recorded_at=from_rfc3339(one["recorded_at"]),
            )
            for one in document["events"]
        ]
    )


def _states(fold: StreamFold, name: str) -> list[Any]:
    lives = LIVES[name]
    rows = [put.row for (table, _), put in fold.rows.items() if table == lives.table.name]
    return sorted((_plain(lives.state_of(row)) for row in rows), key=lambda state: state["id"])


def _plain(state: object) -> Any:
    return json.loads(msgspec.json.encode(state))


def _without_times(states: Sequence[Any]) -> list[Any]:
    return [{k: v for k, v in state.items() if not k.endswith("_at")} for state in states]


async def _record(house: House, chat: str, *items: dict[str, Any]) -> None:
    version = await house.storage.version(chat)
    told = [Statement(event=AgentItemAppended(item=item), session_id=chat) for item in items]
    entry = Entry(stream=chat, expected_version=version, statements=told)
    await Journal(house.storage, house.clock).append(entry, bulk=True)


def _file(blob_id: str, mime: str = "image/png") -> dict[str, Any]:
    return {"type": "file", "name": "x.png", "mime": mime, "blob": blob_id}


async def _busy_chat(house: House) -> str:
    """Return a chat in which everything has happened that can happen in one."""
    question = {"do": "question", "questions": [{"text": "Which?"}], "wait": False}
    chat = await house.chat(
        [{"do": "think", "text": "Hm."}, {"do": "tool", "name": "ls", "output": "a"}, say("one")],
        [{"do": "ask_permission", "wait": False}, say("two", pieces=3)],
        [question],
        request={"title": "Everything"},
    )
    for text in ("first", "second", "third"):
        await house.turn(chat, text)
    held = await house.send(chat, "held", wake=False)
    cancelled = await house.send(chat, "cancelled", wake=False)
    await house.engine.queue.cancel(chat, cancelled.id)
    await house.engine.queue.edit(chat, held.id, parts=[{"type": "text", "text": "held 2"}])
    return chat


async def test_everything_of_a_chat_can_be_rebuilt_from_its_events(house: House) -> None:
    """Transcript, prompts, turns, asks and executions, ended or not."""
    chat = await _busy_chat(house)

    document = await _document(house.storage, chat)
    fold = _refolded(document)

    (session,) = document["sessions"]
    assert fold.damage is None
    assert session["items"] == fold.transcripts[chat].items() == await house.items(chat)
    assert [e["version"] for e in document["events"]] == list(range(1, document["version"] + 1))
    for name in LIVES:
        assert document[name], name
        found = sorted(document[name], key=lambda state: str(state["id"]))
        assert _without_times(found) == _without_times(_states(fold, name)), name
    assert {prompt["status"] for prompt in document["prompts"]} == {
        *("delivered", "pending", "cancelled"),
    }
    assert {ask["status"] for ask in document["asks"]} == {"open", "expired"}


async def test_an_export_says_what_it_is_and_where_it_comes_from(house: House) -> None:
    """A reader refuses a format that it does not know."""
    chat = await _busy_chat(house)

    document = await _document(house.storage, chat)

    assert (document["format"], document["format_version"]) == ("spaced-chat", 1)
    assert document["log_id"] == house.storage.log_id
    assert document["session_id"] == document["run"]["id"] == chat
    assert document["version"] == await house.storage.version(chat)
    assert (document["redacted"], document["damage"], document["problems"]) == (False, None, [])
    assert document["sessions"][0]["title"] == "Everything"
    assert document["sessions"][0]["created_at"] == "2026-12-01T09:30:00.000Z"


async def test_all_sessions_of_a_run_are_exported_whichever_is_named(house: House) -> None:
    """Each with its own items."""
    chat = await house.chat([ECHO])
    await house.turn(chat, "one")
    await house.engine.sessions.complete(chat)
    follow_up = (await house.send(chat, "two")).session_id
    await house.idle(follow_up)

    for named in (chat, follow_up):
        document = await _document(house.storage, named)
        told = {s["id"]: [i["content"] for i in s["items"]] for s in document["sessions"]}
        assert told == {chat: ["one", "one"], follow_up: ["two", "two"]}
        assert document["session_id"] == named


async def test_deleted_sessions_are_not_exported(house: House) -> None:
    """Neither alone nor as part of a run whose other session is."""
    chat = await house.chat([ECHO])
    await house.turn(chat, "one")
    await house.engine.sessions.complete(chat)
    follow_up = (await house.send(chat, "confidential")).session_id
    await house.idle(follow_up)
    await house.engine.deletions.delete(follow_up)

    text = await _text(house.storage, chat)
    document = json.loads(text)

    assert b"confidential" not in text
    assert document["left_out_sessions"] == [follow_up]
    assert [session["id"] for session in document["sessions"]] == [chat]
    assert {state["session_id"] for name in LIVES for state in document[name]} == {chat}
    for name in (follow_up, "ses_nobody", "", "\ud800"):
        with pytest.raises(UnknownSession):
            await _text(house.storage, name)
    await house.engine.deletions.delete(chat)
    with pytest.raises(UnknownSession):
        await _text(house.storage, chat)


async def test_blobs_that_prompts_and_items_name_are_in_it(house: House) -> None:
    """Their media types where they are known; one that is gone is a problem."""
    chat = await house.chat([ECHO])
    contents = [b"", b"\x89PNG" + bytes(range(256)) * 2000, b"text", b"args"]
    empty, picture, output, arguments = [await house.storage.put_blob(c) for c in contents]
    foreign = await house.storage.put_blob(b"of another chat")
    gone = "blob_" + "0" * 64
    request = PromptRequest(parts=(_file(picture), _file(empty, "text/plain"), _file(gone)))
    await house.engine.prompts.send(Address(kind="session", id=chat), request)
    await house.idle(chat)
    await _record(
        house,
        chat,
        {"id": "a", "type": "tool-result", "output": f"see {foreign}", "blob": output},
        {"id": "b", "type": "tool-call", "arguments": f'{{"blob":"{arguments}","bytes":4}}'},
        {"id": "c", "type": "message", "content": '{"blob":', "parts": [_file(picture)]},
    )

    document = await _document(house.storage, chat)

    blobs = {blob["id"]: blob for blob in document["blobs"]}
    assert blobs.keys() == {empty, picture, output, arguments, gone}
    for blob_id, content in zip((empty, picture, output, arguments), contents, strict=True):
        assert base64.b64decode(blobs[blob_id]["base64"], validate=True) == content
        assert blobs[blob_id]["bytes"] == len(content)
    assert (blobs[picture]["mime"], blobs[empty]["mime"]) == ("image/png", "text/plain")
    assert blobs[output]["mime"] is None
    assert blobs[gone]["missing"] is True
    assert document["problems"] == [f"there is no blob {gone!r}"]


async def test_long_transcripts_keep_their_order(house: House) -> None:
    """Over the ends of pages, and whatever the ids of the items are."""
    chat = await house.chat([ECHO])
    for count in (49, 1, 1, 50, 99):
        before = (await house.session(chat)).item_count
        names = [f"{(7919 * n) % 1000:03}" for n in range(before, before + count)]
        await _record(house, chat, *({"id": n, "type": "message", "content": n} for n in names))

        (session,) = (await _document(house.storage, chat))["sessions"]

        assert [i["id"] for i in session["items"]] == [i["id"] for i in await house.items(chat)]
    assert len(session["items"]) == 200


async def test_an_export_takes_little_memory(house: House) -> None:
    """It goes out as it is read; the whole chat is never there."""
    chat = await house.chat([ECHO])
    for part in range(20):
        items = [
            {"id": f"{part}-{n}", "type": "message", "content": "x" * 50_000} for n in range(40)
        ]
        await _record(house, chat, *items)
    size = 0
    tracemalloc.start()
    try:
        async for piece in export_json(house.storage, chat):
            size += len(piece)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert size > 80_000_000
    assert peak < 25_000_000


async def test_what_is_recorded_meanwhile_is_not_in_it(house: House) -> None:
    """Events and items are of one moment, though the chat goes on."""
    chat = await house.chat([ECHO])
    await _record(house, chat, *({"id": f"{n}", "type": "message"} for n in range(300)))
    version = await house.storage.version(chat)
    pieces: list[bytes] = []
    async for piece in export_json(house.storage, chat):
        if not pieces:
            await _record(house, chat, {"id": "late", "type": "message"})
        pieces.append(piece)

    document = json.loads(b"".join(pieces))

    assert document["version"] == len(document["events"]) == version
    assert [item["id"] for item in document["sessions"][0]["items"]] == [f"{n}" for n in range(300)]
    assert _refolded(document).transcripts[chat].items() == document["sessions"][0]["items"]
    assert document["problems"] == []


async def test_a_chat_that_goes_while_it_is_exported_is_a_problem(house: House) -> None:
    """What came so far is a whole document all the same, and says so."""
    chat = await house.chat([ECHO])
    await _record(house, chat, *({"id": f"{n}", "type": "message"} for n in range(300)))
    pieces: list[bytes] = []
    async for piece in export_json(house.storage, chat):
        if not pieces:
            await house.storage.purge(chat)
        pieces.append(piece)

    document = json.loads(b"".join(pieces))

    assert document["events"] == []
    assert document["problems"] == ["the run was deleted for good while it was exported"]


async def test_a_damaged_chat_is_exported_as_far_as_it_goes(house: House) -> None:
    """With what is wrong, and with every event as it stands in the log."""
    chat = await house.chat([say("fine")])
    await house.turn(chat, "go")
    fine = await house.items(chat)
    broken = [
        event(b"[]", kind="agent-status-changed", session_id=chat),
        event(b'{"item_id":9}', kind="agent-item-updated", session_id=chat, item_id=fine[1]["id"]),  # type: ignore[arg-type]
        event(b"\xff\x00{", kind="no-such-kind"),
        event(b"[" * 5000 + b"]" * 5000, kind="agent-status-changed", session_id=chat),
    ]
    await plant(house.storage, chat, *broken)
    await rebuild(house.storage)

    for redactor in (UNREDACTED, Redactor()):
        document = await _document(house.storage, chat, redactor)

        assert document["damage"].startswith(f"{chat} is damaged at version ")
        assert document["sessions"][0]["items"] == [fine[0]]
        assert len(document["events"]) == await house.storage.version(chat)
        assert [event["version"] for event in document["events"] if "body_base64" in event] == [
            document["version"] - 1,
            document["version"],
        ]
        assert len(document["problems"]) == 3
        assert fine[1]["id"] in document["problems"][0]
    raw = (await _document(house.storage, chat))["events"][-2]["body_base64"]
    assert base64.b64decode(raw) == b"\xff\x00{"


async def test_items_whose_rows_are_missing_are_a_problem(house: House) -> None:
    """An incomplete export never looks like a whole one."""
    chat = await house.chat([say("one")])
    await house.turn(chat, "go")
    last = str((await house.items(chat))[-1]["id"])
    await house.storage.append([], [DeleteRow(table="item", key=(chat, last))])

    document = await _document(house.storage, chat)

    assert len(document["sessions"][0]["items"]) == 1
    assert document["problems"] == [f"1 items of {chat!r} were not found; `spaced doctor` says why"]


async def test_a_redacted_export_holds_no_secret(house: House) -> None:
    """Also where it came in pieces, stands inside of other text, or lies in a blob."""
    chat = await house.chat(
        [
            say(f"The key is {SECRET}.", piece_length=5),
            {
                "do": "tool",
                "name": "env",
                "arguments": {"API_KEY": SECRET},
                "output": f"K={SECRET}",
            },
        ],
        request={"title": f"About {SECRET}"},
    )
    blob = await house.storage.put_blob(f'{{"a":["{SECRET}"]}}'.encode())
    request = PromptRequest(parts=({"type": "text", "text": f"Use {SECRET}"}, _file(blob)))
    await house.engine.prompts.send(Address(kind="session", id=chat), request)
    await house.idle(chat)
    await house.send(chat, f"later {SECRET}", wake=False)
    version = await house.storage.version(chat)
    halves = [
        event(
            json.dumps({"item": {"id": "z", "type": "message", "content": SECRET[:30]}}).encode()
        ),
        event(
            json.dumps(
                {"item_id": "z", "field": "content", "offset": 30, "text": SECRET[30:]}
            ).encode()
        ),
    ]
    kinds = ("agent-item-appended", "agent-item-text-appended")
    planted = [
        msgspec.structs.replace(half, kind=kind, session_id=chat, item_id="z")
        for half, kind in zip(halves, kinds, strict=True)
    ]
    await house.storage.append([StreamWrite(stream=chat, expected_version=version, events=planted)])
    await rebuild(house.storage)

    text = await _text(house.storage, chat, Redactor())
    document = json.loads(text)

    for start in range(0, len(SECRET) - 10, 5):
        assert SECRET[start : start + 10].encode() not in text
    assert document["redacted"] is True
    assert document["blobs"][0]["redacted"] is True
    assert json.loads(base64.b64decode(document["blobs"][0]["base64"])) == {"a": ["[redacted]"]}
    assert "The key is [redacted]." in [i.get("content") for i in document["sessions"][0]["items"]]
    withheld = [one for one in document["events"] if one.get("withheld")]
    assert {one["kind"] for one in withheld} >= set(kinds)
    assert all(one["body"] is None for one in withheld)
    assert SECRET.encode() in await _text(house.storage, chat)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(story=run_stories("run"), first=st.sampled_from(["run", "other"]))
async def test_any_story_is_exported_so_that_it_can_be_folded_again(
    story: Story, first: str
) -> None:
    """Items, prompts, turns, asks and executions follow from the events of the document."""
    events = recorded("run", story)
    fold = fold_stream(events)
    with tempfile.TemporaryDirectory() as folder:
        harness = MemoryStorageHarness(Path(folder))
        storage = await harness.open(tuple(TABLES.values()))
        new = [
            NewEvent(**{f: getattr(one, f) for f in NewEvent.__struct_fields__}) for one in events
        ]
        write = StreamWrite(stream="run", expected_version=0, events=new)
        await storage.append([write], list(fold.rows.values()))
        sessions = {k[0]: p.row for (t, k), p in fold.rows.items() if t == "session"}
        hidden = {str(name) for name, row in sessions.items() if row["visibility"] == "hidden"}
        if first not in sessions or first in hidden:
            with pytest.raises(UnknownSession):
                await _text(storage, first)
            return
        document = await _document(storage, first)
        await harness.close()

    assert document["problems"] == []
    assert set(document["left_out_sessions"]) == hidden
    kept = [one for one in events if one.session_id not in hidden]
    assert [one["version"] for one in document["events"]] == [one.version for one in kept]
    again = fold if not hidden else fold_stream(kept)
    for session in document["sessions"]:
        transcript = fold.transcripts.get(session["id"])
        assert session["items"] == ([] if transcript is None else _plain(transcript.items()))
    if not hidden:
        assert _refolded(document).rows.keys() == again.rows.keys()
        for name in LIVES:
            found = sorted(document[name], key=lambda state: str(state["id"]))
            assert _without_times(found) == _without_times(_states(again, name))

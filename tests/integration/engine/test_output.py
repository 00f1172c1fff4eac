"""What agents report: kept, marked where it comes late, never repeated, never too large."""

import asyncio
from collections.abc import Mapping
from typing import Any

from spaced.domain.events.transcript import AgentItemAppended, AgentItemUpdated
from spaced.domain.events.turn import TurnEnded, TurnStarted
from spaced.domain.json_values import JsonObject
from spaced.domain.problem import Problem
from spaced.engine.executions import LiveExecution
from spaced.runtime.updates import ItemUpserted, TextAppended, TurnFinished, UnknownReport
from spaced.testing.samples import next_turn
from tests.integration.engine.house import PATIENCE, House, gate, say


async def _begin(house: House) -> tuple[str, LiveExecution, str]:
    """Return a chat, its execution and its turn, which stands before a gate."""
    chat = await house.chat([gate()], [say("next")])
    await house.send(chat, "go")
    await house.reached()
    live = house.engine.executions.live(chat)
    assert live is not None
    return chat, live, (await house.found(chat, TurnStarted))[0].turn_id


async def _end(house: House, chat: str) -> None:
    house.runtime.gates.open("gate")
    await house.idle(chat)


async def _let_agent_end(house: House, live: LiveExecution) -> None:
    """Let the agent come to its own end of the turn, so that it takes another one."""
    house.runtime.gates.open("gate")
    async with asyncio.timeout(PATIENCE):
        while live.connection is not None and vars(live.connection)["_turn"] is not None:
            await next_turn()


async def _until(house: House, chat: str, **wanted: object) -> JsonObject:
    """Wait for an item that has these values, and return it."""
    async with asyncio.timeout(PATIENCE):
        while True:
            for item in await house.items(chat):
                if all(item.get(name) == value for name, value in wanted.items()):
                    return item
            await next_turn()


async def test_output_after_the_turn_is_kept_and_marked(house: House) -> None:
    """Late text belongs to its turn, and moves no status."""
    chat = await house.chat([say("done"), {"do": "late", "steps": [say("and one more thing")]}])
    await house.turn(chat)

    item = await _until(house, chat, content="and one more thing", stream_status="complete")

    assert item["late"] is True
    assert "turn_id" in item
    assert (await house.session(chat)).status == "idle"


async def test_output_outside_of_any_turn_is_kept_and_marked(house: House) -> None:
    """A task in the background goes on after its turn."""
    chat = await house.chat([{"do": "background", "steps": [say("still here")]}, say("done")])
    await house.turn(chat)

    item = await _until(house, chat, content="still here", stream_status="complete")

    assert item["background"] is True
    assert "turn_id" not in item


async def test_what_spaced_has_no_word_for_is_kept(house: House) -> None:
    """As an event item with all that was said."""
    chat, live, turn = await _begin(house)

    await live.sink.report(UnknownReport(kind="acp:strange", payload={"a": [1]}, turn_id=turn))

    await _end(house, chat)
    (event,) = [item for item in await house.items(chat) if item["type"] == "event"]
    assert (event["event"], event["details"], event["turn_id"]) == ("acp:strange", {"a": [1]}, turn)


async def test_an_equal_report_is_no_event(house: House) -> None:
    """Agents repeat themselves; the log does not."""
    chat, live, turn = await _begin(house)
    call = {"type": "tool-call", "call_id": "c", "name": "t", "status": "running"}

    for _ in range(3):
        await live.sink.report(ItemUpserted(source="c", item=call, turn_id=turn))

    items = [e for e in await house.found(chat, AgentItemAppended) if e.item["type"] == "tool-call"]
    assert len(items) == 1
    assert await house.found(chat, AgentItemUpdated) == []
    await _end(house, chat)


async def test_rewrites_of_an_open_item_come_once_a_second(house: House) -> None:
    """A progress bar that moves a hundred times is two events and its end."""
    chat, live, turn = await _begin(house)
    await _report_call(live, turn, title="0", status="running")
    for number in range(1, 100):
        await _report_call(live, turn, title=str(number), status="running")

    await house.pass_time(1000)
    await _until(house, chat, title="99")
    await _report_call(live, turn, title="done", status="completed")

    updates = await house.found(chat, AgentItemUpdated)
    assert [update.updates.get("title") for update in updates] == ["1", "99", "done"]
    await _end(house, chat)


async def _report_call(live: LiveExecution, turn: str, **fields: object) -> None:
    item: Mapping[str, object] = {"type": "tool-call", "call_id": "c", "name": "t", **fields}
    await live.sink.report(ItemUpserted(source="c", item=item, turn_id=turn))


async def test_output_that_is_repeated_as_a_whole_grows(house: House) -> None:
    """Each report has all of it; only what is new is added."""
    chat, live, turn = await _begin(house)
    for text in ("one\n", "one\ntwo\n", "one\ntwo\n", "one\ntwo\nthree\n"):
        result: dict[str, Any] = {"type": "tool-result", "call_id": "c", "output": text}
        result["stream_status"] = "streaming"
        await live.sink.report(ItemUpserted(source="r", item=result, turn_id=turn))
    await _end(house, chat)

    (item,) = [i for i in await house.items(chat) if i["type"] == "tool-result"]
    assert item["output"] == "one\ntwo\nthree\n"
    assert not [e for e in await house.found(chat, AgentItemUpdated) if "output" in e.updates]


async def test_large_values_go_to_blobs(house: House) -> None:
    """An item stays small; what is large and no text to read is found by its id."""
    chat, live, turn = await _begin(house)
    diff = [{"path": "a", "old": "x" * 50_000, "new": "y" * 50_000}]
    call = {"type": "tool-call", "call_id": "c", "status": "completed", "diffs": diff}

    await live.sink.report(ItemUpserted(source="c", item=call, turn_id=turn))
    await _end(house, chat)

    (item,) = [i for i in await house.items(chat) if i["type"] == "tool-call"]
    stored = item["diffs"]
    assert isinstance(stored, dict)
    assert len(await house.storage.get_blob(stored["blob"])) == stored["bytes"]


async def test_a_name_of_an_earlier_conversation_means_another_item(house: House) -> None:
    """A provider's names are unique only within a generation."""
    chat, live, turn = await _begin(house)
    await live.sink.report(TextAppended(source="1", text="first", turn_id=turn))
    await _end(house, chat)
    await house.engine.control.reset(chat)

    await house.send(chat, "again")
    await house.idle(chat)
    later = house.engine.executions.live(chat)
    assert later is not None
    await later.sink.report(TextAppended(source="1", text="second"))

    said = [item["content"] for item in await house.items(chat) if item.get("role") != "user"]
    assert "first" in said
    assert "second" in said


async def test_a_compaction_is_shown(house: House) -> None:
    """A person who wanted it sees in the transcript that it happened."""
    chat = await house.chat([say("Ok")])
    await house.turn(chat)

    await house.engine.control.compact(chat)

    assert (await house.items(chat))[-1]["event"] == "compaction"


async def test_a_fault_of_a_runtime_costs_its_turn_alone(house: House) -> None:
    """A report that cannot be recorded ends the turn with a problem, and the next one works."""
    chat, live, turn = await _begin(house)
    deep: Any = []
    for _ in range(300):
        deep = [deep]

    await live.sink.report(
        ItemUpserted(source="x", item={"type": "event", "event": "e", "details": {"d": deep}})
    )
    await house.idle(chat)

    assert (await house.items(chat))[-1]["code"] == "invalid-body"
    await house.turn(chat, "next")
    assert (await house.texts(chat))[-1] == "assistant: next"
    assert turn


async def test_the_words_of_an_end_pass_the_door(house: House) -> None:
    """Whatever an agent says about its end, the turn ends as it was told."""
    chat, live, turn = await _begin(house)
    half = "why \ud83d"
    problem = Problem(code=half, message=half, remedy=half)

    await live.sink.report(
        TurnFinished(
            turn_id=turn,
            outcome="failed",
            stop_reason=half,
            usage={"tokens": float("nan"), half: 1},
            problem=problem,
        )
    )
    await house.idle(chat)

    (end,) = await house.found(chat, TurnEnded)
    assert (end.outcome, end.stop_reason, end.problem.message) == (
        "failed",
        "why \ufffd",
        "why \ufffd",
    )
    assert end.usage == {"tokens": None, "why \ufffd": 1}


async def test_an_end_that_cannot_be_written_ends_the_turn_all_the_same(house: House) -> None:
    """With a problem that says so; the next turn works."""
    chat, live, turn = await _begin(house)
    deep: Any = 1
    for _ in range(300):
        deep = [deep]

    await live.sink.report(TurnFinished(turn_id=turn, usage={"deep": deep}))
    await house.idle(chat)

    (end,) = await house.found(chat, TurnEnded)
    assert (end.outcome, end.problem.code) == ("failed", "invalid-body")
    await _let_agent_end(house, live)
    await house.turn(chat, "next")
    assert (await house.texts(chat))[-1] == "assistant: next"

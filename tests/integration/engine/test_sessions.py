"""Sessions as a whole: create, configure, archive, complete, fork, delete."""

import asyncio
from typing import Any

import pytest

from spaced.domain.chat import ChatRequest
from spaced.domain.events.run import RunDeleted
from spaced.domain.events.turn import TurnEnded
from spaced.engine.doctor import examine
from spaced.engine.sessions import Configuration
from spaced.errors import UnknownItem, UnknownProfile
from spaced.refusals import (
    AgentCannot,
    InvalidRequest,
    ProfileDisabled,
    SessionBusy,
    SessionDeleted,
    SessionExists,
    SessionIsPrimary,
    UnknownSession,
)
from spaced.runtime.updates import ItemUpserted, TextAppended
from spaced.testing.samples import next_turn
from tests.integration.engine.house import PATIENCE, House, Houses, gate, say

ECHO = {"do": "echo"}


async def _request(house: House, **fields: Any) -> ChatRequest:
    profile_id = await house.profile([ECHO])
    return ChatRequest(**{"profile_id": profile_id, "directory": str(house.workplace), **fields})


async def test_a_session_is_useful_before_anything_runs(house: House) -> None:
    """It exists, is idle, can be listed, and its run waits for input."""
    session = await house.engine.sessions.create(await _request(house, title="Mine"))

    rows = (await house.storage.list_rows("session", where={"visibility": "listed"})).rows
    assert [row["id"] for row in rows] == [session.id]
    assert (session.id, session.status, session.title) == (session.run_id, "idle", "Mine")
    assert (await house.kinds(session.id))[-1] == "step-waiting"
    assert "execution-opened" not in await house.kinds(session.id)


async def test_creating_again_gives_the_same_session(house: House) -> None:
    """Also at the same moment, and after the session was used and renamed."""
    request = await _request(house, title="Mine", mode="plan", options={"a": 1})
    create = house.engine.sessions.create

    first, *others = await asyncio.gather(*(create(request, session_id="mine") for _ in range(5)))
    await house.turn("mine", "Hi")
    await house.engine.sessions.configure("mine", Configuration(title="Other", mode="ask"))
    again = await create(request, session_id="mine")

    assert {session.id for session in (first, *others, again)} == {"mine"}
    assert (await house.kinds("mine")).count("run-created") == 1


@pytest.mark.parametrize(
    "change", [{"title": "Other"}, {"mode": "ask"}, {"headless": True}], ids=str
)
async def test_one_id_for_another_session_is_refused(house: House, change: dict[str, Any]) -> None:
    """The message names the difference."""
    request = await _request(house, title="Mine")
    await house.engine.sessions.create(request, session_id="mine")
    other = ChatRequest(
        **{
            "profile_id": request.profile_id,
            "directory": request.directory,
            "title": "Mine",
            **change,
        }
    )

    with pytest.raises(SessionExists, match="|".join(change)):
        await house.engine.sessions.create(other, session_id="mine")


@pytest.mark.parametrize("taken", ["system", "agent-chat"])
async def test_an_id_of_something_else_is_refused(house: House, taken: str) -> None:
    """A workflow, a profile and the daemon's own stream have ids as well."""
    request = await _request(house)
    if taken == "system":
        chat = await house.chat([{"do": "ask_permission"}])
        await house.send(chat, "Hi")
        ask_id = await house.until_asked(chat)
        await house.engine.asks.answer_permission(ask_id, option_id="always")
        await house.idle(chat)

    with pytest.raises(SessionExists):
        await house.engine.sessions.create(request, session_id=taken)


async def test_a_session_needs_a_profile_and_a_folder(house: House) -> None:
    """What cannot be used is refused before anything is recorded."""
    good = await _request(house)
    disabled = await house.profile([ECHO])
    await house.engine.profiles.disable(disabled)

    for wrong, error in (
        ({"profile_id": "prof_nobody"}, UnknownProfile),
        ({"profile_id": disabled}, ProfileDisabled),
        ({"directory": "relative"}, InvalidRequest),
        ({"directory": str(house.workplace / "missing")}, InvalidRequest),
    ):
        fields: dict[str, Any] = {"profile_id": good.profile_id, "directory": good.directory}
        fields |= wrong
        with pytest.raises(error):
            await house.engine.sessions.create(ChatRequest(**fields), session_id="mine")
    assert await house.kinds("mine") == []


async def test_a_configuration_reaches_the_connected_agent(house: House) -> None:
    """Per field it is told what came of it."""
    chat = await house.chat([ECHO])
    await house.turn(chat)

    configured = await house.engine.sessions.configure(
        chat, Configuration(title="New", model="large", mode="plan")
    )

    assert configured.session.title == "New"
    assert set(configured.report) == {"model", "mode"}
    assert configured.session.configuration.model == "large"


async def test_a_configuration_without_an_agent_holds_for_the_next(house: House) -> None:
    """The next execution begins with it."""
    chat = await house.chat([ECHO])

    configured = await house.engine.sessions.configure(chat, Configuration(model="large"))
    await house.turn(chat)

    live = house.engine.executions.live(chat)
    assert configured.report == {}
    assert live is not None
    assert live.spec.profile.model == "large"


async def test_an_archived_session_moves_between_the_lists(house: House) -> None:
    """And back; doing it twice changes nothing more."""
    chat = await house.chat([ECHO])

    await house.engine.sessions.archive(chat)
    await house.engine.sessions.archive(chat)
    listed = (await house.storage.list_rows("session", where={"visibility": "archived"})).rows
    await house.engine.sessions.archive(chat, archived=False)

    assert [row["id"] for row in listed] == [chat]
    assert (await house.kinds(chat)).count("run-updated") == 2


async def test_a_session_with_work_is_not_completed(house: House) -> None:
    """Neither while a turn runs nor while prompts wait."""
    chat = await house.chat([gate()])
    await house.send(chat, "one")
    await house.reached()
    with pytest.raises(SessionBusy):
        await house.engine.sessions.complete(chat)
    house.runtime.gates.open("gate")
    await house.idle(chat)
    await house.send(chat, "two", wake=False)

    with pytest.raises(SessionBusy, match="pending"):
        await house.engine.sessions.complete(chat)


async def test_a_completed_session_has_no_connection(house: House) -> None:
    """Its follow-up continues the conversation, and two connections must not share one."""
    chat = await house.chat([ECHO])
    await house.turn(chat)

    await house.engine.sessions.complete(chat)

    assert house.engine.executions.live(chat) is None
    assert (await house.kinds(chat)).count("execution-ended") == 1


async def test_completing_twice_is_fine(house: House) -> None:
    """The run is completed with its only session."""
    chat = await house.chat([ECHO])

    await house.engine.sessions.complete(chat)
    session = await house.engine.sessions.complete(chat)

    assert session.status == "completed"
    assert (await house.kinds(chat)).count("run-completed") == 1


async def test_a_fork_begins_with_the_transcript(house: House) -> None:
    """Items up to the chosen one are copied, and its agent is told what was said."""
    chat = await house.chat([say("first")], [say("second")])
    await house.turn(chat, "one")
    await house.turn(chat, "two")
    items = await house.items(chat)

    fork = await house.engine.forks.fork(chat, at_item=str(items[1]["id"]))
    await house.turn(fork.id, "three")

    assert await house.texts(fork.id) == [
        "user: one",
        "assistant: first",
        "user: three",
        "assistant: first",
    ]
    created = (await house.events(fork.id))[0]
    assert created.forked_from == {  # type: ignore[attr-defined]
        "run_id": chat,
        "session_id": chat,
        "item_id": items[1]["id"],
    }
    assert "continuity" not in fork.data
    assert [finding async for finding in examine(house.storage)] == []


async def test_a_forks_first_prompt_carries_the_transcript(house: House) -> None:
    """And only the first one."""
    chat = await house.chat([{"do": "echo", "what": "history"}])
    await house.turn(chat, "remember me")

    fork = await house.engine.forks.fork(chat)
    await house.turn(fork.id, "one")
    first = (await house.texts(fork.id))[-1]
    await house.turn(fork.id, "two")

    assert "remember me" in first
    assert "one" not in first.replace("conversation", "")
    assert "remember me" not in (await house.texts(fork.id))[-1]


async def test_a_fork_of_nothing_is_refused(house: House) -> None:
    """An unknown item, and an id that is taken."""
    chat = await house.chat([ECHO])

    with pytest.raises(UnknownItem):
        await house.engine.forks.fork(chat, at_item="itm_nothing")
    with pytest.raises(SessionExists):
        await house.engine.forks.fork(chat, new_id=chat)


async def test_a_long_chat_is_forked_without_its_beginning(house: House) -> None:
    """What fits into one append is copied; the rest is said to be left out."""
    chat = await house.chat([say("x" * 1_000_000)])
    for number in range(8):
        await house.turn(chat, f"{number}")

    fork = await house.engine.forks.fork(chat)

    items = await house.items(fork.id)
    assert items[0]["event"] == "earlier-items-left-out"
    assert items[0]["details"] == {"left_out": 16 - len(items) + 1, "session_id": chat}
    assert items[-2]["content"] == "7"


async def test_a_busy_session_is_not_deleted_unless_forced(house: House) -> None:
    """Forced, everything that is going on ends with it."""
    chat = await house.chat([gate()])
    await house.send(chat, "one")
    await house.reached()
    await house.send(chat, "two")
    with pytest.raises(SessionBusy):
        await house.engine.deletions.delete(chat)

    await house.engine.deletions.delete(chat, force=True)

    assert house.engine.coordinator.active() == {}
    assert house.engine.executions.live(chat) is None
    assert (await house.kinds(chat))[-1] == "run-deleted"
    (end,) = await house.found(chat, TurnEnded)
    assert (end.outcome, end.cause) == ("interrupted", "deleted")
    assert (await house.kinds(chat)).count("prompt-cancelled") == 1
    assert [finding async for finding in examine(house.storage)] == []


async def test_what_comes_after_a_deletion_is_refused_and_counted(house: House) -> None:
    """No late report brings anything back."""
    chat = await house.chat([gate()])
    await house.send(chat, "one")
    await house.reached()
    live = house.engine.executions.live(chat)
    assert live is not None
    await house.engine.deletions.delete(chat, force=True)
    before, refused = await house.kinds(chat), house.engine.counters["refused reports"]

    await live.sink.report(TextAppended(source="x", text="late"))
    await live.sink.report(ItemUpserted(source="y", item={"type": "message", "content": "late"}))

    assert await house.kinds(chat) == before
    assert house.engine.counters["refused reports"] == refused + 2


async def test_a_deleted_session_is_gone_for_every_command(house: House) -> None:
    """Its id is never used again, now and after it was removed for good."""
    chat = await house.chat([ECHO])
    request = await _request(house)
    await house.engine.deletions.delete(chat)

    with pytest.raises(SessionDeleted):
        await house.send(chat, "Hi")
    with pytest.raises(SessionDeleted):
        await house.engine.sessions.create(request, session_id=chat)
    with pytest.raises(UnknownSession):
        await house.session(chat)
    await house.engine.deletions.purge(chat)
    with pytest.raises(UnknownSession):
        await house.send(chat, "Hi")
    with pytest.raises(SessionDeleted):
        await house.engine.sessions.create(request, session_id=chat)


async def test_a_deleted_run_is_removed_after_the_retention(house: House) -> None:
    """Not before, and its id stays fenced."""
    chat = await house.chat([ECHO])
    await house.engine.deletions.delete(chat)
    (deleted,) = await house.found(chat, RunDeleted)
    assert deleted.purge_at == "2026-12-08T09:30:00.000Z"

    await house.pass_time(7 * 24 * 3600 * 1000)
    async with asyncio.timeout(10):
        while await house.kinds(chat):
            pass


async def test_a_retention_that_ended_while_the_daemon_was_down(houses: Houses) -> None:
    """The next start removes what is due."""
    house = await houses.open()
    chat = await house.chat([ECHO])
    await house.engine.deletions.delete(chat)
    house.clock.advance(seconds=8 * 24 * 3600)

    house = await houses.restart(house)

    assert await house.kinds(chat) == []


async def test_a_deletion_now_leaves_nothing(house: House) -> None:
    """Bodies and rows are gone at once."""
    chat = await house.chat([ECHO])
    await house.turn(chat, "secret")

    await house.engine.deletions.delete(chat, now=True)

    assert await house.kinds(chat) == []
    assert (await house.storage.list_rows("prompt", where={"stream": chat})).rows == []


async def test_deleting_a_follow_up_hides_it_alone(house: House) -> None:
    """The run and its first session stay; the primary cannot be deleted so."""
    chat = await house.chat([ECHO])
    await house.engine.sessions.complete(chat)
    receipt = await house.send(chat, "again")
    await house.idle(receipt.session_id)

    await house.engine.deletions.delete(receipt.session_id)

    assert (await house.session(chat)).status == "completed"
    with pytest.raises(UnknownSession):
        await house.session(receipt.session_id)


async def test_only_a_board_runs_primary_is_protected(house: House) -> None:
    """Deleting a chat's own session deletes the chat with its follow-ups."""
    chat = await house.chat([ECHO])
    await house.engine.sessions.complete(chat)
    receipt = await house.send(chat, "again")
    await house.idle(receipt.session_id)

    try:
        await house.engine.deletions.delete(chat)
    except SessionIsPrimary:
        pytest.fail("a chat is deleted by the id of its session")

    with pytest.raises(SessionDeleted):
        await house.send(receipt.session_id, "Hi")


async def test_a_conversation_is_compacted_by_an_agent_that_can(house: House) -> None:
    """Without a connected agent there is nothing to compact."""
    chat = await house.chat([ECHO])
    with pytest.raises(AgentCannot):
        await house.engine.control.compact(chat)

    await house.turn(chat)

    await house.engine.control.compact(chat)


async def test_a_parked_session_costs_no_wake_up(houses: Houses) -> None:
    """Once its connection is closed no clock runs for it, in this life and in the next."""
    house = await houses.open(idle_ms=1000)
    chats = [await house.chat([ECHO]) for _ in range(20)]
    for chat in chats:
        await house.turn(chat)

    await house.pass_time(1000, sleepers=20)
    async with asyncio.timeout(PATIENCE):
        while house.engine.executions.all() or house.clock.sleepers:
            await next_turn()
    house = await houses.restart(house)

    assert house.clock.sleepers == 0
    assert house.engine.coordinator.active() == {}
    assert house.engine.executions.all() == ()

"""What an agent tells again after a restart: compared with the log, and never a part of it."""

from collections.abc import Mapping, Sequence
from typing import Any

from spaced.domain.events.session import SessionReset
from spaced.engine.doctor import examine
from tests.integration.engine.house import House, Houses, gate, say

ECHO = {"do": "echo"}
FIRST = [
    {"type": "message", "role": "user", "text": "one"},
    {"type": "message", "role": "assistant", "text": "Hello"},
]


async def _notices(house: House, chat: str) -> list[Mapping[str, Any]]:
    items = await house.items(chat)
    return [item for item in items if item.get("event") == "agent-memory-differs"]


async def _after_restart(houses: Houses, told: Sequence[object]) -> tuple[House, str]:
    """Return a chat of two turns between which the daemon died, whose agent tells this again."""
    house = await houses.open()
    chat = await house.chat([say("Hello")], [ECHO], options={"replay": list(told)})
    await house.turn(chat, "one")
    house = await houses.crash(house)
    await house.turn(chat, "two")
    return house, chat


async def test_an_agent_that_remembers_all_is_not_mentioned(houses: Houses) -> None:
    """The prompt that is on its way is no part of what it should remember."""
    house, chat = await _after_restart(houses, FIRST)
    assert await house.texts(chat) == [
        "user: one",
        "assistant: Hello",
        "user: two",
        "assistant: two",
    ]
    assert not await _notices(house, chat)


async def test_an_agent_that_lacks_the_end_is_noticed(houses: Houses) -> None:
    """Once, as an item that a person can read; the transcript stays as it is."""
    house, chat = await _after_restart(houses, FIRST[:1])
    (notice,) = await _notices(house, chat)
    assert notice["details"] == {"verdict": "agent-behind", "missing": 1, "more": 0}
    assert await house.texts(chat) == [
        "user: one",
        "assistant: Hello",
        "user: two",
        "assistant: two",
    ]


async def test_an_agent_that_went_on_alone_is_noticed(houses: Houses) -> None:
    """What it did without us is not ours."""
    house, chat = await _after_restart(
        houses, [*FIRST, {"type": "message", "role": "assistant", "text": "And more"}]
    )
    (notice,) = await _notices(house, chat)
    assert notice["details"] == {"verdict": "agent-ahead", "missing": 0, "more": 1}
    assert "assistant: And more" not in await house.texts(chat)


async def test_an_agent_that_forgot_everything_is_given_the_transcript(houses: Houses) -> None:
    """It is a conversation that was lost, whatever the agent claims."""
    house, chat = await _after_restart(houses, [])
    (reset,) = await house.found(chat, SessionReset)
    assert (reset.generation, reset.reason) == (2, "lost")
    assert (await house.session(chat)).owes_history is False
    turn = house.runtime.opened[-1]
    assert turn.was_cut is False
    assert [finding async for finding in examine(house.storage)] == []


async def test_a_runtime_is_told_of_a_turn_that_was_cut_off(houses: Houses) -> None:
    """So that it can look what the agent remembers of it; the next good turn ends that."""
    house = await houses.open()
    chat = await house.chat([say("Hel"), gate()], [ECHO], [ECHO])
    await house.send(chat, "one")
    await house.reached()
    house = await houses.crash(house)
    await house.turn(chat, "two")
    assert [session.was_cut for session in house.runtime.opened] == [True]
    house = await houses.restart(house)
    await house.turn(chat, "three")
    assert [session.was_cut for session in house.runtime.opened] == [False]

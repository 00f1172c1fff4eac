"""The routes through the client: what is asked for happens, and what is answered is true."""

from typing import Any

import pytest

from spaced.client import calls
from spaced.client.calls import Call
from spaced.errors import InvalidIdentifier, StaleRevision, UnknownProfile
from spaced.refusals import (
    AskAnswered,
    InvalidRequest,
    NotFound,
    PromptConflict,
    PromptNotPending,
    UnknownSession,
)
from tests.integration.api.api_house import ApiHouse
from tests.integration.engine.house import gate, say


async def test_a_chat_from_its_profile_to_its_answer(api: ApiHouse) -> None:
    """Everything that a person needs for a first answer."""
    client = api.client()
    definition = {"name": "Mine", "agent_name": "scripted", "runtime": "scripted"}
    profile = await client.do(calls.create_profile("prof_mine", definition))
    session = await client.create_session(
        profile=profile.id, directory=str(api.house.workplace), session_id="ses_mine"
    )
    receipt = await client.prompt(session.id, "hello", prompt_id="msg_1")
    await api.house.idle(session.id)
    page = await client.items(session.id)
    again = await client.prompt(session.id, "hello", prompt_id="msg_1")

    assert (session.status, session.live.word, session.is_primary) == ("idle", "idle", True)
    assert again == receipt
    assert [item["content"] for item in page.items] == ["hello", "You said:\n\nhello"]
    assert (await client.session(session.id)).title == "hello"
    assert [one.id async for one in client.sessions()] == ["ses_mine"]


async def test_errors_come_back_as_what_they_were(api: ApiHouse) -> None:
    """With the daemon's own sentence, remedy and facts."""
    client = api.client()
    chat = await api.house.chat([say("hello")])
    await client.prompt(chat, "one", prompt_id="msg_1")

    with pytest.raises(PromptConflict, match="with other parts"):
        await client.prompt(chat, "another", prompt_id="msg_1")
    with pytest.raises(UnknownSession, match="ses_nobody") as unknown:
        await client.session("ses_nobody")
    assert unknown.value.remedy == UnknownSession.remedy
    with pytest.raises(UnknownProfile) as profile:
        await client.do(calls.profile("prof_nobody"))
    assert profile.value.profile_id == "prof_nobody"
    profile_id = await api.house.profile()
    with pytest.raises(InvalidRequest, match="absolute"):
        await client.create_session(profile=profile_id, directory="here")


async def test_a_change_for_an_old_revision_is_refused_with_the_present_state(
    api: ApiHouse,
) -> None:
    """Nothing of somebody else's change is lost without a word."""
    client = api.client()
    profile_id = await api.house.profile()
    seen = await client.do(calls.profile(profile_id))
    changed = await client.do(
        calls.change_profile(profile_id, {"name": "B"}, revision=seen.revision)
    )

    with pytest.raises(StaleRevision) as stale:
        await client.do(calls.change_profile(profile_id, {"name": "C"}, revision=seen.revision))

    assert stale.value.revision == changed.revision
    assert stale.value.current is not None
    assert stale.value.current["name"] == "B"
    assert (await client.do(calls.profile(profile_id))).name == "B"


async def test_a_permission_is_answered_once(api: ApiHouse) -> None:
    """The second one is told the first answer."""
    client = api.client()
    chat = await api.house.chat([{"do": "tool", "name": "run", "permission": True}])
    await client.prompt(chat, "go")
    ask_id = await api.house.until_asked(chat)
    (ask,) = (await client.do(calls.permissions(chat))).asks
    options = [option["option_id"] for option in ask.options]
    answered = await client.answer_permission(ask_id, options[0], digest=ask.digest)

    with pytest.raises(AskAnswered) as late:
        await client.answer_permission(ask_id, options[-1])

    assert answered.status == "answered"
    assert late.value.answer["option_id"] == options[0]
    await api.house.idle(chat)


async def test_the_queue_can_be_seen_and_changed(api: ApiHouse) -> None:
    """Edited, moved, cancelled, sent now, paused and resumed."""
    client = api.client()
    chat = await api.house.chat([gate(), say("hello")])
    await client.prompt(chat, "first")
    await api.house.reached()
    for number in (1, 2, 3):
        await client.prompt(chat, f"waits {number}", prompt_id=f"msg_{number}")
    await client.do(calls.change_prompt(chat, "msg_3", text="was 3", index=0))
    await client.do(calls.cancel_prompt(chat, "msg_2"))
    steer = await client.do(calls.send_now(chat, "msg_1"))
    await client.do(calls.pause(chat))
    waiting = (await client.do(calls.pending(chat))).prompts
    paused = await client.session(chat)
    await client.do(calls.resume(chat))

    assert steer.delivery == "steer"
    assert paused.queue_paused
    assert {(prompt.id, prompt.parts[0]["text"]) for prompt in waiting} <= {
        ("msg_3", "was 3"),
        ("msg_1", "waits 1"),
    }
    api.house.runtime.gates.open("gate")
    await api.house.idle(chat)


async def test_a_change_is_one_append_or_none(api: ApiHouse) -> None:
    """Whatever a PATCH names: nobody sees half of it, and a refusal leaves all as it was."""
    client = api.client()
    chat = await api.house.chat([gate(), say("hello")])
    await client.prompt(chat, "first", prompt_id="msg_0")
    await api.house.reached()
    for number in (1, 2):
        await client.prompt(chat, f"waits {number}", prompt_id=f"msg_{number}")
    before = len(await api.house.recorded(chat))
    await client.do(calls.change_prompt(chat, "msg_2", text="was 2", index=0, delivery="queue"))
    changed = await api.house.recorded(chat)
    with pytest.raises(PromptNotPending):
        await client.do(calls.change_prompt(chat, "msg_0", text="too late", index=0))
    await client.do(calls.change_session(chat, title="Mine", archived=True, mode="plan"))
    whole = await api.house.recorded(chat)

    assert [event.kind for event in changed[before:]] == ["prompt-edited", "prompt-moved"]
    told = [event.kind for event in whole[len(changed) :]]
    assert told == ["session-configured", "run-updated"]
    assert len({event.recorded_at for event in whole[len(changed) :]}) == 1
    session = await client.session(chat)
    assert (session.title, session.archived, session.settings.mode) == ("Mine", True, "plan")
    api.house.runtime.gates.open("gate")
    await api.house.idle(chat)


async def test_waiting_tells_how_far_a_session_is(api: ApiHouse) -> None:
    """Running out of time changes nothing and returns what there is."""
    client = api.client()
    chat = await api.house.chat([say("begun"), gate()])
    await client.prompt(chat, "go")
    await api.house.reached()
    so_far = await client.wait(chat, timeout=0)
    interrupted = await client.interrupt(chat)
    await api.house.idle(chat)
    done = await client.wait(chat, timeout=30)

    assert (so_far.done, so_far.live.word) == (False, "busy")
    assert [item["content"] for item in so_far.items] == ["go", "begun"]
    assert (interrupted, done.done) == (True, True)
    assert await client.interrupt(chat) is False


@pytest.mark.parametrize(
    "name", ["..", "%2e%2e", "a/b", "a\0b", "x" * 300, ".", "-x", "ses_\ud83d\ude00", "a b"]
)
async def test_no_id_is_a_path_or_anything_else(api: ApiHouse, name: str) -> None:
    """Whatever an id holds, nothing is looked up by it."""
    client = api.client()
    asked: list[Call[Any]] = [calls.session(name), calls.blob(name), calls.profile(name)]
    for call in asked:
        with pytest.raises((InvalidIdentifier, NotFound)):
            await client.do(call)

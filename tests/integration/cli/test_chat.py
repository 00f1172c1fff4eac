"""A chat against the API of a real engine: everything arrives once, also over a crash."""

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from spaced.client.place import Place
from tests.integration.api.api_house import ApiHouse, api_over
from tests.integration.cli.chat_person import chatting, played
from tests.integration.engine.house import House, Houses, Step, gate, say

ASKING = {"do": "tool", "name": "look", "kind": "read", "permission": True, "output": "a\nb"}
COLOUR = {"text": "Which colour?", "choices": [{"label": "red"}, {"label": "blue"}]}
SIZE = {"header": "Size", "text": "How large?"}


def reply(text: str, *, is_open: bool = True) -> Step:
    """Return a step that tells the whole of a reply, as it is by then."""
    item = {"type": "message", "role": "assistant", "content": text}
    item["stream_status"] = "streaming" if is_open else "complete"
    return {"do": "raw", "source": "reply", "item": item}


@pytest.fixture
async def api(house: House) -> AsyncIterator[ApiHouse]:
    """The API over one engine."""
    async with api_over(house) as served:
        yield served


async def test_a_prompt_is_answered_on_the_screen(house: House, api: ApiHouse) -> None:
    """What was typed, what was thought, and what was said, in this order."""
    chat = await house.chat([{"do": "think", "text": "Hm."}, say("Good morning.")])

    async with chatting(api.place, chat) as person:
        person.type("hello")
        shown = await person.until("Good morning.\n")

    assert shown.endswith("> hello\n~ Hm.\nGood morning.\n")


async def test_a_reply_is_shown_while_it_is_being_written(house: House, api: ApiHouse) -> None:
    """Nobody waits for the end of a text to read its beginning."""
    chat = await house.chat([reply("Good "), gate(), reply("Good morning.", is_open=False)])

    async with chatting(api.place, chat) as person:
        person.type("hello")
        await person.until("Good ")
        await person.until_status("busy")
        house.runtime.gates.open("gate")
        await person.until("Good morning.\n")


async def test_the_newest_items_are_shown_first_and_nothing_twice(
    house: House, api: ApiHouse
) -> None:
    """History and stream join without a seam, in the middle of a reply."""
    chat = await house.chat(
        [say("One.")], [reply("Two"), gate(), reply("Two three.", is_open=False)]
    )
    await house.turn(chat, "first")
    await house.send(chat, "second")
    await house.reached()

    async with chatting(api.place, chat) as person:
        await person.until("Two")
        house.runtime.gates.open("gate")
        shown = await person.until("Two three.\n")

    assert shown.endswith("> first\nOne.\n\n> second\nTwo three.\n")


async def test_a_long_history_says_that_there_is_more(house: House, api: ApiHouse) -> None:
    """Only the newest items are shown, and nobody takes them for everything."""
    chat = await house.chat([{"do": "echo"}])
    for number in range(4):
        await house.turn(chat, f"number {number}")

    async with chatting(api.place, chat, history=2) as person:
        shown = await person.until("> number 3")

    assert "there is more above" in shown
    assert "number 2" not in shown


async def test_a_prompt_from_elsewhere_is_shown_too(house: House, api: ApiHouse) -> None:
    """Every client sees the same chat."""
    chat = await house.chat([say("Good morning.")])

    async with chatting(api.place, chat) as person:
        await person.until_status("idle")
        await house.send(chat, "from elsewhere")
        shown = await person.until("Good morning.\n")

    assert "> from elsewhere\n" in shown


async def test_what_is_typed_while_the_agent_works_waits_and_is_answered(
    house: House, api: ApiHouse
) -> None:
    """It is shown with its place, and comes when it is its turn."""
    chat = await house.chat([gate(), say("One.")], [say("Two.")])

    async with chatting(api.place, chat) as person:
        person.type("first")
        await house.reached()
        person.type("second")
        await person.until("- queued as number 1: second\n")
        await person.until_status("1 queued")
        house.runtime.gates.open("gate")
        shown = await person.until("Two.\n")

    assert shown.count("> second\n") == 1


async def test_a_steer_goes_into_the_running_turn(house: House, api: ApiHouse) -> None:
    """Behind an exclamation mark."""
    chat = await house.chat([gate(), {"do": "steered"}])

    async with chatting(api.place, chat) as person:
        person.type("first")
        await house.reached()
        person.type("!look here")
        await person.until("> look here")
        house.runtime.gates.open("gate")
        await person.until("look here", times=3)


async def test_a_permission_is_answered_with_a_letter(house: House, api: ApiHouse) -> None:
    """The call is shown, the answer is sent, the tool runs, and its output is shown."""
    chat = await house.chat([ASKING, say("Done.")])

    async with chatting(api.place, chat) as person:
        person.type("go")
        await person.until("? may it read: look", "  3 n  Reject")
        await person.until_marker("answer (1 2 3 y a n)> ")
        person.type("y")
        shown = await person.until("Done.\n")

    assert "- answered: Allow once (by a person)\n" in shown
    assert "  | a\n  | b\n" in shown
    assert "  = completed\n" in shown
    assert shown.count("? may it read") == 1


async def test_a_permission_that_somebody_else_answers_goes_away(
    house: House, api: ApiHouse
) -> None:
    """It is shown who was first, and the next line is a prompt again."""
    chat = await house.chat([ASKING, say("Done.")])

    async with chatting(api.place, chat) as person:
        person.type("go")
        await person.until_marker("answer")
        ask = await house.until_asked(chat)
        await api.client().answer_permission(ask, "reject")
        shown = await person.until("Done.\n")

    assert "- answered: Reject (by a person)\n" in shown
    assert person.marker == "> "


async def test_a_line_that_is_no_answer_allows_nothing(house: House, api: ApiHouse) -> None:
    """It is given back, and the question stays."""
    chat = await house.chat([ASKING, say("Done.")])

    async with chatting(api.place, chat) as person:
        person.type("go")
        await person.until_marker("answer")
        person.type("hmm")
        await person.until("none of the answers")
        assert person.input == "hmm"
        person.type("n")
        await person.until("Done.\n", "  = failed\n")


async def test_several_questions_are_answered_one_by_one(house: House, api: ApiHouse) -> None:
    """By number and in own words; the agent gets both at once."""
    chat = await house.chat([{"do": "question", "questions": [COLOUR, SIZE], "echo": True}])

    async with chatting(api.place, chat) as person:
        person.type("go")
        await person.until("? Which colour? (1 of 2)")
        await person.until_marker("answer")
        person.type("2")
        await person.until("? Size: How large? (2 of 2)")
        person.type("as large as it gets")
        await person.until("You answered: blue; as large as it gets\n")


async def test_an_interrupt_ends_the_turn_and_pauses_what_waits(
    house: House, api: ApiHouse
) -> None:
    """What is pending is not lost, and one sees how it goes on."""
    chat = await house.chat([say("Well"), gate("never")], [say("Two.")])

    async with chatting(api.place, chat) as person:
        person.type("first")
        await person.until_status("busy")
        await house.reached("never")
        person.type("second")
        await person.until("queued as number 1")
        person.conversation.press_interrupt()
        await person.until("- interrupted\n", "the queue is paused, 1 waiting")
        person.type("/resume")
        await person.until("Two.\n")


async def test_a_second_interrupt_kills(house: House, api: ApiHouse) -> None:
    """An agent that does not listen is ended."""
    chat = await house.chat([{"do": "refuse_to_stop"}, gate("never")])

    async with chatting(api.place, chat) as person:
        person.type("first")
        await house.reached("never")
        await person.until_status("busy")
        person.conversation.press_interrupt()
        await person.until("once more kills")
        await person.until_status("busy")
        person.conversation.press_interrupt()
        await person.until("killing the agent", "- interrupted\n")
        await person.until_status("idle")


async def test_an_interrupt_while_idle_clears_the_line_then_says_how_to_leave(
    house: House, api: ApiHouse
) -> None:
    """Nothing is interrupted that does not run."""
    chat = await house.chat([say("One.")])

    async with chatting(api.place, chat) as person:
        await person.until_status("idle")
        person.input = "half a"
        person.conversation.press_interrupt()
        assert person.input == ""
        person.conversation.press_interrupt()
        await person.until("nothing is running; Ctrl-D or /quit leaves")


async def test_the_queue_is_listed_and_changed_by_number(house: House, api: ApiHouse) -> None:
    """The numbers are those of the list that was shown."""
    chat = await house.chat([gate(), say("One.")], [{"do": "echo"}])

    async with chatting(api.place, chat) as person:
        person.type("first")
        await house.reached()
        person.type("second", "third", "/queue")
        await person.until("  1  second\n  2  third\n")
        person.type("/cancel 1")
        await person.until("- cancelled: second\n")
        person.type("/cancel 7")
        await person.until("needs a number that /queue shows")
        house.runtime.gates.open("gate")
        shown = await person.until("> third")

    assert "> second" not in shown


async def test_orders_change_and_copy_the_session(
    house: House, api: ApiHouse, tmp_path: Path
) -> None:
    """Title, fork and export; a file that exists is left alone."""
    chat = await house.chat([say("One.")])
    target = tmp_path / "chat.md"

    async with chatting(api.place, chat) as person:
        person.type("hello")
        await person.until("One.\n")
        person.type("/title A new title", "/fork", f"/export {target}", f"/export {target}")
        shown = await person.until("title: A new title", "go on there with", "written to", "exists")

    fork = shown.split("spaced chat ")[1].split()[0]
    assert await house.texts(fork) == ["user: hello", "assistant: One."]
    assert "One." in target.read_text()
    assert target.stat().st_mode & 0o777 == 0o600


async def test_what_is_refused_is_said_and_given_back(house: House, api: ApiHouse) -> None:
    """A prompt that was not admitted has not vanished."""
    chat = await house.chat([say("One.")])
    far_too_long = "a" * 9_000_000

    async with chatting(api.place, chat) as person:
        person.type(far_too_long)
        await person.until("! not sent: ")

    assert person.input == far_too_long


async def test_a_prompt_to_a_completed_session_says_where_it_went(
    house: House, api: ApiHouse
) -> None:
    """The follow-up is another session, which answers there."""
    chat = await house.chat([say("One.")])
    await house.turn(chat, "hello")
    await house.engine.sessions.complete(chat)

    async with chatting(api.place, chat) as person:
        person.type("one thing more")
        shown = await person.until("it went to what follows this session: spaced chat ses_")

    assert "the session is completed" in shown


async def test_a_session_that_is_deleted_ends_the_chat(house: House, api: ApiHouse) -> None:
    """There is nothing left to talk to."""
    chat = await house.chat([say("One.")])

    async with chatting(api.place, chat) as person:
        person.type("hello")
        await person.until("One.\n")
        await person.until_status("idle")
        await house.engine.deletions.delete(chat, force=True, now=False)
        shown = await person.until("the session was deleted")

    assert "come back with" not in shown


async def test_an_unknown_order_is_not_sent_to_the_agent(house: House, api: ApiHouse) -> None:
    """A slip costs nothing."""
    chat = await house.chat([say("One.")])

    async with chatting(api.place, chat) as person:
        person.type("/qeue")
        await person.until("there is no such order")

    assert not await house.texts(chat)


async def test_leaving_lets_the_session_go_on(house: House, api: ApiHouse) -> None:
    """A chat is a window, not the session."""
    chat = await house.chat([gate(), say("One.")])

    async with chatting(api.place, chat) as person:
        person.type("hello")
        await house.reached()
        await person.until_status("busy")
        person.type("/quit")
        shown = await person.until("come back with: spaced chat")

    assert "the session goes on with what it does" in shown
    house.runtime.gates.open("gate")
    await house.idle(chat)
    assert await house.texts(chat) == ["user: hello", "assistant: One."]


async def test_a_script_waits_for_each_answer(house: House, api: ApiHouse) -> None:
    """So its lines can answer what the ones before them bring up."""
    chat = await house.chat([ASKING, say("Done.")], [say("Bye.")])

    code, shown = await played(api.place, chat, "go", "y", "thanks")

    assert code == 0
    assert shown.index("Done.") < shown.index("> thanks") < shown.index("Bye.")


async def test_a_script_whose_turn_fails_fails(house: House, api: ApiHouse) -> None:
    """Whoever called it can tell."""
    chat = await house.chat([{"do": "fail", "message": "It broke."}])

    code, shown = await played(api.place, chat, "go")

    assert code == 1
    assert "! It broke." in shown


async def test_a_script_that_leaves_a_question_open_fails(house: House, api: ApiHouse) -> None:
    """It ends, since nobody is there who would answer."""
    chat = await house.chat([ASKING])

    code, shown = await played(api.place, chat, "go")

    assert code == 1
    assert "? may it read" in shown


async def test_a_daemon_that_dies_and_comes_back_costs_nothing(
    houses: Houses, house: House, tmp_path: Path
) -> None:
    """Said once; what was typed meanwhile arrives once; the cut turn is closed visibly."""
    socket = Path("/tmp") / f"spaced-{os.getpid()}-{id(houses)}.sock"
    chat = await house.chat([reply("Good "), gate("never")], [{"do": "echo"}])
    async with AsyncExitStack() as stack:
        stack.callback(socket.unlink, missing_ok=True)
        async with api_over(house) as first:
            socket.symlink_to(str(first.place.socket))
            person = await stack.enter_async_context(chatting(Place(socket=str(socket)), chat))
            person.type("hello")
            await person.until("Good ")
            await house.reached("never")
        await person.until_after_a_while("the daemon is away, waiting")
        person.type("are you there?")
        await person.until("kept until it can be sent: are you there?")

        second_life = await houses.crash(house)
        second = await stack.enter_async_context(api_over(second_life))
        socket.unlink()
        socket.symlink_to(str(second.place.socket))
        shown = await person.until_after_a_while("> are you there?\nare you there?")

    assert shown.count("the daemon is away") == 1
    assert shown.count("the daemon is back") == 1
    assert shown.count("> are you there?") == 1
    assert "queued as" not in shown
    assert "[the text above is cut off]" in shown
    assert "restarted while this turn was running" in shown
    assert await second_life.texts(chat) == [
        "user: hello",
        "assistant: Good ",
        "user: are you there?",
        "assistant: are you there?",
    ]

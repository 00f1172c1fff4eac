"""What else comes over the stream: garbage, giants, repetitions, and what is about others."""

import json

from spaced.runtime.updates import (
    ItemUpserted,
    PermissionWanted,
    SessionInfoChanged,
    TextAppended,
    UnknownReport,
)
from tests.contract.opencode_server import FakeOpenCode
from tests.unit.opencode_runtime.by_hand import Sessions, finished

MEGABYTES = 5 * 1024 * 1024


async def test_garbage_changes_nothing(sessions: Sessions, server: FakeOpenCode) -> None:
    """Whatever is no event is passed over, and what follows it is heard."""
    agent, run = await sessions.begin_turn()
    session = server.only_session()
    own = json.dumps(session.id).encode()
    for content in (
        b"data: {no json\n\n",
        b"data: [1, 2]\n\n",
        b"data: " + b"[" * 100_000 + b"\n\n",
        b"\xff\xfe\n\n",
        b": a comment\n\nid: 7\nretry: 1\n\n",
        b'data: {"type": 5, "properties": {}}\n\n',
        b'data: {"type": "session.status", "properties": []}\n\n',
        b'data: {"type": "message.updated", "properties": {"info": 1}}\n\n',
        b'data: {"type": "message.part.updated", "properties": {"part": {"sessionID": '
        + own
        + b', "messageID": 4, "type": "tool"}}}\n\n',
        b'data: {"type": "permission.asked", "properties": {"sessionID": ' + own + b"}}\n\n",
        b'data: {"type": "question.asked", "properties": {"sessionID": ' + own + b"}}\n\n",
        b'data: {"type": "session.error", "properties": {"sessionID": ' + own + b"}}\n\n",
        b'data: {"type": "session.status", "properties": {"sessionID": '
        + own
        + b', "status": 1}}\r\n\r\n',
    ):
        server.emit_raw(session, content)
    run.say("Unimpressed.")
    run.end_text()
    run.over.set()
    assert finished(await agent.sink.end_of("turn-1")).outcome == "completed"
    assert agent.sink.text() == "Unimpressed."


async def test_a_frame_of_five_megabytes_arrives(sessions: Sessions) -> None:
    """A tool's whole output comes as a single frame."""
    agent, run = await sessions.begin_turn()
    part = run.begin_tool("bash", {"command": "yes"})
    run.end_tool(part, "y" * MEGABYTES)
    run.over.set()
    assert finished(await agent.sink.end_of("turn-1")).outcome == "completed"
    assert len(agent.sink.text("tool-result", "output")) == MEGABYTES


async def test_an_event_that_comes_twice_counts_once(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """A piece of text would be said twice."""
    agent, run = await sessions.begin_turn()
    run.say("Once")
    session = server.only_session()
    row = session.rows[-1]
    facts = {
        "sessionID": session.id,
        "messageID": row["info"]["id"],
        "partID": row["parts"][-1]["id"],
        "field": "text",
        "delta": " and again",
    }
    frame = server.frame("message.part.delta", facts)
    server.emit_raw(session, frame)
    server.emit_raw(session, frame)
    run.say(".")
    await agent.sink.until(lambda _: agent.sink.text().endswith("."))
    assert agent.sink.text() == "Once and again."


async def test_a_late_end_of_an_earlier_run_ends_nothing(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """The server tells idle too often; only what became of the prompt decides."""
    agent = await sessions.begin()
    server.storing.clear()
    await agent.prompt()
    server.say_idle(server.only_session())
    await sessions.until(lambda: len(server.asked("GET", "/session/status")) > 0)
    server.storing.set()
    run = await sessions.run_of(agent)
    server.say_idle(server.only_session())
    run.say("Not yet")
    await agent.sink.until_one(TextAppended)
    assert not agent.sink.ends_of("turn-1")
    run.end_text()
    run.over.set()
    assert finished(await agent.sink.end_of("turn-1")).outcome == "completed"


async def test_other_sessions_of_the_folder_are_not_ours(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """Somebody works there with the server's own client."""
    agent, run = await sessions.begin_turn()
    directory = server.only_session().info["directory"]
    other = server.new_session(directory)
    server.emit(other, "todo.updated", {"sessionID": other.id, "todos": [{"content": "x"}]})
    server.emit(other, "permission.asked", {"sessionID": other.id, "id": "per_other"})
    server.emit(other, "session.error", {"sessionID": other.id, "error": {"name": "Oh"}})
    server.say_idle(other)
    server.delete(other)
    run.over.set()
    assert finished(await agent.sink.end_of("turn-1")).problem is None
    assert not agent.sink.asks()
    assert not agent.sink.items()


async def test_what_somebody_else_says_in_our_session_is_shown(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """A person has opened it with the server's own client; it is nobody's turn of ours."""
    agent = await sessions.begin("replies")
    session = server.only_session()
    part = {"id": "prt_1", "type": "text", "text": "Hello from elsewhere"}
    body = {"messageID": "msg_1", "parts": [part]}
    await server._take(session, body)
    await agent.sink.until(lambda _: agent.sink.text().count("elsewhere") == 2)
    said, answer = list(agent.sink.items().values())[:2]
    assert (said["role"], said["content"]) == ("user", "Hello from elsewhere")
    assert answer["content"] == "You said: Hello from elsewhere"
    items = [u for u in agent.sink.updates if isinstance(u, ItemUpserted | TextAppended)]
    assert {u.turn_id for u in items} == {None}


async def test_what_is_not_understood_is_kept(sessions: Sessions, server: FakeOpenCode) -> None:
    """A newer server says more; nothing of it is lost, and nothing breaks."""
    agent, run = await sessions.begin_turn()
    session = server.only_session()
    server.emit(session, "session.sang", {"sessionID": session.id, "song": "la"})
    run.store({"id": "prt_9", "type": "song", "words": "la"})
    await agent.sink.until_one(UnknownReport, number=2)
    kinds = [report.kind for report in agent.sink.of(UnknownReport)]
    assert kinds == ["opencode:session.sang", "opencode:part:song"]


async def test_plans_titles_and_thoughts_are_shown(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """What is beside the text of an answer."""
    agent, run = await sessions.begin_turn()
    session = server.only_session()
    todo = {"content": "one", "status": "pending", "priority": "high"}
    server.emit(session, "todo.updated", {"sessionID": session.id, "todos": [todo]})
    info = {**session.info, "title": "A better title"}
    server.emit(session, "session.updated", {"sessionID": session.id, "info": info})
    run.say("Hm.", kind="reasoning")
    run.end_text()
    run.over.set()
    await agent.sink.end_of("turn-1")
    plan, thought = agent.sink.items().values()
    assert (plan["type"], plan["entries"]) == ("plan", [todo])
    assert (thought["type"], thought["content"]) == ("reasoning", "Hm.")
    assert agent.sink.of(SessionInfoChanged)[-1].info == {"title": "A better title"}


async def test_a_permission_of_an_agent_that_the_agent_has_begun_is_ours(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """The turn waits for it, and nobody else would be asked."""
    agent, _ = await sessions.begin_turn()
    session = server.only_session()
    child = server.new_session(session.info["directory"], parent=session.id)
    grandchild = server.new_session(session.info["directory"], parent=child.id)
    facts = {"id": "per_1", "permission": "bash", "patterns": ["ls"], "metadata": {}}
    server.emit(grandchild, "permission.asked", {**facts, "sessionID": grandchild.id})
    ask = await agent.sink.until_one(PermissionWanted)
    assert ask.turn_id == "turn-1"
    assert ask.tool_call["conversation"] == grandchild.id


async def test_a_stream_that_falls_silent_is_opened_again(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """A network that swallows everything looks like a server that has nothing to say."""
    agent = await sessions.begin("replies")
    inner = agent.connection._agent  # type: ignore[attr-defined]
    assert inner.api._silence_seconds > 10  # a server's heartbeat comes every ten seconds
    inner.api._silence_seconds = 0.05
    server.cut_streams()
    await sessions.pass_time_until(lambda: len(server.asked("GET", "/event")) >= 4)
    await agent.prompt("Hello")
    assert finished(await sessions.end_in_time(agent)).outcome == "completed"

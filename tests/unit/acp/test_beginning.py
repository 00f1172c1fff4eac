"""How an agent is greeted, and how its conversation is begun or gone on with."""

from typing import Any

import pytest

from spaced.errors import RuntimeProblem
from spaced.runtime.updates import (
    ContinuityChanged,
    ConversationLost,
    ConversationReplayed,
    ItemUpserted,
    SessionInfoChanged,
    TextAppended,
)
from spaced_acp.problems import (
    AgentNotStarted,
    AgentSilent,
    BadOptions,
    DirectoryGone,
    LoginNeeded,
    WrongProtocol,
)
from tests.unit.acp.puppet import (
    SILENCE,
    Params,
    Puppet,
    Refusal,
    Stage,
    greeting,
    profile_of,
    turn_of,
)

KNOWN = {"runtime": "acp", "id": "conv-7"}
RESUMES: dict[str, Any] = {"sessionCapabilities": {"resume": {}}}


def refusing(code: int, message: str, data: object = None) -> Any:
    """Return a reply that refuses."""

    def reply(puppet: Puppet, params: Params) -> Any:
        raise Refusal(code, message, data)

    return reply


def late(stage: Stage, seconds: int) -> Any:
    """Return a reply that never comes, while the clock goes on."""

    def reply(puppet: Puppet, params: Params) -> Any:
        stage.clock.advance(seconds=seconds)
        return SILENCE

    return reply


def ending(puppet: Puppet, params: Params) -> Any:
    """End instead of an answer."""
    puppet.end(3)
    return SILENCE


async def test_an_agent_is_offered_nothing_of_ours(stage: Stage) -> None:
    """Neither files nor terminals: both are gone from the next version, and harm some agents."""
    puppet = Puppet()
    await stage.open(puppet)
    params = puppet.params_of("initialize")
    assert (params["protocolVersion"], params["clientCapabilities"]) == (1, {})
    assert params["clientInfo"]["name"] == "spaced"


async def test_a_new_conversation_is_told_for_the_next_time(stage: Stage) -> None:
    """Before anything is handed over: whatever happens then, it can be found again."""
    await stage.open(Puppet())
    (told,) = stage.sink.of(ContinuityChanged)
    assert told.continuity["id"] == "conv-1"
    (info,) = stage.sink.of(SessionInfoChanged)
    assert (info.info["begun_by"], info.info["version"]) == ("new", "1")


async def test_an_agent_of_another_version_is_refused(stage: Stage) -> None:
    """Two adapters already answer 2, and mean something else by it."""
    puppet = Puppet(initialize=lambda p, params: {**greeting(), "protocolVersion": 2})
    with pytest.raises(WrongProtocol, match="version 2"):
        await stage.open(puppet)
    assert puppet.stops


async def test_an_agent_that_never_answers_is_given_up(stage: Stage) -> None:
    """With the phase and its last words in the sentence, and without secrets."""
    puppet = Puppet(initialize=late(stage, 61))
    puppet.errors = "cannot reach hunter2\n"
    with pytest.raises(AgentSilent, match=r"'initialize' within 60 seconds.*cannot reach \*\*\*"):
        await stage.open(puppet)
    assert puppet.stops


async def test_an_agent_that_ends_at_once_says_why(stage: Stage) -> None:
    """Its exit code and the end of its error output."""
    puppet = Puppet(initialize=ending)
    puppet.errors = "env: node: No such file or directory\n"
    with pytest.raises(AgentNotStarted, match=r"exit code 3 at 'initialize'.*env: node"):
        await stage.open(puppet)


async def test_a_login_is_made_where_the_profile_names_one(stage: Stage) -> None:
    """Right after the greeting, and only then."""
    puppet = Puppet(authenticate=lambda p, params: {})
    await stage.open(puppet, options={"auth_method": "key"})
    assert puppet.methods()[:3] == ["initialize", "authenticate", "session/new"]
    other = Puppet()
    await stage.open(other)
    assert "authenticate" not in other.methods()


@pytest.mark.parametrize(
    ("replies", "options"),
    [
        ({"session__new": refusing(-32000, "Authentication required")}, {}),
        ({"authenticate": refusing(-32603, "bad key")}, {"auth_method": "key"}),
        ({}, {"auth_method": "no-such-method"}),
    ],
    ids=["wanted", "refused", "unknown"],
)
async def test_a_missing_login_is_said_aloud(
    stage: Stage, replies: dict[str, Any], options: dict[str, Any]
) -> None:
    """It is the most common reason why an agent does not start."""
    with pytest.raises(LoginNeeded) as caught:
        await stage.open(Puppet(**replies), options=options)
    assert "spaced agents show" in caught.value.remedy


async def test_a_folder_that_is_gone_is_named(stage: Stage) -> None:
    """Not as an error of the system, and before anything is started."""
    puppet = Puppet()
    stage._folder = stage._folder / "gone"
    with pytest.raises(DirectoryGone, match="gone"):
        await stage.open(puppet)
    assert not puppet.heard


@pytest.mark.parametrize(
    "options",
    [
        {"idle_seconds": "ten"},
        {"load_seconds": -1},
        {"resumable": 1},
        {"auth_method": 3},
        {"x": [1]},
    ],
    ids=repr,
)
async def test_options_that_cannot_be_read_are_refused(stage: Stage, options: Any) -> None:
    """Before anything is started."""
    puppet = Puppet()
    with pytest.raises(BadOptions):
        await stage.open(puppet, options=options)
    assert not puppet.heard


async def test_a_conversation_is_resumed_where_that_is_offered(stage: Stage) -> None:
    """It costs no telling again."""
    puppet = Puppet(initialize=lambda p, params: greeting(**RESUMES))
    await stage.open(puppet, KNOWN)
    assert puppet.methods() == ["initialize", "session/resume"]
    assert puppet.params_of("session/resume")["sessionId"] == "conv-7"
    assert not stage.sink.of(ConversationReplayed)


async def test_a_conversation_that_was_cut_off_is_loaded(stage: Stage) -> None:
    """What is told again shows what the agent remembers of it."""
    puppet = Puppet(initialize=lambda p, params: greeting(**RESUMES))
    await stage.open(puppet, KNOWN, was_cut=True)
    assert puppet.methods() == ["initialize", "session/load"]


async def test_a_resume_that_only_exists_on_paper_is_followed_by_a_load(stage: Stage) -> None:
    """Capabilities are claims."""
    puppet = Puppet(
        initialize=lambda p, params: greeting(**RESUMES),
        session__resume=refusing(-32601, "Method not found"),
    )
    await stage.open(puppet, KNOWN)
    assert puppet.methods() == ["initialize", "session/resume", "session/load"]
    assert not stage.sink.of(ConversationLost)


async def test_what_is_told_again_is_compared_and_never_shown(stage: Stage) -> None:
    """Also what comes between the answer and the first prompt."""

    def load(puppet: Puppet, params: Params) -> Any:
        puppet.update(
            "user_message_chunk", session="conv-7", content={"type": "text", "text": "Hi"}
        )
        puppet.say("Hel", session="conv-7", messageId="m1")
        puppet.say("lo", session="conv-7", messageId="m1")
        puppet.update("tool_call", session="conv-7", toolCallId="c1", status="completed")
        puppet.update("available_commands_update", session="conv-7", availableCommands=[])
        return {}

    puppet = Puppet(session__load=load)
    connection = await stage.open(puppet, KNOWN)
    (replayed,) = stage.sink.of(ConversationReplayed)
    assert replayed.entries == (
        {"type": "message", "role": "user", "text": "Hi"},
        {"type": "message", "role": "assistant", "text": "Hello"},
        {"type": "tool-call", "call_id": "c1"},
    )
    puppet.say("lo", session="conv-7", messageId="m1")
    await stage.settle()
    await connection.start_turn(turn_of("go"))
    await stage.sink.end_of("turn_1")
    shown = [u for u in stage.sink.updates if isinstance(u, TextAppended | ItemUpserted)]
    assert not shown
    assert stage.sink.of(SessionInfoChanged)[0].info == {"commands": []}


@pytest.mark.parametrize(
    "refusal",
    [
        (-32002, "Resource not found", None),
        (-32603, "Internal error", {"details": "No conversation found with session ID: conv-7"}),
        (-32603, "invalid session id", None),
        (-32602, "Invalid session identifier", None),
        (-32603, "No previous sessions found for this project.", None),
        (-32602, "Session not found: conv-7", None),
        (-32603, "unknown session", None),
        (-32603, "The session conv-7 does not exist", None),
    ],
    ids=repr,
)
async def test_an_unknown_conversation_is_lost_aloud(stage: Stage, refusal: Any) -> None:
    """Agents have a code and a sentence each for it; a new one is begun at once."""
    puppet = Puppet(session__load=refusing(*refusal))
    await stage.open(puppet, KNOWN)
    assert puppet.methods() == ["initialize", "session/load", "session/new"]
    assert len(stage.sink.of(ConversationLost)) == 1
    assert stage.sink.of(ContinuityChanged)[0].continuity["id"] == "conv-1"


async def test_a_conversation_is_not_given_up_for_another_reason(stage: Stage) -> None:
    """The next attempt may find it: a full disk, a network that is down."""
    puppet = Puppet(session__load=refusing(-32603, "disk is full"))
    with pytest.raises(AgentNotStarted, match="disk is full"):
        await stage.open(puppet, KNOWN)
    assert "session/new" not in puppet.methods()
    assert not stage.sink.updates


async def test_a_load_that_takes_too_long_keeps_the_conversation(stage: Stage) -> None:
    """A restart during a load must not look like an end of the world."""
    puppet = Puppet(session__load=late(stage, 181))
    with pytest.raises(AgentSilent, match="180 seconds"):
        await stage.open(puppet, KNOWN)
    assert not stage.sink.updates


@pytest.mark.parametrize(("listed", "is_lost"), [(["conv-1"], True), (["conv-1", "conv-7"], False)])
async def test_a_vague_refusal_is_checked_against_the_list(
    stage: Stage, listed: list[str], is_lost: bool
) -> None:
    """OpenCode only says that its service failed; its list says whether the conversation is there."""
    pages = {None: (listed[:1], "more"), "more": (listed[1:], None)}

    def listing(puppet: Puppet, params: Params) -> Any:
        ids, cursor = pages[params.get("cursor")]
        return {"sessions": [{"sessionId": one} for one in ids], "nextCursor": cursor}

    puppet = Puppet(
        initialize=lambda p, params: greeting(sessionCapabilities={"list": {}}),
        session__load=refusing(-32603, "service failure"),
        session__list=listing,
    )
    if is_lost:
        await stage.open(puppet, KNOWN)
        assert stage.sink.of(ConversationLost)
    else:
        with pytest.raises(AgentNotStarted):
            await stage.open(puppet, KNOWN)


async def test_an_agent_that_answers_with_another_conversation_has_lost_ours(stage: Stage) -> None:
    """Some say nothing of it; the next prompt would go to an agent that knows of nothing."""
    puppet = Puppet(session__load=lambda p, params: {"sessionId": "conv-8"})
    connection = await stage.open(puppet, KNOWN)
    assert len(stage.sink.of(ConversationLost)) == 1
    await connection.start_turn(turn_of("go"))
    assert puppet.params_of("session/prompt")["sessionId"] == "conv-8"


@pytest.mark.parametrize(
    ("continuity", "options"),
    [
        ({"no": "such"}, {}),
        ({"id": 7}, {}),
        ({**KNOWN, "directory": "/elsewhere"}, {}),
        (KNOWN, {"resumable": False}),
    ],
    ids=repr,
)
async def test_what_cannot_be_gone_on_with_is_not_tried(
    stage: Stage, continuity: Any, options: Any
) -> None:
    """One agent destroys what it is asked to load; all compare the folder."""
    puppet = Puppet()
    await stage.open(puppet, continuity, options=options)
    assert puppet.methods() == ["initialize", "session/new"]
    assert len(stage.sink.of(ConversationLost)) == 1


async def test_an_agent_that_keeps_nothing_begins_anew(stage: Stage) -> None:
    """It offers neither way."""
    puppet = Puppet(initialize=lambda p, params: greeting(loadSession=False))
    await stage.open(puppet, KNOWN)
    assert puppet.methods() == ["initialize", "session/new"]
    assert len(stage.sink.of(ConversationLost)) == 1


async def test_only_servers_that_the_agent_can_reach_are_offered(stage: Stage) -> None:
    """One over HTTP needs an agent that speaks it."""
    stdio = {"name": "a", "command": "/a", "args": [], "env": []}
    http = {"type": "http", "name": "b", "url": "http://127.0.0.1:1", "headers": []}
    puppet = Puppet()
    await stage.open(puppet, mcp_servers=(stdio, http))
    assert puppet.params_of("session/new")["mcpServers"] == [stdio]
    reaching = Puppet(initialize=lambda p, params: greeting(mcpCapabilities={"http": True}))
    await stage.open(reaching, mcp_servers=(stdio, http))
    assert reaching.params_of("session/new")["mcpServers"] == [stdio, http]


async def test_a_probe_begins_no_conversation(stage: Stage) -> None:
    """It tells what there is and leaves nothing."""
    puppet = Puppet(initialize=lambda p, params: greeting(**RESUMES))
    report = await stage.play(puppet).probe(profile_of(), {})
    assert report.problem is None
    assert report.details["continues_by"] == ["resume", "load"]
    assert puppet.methods() == ["initialize"]
    assert puppet.stops


async def test_a_closed_runtime_opens_nothing(stage: Stage) -> None:
    """The daemon is stopping."""
    runtime = stage.play(Puppet())
    await runtime.close()
    with pytest.raises(RuntimeProblem):
        await runtime.open(stage.session(), None, stage.sink)


async def test_a_login_that_never_ends_is_given_up(stage: Stage) -> None:
    """Some wait for a browser that nobody sees."""
    puppet = Puppet(authenticate=late(stage, 121))
    with pytest.raises(AgentSilent, match="'authenticate' within 120 seconds"):
        await stage.open(puppet, options={"auth_method": "key"})

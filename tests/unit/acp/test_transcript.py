"""What agents say, as updates of a transcript; the shapes are those that real agents send."""

from collections.abc import Mapping
from typing import Any

import pytest

from spaced.runtime.updates import (
    ItemUpserted,
    SessionInfoChanged,
    TextAppended,
    UnknownReport,
    Update,
    UsageChanged,
)
from spaced_acp import codec_v1 as v1
from spaced_acp.transcript import Transcript


class Hearing:
    """A transcript that takes updates as they stand on the wire."""

    def __init__(self) -> None:
        self.transcript = Transcript("exe_1")
        self.updates: list[Update] = []

    def hear(self, kind: str, /, turn_id: str | None = "turn_1", **fields: Any) -> None:
        """Take an update of a kind."""
        report = v1.read_update({"sessionId": "s", "update": {"sessionUpdate": kind, **fields}})
        self.updates += self.transcript.take(report, turn_id=turn_id)

    def say(self, text: str, message_id: str | None = None, **more: Any) -> None:
        """Take a chunk of an answer."""
        self._chunk("agent_message_chunk", text, message_id, **more)

    def think(self, text: str, message_id: str | None = None) -> None:
        """Take a chunk of a thought."""
        self._chunk("agent_thought_chunk", text, message_id)

    def end(self) -> None:
        """Take the end of the turn."""
        self.updates += self.transcript.end_turn("turn_1")

    def items(self) -> dict[str, dict[str, Any]]:
        """Return the items by source, as a reader of all updates would have them."""
        items: dict[str, dict[str, Any]] = {}
        for update in self.updates:
            if isinstance(update, TextAppended):
                fresh = {"type": update.item_type, update.field: "", **(update.opens_with or {})}
                items.setdefault(update.source, fresh)[update.field] += update.text
            elif isinstance(update, ItemUpserted):
                items.setdefault(update.source, {}).update(update.item)
        return items

    def _chunk(self, kind: str, text: str, message_id: str | None, **more: Any) -> None:
        named = {} if message_id is None else {"messageId": message_id}
        self.hear(kind, content={"type": "text", "text": text}, **named, **more)


@pytest.fixture
def agent() -> Hearing:
    """Return a transcript that nothing was said in."""
    return Hearing()


def call(agent: Hearing, call_id: str = "c1") -> Mapping[str, Any]:
    """Return a call's item."""
    return agent.items()[f"call:{call_id}"]


def result(agent: Hearing, call_id: str = "c1") -> Mapping[str, Any]:
    """Return a result's item."""
    return agent.items()[f"result:{call_id}"]


def test_chunks_of_one_name_are_one_message(agent: Hearing) -> None:
    """And it is complete once another one begins."""
    agent.say("Hel", "m1")
    agent.say("lo", "m1")
    agent.say("Next", "m2")
    agent.end()
    items = agent.items()
    assert [item["content"] for item in items.values()] == ["Hello", "Next"]
    assert {item["stream_status"] for item in items.values()} == {"complete"}
    assert {item["role"] for item in items.values()} == {"assistant"}


def test_chunks_without_a_name_follow_each_other(agent: Hearing) -> None:
    """A tool call between them parts two messages, which no later one may join."""
    agent.say("One")
    agent.say(" and")
    agent.hear("tool_call", toolCallId="c1", title="ls", kind="execute", status="pending")
    agent.say("Two")
    messages = [item["content"] for item in agent.items().values() if item["type"] == "message"]
    assert messages == ["One and", "Two"]


def test_a_thought_may_have_the_name_of_what_is_said_then(agent: Hearing) -> None:
    """They are two items all the same."""
    agent.think("Hm", "m1")
    agent.say("Yes", "m1")
    agent.end()
    found = [(item["type"], item["content"]) for item in agent.items().values()]
    assert found == [("reasoning", "Hm"), ("message", "Yes")]
    assert "role" not in next(iter(agent.items().values()))


def test_names_of_two_executions_do_not_meet() -> None:
    """An agent that names nothing is counted by us, and a source is never used twice."""
    one, two = Transcript("exe_1"), Transcript("exe_2")
    said = v1.read_update(
        {
            "update": {
                "sessionUpdate": "agent_message_chunk",
                "content": {"type": "text", "text": "x"},
            }
        }
    )
    sources = [
        update.source
        for transcript in (one, two)
        for update in transcript.take(said, turn_id=None)
        if isinstance(update, TextAppended)
    ]
    assert len(set(sources)) == 2


def test_an_image_is_a_part_of_a_message(agent: Hearing) -> None:
    """It is kept as it came."""
    block = {"type": "image", "mimeType": "image/png", "data": "AAAA"}
    agent.hear("agent_message_chunk", content=block)
    (item,) = agent.items().values()
    assert (item["parts"], item["content"], item["stream_status"]) == ([block], "", "complete")


def test_an_empty_chunk_is_nothing(agent: Hearing) -> None:
    """Some agents send one before they begin."""
    agent.say("", "m1")
    agent.end()
    assert not agent.updates


def test_a_call_goes_from_pending_to_its_result(agent: Hearing) -> None:
    """Whatever is left out stays as it was."""
    agent.hear(
        "tool_call",
        toolCallId="c1",
        title="Terminal",
        kind="execute",
        status="pending",
        rawInput={},
    )
    agent.hear("tool_call_update", toolCallId="c1", title="ls -l", rawInput={"command": "ls -l"})
    agent.hear("tool_call_update", toolCallId="c1", _meta={"claudeCode": {"toolName": "Bash"}})
    agent.hear("tool_call_update", toolCallId="c1", status="in_progress")
    agent.hear("tool_call_update", toolCallId="c1", status="completed", rawOutput="a\nb\n")
    found = call(agent)
    assert found["status"] == "completed"
    assert (found["name"], found["title"], found["kind"]) == ("Bash", "ls -l", "execute")
    assert found["arguments"] == '{"command": "ls -l"}'
    assert (result(agent)["output"], result(agent)["is_error"]) == ("a\nb\n", False)
    assert result(agent)["call_id"] == "c1"


def test_an_update_may_be_the_first_sight_of_a_call(agent: Hearing) -> None:
    """Gemini tells of a call when it is done."""
    agent.hear(
        "tool_call_update", toolCallId="c1", status="failed", title="x", kind="edit", content=[]
    )
    assert call(agent)["name"] == "edit"
    assert (result(agent)["is_error"], result(agent)["output"]) == (True, "")


def test_a_call_that_is_told_twice_is_one(agent: Hearing) -> None:
    """And nothing is reported that is known."""
    for _ in range(3):
        agent.hear("tool_call", toolCallId="c1", title="x", kind="read", status="in_progress")
    assert len(agent.updates) == 1


def test_output_grows_while_a_tool_runs(agent: Hearing) -> None:
    """What it has written so far is shown, and its end completes that."""
    for text in ("a\n", "a\nb\n"):
        content = [{"type": "content", "content": {"type": "text", "text": text}}]
        agent.hear("tool_call_update", toolCallId="c1", status="in_progress", content=content)
    assert (result(agent)["output"], result(agent)["stream_status"]) == ("a\nb\n", "streaming")
    agent.hear(
        "tool_call_update", toolCallId="c1", status="completed", rawOutput={"output": "a\nb\n"}
    )
    assert (result(agent)["output"], result(agent)["stream_status"]) == ("a\nb\n", "complete")


def test_what_a_call_shows_before_it_runs_is_no_output(agent: Hearing) -> None:
    """Claude shows a description where its output will be."""
    content = [{"type": "content", "content": {"type": "text", "text": "lists files"}}]
    agent.hear("tool_call_update", toolCallId="c1", content=content)
    assert "result:c1" not in agent.items()


def test_a_result_without_any_text_is_told_as_it_is(agent: Hearing) -> None:
    """Better than nothing."""
    agent.hear("tool_call_update", toolCallId="c1", status="completed", rawOutput={"ok": 1})
    assert result(agent)["output"] == '{"ok": 1}'


def test_output_that_comes_piece_by_piece_is_put_together(agent: Hearing) -> None:
    """Codex tells it beside the fields of the protocol, and nothing of it at the end."""
    agent.hear("tool_call", toolCallId="c1", title="ls", kind="execute", status="in_progress")
    for text in ("a\n", "b\n"):
        agent.hear(
            "tool_call_update", toolCallId="c1", _meta={"terminal_output_delta": {"data": text}}
        )
    agent.hear("tool_call_update", toolCallId="c1", status="completed", _meta={"terminal_exit": {}})
    assert (result(agent)["output"], result(agent)["stream_status"]) == ("a\nb\n", "complete")
    assert result(agent)["is_error"] is False


def test_a_result_among_other_facts_is_found(agent: Hearing) -> None:
    """Another Codex tells the whole story of the process."""
    told = {"stdout": "a\n", "exit_code": 0, "formatted_output": "a\n", "duration": {"secs": 0}}
    agent.hear("tool_call_update", toolCallId="c1", status="completed", rawOutput=told)
    assert result(agent)["output"] == "a\n"


def test_changes_to_files_are_shown_with_their_call(agent: Hearing) -> None:
    """Old and new text, as the agent tells them."""
    diff = {"type": "diff", "path": "/a", "oldText": None, "newText": "x"}
    agent.hear(
        "tool_call",
        toolCallId="c1",
        kind="edit",
        content=[diff],
        locations=[{"path": "/a", "line": 3}],
    )
    assert call(agent)["diffs"] == [{"path": "/a", "old_text": None, "new_text": "x"}]
    assert call(agent)["locations"] == [{"path": "/a", "line": 3}]


def test_arguments_that_come_in_parts_are_put_together(agent: Hearing) -> None:
    """OpenCode tells the folder first, and the command with the permission."""
    agent.hear("tool_call", toolCallId="c1", rawInput={"cwd": "/p"})
    agent.hear("tool_call_update", toolCallId="c1", rawInput={"command": "ls"})
    agent.hear("tool_call_update", toolCallId="c1", rawInput={"cwd": "/p"})
    assert call(agent)["arguments"] == '{"cwd": "/p", "command": "ls"}'


def test_a_rejected_call_that_the_agent_forgets_has_failed(agent: Hearing) -> None:
    """Some end their turn on a no and never say what became of the call."""
    agent.hear("tool_call", toolCallId="c1", kind="execute", status="pending")
    agent.transcript.calls.reject("c1")
    agent.end()
    assert call(agent)["status"] == "failed"
    assert result(agent)["is_error"] is True


def test_a_rejected_call_that_the_agent_ends_is_left_alone(agent: Hearing) -> None:
    """Its own words are better than ours."""
    agent.hear("tool_call", toolCallId="c1", kind="execute", status="pending")
    agent.transcript.calls.reject("c1")
    agent.hear("tool_call_update", toolCallId="c1", status="failed", rawOutput="denied by user")
    agent.end()
    assert result(agent)["output"] == "denied by user"


def test_a_plan_is_replaced_as_a_whole(agent: Hearing) -> None:
    """There is one for each turn."""
    for content in ("a", "b"):
        agent.hear(
            "plan", entries=[{"content": content, "priority": "high", "status": "pending", "x": 1}]
        )
    (item,) = agent.items().values()
    assert item["entries"] == [{"content": "b", "priority": "high", "status": "pending"}]


def test_what_is_about_the_session_is_no_item(agent: Hearing) -> None:
    """Commands, mode, title, options and the fill of the context."""
    agent.hear(
        "available_commands_update",
        availableCommands=[{"name": "init", "description": "d", "input": None}],
    )
    agent.hear("current_mode_update", currentModeId="plan")
    agent.hear("session_info_update", title="T", updatedAt="x")
    agent.hear("usage_update", used=5, size=10, cost={"amount": 0.5, "currency": "USD"})
    infos = [u.info for u in agent.updates if isinstance(u, SessionInfoChanged)]
    assert infos == [
        {"commands": [{"name": "init", "description": "d"}]},
        {"mode": "plan"},
        {"title": "T"},
    ]
    (usage,) = [u.usage for u in agent.updates if isinstance(u, UsageChanged)]
    assert usage == {
        "context_tokens": 5,
        "context_size": 10,
        "cost": {"amount": 0.5, "currency": "USD"},
    }
    assert not agent.items()


def test_an_unknown_kind_is_kept_and_its_flood_is_counted(agent: Hearing) -> None:
    """Nothing is dropped silently, and nothing floods the transcript."""
    for number in range(130):
        agent.hear("mood_update", mood="x" * 9000, number=number)
    agent.end()
    kept = [u for u in agent.updates if isinstance(u, UnknownReport)]
    assert len(kept) == 101
    assert {u.kind for u in kept} == {"acp:mood_update"}
    assert kept[-1].payload == {"omitted": 30}
    assert len(str(kept[0].payload["mood"])) < 5000


@pytest.mark.parametrize(
    "update",
    [
        {},
        {"sessionUpdate": 7},
        {"sessionUpdate": "tool_call"},
        {
            "sessionUpdate": "tool_call",
            "toolCallId": "c",
            "content": "text",
            "locations": {},
            "rawInput": 5,
        },
        {
            "sessionUpdate": "tool_call",
            "toolCallId": "c",
            "status": "dancing",
            "kind": 4,
            "title": None,
        },
        {"sessionUpdate": "plan", "entries": [1, None]},
        {"sessionUpdate": "agent_message_chunk", "content": None},
        {"sessionUpdate": "agent_message_chunk", "content": "bare words"},
        {"sessionUpdate": "usage_update", "used": "many", "cost": 3},
        {
            "sessionUpdate": "config_option_update",
            "configOptions": [{"id": 3}, {"id": "x", "options": [{}]}],
        },
        {"sessionUpdate": "available_commands_update", "availableCommands": None},
    ],
    ids=lambda update: repr(update)[:50],
)
def test_no_shape_breaks_it(agent: Hearing, update: dict[str, Any]) -> None:
    """Agents promise one thing and send another."""
    report = v1.read_update({"update": update})
    agent.transcript.take(report, turn_id="turn_1")
    agent.end()


def test_what_another_conversation_says_is_marked(agent: Hearing) -> None:
    """An agent that the agent has started speaks in the same process."""
    for name in (None, "child"):
        report = v1.read_update(
            {
                "update": {
                    "sessionUpdate": "agent_message_chunk",
                    "messageId": "m1",
                    "content": {"type": "text", "text": "x"},
                }
            }
        )
        agent.updates += agent.transcript.take(report, turn_id="turn_1", conversation=name)
    first, second = agent.items().values()
    assert ("conversation" in first, second["conversation"]) == (False, "child")


def test_names_that_begin_anew_in_each_turn_are_kept_apart() -> None:
    """Some agents count from one in each turn; nothing of an earlier turn may change by that."""
    agent = Hearing()
    for turn_id, text in (("turn_1", "one"), ("turn_2", "two")):
        agent.hear("tool_call", turn_id, toolCallId="c1", status="pending")
        agent.hear("tool_call_update", turn_id, toolCallId="c1", status="completed", rawOutput=text)
        content = {"type": "text", "text": text}
        agent.hear("agent_message_chunk", turn_id, messageId="m1", content=content)
        agent.updates += agent.transcript.end_turn(turn_id)
    items = agent.items().values()
    assert [i["output"] for i in items if i["type"] == "tool-result"] == ["one", "two"]
    assert [i["content"] for i in items if i["type"] == "message"] == ["one", "two"]
    assert len({i["call_id"] for i in items if i["type"] == "tool-call"}) == 2


def test_a_late_end_of_a_call_is_its_own(agent: Hearing) -> None:
    """What is no beginning belongs to the call that is known, whatever turn it comes in."""
    agent.hear("tool_call", "turn_1", toolCallId="c1", status="in_progress")
    agent.hear("tool_call_update", "turn_2", toolCallId="c1", status="completed", rawOutput="x")
    assert result(agent)["output"] == "x"

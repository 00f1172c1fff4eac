"""The shipped workflow files, read by a YAML library alone: their shape, references and prompts."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any, TypeAlias

import pytest
from ruamel.yaml import YAML
from ruamel.yaml.events import MappingStartEvent, SequenceStartEvent

from spaced.domain.builtin_workflows import AGENT_CHAT, AGENT_CHAT_ID
from spaced.resources import folder

Document: TypeAlias = dict[str, Any]
Step: TypeAlias = dict[str, Any]

NAMES = {
    "agent-chat": "Agent Chat",
    "kanban": "Kanban",
    "plan-build": "Plan & Build",
    "feature": "Feature",
    "review-loop": "Review Loop",
}
MOVES = {"move_to_next", "move_to_previous", "move_to_step"}
ALLOWED = {
    "on_enter": {
        "auto_start_agent",
        "enable_plan_mode",
        "disable_plan_mode",
        "reset_agent_context",
        "set_session_mode",
        "configure_session",
    },
    "on_turn_start": MOVES,
    "on_turn_complete": MOVES | {"disable_plan_mode"},
    "on_exit": {"disable_plan_mode"},
}
WORKFLOW_KEYS = {"name", "description", "prompt", "steps"}
STEP_KEYS = {
    "name",
    "position",
    "is_start_step",
    "allow_manual_move",
    "auto_advance_requires_signal",
    "profile_session_start_policy",
    "profile_session_end_policy",
    "session_target",
    "complete_task_on_enter",
    "events",
    "prompt",
}
EVERY_FILE = pytest.mark.parametrize("stem", sorted(NAMES))


def _text(stem: str) -> str:
    return folder("workflows").joinpath(f"{stem}.yml").read_text(encoding="utf-8")


@cache
def _document(stem: str) -> Document:
    document: Document = YAML(typ="safe", pure=True).load(_text(stem))
    return document


def _workflow(stem: str) -> Document:
    (workflow,) = _document(stem)["workflows"]
    found: Document = workflow
    return found


def _steps(stem: str) -> list[Step]:
    found: list[Step] = _workflow(stem)["steps"]
    return found


def _actions(step: Step, trigger: str) -> list[Document]:
    found: list[Document] = step.get("events", {}).get(trigger, [])
    return found


def _kinds(step: Step, trigger: str) -> list[str]:
    return [action["type"] for action in _actions(step, trigger)]


def _starts_the_agent(step: Step) -> bool:
    return "auto_start_agent" in _kinds(step, "on_enter")


def _begins_afresh(step: Step) -> bool:
    is_new = step.get("profile_session_start_policy") == "new"
    return is_new or "reset_agent_context" in _kinds(step, "on_enter")


def _destination(step: Step, move: Document) -> int:
    match move["type"]:
        case "move_to_next":
            return int(step["position"]) + 1
        case "move_to_previous":
            return int(step["position"]) - 1
        case _:
            return int(move["config"]["step_position"])


def _moves(step: Step) -> Iterator[tuple[str, Document]]:
    for trigger in step.get("events", {}):
        for action in _actions(step, trigger):
            if action["type"] in MOVES:
                yield trigger, action


def _moves_by_itself(step: Step) -> int | None:
    """Return where the end of a turn leads without a person, if anywhere."""
    for trigger, move in _moves(step):
        if trigger == "on_turn_complete" and not move.get("config", {}).get("requires_approval"):
            return _destination(step, move)
    return None


def test_exactly_the_five_workflows_ship() -> None:
    """A file more would never be ensured, a file less would fail at the daemon's start."""
    shipped = {entry.name for entry in folder("workflows").iterdir() if entry.is_file()}

    assert shipped == {f"{stem}.yml" for stem in NAMES} | {"README.md"}


@EVERY_FILE
def test_the_envelope_comes_first_and_names_the_lowest_version_that_will_do(stem: str) -> None:
    """Version 2 locks older readers out, so only a session target is worth it here."""
    document = _document(stem)
    needs_two = any("session_target" in step for step in _steps(stem))

    assert list(document) == ["version", "type", "workflows"]
    assert document["version"] == (2 if needs_two else 1)
    assert document["type"] == "kandev_workflow"


@EVERY_FILE
def test_a_file_holds_the_one_workflow_of_its_name(stem: str) -> None:
    """The name is the identity: runs, bindings and a later reset find the workflow by it."""
    workflow = _workflow(stem)

    assert workflow["name"] == NAMES[stem]
    assert workflow["description"].endswith(".")
    assert set(workflow) <= WORKFLOW_KEYS


@EVERY_FILE
def test_the_comment_at_the_head_says_when_to_use_it(stem: str) -> None:
    """Whoever opens the folder chooses by these few lines."""
    head, _, _ = _text(stem).partition("version:")
    lines = head.splitlines()

    assert lines[0].startswith("# Use this ")
    assert 2 <= len(lines) <= 4
    assert all(line.startswith("# ") for line in lines)


@EVERY_FILE
def test_a_file_is_tidy_text(stem: str) -> None:
    """People read, copy and compare these files in narrow windows."""
    text = _text(stem)

    assert not [line for line in text.splitlines() if len(line) > 100 or line != line.rstrip()]
    assert "\t" not in text
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


@EVERY_FILE
def test_a_file_is_in_block_style(stem: str) -> None:
    """The files are examples of the format, and one way of writing is enough to learn."""
    starts = [
        event
        for event in YAML(typ="safe", pure=True).parse(_text(stem))
        if isinstance(event, MappingStartEvent | SequenceStartEvent)
    ]

    assert starts
    assert not [event.start_mark.line + 1 for event in starts if event.flow_style]


@EVERY_FILE
def test_steps_are_numbered_named_and_one_is_the_start(stem: str) -> None:
    """Equal names break the match with what is stored; two starts would make one of them a lie."""
    steps = _steps(stem)
    names = Counter(step["name"] for step in steps)

    assert [step["position"] for step in steps] == list(range(len(steps)))
    assert names.most_common(1)[0][1] == 1
    assert [step["name"] for step in steps if step.get("is_start_step")] == [steps[0]["name"]]


@EVERY_FILE
def test_steps_use_only_keys_that_mean_something_here(stem: str) -> None:
    """A misspelt key does nothing, and a profile would exist on one machine only."""
    for step in _steps(stem):
        assert set(step) <= STEP_KEYS
        assert step.get("profile_session_start_policy", "reuse") in {"reuse", "new"}
        assert step.get("profile_session_end_policy", "park") in {"complete", "park"}
        assert step.get("session_target", {"kind": "initial"}) == {"kind": "initial"}


@EVERY_FILE
def test_triggers_and_actions_are_executed_ones_in_their_places(stem: str) -> None:
    """What is only kept would be a promise that spaced does not hold."""
    for step in _steps(stem):
        for trigger in step.get("events", {}):
            assert _kinds(step, trigger), f"{step['name']}: {trigger} is empty"
            assert set(_kinds(step, trigger)) <= ALLOWED[trigger]


@EVERY_FILE
def test_every_move_leads_to_another_step_that_exists(stem: str) -> None:
    """A move into nothing leaves the run where it is, with an error that its user cannot help."""
    positions = {step["position"] for step in _steps(stem)}

    for step in _steps(stem):
        for _, move in _moves(step):
            assert _destination(step, move) in positions - {step["position"]}
            assert set(move.get("config", {})) <= {"step_position", "requires_approval"}


@EVERY_FILE
def test_a_person_can_move_a_run_to_every_step(stem: str) -> None:
    """An agent that never signals must not hold a run for ever."""
    assert all(step["allow_manual_move"] is True for step in _steps(stem))


@EVERY_FILE
def test_nothing_goes_round_without_a_person(stem: str) -> None:
    """A cycle of moves at the end of turns spends money until somebody notices."""
    by_position = {step["position"]: step for step in _steps(stem)}

    for start in by_position:
        seen: list[int] = []
        position: int | None = start
        while position is not None:
            assert position not in seen, f"{by_position[start]['name']} comes back to itself"
            seen.append(position)
            position = _moves_by_itself(by_position[position])


@EVERY_FILE
def test_a_prompt_stands_exactly_where_the_agent_is_started(stem: str) -> None:
    """A prompt elsewhere is never sent, which is the most frequent misunderstanding."""
    for step in _steps(stem):
        assert bool(step.get("prompt", "").strip()) is _starts_the_agent(step), step["name"]


@EVERY_FILE
def test_the_request_stands_in_every_prompt_that_meets_an_empty_memory(stem: str) -> None:
    """Later steps of one conversation know it; only the first mention is ever filled in."""
    started = [step for step in _steps(stem) if _starts_the_agent(step)]

    for step in started:
        is_needed = step is started[0] or _begins_afresh(step)
        assert step["prompt"].count("{{task_prompt}}") == (1 if is_needed else 0), step["name"]


@EVERY_FILE
def test_placeholders_are_the_known_ones(stem: str) -> None:
    """Any other brace would reach the agent as it stands."""
    workflow = _workflow(stem)
    shared = re.findall(r"\{+[^}]*\}+", workflow.get("prompt", ""))
    single = [re.findall(r"\{+[^}]*\}+", step.get("prompt", "")) for step in workflow["steps"]]

    assert set(shared) <= {"{task_id}"}
    assert {name for names in single for name in names} <= {"{{task_prompt}}"}


@EVERY_FILE
def test_a_prompt_is_short_enough_to_be_read(stem: str) -> None:
    """People have to know what is said in their name."""
    lengths = [len(step["prompt"].splitlines()) for step in _steps(stem) if "prompt" in step]

    assert all(10 <= length <= 30 for length in lengths)


@EVERY_FILE
def test_a_step_asks_for_the_signal_exactly_where_it_waits_for_one(stem: str) -> None:
    """An agent that is not told would never move on; one told in vain would be refused."""
    for step in _steps(stem):
        prompt = " ".join(step.get("prompt", "").split())
        asks = "call the tool step_complete, or run `spaced signal` in your shell, once" in prompt
        waits = step.get("auto_advance_requires_signal", False)

        assert asks is waits, step["name"]
        assert "on_turn_complete" in step.get("events", {}) or not waits


@EVERY_FILE
def test_plan_mode_ends_where_it_began(stem: str) -> None:
    """Plan mode is never cleared by itself, and an agent left in it cannot build."""
    for step in _steps(stem):
        begins = "enable_plan_mode" in _kinds(step, "on_enter")

        assert ("disable_plan_mode" in _kinds(step, "on_exit")) is begins


@pytest.mark.parametrize("stem", sorted(set(NAMES) - {AGENT_CHAT_ID}))
def test_work_ends_in_done(stem: str) -> None:
    """Version 1 knows a finished run by place and name, version 2 by saying so."""
    last = _steps(stem)[-1]
    is_explicit = _document(stem)["version"] == 2

    assert last["name"] == "Done"
    assert last.get("complete_task_on_enter", False) is is_explicit
    assert not any("complete_task_on_enter" in step for step in _steps(stem)[:-1])


def test_agent_chat_is_one_step_that_waits() -> None:
    """Stored chats are runs of exactly this definition; any difference would be an edit."""
    (step,) = AGENT_CHAT.steps

    assert _workflow(AGENT_CHAT_ID) == {
        "name": AGENT_CHAT.name,
        "description": AGENT_CHAT.description,
        "steps": [
            {
                "name": step.name,
                "position": 0,
                "is_start_step": True,
                "allow_manual_move": True,
            }
        ],
    }
    assert (AGENT_CHAT.name, step.name) == ("Agent Chat", "Chat")
    assert AGENT_CHAT.description == (
        "A conversation with one agent. Every chat is a run of this workflow."
    )


def test_the_review_loop_hands_findings_back_to_the_session_that_built() -> None:
    """The builder is set aside and lives, the reviewer is new each time and ends."""
    build, review, rework, _ = _steps("review-loop")

    assert build["profile_session_end_policy"] == "park"
    assert review["profile_session_start_policy"] == "new"
    assert review["profile_session_end_policy"] == "complete"
    assert rework["session_target"] == {"kind": "initial"}
    assert _moves_by_itself(review) == rework["position"]
    assert [_destination(rework, move) for _, move in _moves(rework)] == [review["position"]]


@pytest.mark.parametrize(
    ("stem", "name"),
    [
        ("plan-build", "Plan"),
        ("plan-build", "Build"),
        ("feature", "Spec"),
        ("review-loop", "Rework"),
    ],
)
def test_a_person_agrees_before_the_next_step_begins(stem: str, name: str) -> None:
    """These are the places at which the workflows promise that nothing goes on by itself."""
    step = next(step for step in _steps(stem) if step["name"] == name)

    assert list(_moves(step))
    assert _moves_by_itself(step) is None

"""How a chat comes into being, and how the request that made it is found again."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaced.domain.builtin_workflows import AGENT_CHAT, AGENT_CHAT_ID, AGENT_CHAT_STEP_ID
from spaced.domain.chat import ChatRequest, begin_chat, request_of
from spaced.domain.events.event import Event
from spaced.domain.events.run import RunCreated
from spaced.domain.events.session import SessionConfigured
from spaced.domain.events.transcript import AgentItemAppended, AgentStatusChanged
from spaced.domain.json_values import JsonObject
from spaced.domain.run import CurrentEntry, InitialSession, Run, apply_to_run, create_run
from spaced.domain.session import Session, apply_to_session, seed
from tests.unit.domain.any_event import JSON_OBJECTS, LAW, TEXTS

REQUEST = ChatRequest(profile_id="prof", directory="/project")
SETTINGS = ChatRequest(
    profile_id="prof",
    directory="/project",
    title="Title",
    mode="plan",
    model="m",
    options={"x": 1},
    permissions=({"tool_kind": "edit", "decision": "allow"},),
    headless=True,
)


def _begin(
    request: ChatRequest, *before: Event, forked_from: JsonObject | None = None
) -> list[Event]:
    return begin_chat(
        "ses",
        request,
        workflow_id=AGENT_CHAT_ID,
        workflow_version=3,
        step_id=AGENT_CHAT_STEP_ID,
        entry_id="ent",
        forked_from=forked_from,
        before=before,
    )


def _fold(events: list[Event]) -> tuple[Run, Session]:
    created = events[0]
    assert isinstance(created, RunCreated)
    run = create_run("ses", created, created_at=1)
    session = seed("ses", "ses", context=run.context, run_status=run.status, created_at=1)
    for event in events[1:]:
        run = apply_to_run(run, event, session_id="ses" if event.is_of_session else None)
        session = apply_to_session(session, event, created_at=2)
    return run, session


def test_a_new_chat_is_a_run_that_waits_for_its_user() -> None:
    """Its one step is entered and settled, its session is the primary one and idle."""
    run, session = _fold(_begin(SETTINGS))

    assert (run.is_chat, run.status, run.title, run.directory) == (
        *(True, "waiting", "Title", "/project"),
    )
    assert run.primary_session_id == "ses"
    assert run.initial_session == InitialSession(session_id="ses", agent_profile_id="prof")
    assert run.entry == CurrentEntry(
        id="ent",
        step_id=AGENT_CHAT_STEP_ID,
        workflow_id=AGENT_CHAT_ID,
        workflow_version=3,
        status="waiting",
        is_settled=True,
    )
    assert (session.status, session.agent_id, session.title) == ("idle", "prof", "Title")
    assert session.metadata["directory"] == "/project"
    assert (session.configuration.mode, session.configuration.model) == ("plan", "m")
    assert (session.configuration.options, session.configuration.headless) == ({"x": 1}, True)
    assert not session.owes_history


def test_a_chat_without_settings_configures_nothing() -> None:
    """The profile's values hold."""
    assert not any(isinstance(event, SessionConfigured) for event in _begin(REQUEST))


@pytest.mark.parametrize(
    "setting", [{"mode": ""}, {"options": {}}, {"permissions": ()}, {"headless": False}], ids=repr
)
def test_an_empty_setting_is_a_setting(setting: dict[str, Any]) -> None:
    """It stands over the profile's value."""
    configured = [
        e for e in _begin(replace(REQUEST, **setting)) if isinstance(e, SessionConfigured)
    ]

    assert configured == [SessionConfigured(**setting)]


def test_a_fork_owes_its_agent_the_history() -> None:
    """Its items are told before it is idle, and where it comes from is kept."""
    copied = AgentItemAppended(item={"id": "itm"})
    origin = {"session_id": "other", "item_id": "x"}

    events = _begin(REQUEST, copied, forked_from=origin)

    run, session = _fold(events)
    assert run.forked_from == origin
    assert session.metadata["forked_from"] == origin
    assert session.owes_history
    assert events.index(copied) < events.index(AgentStatusChanged(status="idle"))


@LAW
@given(
    request=st.builds(
        ChatRequest,
        profile_id=TEXTS,
        directory=TEXTS,
        title=st.none() | TEXTS,
        mode=st.none() | TEXTS,
        model=st.none() | TEXTS,
        options=st.none() | JSON_OBJECTS,
        permissions=st.none() | st.just(()) | JSON_OBJECTS.map(lambda rule: (rule,)),
        headless=st.none() | st.booleans(),
    )
)
def test_the_request_is_found_again_in_what_it_made(request: ChatRequest) -> None:
    """So a repeat with the same id is known, whatever was configured later."""
    events = _begin(request)
    later = [SessionConfigured(mode="later", title="Later"), AgentStatusChanged(status="idle")]

    assert request_of(events) == request
    assert request_of([*events, *later]) == request


def test_a_stream_that_opens_no_session_was_made_by_no_chat_request() -> None:
    """A workflow's run may have the id that a client wants."""
    assert request_of([]) is None
    assert request_of([RunCreated(workflow_id="wf", workflow_version=1, context={})]) is None


def test_the_chat_workflow_has_one_step_that_starts_it() -> None:
    """Every chat is a run of it."""
    (step,) = AGENT_CHAT.steps

    assert (step.id, step.is_start_step) == (AGENT_CHAT_STEP_ID, True)

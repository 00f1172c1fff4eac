"""What a session takes over from its run's context and from the events that create it."""

from typing import Any

import pytest

from spaced.domain.events.transcript import AgentSessionCreated
from spaced.domain.session import RESERVED_KEYS, Session, apply_to_session, seed


def _seed(**context: Any) -> Session:
    return seed("ses", "run", context=context, run_status="created", created_at=3)


def _created(session: Session, **payload: Any) -> Session:
    return apply_to_session(session, AgentSessionCreated(data=payload), created_at=10)


@pytest.mark.parametrize(
    ("context", "status"),
    [({"status": "idle"}, "idle"), ({}, "created"), ({"status": None}, "created")]
    + [({"status": odd}, "created") for odd in (7, ["idle"], {"a": 1}, True)],
)
def test_the_status_comes_from_the_context_or_from_the_run(
    context: dict[str, Any], status: str
) -> None:
    """A context that holds no word under `status` says nothing."""
    assert _seed(**context).status == status


@pytest.mark.parametrize("data", [None, [], "text", 5, True])
def test_data_that_is_no_object_is_an_empty_one(data: object) -> None:
    """In the context and in the event alike, and never an error; an absent one changes nothing."""
    assert _seed(data=data).data == {}
    if data is not None:
        assert _created(_seed(data={"a": 1}), data=data).data == {}


def test_the_context_gives_agent_data_and_free_keys() -> None:
    """Every other key of the context is metadata of the session."""
    session = _seed(
        agent_id="prof", data={"a": 1}, agent_session=True, kind="chat", nested={"x": 1}
    )

    assert session.agent_id == "prof"
    assert session.data == {"a": 1}
    assert session.metadata == {"agent_session": True, "kind": "chat", "nested": {"x": 1}}


def test_the_title_in_the_context_is_the_title_of_the_session() -> None:
    """A title has a field of its own and does not get lost on its way there."""
    session = _seed(title="A chat")

    assert session.title == "A chat"
    assert "title" not in session.metadata


@pytest.mark.parametrize("key", sorted(RESERVED_KEYS))
@pytest.mark.parametrize("value", ["stolen", 5, None, ["x"], {"a": 1}])
def test_no_reserved_key_becomes_metadata(key: str, value: object) -> None:
    """Neither the context nor an event can put a second identity beside the real one."""
    session = _created(_seed(**{key: value}), **{key: value})

    assert key not in session.metadata


@pytest.mark.parametrize("key", ["id", "run_id", "workflow_run_id", "items", "item_count"])
@pytest.mark.parametrize("value", ["stolen", 99, [{"id": "x"}]])
def test_no_key_takes_over_identity_or_items(key: str, value: object) -> None:
    """Whatever a migrated chat claims to be, it is the session of its run."""
    session = _created(_seed(**{key: value}), **{key: value})

    assert (session.id, session.run_id, session.item_count) == ("ses", "run", 0)


@pytest.mark.parametrize("key", ["created_at", "updated_at"])
def test_no_key_takes_over_the_times(key: str) -> None:
    """Times are the envelope's."""
    session = _created(_seed(**{key: 77}), **{key: 77})

    assert (session.created_at, session.updated_at) == (10, 10)


def test_an_event_cannot_change_the_status_by_metadata() -> None:
    """Only a change of status changes the status."""
    assert _created(_seed(status="idle"), status="failed").status == "idle"


@pytest.mark.parametrize(
    ("claim", "kept"),
    [("id", "legacy_session_id"), ("workflow_run_id", "legacy_workflow_run_id")],
)
def test_a_claimed_id_is_kept_aside_and_the_first_one_stays(claim: str, kept: str) -> None:
    """The old ids of a migrated chat can still be found."""
    session = _created(_created(_seed(**{claim: "first"}), **{claim: "second"}), **{claim: "third"})

    assert session.metadata == {kept: "first"}


@pytest.mark.parametrize(
    ("claim", "kept"),
    [("id", "legacy_session_id"), ("workflow_run_id", "legacy_workflow_run_id")],
)
def test_an_event_can_claim_an_id_that_the_context_did_not(claim: str, kept: str) -> None:
    """The first one wins wherever it comes from."""
    assert _created(_created(_seed(), **{claim: "a"}), **{claim: "b"}).metadata == {kept: "a"}


def test_the_last_value_of_other_metadata_wins() -> None:
    """Keys that are not named again stay."""
    session = _created(_created(_seed(kind="a", x=1), kind="b"), kind="c", y=2)

    assert session.metadata == {"kind": "c", "x": 1, "y": 2}


@pytest.mark.parametrize("agent", [None, "", 5, ["prof"], {"id": "x"}])
def test_an_event_without_an_agent_keeps_the_one_of_the_context(agent: object) -> None:
    """Only a name takes the place of a name."""
    assert _created(_seed(agent_id="prof"), agent_id=agent).agent_id == "prof"
    assert _created(_seed(agent_id="prof")).agent_id == "prof"


def test_an_event_names_another_agent() -> None:
    """What the event says counts more than the context."""
    assert _created(_seed(agent_id="prof"), agent_id="other").agent_id == "other"


@pytest.mark.parametrize("agent", [5, None, [], {}])
def test_an_agent_that_is_no_name_is_none(agent: object) -> None:
    """The metadata of a migrated chat may lack one."""
    assert _seed(agent_id=agent).agent_id is None


@pytest.mark.parametrize(("title", "kept"), [("New", "New"), ("", ""), (None, "Old"), (5, "Old")])
def test_a_title_is_taken_if_it_is_a_text(title: object, kept: str) -> None:
    """And it never becomes metadata."""
    session = _created(_created(_seed(), title="Old"), title=title)

    assert session.title == kept
    assert session.metadata == {}


def test_the_data_of_an_event_replaces_all_data() -> None:
    """It is no merge."""
    assert _created(_seed(data={"a": 1, "b": 2}), data={"b": 3}).data == {"b": 3}


@pytest.mark.parametrize("payload", [{}, {"data": None}])
def test_an_event_without_data_keeps_what_there_was(payload: dict[str, Any]) -> None:
    """An absent one and a null one alike."""
    assert _created(_seed(data={"a": 1}), **payload).data == {"a": 1}


def test_a_session_may_be_created_more_than_once() -> None:
    """The second event changes what it names and neither items, status nor configuration."""
    once = _created(_seed(status="idle"), agent_id="prof", title="T")
    again = AgentSessionCreated(data={"kind": "again"})
    twice = apply_to_session(once, again, created_at=7)

    assert (twice.created_at, twice.updated_at) == (7, 7)
    assert (twice.agent_id, twice.title, twice.status) == ("prof", "T", "idle")
    assert twice.metadata == {"kind": "again"}


def test_changing_context_or_payload_afterwards_changes_no_session() -> None:
    """Metadata and data are copied on their way in."""
    context: dict[str, Any] = {"data": {"a": [1]}, "deep": {"b": [1]}}
    payload: dict[str, Any] = {"data": {"c": [1]}, "more": {"d": [1]}}
    seeded = seed("ses", "run", context=context, run_status="created", created_at=3)
    created = apply_to_session(seeded, AgentSessionCreated(data=payload), created_at=4)

    context["data"]["a"].append(2)
    context["deep"]["b"].append(2)
    payload["data"]["c"].append(2)
    payload["more"]["d"].append(2)

    assert (seeded.data, seeded.metadata) == ({"a": [1]}, {"deep": {"b": [1]}})
    assert created.data == {"c": [1]}
    assert created.metadata == {"deep": {"b": [1]}, "more": {"d": [1]}}


def test_a_later_session_does_not_share_metadata_with_an_earlier_one() -> None:
    """Changing one projection cannot leak into the next one."""
    first = _created(_seed(), deep={"a": [1]})
    second = _created(first, other=1)
    deep: Any = first.metadata["deep"]

    deep["a"].append(2)

    assert second.metadata["deep"] == {"a": [1]}

"""The rows of a run and of its sessions: what lists and commands read."""

import pytest

from spaced.clock import from_rfc3339
from spaced.domain.events.event import Event
from spaced.domain.events.run import RunCancelled, RunCreated, RunDeleted, RunUpdated
from spaced.domain.events.session import SessionConfigured, SessionDeleted, SessionMadePrimary
from spaced.domain.events.transcript import (
    AgentItemAppended,
    AgentItemTextAppended,
    AgentItemUpdated,
    AgentItemUpserted,
    AgentSessionCreated,
    AgentStatusChanged,
)
from spaced.log.fact import Fact
from spaced.log.fold import StreamFold, fold_stream
from spaced.log.read_models.catalogue import TABLES
from spaced.log.read_models.read_model import RowsInHand
from spaced.log.read_models.runs import run_of
from spaced.log.read_models.sessions import Sessions, session_of
from spaced.log.table import Row
from spaced.testing.fake_clock import START
from tests.unit.log.stories import recorded, said

CHAT = RunCreated(
    workflow_id="wf",
    workflow_version=1,
    context={"agent_session": True, "status": "idle", "agent_id": "prof", "kind": "chat"},
    title="Run title",
    description="Run description",
    directory="/project",
)
LATER = "2027-01-01T00:00:00.000Z"


def _fold(*events: Event | tuple[Event, str], at: int = START) -> StreamFold:
    """Fold a chat; facts about another session than the chat's come with its id."""
    story = [said(CHAT), said(AgentSessionCreated(data={"title": "Chat"}), "run")]
    for event in events:
        if isinstance(event, tuple):
            story.append(said(event[0], event[1], at=at))
        else:
            story.append(said(event, "run" if event.is_of_session else None, at=at))
    fold = fold_stream(recorded("run", story))
    assert fold.damage is None
    return fold


def _row(fold: StreamFold, table: str, *key: str) -> Row:
    row = fold.row(table, key)
    assert row is not None
    return row


def _texts(fold: StreamFold, table: str, *key: str) -> dict[str, str] | None:
    text = fold.rows[table, key].text
    return None if text is None else dict(text)


def test_a_chat_has_a_row_for_the_run_and_one_for_the_session() -> None:
    """Both are found under the same id, which is also the stream's."""
    fold = _fold()

    run, session = _row(fold, "run", "run"), _row(fold, "session", "run")
    assert (run["stream"], session["stream"]) == ("run", "run")
    assert (run["status"], run["visibility"], run["damage"]) == ("created", "listed", None)
    assert (session["status"], session["agent_id"], session["directory"]) == (
        *("idle", "prof", "/project"),
    )
    assert (session["visibility"], session["item_count"]) == ("listed", 0)


def test_a_row_holds_the_whole_state() -> None:
    """A command reads one row and knows all it needs."""
    fold = _fold(SessionConfigured(mode="plan"), SessionMadePrimary(), RunUpdated(title="New"))

    session = session_of(_row(fold, "session", "run"))
    run = run_of(_row(fold, "run", "run"))
    assert session.configuration.mode == "plan"
    assert session.metadata == {"agent_session": True, "kind": "chat"}
    assert (run.title, run.primary_session_id, run.context["kind"]) == ("New", "run", "chat")


def test_a_chat_that_carries_its_title_in_the_context_keeps_it() -> None:
    """Also if the event that opens the session does not repeat it."""
    created = RunCreated(workflow_id="wf", workflow_version=1, context={"title": "Kept"})
    fold = fold_stream(recorded("run", [said(created), said(AgentSessionCreated(data={}), "run")]))

    assert session_of(_row(fold, "session", "run")).title == "Kept"
    assert _texts(fold, "session", "run") == {"title": "Kept"}


def test_a_second_session_does_not_inherit_what_the_chat_was_given() -> None:
    """The context describes the run's first session alone."""
    fold = _fold((AgentSessionCreated(data={"agent_id": "other"}), "second"))

    second = session_of(_row(fold, "session", "second"))
    assert (second.run_id, second.agent_id, second.title) == ("run", "other", None)
    assert second.metadata == {}
    assert _row(fold, "session", "second")["directory"] == "/project"


def test_a_session_without_a_profile_is_listed_under_no_name() -> None:
    """Sessions are listed by their profile, and what is listed is never null."""
    fold = _fold((AgentSessionCreated(data={}), "second"))

    assert _row(fold, "session", "second")["agent_id"] == ""
    assert session_of(_row(fold, "session", "second")).agent_id is None


def test_a_session_may_work_in_a_directory_of_its_own() -> None:
    """Metadata of the session counts more than the run's."""
    fold = _fold((AgentSessionCreated(data={"directory": "/elsewhere"}), "second"))

    assert _row(fold, "session", "second")["directory"] == "/elsewhere"


@pytest.mark.parametrize(
    ("events", "visibility"),
    [
        ([], "listed"),
        ([RunUpdated(archived=True)], "archived"),
        ([RunUpdated(archived=True), RunUpdated(archived=False)], "listed"),
        ([RunDeleted(purge_at=LATER)], "hidden"),
        ([RunUpdated(archived=True), RunDeleted(purge_at=LATER)], "hidden"),
        ([RunCancelled()], "listed"),
    ],
    ids=repr,
)
def test_a_chat_is_archived_and_deleted_as_its_run(events: list[Event], visibility: str) -> None:
    """Run and session leave the listing together."""
    fold = _fold(*events)

    assert _row(fold, "run", "run")["visibility"] == visibility
    assert _row(fold, "session", "run")["visibility"] == visibility


def test_a_deleted_run_is_found_by_the_time_at_which_it_is_purged() -> None:
    """Runs that are not deleted stand under no time."""
    assert _row(_fold(), "run", "run")["purge_at"] == 0
    assert _row(_fold(RunDeleted(purge_at=LATER)), "run", "run")["purge_at"] == from_rfc3339(LATER)


def test_the_sessions_of_a_deleted_run_leave_the_lists_with_it() -> None:
    """Those that its event names; a name that the run does not have changes nothing."""
    deleted = RunDeleted(purge_at=LATER, session_ids=("run", "second", "nobody"))
    fold = _fold((AgentSessionCreated(data={}), "second"), deleted)

    assert [_row(fold, "session", name)["visibility"] for name in ("run", "second")] == [
        "hidden",
        "hidden",
    ]
    assert fold.row("session", ("nobody",)) is None


def test_deleting_a_run_leaves_a_session_of_another_run_alone() -> None:
    """A name in the event is no proof that the session is the run's."""
    fold = _fold()
    rows = RowsInHand(TABLES)
    rows.hold("run", ("other",), {**_row(fold, "run", "run"), "id": "other", "stream": "other"})
    rows.hold("session", ("other",), None)
    rows.hold("session", ("run",), _row(fold, "session", "run"))
    deleted = RunDeleted(purge_at=LATER, session_ids=("run",))

    Sessions().apply(Fact(stream="other", version=2, created_at=START, event=deleted), rows)

    assert rows.writes() == []


def test_one_session_can_be_deleted_alone() -> None:
    """The run stays listed."""
    fold = _fold(SessionDeleted())

    assert _row(fold, "session", "run")["visibility"] == "hidden"
    assert _row(fold, "run", "run")["visibility"] == "listed"


def test_archiving_changes_no_time() -> None:
    """A list that is taken out of the archive has its old order."""
    before, after = _fold(), _fold(RunUpdated(archived=True), at=START + 500)

    assert (
        _row(after, "session", "run")["updated_at"] == _row(before, "session", "run")["updated_at"]
    )


@pytest.mark.parametrize("moment", [START - 5000, START + 5000, 0, -1])
def test_the_time_in_the_row_is_that_of_the_last_of_the_six_kinds(moment: int) -> None:
    """Also an earlier one."""
    fold = _fold(AgentStatusChanged(status="running"), at=moment)

    row = _row(fold, "session", "run")
    assert row["updated_at"] == session_of(row).updated_at == moment


def test_a_piece_of_text_writes_no_row() -> None:
    """A long answer costs its own events and nothing else."""
    item = AgentItemAppended(item={"id": "a", "stream_status": "streaming"})
    text = AgentItemTextAppended(item_id="a", field="content", offset=0, text="word")

    assert _fold(item, text).rows == _fold(item).rows


def test_an_item_is_indexed_when_it_is_complete() -> None:
    """While it is open it has a row and no words."""
    open_item = AgentItemAppended(item={"id": "a", "stream_status": "streaming"})
    text = AgentItemTextAppended(item_id="a", field="content", offset=0, text="pears")
    end = AgentItemUpdated(item_id="a", updates={"stream_status": "complete"})

    assert _texts(_fold(open_item, text), "item", "run", "a") is None
    assert _texts(_fold(open_item, text, end), "item", "run", "a") == {"text": "pears"}


def test_a_complete_item_that_is_replaced_is_indexed_anew() -> None:
    """Its row stays where it was."""
    fold = _fold(
        AgentItemAppended(item={"id": "a", "content": "old"}),
        AgentItemAppended(item={"id": "b", "content": "x"}),
        AgentItemUpserted(item={"id": "a", "output": "new"}),
    )

    assert _texts(fold, "item", "run", "a") == {"text": "new"}
    assert _row(fold, "item", "run", "a")["ordinal"] == 1
    assert _row(fold, "session", "run")["item_count"] == 2


def test_items_of_two_sessions_may_have_the_same_id() -> None:
    """An item is unique in its session; each session counts its own."""
    item = AgentItemAppended(item={"id": "a"})
    fold = _fold(item, (AgentSessionCreated(data={}), "second"), (item, "second"))

    assert _row(fold, "item", "run", "a")["ordinal"] == 1
    assert _row(fold, "item", "second", "a")["ordinal"] == 1


def test_titles_and_descriptions_are_indexed() -> None:
    """And indexed anew when they change; an empty title leaves no words."""
    first = _fold()
    later = _fold(RunUpdated(title="Other"), SessionConfigured(title=""))

    assert _texts(first, "run", "run") == {
        "title": "Run title",
        "description": "Run description",
    }
    assert _texts(first, "session", "run") == {"title": "Chat"}
    assert _texts(later, "run", "run") == {"title": "Other", "description": "Run description"}
    assert _texts(later, "session", "run") == {}


def test_other_changes_keep_what_was_indexed() -> None:
    """A change of status does not lose the words."""
    fold = _fold(AgentStatusChanged(status="running"), RunCancelled())

    assert _texts(fold, "session", "run") == {"title": "Chat"}
    assert _texts(fold, "run", "run") is not None


def test_a_run_without_a_session_of_its_own_name_can_be_archived() -> None:
    """A task's first session has another id than the run; there is no row to change."""
    story = [
        said(RunCreated(workflow_id="wf", workflow_version=1, context={})),
        said(AgentSessionCreated(data={}), "first"),
        said(RunUpdated(archived=True)),
    ]
    fold = fold_stream(recorded("run", story))

    assert fold.damage is None
    assert ("session", ("run",)) not in fold.rows

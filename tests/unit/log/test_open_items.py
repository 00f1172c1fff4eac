"""The rows of open items: there as long as more of an item is to come, and no longer."""

from typing import Any

import pytest

from spaced.domain.events.event import Event
from spaced.domain.events.run import RunCreated
from spaced.domain.events.transcript import (
    AgentItemAppended,
    AgentItemTextAppended,
    AgentItemUpdated,
    AgentItemUpserted,
    AgentSessionCreated,
)
from spaced.log.fact import Fact
from spaced.log.fold import fold_stream
from spaced.log.read_models.catalogue import TABLES
from spaced.log.read_models.open_items import OpenItems
from spaced.log.read_models.read_model import RowsInHand
from spaced.log.table import Row
from spaced.testing.fake_clock import START
from tests.unit.log.stories import recorded, said

STREAMING = {"id": "i", "type": "message", "stream_status": "streaming"}


def _row(*events: Event) -> Row | None:
    """Return the row of the item after some events of a chat."""
    chat = RunCreated(workflow_id="wf", workflow_version=1, context={})
    story = [said(chat), said(AgentSessionCreated(data={}), "run")]
    fold = fold_stream(recorded("run", [*story, *(said(event, "run") for event in events)]))
    assert fold.damage is None
    return fold.row("open_item", ("run", "i"))


def _updated(**updates: Any) -> AgentItemUpdated:
    return AgentItemUpdated(item_id="i", updates=updates)


@pytest.mark.parametrize("cls", [AgentItemAppended, AgentItemUpserted])
@pytest.mark.parametrize(
    "fields", [{"stream_status": "streaming"}, {"status": "pending"}, {"status": "running"}]
)
def test_an_item_has_a_row_while_it_is_open(cls: Any, fields: dict[str, str]) -> None:
    """It is found without reading any transcript."""
    item = {"id": "i", "type": "tool-call", "turn_id": "turn", **fields}

    assert _row(cls(item=item)) == {
        "session_id": "run",
        "item_id": "i",
        "stream": "run",
        "turn_id": "turn",
    }


@pytest.mark.parametrize("turn_id", [None, 5, ["turn"]], ids=repr)
def test_an_item_of_no_turn_names_none(turn_id: object) -> None:
    """Background output has no turn; an odd value is none."""
    row = _row(AgentItemAppended(item={**STREAMING, "turn_id": turn_id}))

    assert row is not None
    assert row["turn_id"] is None


def test_an_item_that_is_complete_at_once_has_no_row() -> None:
    """There is nothing to close."""
    assert _row(AgentItemAppended(item={"id": "i", "type": "message"})) is None


@pytest.mark.parametrize(
    "closing",
    [
        _updated(stream_status="complete"),
        AgentItemUpserted(item={"id": "i", "type": "message"}),
    ],
    ids=lambda event: event.kind,
)
def test_the_row_goes_with_the_end_of_the_item(closing: Event) -> None:
    """By an update, or by an item that replaces it."""
    assert _row(AgentItemAppended(item=STREAMING), closing) is None


def test_an_item_may_be_opened_again() -> None:
    """It has to be closed once more."""
    closed = _updated(stream_status="complete")

    assert _row(AgentItemAppended(item=STREAMING), closed, _updated(status="running")) is not None


def test_a_later_turn_of_an_item_is_the_one_in_the_row() -> None:
    """The row follows what the item says."""
    row = _row(AgentItemAppended(item=STREAMING), _updated(turn_id="turn"))

    assert row is not None
    assert row["turn_id"] == "turn"


def test_text_looks_at_no_row_of_open_items() -> None:
    """A piece changes nothing about whether more is to come."""
    text = AgentItemTextAppended(item_id="i", field="content", offset=0, text="x")
    fact = Fact(
        stream="run", version=3, created_at=START, event=text, session_id="run", item_id="i"
    )
    rows = RowsInHand(TABLES)

    OpenItems().apply(fact, rows)

    assert list(OpenItems().keys(fact)) == []
    assert rows.writes() == []


def test_a_change_that_leaves_the_row_as_it_is_writes_none() -> None:
    """A long answer whose usage grows writes one row in all."""
    rows = RowsInHand(TABLES)
    rows.hold("open_item", ("run", "i"), _row(AgentItemAppended(item=STREAMING)))
    rows.hold_item("run", "i", {**STREAMING, "usage": 5})
    fact = Fact(
        stream="run",
        version=4,
        created_at=START,
        event=_updated(usage=5),
        session_id="run",
        item_id="i",
    )

    OpenItems().apply(fact, rows)

    assert rows.writes() == []

"""The row of an item says when it began, so that a search need not read the item to know."""

import pytest

from spaced.clock import to_rfc3339
from spaced.domain.events.run import RunCreated
from spaced.domain.events.transcript import (
    AgentItemAppended,
    AgentItemUpdated,
    AgentItemUpserted,
    AgentSessionCreated,
)
from spaced.log.fold import StreamFold, fold_stream
from spaced.testing.fake_clock import START
from tests.unit.log.stories import recorded, said

CHAT = RunCreated(workflow_id="wf", workflow_version=1, context={"agent_session": True})
TOLD = START - 5_000


def _fold(*events: AgentItemAppended | AgentItemUpserted | AgentItemUpdated) -> StreamFold:
    story = [said(CHAT), said(AgentSessionCreated(data={}), "run")]
    story += [said(event, "run", at=START + place) for place, event in enumerate(events)]
    fold = fold_stream(recorded("run", story))
    assert fold.damage is None
    return fold


def _created_at(fold: StreamFold) -> object:
    row = fold.row("item", ("run", "a"))
    assert row is not None
    return row["created_at"]


def test_an_item_began_when_it_says() -> None:
    """A migrated one was recorded long after that."""
    item = {"id": "a", "type": "message", "created_at": to_rfc3339(TOLD)}  # type: ignore[arg-type]

    assert _created_at(_fold(AgentItemAppended(item=item))) == TOLD
    assert _created_at(_fold(AgentItemUpserted(item=item))) == TOLD


@pytest.mark.parametrize("told", [None, 5, "", "yesterday", "2026-13-40T00:00:00Z", ["x"]])
def test_an_item_that_does_not_say_began_when_its_event_happened(told: object) -> None:
    """Whatever else stands there."""
    item = {"id": "a", "type": "message", "created_at": told}

    assert _created_at(_fold(AgentItemAppended(item=item))) == START


def test_an_item_begins_once() -> None:
    """What is told of it later changes it, and not when it began."""
    fold = _fold(
        AgentItemUpserted(item={"id": "a", "created_at": to_rfc3339(TOLD)}),  # type: ignore[arg-type]
        AgentItemUpdated(item_id="a", updates={"created_at": "2030-01-01T00:00:00.000Z"}),
        AgentItemUpserted(item={"id": "a", "created_at": "2031-01-01T00:00:00.000Z"}),
    )

    assert _created_at(fold) == TOLD

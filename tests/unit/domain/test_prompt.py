"""The fold of a prompt: what its status says, and that what comes late changes nothing."""

from dataclasses import replace

import pytest

from spaced.domain.events.event import Event
from spaced.domain.events.prompt import (
    PromptCancelled,
    PromptEdited,
    PromptMoved,
    PromptPromoted,
    PromptReturned,
    QueuePaused,
)
from spaced.domain.events.turn import TurnDispatched
from spaced.domain.prompt import (
    Admission,
    AdmittedPrompt,
    apply_to_prompt,
    digest_of_parts,
)
from tests.unit.domain.lives import ADDRESS, parts_of, prompt

EDITED = PromptEdited(prompt_id="msg", parts=parts_of("new"), delivery="steer", held=True)
MOVED = PromptMoved(prompt_id="msg", to_session_id="other", rank=-5)
CANCELLED = PromptCancelled(prompt_id="msg", reason="person")
PROMOTED = PromptPromoted(prompt_id="msg", turn_id="turn", item_id="itm")
DISPATCHED = TurnDispatched(turn_id="turn", execution_id="exe", prompt_ids=("msg",))
RETURNED = PromptReturned(prompt_id="msg", turn_id="turn", parts=parts_of("back"), rank=7)


def _fold(*events: Event) -> AdmittedPrompt:
    state = prompt()
    for event in events:
        state = apply_to_prompt(state, event)
    return state


def test_an_admitted_prompt_is_pending_and_remembers_its_admission() -> None:
    """A repeat of its id is judged against the admission, whatever became of the prompt."""
    admission = Admission(
        address=ADDRESS,
        digest=digest_of_parts(parts_of("text of msg")),
        delivery="queue",
        session_id="ses",
        version=3,
        queue_index=0,
    )

    assert _fold() == AdmittedPrompt(
        id="msg",
        session_id="ses",
        admission=admission,
        parts=parts_of("text of msg"),
        delivery="queue",
        origin="person",
        held=False,
        rank=10,
    )
    assert _fold(EDITED, MOVED, PROMOTED, DISPATCHED).admission == admission


def test_the_order_of_keys_makes_no_difference_to_a_digest() -> None:
    """A client that repeats a request may write it in another order; other words differ."""
    one, other = ({"type": "text", "text": "x"},), ({"text": "x", "type": "text"},)

    assert digest_of_parts(one) == digest_of_parts(other)
    assert digest_of_parts(one) != digest_of_parts(parts_of("y"))


def test_an_edit_changes_what_it_names() -> None:
    """Everything else stays as it was."""
    assert _fold(EDITED) == replace(prompt(), parts=parts_of("new"), delivery="steer", held=True)
    assert _fold(PromptEdited(prompt_id="msg")) == prompt()


def test_an_edit_to_nothing_and_a_release_are_edits() -> None:
    """Empty parts and a false `held` are values; only an absent one leaves what was there."""
    edited = _fold(EDITED, PromptEdited(prompt_id="msg", parts=(), held=False))

    assert (edited.parts, edited.held, edited.delivery) == ((), False, "steer")


def test_a_move_names_the_queue_and_the_place() -> None:
    """A prompt may go to another session of its run."""
    assert _fold(MOVED) == replace(prompt(), session_id="other", rank=-5)


def test_a_cancelled_prompt_keeps_why_and_not_what() -> None:
    """Nobody needs its parts any more."""
    assert _fold(CANCELLED) == replace(
        prompt(), status="cancelled", parts=(), cancelled_because="person"
    )


def test_a_promoted_prompt_names_its_turn_and_item_and_keeps_its_parts() -> None:
    """They are still to be handed over."""
    assert _fold(PROMOTED) == replace(prompt(), status="promoted", turn_id="turn", item_id="itm")


def test_a_delivered_prompt_keeps_its_turn_and_no_parts() -> None:
    """Its item shows what it was."""
    delivered = _fold(PROMOTED, DISPATCHED)

    assert (delivered.status, delivered.parts, delivered.turn_id) == ("delivered", (), "turn")


@pytest.mark.parametrize(
    "before", [[PROMOTED], [PROMOTED, DISPATCHED]], ids=["promoted", "delivered"]
)
def test_a_returned_prompt_is_pending_again_and_keeps_its_item(before: list[Event]) -> None:
    """Its next promotion shows it under the same item."""
    returned = _fold(*before, RETURNED)

    assert (returned.status, returned.parts, returned.rank) == ("pending", parts_of("back"), 7)
    assert (returned.turn_id, returned.item_id) == (None, "itm")


@pytest.mark.parametrize(
    ("before", "late"),
    [
        ([], [RETURNED, DISPATCHED, QueuePaused(reason="person")]),
        ([PROMOTED], [EDITED, MOVED, CANCELLED, replace(PROMOTED, item_id="other")]),
        ([PROMOTED, DISPATCHED], [EDITED, MOVED, CANCELLED, PROMOTED, DISPATCHED]),
        ([CANCELLED], [EDITED, MOVED, CANCELLED, PROMOTED, DISPATCHED, RETURNED]),
    ],
    ids=["pending", "promoted", "delivered", "cancelled"],
)
def test_what_comes_late_changes_nothing(before: list[Event], late: list[Event]) -> None:
    """Two decisions that crossed each other leave the first one standing."""
    state = _fold(*before)

    assert [apply_to_prompt(state, event) for event in late] == [state] * len(late)

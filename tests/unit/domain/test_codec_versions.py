"""How a kind whose body changed is still read: the pattern to copy when that happens.

A class of version 3 is stored as `door-opened.3`. Bodies of versions 1 and 2 are lifted step by
step. The classes here are made up; none of the real kinds has a second version yet.
"""

from collections.abc import Mapping

import pytest

from spaced.domain.event_codec import EventCodec, Lift, stored_kind
from spaced.domain.events.event import RunEvent, event
from spaced.errors import InvalidBody


@event("door-opened")
class FirstDoorOpened(RunEvent):
    """The first version: a width in inches."""

    inches: int


@event("door-opened", version=2)
class SecondDoorOpened(RunEvent):
    """The second version: a width in millimetres, so that old readers would misread it."""

    width: int


@event("door-opened", version=3)
class DoorOpened(RunEvent):
    """The third version: an object, and who opened it."""

    size: Mapping[str, object]
    by: str | None = None


def _to_second(body: dict[str, object]) -> dict[str, object]:
    inches = body["inches"]
    assert isinstance(inches, int)
    return {"width": inches * 25}


def _to_third(body: dict[str, object]) -> dict[str, object]:
    return {"size": {"width": body["width"]}}


LIFTS: Mapping[str, Lift] = {"door-opened": _to_second, "door-opened.2": _to_third}


def test_the_first_version_is_stored_under_the_plain_kind() -> None:
    """A kind that never changed needs no number."""
    assert stored_kind(FirstDoorOpened) == "door-opened"


def test_a_later_version_carries_its_number_in_the_stored_name() -> None:
    """So an old reader sees an unknown kind instead of a wrong event."""
    assert stored_kind(SecondDoorOpened) == "door-opened.2"
    assert stored_kind(DoorOpened) == "door-opened.3"


def test_a_body_of_the_version_before_is_lifted() -> None:
    """Stored bodies are never rewritten; reading makes them new."""
    codec = EventCodec([SecondDoorOpened], LIFTS)

    assert codec.decode("door-opened", b'{"inches":4}') == SecondDoorOpened(width=100)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("door-opened", b'{"inches":4}'),
        ("door-opened.2", b'{"width":100}'),
        ("door-opened.3", b'{"size":{"width":100}}'),
    ],
)
def test_every_older_version_is_lifted_to_the_newest(kind: str, body: bytes) -> None:
    """A log that is years old gives the same events as a new one."""
    codec = EventCodec([DoorOpened], LIFTS)

    assert codec.decode(kind, body) == DoorOpened(size={"width": 100})


def test_the_newest_version_is_written() -> None:
    """What is written is read back under its own stored name."""
    codec = EventCodec([DoorOpened], LIFTS)
    opened = DoorOpened(size={"width": 1}, by="me")

    assert codec.decode(stored_kind(DoorOpened), codec.encode(opened)) == opened


def test_a_name_from_a_newer_program_is_an_unknown_kind() -> None:
    """An older program skips the event and misreads nothing."""
    codec = EventCodec([SecondDoorOpened], LIFTS)

    assert codec.decode("door-opened.3", b'{"width":1}') is None


@pytest.mark.parametrize(
    "lifts",
    [
        {},
        {"door-opened": _to_second},
        {"door-opened.2": _to_third},
        {"door-opened.3": _to_third},
    ],
    ids=lambda lifts: ",".join(lifts) or "none",
)
def test_a_version_that_nothing_lifts_is_refused_at_once(lifts: Mapping[str, Lift]) -> None:
    """A forgotten lift fails when the program starts, not when an old event is met."""
    with pytest.raises(ValueError, match="nothing lifts"):
        EventCodec([DoorOpened], lifts)


@pytest.mark.parametrize(
    "classes",
    [
        (FirstDoorOpened, FirstDoorOpened),
        (FirstDoorOpened, SecondDoorOpened),
        (SecondDoorOpened, FirstDoorOpened),
        (SecondDoorOpened, DoorOpened),
    ],
    ids=lambda classes: f"{classes[0].version} and {classes[1].version}",
)
def test_a_kind_that_two_classes_claim_is_refused(classes: tuple[type[RunEvent], ...]) -> None:
    """In any order and any versions: otherwise one of them would read the other's bodies."""
    with pytest.raises(ValueError, match="declared twice"):
        EventCodec(classes, LIFTS)


@pytest.mark.parametrize("body", [b"{}", b'{"inches":"four"}', b"[]", b"4", b"no JSON", b""])
def test_an_old_body_that_cannot_be_lifted_is_an_invalid_body(body: bytes) -> None:
    """Whatever the lift trips over, the fault is the body's and costs its own stream only."""
    lifts = {**LIFTS, "door-opened": lambda body: {"width": body["inches"] // 1}}
    codec = EventCodec([SecondDoorOpened], lifts)

    with pytest.raises(InvalidBody, match="door-opened"):
        codec.decode("door-opened", body)


def test_a_lift_to_a_wrong_shape_is_an_invalid_body() -> None:
    """What a lift gives is checked like any other body."""
    codec = EventCodec([SecondDoorOpened], {"door-opened": lambda _: {"width": "wide"}})

    with pytest.raises(InvalidBody):
        codec.decode("door-opened", b'{"inches":4}')

"""Errors a user can meet: each has a stable code, a remedy and a meaning of its own."""

import inspect
import re

import pytest

from spaced import errors
from spaced.errors import KeyTaken, SpacedError, StaleVersion, StreamPurged

ALL = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, SpacedError)
]
SHARED = {"conflicting-write": {"ConflictingWrite", "StaleVersion", "KeyTaken"}}

every_error = pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)


def test_only_the_listed_errors_share_a_code() -> None:
    """A client tells failures apart by their codes; these three mean the same to it."""
    by_code: dict[str, set[str]] = {}
    for cls in ALL:
        by_code.setdefault(cls.code, set()).add(cls.__name__)

    assert {code: names for code, names in by_code.items() if len(names) > 1} == SHARED


@every_error
def test_codes_are_kebab_case(cls: type[SpacedError]) -> None:
    """They stand in URLs, JSON and logs."""
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", cls.code)


@every_error
def test_a_remedy_is_a_sentence(cls: type[SpacedError]) -> None:
    """It is shown to people as it is."""
    assert re.fullmatch(r"[A-Z`].*[^\s.]\.", cls.remedy.strip(), flags=re.DOTALL) or (
        cls.remedy.startswith("docs/") and cls.remedy.endswith(".")
    )
    assert "\n" not in cls.remedy
    assert len(cls.remedy.split()) >= 4


@every_error
def test_every_error_says_what_it_means(cls: type[SpacedError]) -> None:
    """In a docstring of its own, not an inherited one."""
    assert (cls.__doc__ or "").rstrip().endswith(".")
    assert inspect.getdoc(cls) == inspect.cleandoc(cls.__dict__["__doc__"])


def test_a_message_is_what_the_error_says() -> None:
    """Also for whoever only prints it."""
    error = errors.InvalidBody("a body is broken")

    assert str(error) == error.message == "a body is broken"


def test_a_raiser_may_know_a_better_remedy() -> None:
    """It holds for that one error; the class keeps its own."""
    error = errors.InvalidBody("x", remedy="Do this.")

    assert error.remedy == "Do this."
    assert errors.InvalidBody("y").remedy == errors.InvalidBody.remedy != "Do this."


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (StaleVersion("ses_1", expected=3, found=5), ["'ses_1'", "3", "5"]),
        (KeyTaken("session", ("ses_1", 2)), ["'session'", "'ses_1'", "2"]),
        (StreamPurged("ses_1"), ["'ses_1'"]),
        (errors.AppendTooLarge(9, 8), ["9", "8"]),
        (errors.UnknownBlob("blob_x"), ["'blob_x'"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_that_know_what_they_are_about_name_it(error: SpacedError, words: list[str]) -> None:
    """The sentence tells what and where."""
    assert all(word in error.message for word in words)


def test_whoever_waits_for_a_conflict_gets_both_of_them() -> None:
    """A stale version and a taken key are answered in the same way."""
    assert issubclass(StaleVersion, errors.ConflictingWrite)
    assert issubclass(KeyTaken, errors.ConflictingWrite)

"""The catalogue of events: the agreed kinds, each once, in the agreed streams."""

import dataclasses
import inspect
import re
import typing
from types import NoneType

import pytest

from spaced.domain.event_codec import stored_kind
from spaced.domain.events.catalogue import EVENTS, MODULES, events_of
from spaced.domain.events.event import Event, StreamFamily
from tests.unit.domain.any_event import fields_of

SESSION_KINDS = """
agent-session-created agent-status-changed agent-item-appended agent-item-upserted
agent-item-updated agent-session-data-updated agent-item-text-appended
prompt-admitted prompt-edited prompt-moved prompt-cancelled prompt-promoted prompt-returned
queue-paused queue-resumed
execution-opened execution-ended
turn-started turn-dispatched turn-retrying turn-ended
permission-asked permission-answered question-asked question-answered ask-expired
session-configured session-reset session-made-primary session-parked session-deleted
stop-intent-recorded stop-intent-consumed
"""
RUN_KINDS = """
run-created run-updated run-deleted run-completed run-cancelled run-reopened
step-entered entry-settled step-waiting step-resumed step-left
initial-session-recorded route-prepared route-committed route-abandoned binding-recorded
step-signal-recorded approval-asked approval-answered move-requested move-applied move-refused
"""
OTHER_KINDS = {
    StreamFamily.WORKFLOW: "workflow-defined workflow-retired workflow-deleted workflow-released",
    StreamFamily.PROFILE: "profile-defined profile-disabled profile-enabled profile-deleted",
    StreamFamily.SYNC_SOURCE: "sync-source-defined sync-source-paused sync-source-resumed "
    "sync-source-removed sync-outcome-changed",
    StreamFamily.SYSTEM: "grant-recorded grant-revoked descriptor-bound descriptor-unbound",
}


def _kinds(family: StreamFamily) -> list[str]:
    if family is StreamFamily.RUN:
        return f"{SESSION_KINDS} {RUN_KINDS}".split()
    return OTHER_KINDS[family].split()


every_class = pytest.mark.parametrize("cls", EVENTS, ids=lambda cls: cls.kind)


def test_there_are_exactly_the_agreed_kinds() -> None:
    """A kind is never renamed, dropped or used again: stored logs hold it."""
    agreed = [kind for family in StreamFamily for kind in _kinds(family)]

    assert sorted(cls.kind for cls in EVENTS) == sorted(agreed)
    assert len(agreed) == 72


def test_each_kind_is_declared_once() -> None:
    """Two classes of one kind would read each other's bodies."""
    kinds = [cls.kind for cls in EVENTS]

    assert len(set(kinds)) == len(kinds)
    assert len({stored_kind(cls) for cls in EVENTS}) == len(kinds)


@pytest.mark.parametrize("family", StreamFamily)
def test_each_family_has_its_kinds(family: StreamFamily) -> None:
    """The stream in which a fact is looked for follows from its kind."""
    assert sorted(cls.kind for cls in EVENTS if cls.family is family) == sorted(_kinds(family))


def test_the_envelope_names_a_session_for_exactly_these_kinds() -> None:
    """A fact about one session says which, also when its id is the run's."""
    assert sorted(c.kind for c in EVENTS if c.is_of_session) == sorted(SESSION_KINDS.split())


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_a_module_declares_events_of_one_family(module: object) -> None:
    """Whoever looks for the facts of a subject finds them in one place."""
    assert inspect.ismodule(module)
    found = events_of(module)

    assert found
    assert len({cls.family for cls in found}) == 1
    assert all(cls.__module__ == module.__name__ for cls in found)


@every_class
def test_kinds_are_kebab_case(cls: type[Event]) -> None:
    """Lower-case words joined by dashes; the version, from 2 on, is added by the codec alone."""
    assert re.fullmatch(r"[a-z]+(-[a-z]+)+", cls.kind)


@every_class
def test_the_class_is_named_after_its_kind(cls: type[Event]) -> None:
    """Whoever reads a log finds the class by the kind."""
    assert cls.__name__ == "".join(word.capitalize() for word in cls.kind.split("-"))


@every_class
def test_every_event_says_what_it_means(cls: type[Event]) -> None:
    """The page of events is made from the docstring; a generated one says nothing."""
    text = inspect.getdoc(cls) or ""

    assert text.partition("\n")[0].endswith(".")
    assert not text.startswith(f"{cls.__name__}(")


@every_class
def test_every_attribute_that_is_described_exists(cls: type[Event]) -> None:
    """A description that outlived its field would mislead."""
    _, _, block = (inspect.getdoc(cls) or "").partition("Attributes:\n")
    described = set(re.findall(r"^ {4}(\w+):", block, flags=re.MULTILINE))

    assert described <= {field.name for field in fields_of(cls)}


@every_class
def test_every_field_that_may_be_none_can_be_left_out(cls: type[Event]) -> None:
    """None is stored by leaving the field out, so reading must not require it."""
    hints = typing.get_type_hints(cls)
    nullable = [f for f in fields_of(cls) if NoneType in typing.get_args(hints[f.name])]

    assert [field.name for field in nullable if field.default is not None] == []


@every_class
def test_events_are_frozen_values_built_with_keywords(cls: type[Event]) -> None:
    """A fact never changes, and a new field never shifts the meaning of an old call."""
    parameters = typing.cast("typing.Any", cls).__dataclass_params__

    assert parameters.frozen
    assert all(field.kw_only for field in fields_of(cls))
    assert "__slots__" in vars(cls)


@every_class
def test_no_field_carries_the_envelope_again(cls: type[Event]) -> None:
    """Times, versions and positions are the envelope's; only an initial session names its id."""
    names = {field.name for field in dataclasses.fields(typing.cast("typing.Any", cls))}
    allowed = {"initial-session-recorded", "binding-recorded"}

    assert not names & {"stream", "version", "position", "created_at", "recorded_at"}
    assert "session_id" not in names or cls.kind in allowed

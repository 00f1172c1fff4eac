"""Profiles through their service: commands that may be sent again, and what lists show."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import count

import pytest

from spaced.domain.events.run import RunCreated
from spaced.domain.events.transcript import AgentSessionCreated
from spaced.domain.profile import Profile
from spaced.engine.journal import Entry, Journal, Statement
from spaced.engine.profiles import ProfileRecord, Profiles
from spaced.errors import (
    InvalidBody,
    InvalidIdentifier,
    InvalidProfile,
    ProfileExists,
    ProfileInUse,
    StaleRevision,
    UnknownProfile,
)
from spaced.identifiers import IdGenerator, is_generated
from spaced.storage.protocol import Storage

PLAIN = Profile(name="P", agent_name="claude", runtime="acp", command=("/bin/agent",))
FULL = replace(
    PLAIN,
    options={"b": [1, 2.0, True, None], "a": {"x": "y"}},
    permissions=({"tool_kind": "*", "decision": "ask"},),
    headless=True,
)


@pytest.fixture
def profiles(storage: Storage, journal: Journal) -> Profiles:
    """The service where one runtime is installed."""
    ids = IdGenerator(count(1).__next__)
    return Profiles(storage, journal, ids, {"acp"}.__contains__)


async def _kinds(storage: Storage, profile_id: str) -> Sequence[str]:
    return [event.kind for event in await storage.read_stream(profile_id)]


async def _begin_chat(journal: Journal, stream: str, agent_id: str) -> None:
    created = RunCreated(workflow_id="agent-chat", workflow_version=1, context={})
    opened = AgentSessionCreated(data={"agent_id": agent_id})
    statements = [Statement(event=created), Statement(event=opened, session_id=stream)]
    await journal.append(Entry(stream=stream, expected_version=0, statements=statements))


async def test_a_new_profile_gets_an_id_and_is_found_under_it(profiles: Profiles) -> None:
    """What is read is what was given, in every field."""
    created = await profiles.create(FULL)

    assert is_generated(created.id)
    assert created.id.startswith("prof_")
    assert created == ProfileRecord(id=created.id, profile=FULL, revision=1, status="enabled")
    assert await profiles.get(created.id) == created


async def test_a_profile_shares_nothing_with_whoever_made_it(profiles: Profiles) -> None:
    """Changing one's own copy later changes no profile."""
    options = {"x": [1]}
    created = await profiles.create(replace(PLAIN, options=options))

    options["x"].append(2)

    assert created.profile.options == {"x": [1]}


async def test_creating_again_gives_the_first_answer(profiles: Profiles, storage: Storage) -> None:
    """A client that got no answer asks again; the order of keys is no difference."""
    first = await profiles.create(FULL, profile_id="mine")
    turned = {key: FULL.options[key] for key in ("a", "b")} if FULL.options else None

    assert await profiles.create(replace(FULL, options=turned), profile_id="mine") == first
    assert await _kinds(storage, "mine") == ["profile-defined"]


@pytest.mark.parametrize("value", [1, 1.0, "1", None, [True]])
async def test_an_id_that_another_profile_has_is_refused(profiles: Profiles, value: object) -> None:
    """The fields that differ are named, also if only the type of a value does."""
    await profiles.create(replace(PLAIN, options={"x": True}), profile_id="mine")

    with pytest.raises(ProfileExists) as caught:
        await profiles.create(replace(PLAIN, name="Q", options={"x": value}), profile_id="mine")

    assert caught.value.fields == ("name", "options")
    assert "'mine' is taken by a profile with another name, options" in caught.value.message


async def test_an_id_of_something_else_is_refused(
    profiles: Profiles, journal: Journal, storage: Storage
) -> None:
    """Its stream is not written into; and the daemon's own stream is nobody's profile."""
    await _begin_chat(journal, "chat", "")

    for taken in ("chat", "system"):
        with pytest.raises(ProfileExists, match="no profile"):
            await profiles.create(PLAIN, profile_id=taken)
        assert "profile-defined" not in await _kinds(storage, taken)


async def test_an_id_that_is_none_is_refused(profiles: Profiles) -> None:
    """Ids stand in paths and on command lines."""
    with pytest.raises(InvalidIdentifier):
        await profiles.create(PLAIN, profile_id="../x")


@pytest.mark.parametrize(
    ("profile", "error", "word"),
    [
        (replace(PLAIN, name=""), InvalidProfile, "name"),
        (replace(PLAIN, runtime="other"), InvalidProfile, "'other'"),
        (replace(PLAIN, options={"x": "\ud800"}), InvalidBody, "profile-defined"),
        (replace(PLAIN, options={"x": float("nan")}), InvalidBody, "profile-defined"),
    ],
    ids=lambda value: getattr(value, "name", None),
)
async def test_a_profile_that_cannot_serve_is_neither_created_nor_defined(
    profiles: Profiles, storage: Storage, profile: Profile, error: type[Exception], word: str
) -> None:
    """What was there stays as it was."""
    before = await profiles.create(PLAIN, profile_id="mine")

    with pytest.raises(error, match=word):
        await profiles.create(profile, profile_id="new")
    with pytest.raises(error, match=word):
        await profiles.change("mine", profile, expected_revision=None)

    assert await profiles.list() == [before]
    assert await storage.head() == 1


async def test_a_change_defines_the_profile_anew(profiles: Profiles) -> None:
    """Its revision is the version of the new definition, so it may skip some."""
    created = await profiles.create(PLAIN)
    await profiles.disable(created.id)

    changed = await profiles.change(created.id, FULL, expected_revision=1)

    assert changed == ProfileRecord(id=created.id, profile=FULL, revision=3, status="disabled")
    assert await profiles.get(created.id) == changed


async def test_a_change_of_nothing_is_no_event(profiles: Profiles, storage: Storage) -> None:
    """Sending a change again is safe, also with the revision from before it."""
    created = await profiles.create(PLAIN)
    changed = await profiles.change(created.id, FULL, expected_revision=1)

    assert await profiles.change(created.id, FULL, expected_revision=1) == changed
    assert await profiles.change(created.id, FULL, expected_revision=None) == changed
    assert await storage.head() == 2


async def test_a_change_of_what_somebody_else_changed_is_refused(profiles: Profiles) -> None:
    """The revision to read is in the sentence and in the error."""
    created = await profiles.create(PLAIN, profile_id="mine")
    await profiles.change("mine", FULL, expected_revision=created.revision)

    with pytest.raises(StaleRevision, match="'mine' is at revision 2, not at 1") as caught:
        await profiles.change("mine", replace(PLAIN, name="Q"), expected_revision=1)

    assert caught.value.revision == 2
    assert (await profiles.get("mine")).profile == FULL


async def test_without_a_revision_the_last_change_holds(profiles: Profiles) -> None:
    """Whoever does not care says so."""
    created = await profiles.create(PLAIN)
    await profiles.change(created.id, FULL, expected_revision=None)

    changed = await profiles.change(created.id, PLAIN, expected_revision=None)

    assert (changed.profile, changed.revision) == (PLAIN, 3)


async def test_a_profile_is_disabled_and_enabled_again(
    profiles: Profiles, storage: Storage
) -> None:
    """Asking for what is so already is no event; the revision stays."""
    created = await profiles.create(PLAIN)
    answers = [
        await profiles.enable(created.id),
        await profiles.disable(created.id, "broken"),
        await profiles.disable(created.id, "still broken"),
        await profiles.enable(created.id),
        await profiles.enable(created.id),
    ]

    assert [(answer.status, answer.revision) for answer in answers] == [
        *(("enabled", 1), ("disabled", 1), ("disabled", 1)),
        *(("enabled", 1), ("enabled", 1)),
    ]
    assert await _kinds(storage, created.id) == [
        *("profile-defined", "profile-disabled", "profile-enabled"),
    ]


async def test_a_deleted_profile_is_gone(profiles: Profiles, storage: Storage) -> None:
    """Deleting it again is fine; no other command brings it back or finds it."""
    await profiles.create(PLAIN, profile_id="mine")
    deleted = await profiles.delete("mine")

    assert deleted.status == "deleted"
    assert await profiles.delete("mine") == deleted
    for command in (
        profiles.get("mine"),
        profiles.enable("mine"),
        profiles.disable("mine"),
        profiles.change("mine", FULL, expected_revision=None),
    ):
        with pytest.raises(UnknownProfile, match="'mine'"):
            await command
    assert await profiles.list() == []
    assert await _kinds(storage, "mine") == ["profile-defined", "profile-deleted"]


async def test_the_id_of_a_deleted_profile_is_never_used_again(profiles: Profiles) -> None:
    """A late retry of its creation does not bring it back."""
    await profiles.create(PLAIN, profile_id="mine")
    await profiles.delete("mine")

    with pytest.raises(ProfileExists, match="deleted") as caught:
        await profiles.create(PLAIN, profile_id="mine")
    assert caught.value.fields == ()


async def test_a_profile_that_never_was_is_unknown_to_every_command(
    profiles: Profiles, journal: Journal, storage: Storage
) -> None:
    """A run's id names no profile either, and its stream is left alone."""
    await _begin_chat(journal, "chat", "")

    for profile_id in ("none", "chat", ""):
        for command in (
            profiles.get(profile_id),
            profiles.enable(profile_id),
            profiles.disable(profile_id),
            profiles.delete(profile_id),
            profiles.change(profile_id, PLAIN, expected_revision=None),
        ):
            with pytest.raises(UnknownProfile):
                await command
    assert await storage.head() == 2


async def test_a_profile_in_use_is_not_deleted(profiles: Profiles, journal: Journal) -> None:
    """A session that has it is named; the profile next to it goes."""
    await profiles.create(PLAIN, profile_id="used")
    await profiles.create(PLAIN, profile_id="free")
    await _begin_chat(journal, "chat", "used")

    with pytest.raises(ProfileInUse, match="'used' is used by session 'chat'") as caught:
        await profiles.delete("used")

    assert caught.value.session_id == "chat"
    assert (await profiles.get("used")).status == "enabled"
    assert (await profiles.delete("free")).status == "deleted"


async def test_profiles_are_listed_by_name(profiles: Profiles) -> None:
    """Disabled ones among the others, deleted ones not; equal names follow their ids."""
    for name, profile_id in (("b", "1"), ("c", "2"), ("a", "3"), ("b", "0"), ("d", "4")):
        await profiles.create(replace(PLAIN, name=name), profile_id=profile_id)
    await profiles.disable("3")
    await profiles.delete("2")

    listed = await profiles.list()

    assert [(one.id, one.status) for one in listed] == [
        *(("3", "disabled"), ("0", "enabled"), ("1", "enabled"), ("4", "enabled")),
    ]
    assert listed[1] == await profiles.get("0")


async def test_commands_that_come_together_take_effect_one_after_the_other(
    profiles: Profiles, storage: Storage
) -> None:
    """Each is decided on what the ones before it left; none fails for the others' sake."""
    changes = [replace(PLAIN, name=f"N{n}") for n in range(8)]
    await profiles.create(PLAIN, profile_id="mine")

    records = await asyncio.gather(
        *(profiles.change("mine", change, expected_revision=None) for change in changes)
    )

    assert sorted(record.revision for record in records) == list(range(2, 10))
    last = max(records, key=lambda record: record.revision)
    assert await profiles.get("mine") == last
    assert await storage.version("mine") == 9


async def test_of_two_changes_of_one_revision_one_is_refused(profiles: Profiles) -> None:
    """Nobody overwrites what they have not seen."""
    await profiles.create(PLAIN, profile_id="mine")

    answers = await asyncio.gather(
        *(
            profiles.change("mine", replace(PLAIN, name=name), expected_revision=1)
            for name in ("a", "b")
        ),
        return_exceptions=True,
    )

    assert sorted(type(answer).__name__ for answer in answers) == [
        *("ProfileRecord", "StaleRevision"),
    ]


async def test_creating_twice_at_once_makes_one_profile(
    profiles: Profiles, storage: Storage
) -> None:
    """Both get the same answer."""
    first, second = await asyncio.gather(
        *(profiles.create(PLAIN, profile_id="mine") for _ in range(2))
    )

    assert first == second
    assert await storage.head() == 1

"""Profiles: the commands that change them, and reading them.

Each command looks at the profile, decides, and records at most one event against the version that
it looked at. If another command was recorded in between, it looks and decides again, so commands
for one profile take effect one after the other without waiting for those of any other profile.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Literal, TypeAlias

import msgspec

from spaced.domain.definitions import DefinedProfile, apply_to_profile
from spaced.domain.event_codec import CODEC
from spaced.domain.events.profile import (
    ProfileDefined,
    ProfileDeleted,
    ProfileDisabled,
    ProfileEnabled,
)
from spaced.domain.profile import Profile
from spaced.domain.profile_checks import check_profile
from spaced.engine.journal import Entry, Journal, Statement
from spaced.errors import (
    InvalidProfile,
    ProfileExists,
    ProfileInUse,
    StaleRevision,
    StaleVersion,
    UnknownProfile,
)
from spaced.identifiers import IdGenerator, accept
from spaced.log.read_models.definitions import PROFILE, PROFILES
from spaced.log.read_models.sessions import SESSION
from spaced.log.record import SYSTEM_STREAM
from spaced.storage.protocol import Storage

_Change: TypeAlias = ProfileDefined | ProfileDisabled | ProfileEnabled | ProfileDeleted


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRecord:
    """A profile as it is now.

    Attributes:
        revision: of its newest definition; it changes with the definition, not with the status.
    """

    id: str
    profile: Profile
    revision: int
    status: Literal["enabled", "disabled", "deleted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """A profile's stream at one moment.

    Attributes:
        state: `None` if there is no profile; a deleted one has its state still.
    """

    profile_id: str
    version: int
    state: DefinedProfile | None

    def living(self) -> DefinedProfile:
        """Return the state of a profile that is there."""
        return _living(self.profile_id, self.state)


class Profiles:
    """Creates, changes, finds and deletes profiles."""

    def __init__(
        self,
        storage: Storage,
        journal: Journal,
        ids: IdGenerator,
        is_known_runtime: Callable[[str], bool],
    ) -> None:
        self._storage = storage
        self._journal = journal
        self._ids = ids
        self._is_known_runtime = is_known_runtime

    async def create(self, profile: Profile, *, profile_id: str | None = None) -> ProfileRecord:
        """Create a profile, or return the one that was created by the same call before.

        Args:
            profile_id: chosen by the caller, so that asking again never makes a second one.

        Raises:
            InvalidProfile: it could not serve any session.
            InvalidIdentifier: the id cannot be one.
            ProfileExists: the id is taken by something other than this profile.
        """
        definition = self._definition(profile)
        if profile_id is None:
            profile_id = self._ids.new("prof")
        else:
            profile_id = accept(profile_id, what="profile")

        def decide(seen: _Seen) -> ProfileDefined | None:
            _refuse_taken(seen, definition.profile)
            return definition if seen.state is None else None

        return await self._command(profile_id, decide)

    async def change(
        self, profile_id: str, changes: Profile, *, expected_revision: int | None
    ) -> ProfileRecord:
        """Define a profile anew; what equals the present definition changes nothing.

        Args:
            changes: the whole profile as it is to be.
            expected_revision: what the caller has seen; `None` overwrites whatever is there. It
                does not matter where nothing is to be changed, so that asking again is safe.

        Raises:
            InvalidProfile: it could not serve any session.
            UnknownProfile: there is none of this id, or it was deleted.
            StaleRevision: somebody else changed it.
        """
        definition = self._definition(changes)

        def decide(seen: _Seen) -> ProfileDefined | None:
            state = seen.living()
            if not _differing(state.profile, definition.profile):
                return None
            if expected_revision not in (None, state.version):
                raise StaleRevision(
                    "profile", profile_id, expected=expected_revision, revision=state.version
                )
            return definition

        return await self._command(profile_id, decide)

    async def disable(self, profile_id: str, reason: str | None = None) -> ProfileRecord:
        """Let a profile take no new sessions; a disabled one stays as it is.

        Raises:
            UnknownProfile: there is none of this id, or it was deleted.
        """

        def decide(seen: _Seen) -> ProfileDisabled | None:
            is_enabled = seen.living().status == "enabled"
            return ProfileDisabled(reason=reason) if is_enabled else None

        return await self._command(profile_id, decide)

    async def enable(self, profile_id: str) -> ProfileRecord:
        """Let a profile take sessions again; an enabled one stays as it is.

        Raises:
            UnknownProfile: there is none of this id, or it was deleted.
        """

        def decide(seen: _Seen) -> ProfileEnabled | None:
            return ProfileEnabled() if seen.living().status == "disabled" else None

        return await self._command(profile_id, decide)

    async def delete(self, profile_id: str) -> ProfileRecord:
        """Delete a profile that no session uses; deleting it again is fine.

        Raises:
            UnknownProfile: there never was one of this id.
            ProfileInUse: a session has it.
        """
        users = await self._storage.list_rows(
            SESSION.name, where={"agent_id": profile_id}, order="agent", limit=1
        )

        def decide(seen: _Seen) -> ProfileDeleted | None:
            if seen.state is not None and seen.state.status == "deleted":
                return None
            seen.living()
            if users.rows:
                raise ProfileInUse(profile_id, str(users.rows[0]["id"]))
            return ProfileDeleted()

        return await self._command(profile_id, decide)

    async def get(self, profile_id: str) -> ProfileRecord:
        """Return a profile, enabled or disabled.

        Raises:
            UnknownProfile: there is none of this id, or it was deleted.
        """
        return _record(profile_id, _living(profile_id, await self._state(profile_id)))

    async def is_taken(self, profile_id: str) -> bool:
        """Tell whether there is, or once was, a profile of this id."""
        return await self._state(profile_id) is not None

    async def list(self) -> Sequence[ProfileRecord]:
        """Return all profiles but deleted ones, ordered by name."""
        # One read: a profile that changes its status meanwhile is neither told twice nor missed.
        found = await self._storage.list_rows(PROFILE.name, order="by_name")
        records = [
            _record(str(row["id"]), PROFILES.state_of(row))
            for row in found.rows
            if row["status"] != "deleted"
        ]
        return sorted(records, key=lambda record: (record.profile.name, record.id))

    def _definition(self, profile: Profile) -> ProfileDefined:
        """Return the event that defines a profile, sharing nothing with what the caller holds."""
        check_profile(profile)
        if not self._is_known_runtime(profile.runtime):
            raise InvalidProfile(
                f"runtime {profile.runtime!r} is not one that is installed",
                remedy="Run `spaced plugins` to see which runtimes there are.",
            )
        stored = CODEC.decode(ProfileDefined.kind, CODEC.encode(ProfileDefined(profile=profile)))
        assert isinstance(stored, ProfileDefined)
        return stored

    async def _command(
        self, profile_id: str, decide: Callable[[_Seen], _Change | None]
    ) -> ProfileRecord:
        while True:
            seen = await self._look(profile_id)
            change = decide(seen)
            if change is None:
                return _record(profile_id, seen.state)
            try:
                await self._record_change(seen, change)
            except StaleVersion:
                continue  # another command was recorded, so each turn of the loop is progress
            state = apply_to_profile(seen.state, change, version=seen.version + 1)
            return _record(profile_id, state)

    async def _look(self, profile_id: str) -> _Seen:
        # The version first: what is recorded between the two reads makes the append be refused.
        version = await self._storage.version(profile_id)
        return _Seen(profile_id=profile_id, version=version, state=await self._state(profile_id))

    async def _state(self, profile_id: str) -> DefinedProfile | None:
        rows = (await self._storage.get_rows(PROFILE.name, [(profile_id,)])).rows
        return PROFILES.state_of(rows[0]) if rows else None

    async def _record_change(self, seen: _Seen, change: _Change) -> None:
        await self._journal.append(
            Entry(
                stream=seen.profile_id,
                expected_version=seen.version,
                statements=[Statement(event=change)],
            )
        )


def _living(profile_id: str, state: DefinedProfile | None) -> DefinedProfile:
    if state is None or state.status == "deleted":
        raise UnknownProfile(profile_id)
    return state


def _record(profile_id: str, state: DefinedProfile | None) -> ProfileRecord:
    assert state is not None
    return ProfileRecord(
        id=profile_id, profile=state.profile, revision=state.version, status=state.status
    )


def _refuse_taken(seen: _Seen, profile: Profile) -> None:
    """Raise `ProfileExists` unless the id is free, or has exactly this profile."""
    if seen.state is None:
        if seen.version or seen.profile_id == SYSTEM_STREAM:
            raise ProfileExists(seen.profile_id, "by something that is no profile")
        return
    if seen.state.status == "deleted":
        raise ProfileExists(seen.profile_id, "by a profile that was deleted")
    differing = _differing(seen.state.profile, profile)
    if differing:
        why = f"by a profile with another {', '.join(differing)}"
        raise ProfileExists(seen.profile_id, why, fields=differing)


def _differing(one: Profile, other: Profile) -> tuple[str, ...]:
    """Return the fields in which two profiles differ; to Python true, 1 and 1.0 are equal."""
    return tuple(
        field.name
        for field in fields(Profile)
        if _canonical(getattr(one, field.name)) != _canonical(getattr(other, field.name))
    )


def _canonical(value: object) -> bytes:
    return msgspec.json.encode(value, order="deterministic")

"""Every error a user can meet: a stable code, one sentence of what and where, and what to do next.

An error's class names the kind of failure; `code` is its stable name on the wire, in `--json`
output and in logs. The message says what happened and where; `remedy` says what the reader can do.
"""

from collections.abc import Mapping
from typing import ClassVar


class SpacedError(Exception):
    """Something went wrong that a person can act on.

    Attributes:
        facts: names of attributes that programs may want; they travel with the problem document.
    """

    code: ClassVar[str] = "internal-error"
    facts: ClassVar[tuple[str, ...]] = ()
    remedy: str = "Report this with the log file of the daemon."

    def __init__(self, message: str, *, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if remedy is not None:
            self.remedy = remedy


class InvalidIdentifier(SpacedError):
    """A string is not an id of the expected kind."""

    code = "invalid-identifier"
    remedy = "Pass an id as spaced made it, or one of the same form."


class InvalidTimestamp(SpacedError):
    """A string is not an RFC 3339 time, or a number lies outside the years 1 to 9999."""

    code = "invalid-timestamp"
    remedy = "Write times as 2026-12-01T09:30:00.000Z."


class InvalidBody(SpacedError):
    """An event's body does not have the shape of its kind, or cannot be stored as JSON."""

    code = "invalid-body"
    remedy = "docs/events.md lists the fields of every kind."


class CorruptStream(SpacedError):
    """A recorded event cannot be folded; only its own stream is affected."""

    code = "corrupt-stream"
    remedy = "Run `spaced doctor`; every other session keeps working."


class UnknownItem(SpacedError):
    """A session has no item of this id."""

    code = "unknown-item"
    remedy = "Ask for the newest items first, and go on from the ids that they have."


class StorageError(SpacedError):
    """The storage could not do what was asked."""

    code = "storage-error"
    remedy = "Run `spaced doctor` to see what the storage reports."


class ConflictingWrite(StorageError):
    """Somebody else wrote first: read again and decide again, never retry blindly."""

    code = "conflicting-write"
    remedy = "Read the newest state and decide again."


class StaleVersion(ConflictingWrite):
    """A stream has a version other than the one the writer expected."""

    def __init__(self, stream: str, *, expected: int, found: int) -> None:
        super().__init__(f"stream {stream!r} is at version {found}, not at {expected}")
        self.stream = stream
        self.expected = expected
        self.found = found


class KeyTaken(ConflictingWrite):
    """An inserted row's key exists already."""

    def __init__(self, table: str, key: tuple[str | int, ...]) -> None:
        super().__init__(f"table {table!r} already has a row with the key {key!r}")
        self.table = table
        self.key = key


class StreamPurged(StorageError):
    """The stream was purged; its name stays fenced and takes nothing more."""

    code = "stream-purged"
    remedy = "Start a new session; a deleted one never comes back under its old id."

    def __init__(self, stream: str) -> None:
        super().__init__(f"stream {stream!r} was deleted for good")
        self.stream = stream


class AppendTooLarge(StorageError):
    """An append is larger than a storage has to take in one piece."""

    code = "append-too-large"
    remedy = "Store large content as a blob, or split it over several appends."

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"an append of {size} bytes is over the limit of {limit} bytes")
        self.size = size
        self.limit = limit


class StorageFull(StorageError):
    """There is no space left where the storage lives; nothing of the append was kept."""

    code = "storage-full"
    remedy = (
        "Free some space on that disk; work goes on by itself, nothing that was accepted is lost."
    )


class StorageClosed(StorageError):
    """The storage was closed before or while it was used."""

    code = "storage-closed"
    remedy = "Open the storage again."


class StorageRefused(StorageError):
    """A file or folder is not one that this storage may open."""

    code = "storage-refused"
    remedy = "Point the data directory to another place, or restore a backup there."


class UnknownBlob(StorageError):
    """No blob has this id."""

    code = "unknown-blob"
    facts = ("blob_id",)
    remedy = "It was reclaimed or never stored; a backup that is older may still hold it."

    def __init__(self, blob_id: str) -> None:
        super().__init__(f"there is no blob {blob_id!r}")
        self.blob_id = blob_id


class UnusableQuery(StorageError):
    """A search query holds no word."""

    code = "unusable-query"
    remedy = "Search for at least one word; a trailing * matches beginnings of words."


class PluginProblem(SpacedError):
    """A plugin is missing, broken, or in conflict with another one."""

    code = "plugin-problem"
    remedy = "Run `spaced plugins` to see what was loaded from where."


class RuntimeProblem(SpacedError):
    """An agent cannot be started, reached or understood."""

    code = "runtime-problem"
    remedy = "Check the profile's command and login; `spaced profiles probe` shows what is missing."


class SpawnRefused(RuntimeProblem):
    """A process cannot be started as it was asked for."""

    code = "spawn-refused"
    remedy = "Check that the command is an absolute path to a program and that the folder exists."


class ChildGone(RuntimeProblem):
    """A child process no longer reads what is written to it."""

    code = "child-gone"
    remedy = "Prompt again; a new process is started for it."


class LineTooLong(RuntimeProblem):
    """A child process wrote a line without an end."""

    code = "line-too-long"
    remedy = "Report this to the author of the agent; the daemon is not affected."


class InvalidRule(SpacedError):
    """A permission rule cannot be read."""

    code = "invalid-rule"
    remedy = 'Write rules as {"tool_kind": "execute", "pattern": "git *", "decision": "allow"}.'


class InvalidProfile(SpacedError):
    """A profile could not serve any session as it is written."""

    code = "invalid-profile"
    remedy = "Correct what the message names; nothing was changed."


class UnknownProfile(SpacedError):
    """No profile has this id, or it was deleted."""

    code = "unknown-profile"
    facts = ("profile_id",)
    remedy = "List the profiles to see which there are."

    def __init__(self, profile_id: str) -> None:
        super().__init__(f"there is no profile {profile_id!r}")
        self.profile_id = profile_id


class ProfileExists(SpacedError):
    """The id of a new profile is taken: by another profile, a deleted one, or something else.

    Attributes:
        fields: in which the profile of that id differs; empty if it is none that can be compared.
    """

    code = "profile-exists"
    facts = ("profile_id", "fields")
    remedy = "Change that profile, or create the new one under another id."

    def __init__(self, profile_id: str, why: str, *, fields: tuple[str, ...] = ()) -> None:
        super().__init__(f"the id {profile_id!r} is taken {why}")
        self.profile_id = profile_id
        self.fields = fields


class StaleRevision(SpacedError):
    """A profile or a workflow was changed since the caller read it.

    Attributes:
        revision: the one that it is at now.
        current: what it is now, where the API tells of it.
    """

    code = "stale-revision"
    facts = ("id", "expected", "revision", "current")
    remedy = "Read it again, look at what has changed, and send your change for the new revision."

    def __init__(self, what: str, name: str, *, expected: int, revision: int) -> None:
        super().__init__(f"{what} {name!r} is at revision {revision}, not at {expected}")
        self.id = name
        self.expected = expected
        self.revision = revision
        self.current: Mapping[str, object] | None = None


class ProfileInUse(SpacedError):
    """Sessions use the profile, so it cannot be deleted."""

    code = "profile-in-use"
    facts = ("profile_id", "session_id")
    remedy = "Disable it instead: it takes no new sessions then, and those that use it stay as is."

    def __init__(self, profile_id: str, session_id: str) -> None:
        super().__init__(f"profile {profile_id!r} is used by session {session_id!r}")
        self.profile_id = profile_id
        self.session_id = session_id

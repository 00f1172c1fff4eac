"""What a plugin may import from spaced, besides `spaced.client`; nothing else is promised.

A plugin is a module named by an entry point in the group `spaced`. It implements hooks, marked
with `hookimpl`, and a hook only registers named factories: it must be quick and synchronous.
"""

from typing import Final, Protocol

import pluggy

from spaced.clock import Clock, SystemClock, Timestamp, from_rfc3339, to_rfc3339
from spaced.domain.json_values import JsonObject
from spaced.domain.problem import Problem
from spaced.domain.profile import Profile
from spaced.errors import (
    AppendTooLarge,
    ChildGone,
    ConflictingWrite,
    KeyTaken,
    LineTooLong,
    RuntimeProblem,
    SpacedError,
    SpawnRefused,
    StaleVersion,
    StorageClosed,
    StorageError,
    StorageFull,
    StorageRefused,
    StreamPurged,
    UnknownBlob,
    UnusableQuery,
)
from spaced.log.record import NewEvent, RecordedEvent, StreamWrite
from spaced.log.table import (
    STREAM_COLUMN,
    Column,
    DeleteRow,
    Index,
    IndexColumn,
    InsertRow,
    Key,
    PutRow,
    Row,
    RowWrite,
    Scalar,
    Table,
)
from spaced.runtime.child import LINE_LIMIT, Child, ChildRequest, Exit, Spawn
from spaced.runtime.private_folder import PrivateFolder
from spaced.runtime.protocol import (
    AgentConnection,
    AgentRuntime,
    AskAnswer,
    Capabilities,
    ConfigureOutcome,
    ConfigureReport,
    PermissionAnswer,
    ProbeReport,
    Prompt,
    QuestionAnswer,
    RuntimeFactory,
    RuntimeServices,
    SessionSpec,
    Sink,
    Turn,
)
from spaced.runtime.reporter import Reporter
from spaced.runtime.tasks import Tasks
from spaced.runtime.updates import (
    AgentRetrying,
    AskWithdrawn,
    ContinuityChanged,
    ConversationLost,
    ConversationReplayed,
    ExecutionFinished,
    FinishedOutcome,
    ItemUpserted,
    PermissionWanted,
    PromptNotTaken,
    QuestionWanted,
    SessionInfoChanged,
    TextAppended,
    TurnFinished,
    UnknownReport,
    Update,
    UsageChanged,
)
from spaced.storage.checks import (
    check_append,
    check_keys,
    check_listing,
    check_search,
    declared,
    size_of,
    streams_of_rows,
)
from spaced.storage.protocol import (
    MAX_APPEND_BYTES,
    Appended,
    BlobId,
    Hits,
    OnCommitted,
    Reclaimed,
    Rows,
    Storage,
    StorageFactory,
    StoragePlace,
    StorageReport,
    StreamHead,
)

ENTRY_POINT_GROUP: Final = "spaced"

hookimpl = pluggy.HookimplMarker("spaced")
"""Marks a function of a plugin as the implementation of the hook of the same name."""


class RegisterStorage(Protocol):
    """Offers a storage under a name that settings can choose."""

    def __call__(self, name: str, factory: StorageFactory, *, summary: str = "") -> None:
        """Register a factory; a name that is taken is reported, never guessed."""
        ...


class RegisterRuntime(Protocol):
    """Offers an agent runtime under a name that profiles can choose."""

    def __call__(self, name: str, factory: RuntimeFactory, *, summary: str = "") -> None:
        """Register a factory; a name that is taken is reported, never guessed."""
        ...


__all__ = [
    "ENTRY_POINT_GROUP",
    "LINE_LIMIT",
    "MAX_APPEND_BYTES",
    "STREAM_COLUMN",
    "AgentConnection",
    "AgentRetrying",
    "AgentRuntime",
    "AppendTooLarge",
    "Appended",
    "AskAnswer",
    "AskWithdrawn",
    "BlobId",
    "Capabilities",
    "Child",
    "ChildGone",
    "ChildRequest",
    "Clock",
    "Column",
    "ConfigureOutcome",
    "ConfigureReport",
    "ConflictingWrite",
    "ContinuityChanged",
    "ConversationLost",
    "ConversationReplayed",
    "DeleteRow",
    "ExecutionFinished",
    "Exit",
    "FinishedOutcome",
    "Hits",
    "Index",
    "IndexColumn",
    "InsertRow",
    "ItemUpserted",
    "JsonObject",
    "Key",
    "KeyTaken",
    "LineTooLong",
    "NewEvent",
    "OnCommitted",
    "PermissionAnswer",
    "PermissionWanted",
    "PrivateFolder",
    "ProbeReport",
    "Problem",
    "Profile",
    "Prompt",
    "PromptNotTaken",
    "PutRow",
    "QuestionAnswer",
    "QuestionWanted",
    "Reclaimed",
    "RecordedEvent",
    "RegisterRuntime",
    "RegisterStorage",
    "Reporter",
    "Row",
    "RowWrite",
    "Rows",
    "RuntimeFactory",
    "RuntimeProblem",
    "RuntimeServices",
    "Scalar",
    "SessionInfoChanged",
    "SessionSpec",
    "Sink",
    "SpacedError",
    "Spawn",
    "SpawnRefused",
    "StaleVersion",
    "Storage",
    "StorageClosed",
    "StorageError",
    "StorageFactory",
    "StorageFull",
    "StoragePlace",
    "StorageRefused",
    "StorageReport",
    "StreamHead",
    "StreamPurged",
    "StreamWrite",
    "SystemClock",
    "Table",
    "Tasks",
    "TextAppended",
    "Timestamp",
    "Turn",
    "TurnFinished",
    "UnknownBlob",
    "UnknownReport",
    "UnusableQuery",
    "Update",
    "UsageChanged",
    "check_append",
    "check_keys",
    "check_listing",
    "check_search",
    "declared",
    "from_rfc3339",
    "hookimpl",
    "size_of",
    "streams_of_rows",
    "to_rfc3339",
]

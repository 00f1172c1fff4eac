"""The life of a folder that workflows are read from."""

from spaced.domain.events.event import SyncSourceEvent, event
from spaced.domain.json_values import JsonObject
from spaced.domain.problem import Problem


@event("sync-source-defined")
class SyncSourceDefined(SyncSourceEvent):
    """A folder is read from now on, or is read in another way.

    Attributes:
        path: the folder, as an absolute path.
        polling: look at the folder regularly instead of being told of changes.
    """

    path: str
    polling: bool = False
    name: str | None = None


@event("sync-source-paused")
class SyncSourcePaused(SyncSourceEvent):
    """Changes in the folder are not read until it is resumed."""


@event("sync-source-resumed")
class SyncSourceResumed(SyncSourceEvent):
    """Changes in the folder are read again."""


@event("sync-source-removed")
class SyncSourceRemoved(SyncSourceEvent):
    """The folder is no longer read; its workflows were released."""


@event("sync-outcome-changed")
class SyncOutcomeChanged(SyncSourceEvent):
    """A run of the sync ended otherwise than the one before.

    Attributes:
        warnings: `{file, line, column, code, message}` each.
        commit: the commit of the clone that the folder lies in.
    """

    ok: bool
    warnings: tuple[JsonObject, ...] = ()
    problem: Problem | None = None
    commit: str | None = None

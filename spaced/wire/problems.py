"""Problem documents: how an error travels, and how a client gets the same error back.

A document has `code title detail status remedy`, and the facts that the error's class names. Its
media type is that of RFC 9457, whose members `title`, `detail` and `status` mean the same here.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from spaced import errors, refusals, workflow_refusals
from spaced.errors import SpacedError

MEDIA_TYPE: Final = "application/problem+json"

_STATUSES: Final[Mapping[type[SpacedError], int]] = {
    errors.InvalidIdentifier: 400,
    errors.InvalidTimestamp: 400,
    errors.InvalidBody: 400,
    errors.InvalidRule: 400,
    errors.InvalidProfile: 400,
    errors.UnusableQuery: 400,
    refusals.InvalidPrompt: 400,
    refusals.InvalidRequest: 400,
    refusals.BadCursor: 400,
    workflow_refusals.InvalidWorkflow: 400,
    refusals.Unauthorized: 401,
    refusals.PeerRefused: 403,
    refusals.ForeignOrigin: 403,
    refusals.NotFound: 404,
    errors.UnknownItem: 404,
    errors.UnknownBlob: 404,
    errors.UnknownProfile: 404,
    refusals.MethodNotAllowed: 405,
    refusals.Refused: 409,
    errors.ConflictingWrite: 409,
    errors.ProfileExists: 409,
    errors.ProfileInUse: 409,
    errors.StaleRevision: 409,
    refusals.SessionDeleted: 410,
    refusals.AskExpired: 410,
    errors.StreamPurged: 410,
    errors.AppendTooLarge: 413,
    refusals.BodyTooLarge: 413,
    refusals.UnsupportedContent: 415,
    refusals.WrongHost: 421,
    errors.RuntimeProblem: 502,
    workflow_refusals.SyncFailed: 502,
    errors.StorageClosed: 503,
    refusals.TooManyStreams: 503,
    refusals.DaemonStopping: 503,
    refusals.NoDaemon: 503,
    errors.StorageFull: 507,
}
"""By class; one that is not named has the status of the nearest class above it."""

_INTERNAL: Final = 500


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """A problem document.

    Attributes:
        code: stable name of the kind of failure.
        title: one sentence about the kind.
        detail: one sentence of what happened, and where.
        status: the HTTP status.
        remedy: what can be done next.
    """

    code: str
    title: str
    detail: str
    status: int
    remedy: str


def status_of(error: SpacedError) -> int:
    """Return the HTTP status of an error."""
    for cls in type(error).__mro__:
        if cls in _STATUSES:
            return _STATUSES[cls]
    return _INTERNAL


def document_of(error: SpacedError) -> dict[str, object]:
    """Return the problem document of an error, with the facts that its class names."""
    problem = Problem(
        code=error.code,
        title=_title_of(type(error)),
        detail=error.message,
        status=status_of(error),
        remedy=error.remedy,
    )
    facts = {name: getattr(error, name) for name in error.facts if hasattr(error, name)}
    return {**facts, **msgspec.structs.asdict(problem)}


def error_of(document: Mapping[str, object]) -> SpacedError:
    """Return the error that a problem document tells of.

    A code that this version does not know gives a plain `SpacedError` with that code.
    """
    code = str(document.get("code") or SpacedError.code)
    cls = _CLASSES.get(code, SpacedError)
    # Not by its own constructor: what that takes is the business of whoever raises it.
    error = cls.__new__(cls)
    detail = str(document.get("detail") or f"the daemon answered with the code {code!r}")
    SpacedError.__init__(error, detail, remedy=str(document.get("remedy") or cls.remedy))
    for name in cls.facts:
        if name in document:
            setattr(error, name, document[name])
    if cls is SpacedError:
        error.code = code  # type: ignore[misc]  # of this one instance, not of the class
    return error


def _title_of(cls: type[SpacedError]) -> str:
    # Python removes docstrings when it is told to optimize; the code says nearly the same.
    lines = (cls.__doc__ or cls.code).strip().splitlines()
    return lines[0] if lines else cls.code


def _all_classes(cls: type[SpacedError]) -> Iterator[type[SpacedError]]:
    yield cls
    for below in cls.__subclasses__():
        yield from _all_classes(below)


def _by_code() -> Mapping[str, type[SpacedError]]:
    classes: dict[str, type[SpacedError]] = {}
    for cls in _all_classes(SpacedError):
        # Of classes that share a code the one that introduced it stands for all.
        if "code" in vars(cls):
            classes.setdefault(cls.code, cls)
    return classes


_CLASSES: Final = _by_code()

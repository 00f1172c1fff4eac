"""From what the engine knows to the shapes of the API."""

import msgspec

from spaced.clock import Timestamp, to_rfc3339
from spaced.domain.ask import Ask
from spaced.domain.json_values import JsonObject, copy_object
from spaced.domain.problem import Problem
from spaced.domain.prompt import AdmittedPrompt
from spaced.domain.run import Run
from spaced.domain.session import Session
from spaced.engine.doctor import Finding
from spaced.engine.live_status import LiveStatus
from spaced.engine.profiles import ProfileRecord
from spaced.errors import SpacedError
from spaced.log.record import RecordedEvent
from spaced.wire import reports, shapes
from spaced.wire.cursors import Cursor


def time_text(moment: int) -> str:
    """Return a time as the API writes it."""
    return to_rfc3339(Timestamp(moment))


def live_shape(status: LiveStatus) -> shapes.Live:
    """Return what a session is doing."""
    return shapes.Live(
        word=status.word,
        ask_ids=status.ask_ids,
        attempt=status.attempt,
        message=status.message,
        next_at=None if status.next_at is None else time_text(status.next_at),
    )


def settings_shape(session: Session) -> shapes.SessionSettings:
    """Return what a session sets over its profile."""
    settings = session.configuration
    return shapes.SessionSettings(
        mode=settings.mode,
        model=settings.model,
        options=None if settings.options is None else copy_object(settings.options),
        permissions=None
        if settings.permissions is None
        else tuple(copy_object(rule) for rule in settings.permissions),
        headless=settings.headless,
    )


def ask_shape(ask: Ask) -> shapes.Ask:
    """Return a permission or a question."""
    permission = ask.permission
    return shapes.Ask(
        id=ask.id,
        kind=ask.kind,
        session_id=ask.session_id,
        status=ask.status,
        asked_at=time_text(ask.asked_at),
        turn_id=ask.turn_id,
        item_id=ask.item_id,
        tool_kind=None if permission is None else permission.tool_kind,
        subject=None if permission is None else permission.subject,
        tool_call=None if permission is None else copy_object(permission.tool_call),
        options=() if permission is None else _objects(permission.options),
        digest=None if permission is None else permission.digest,
        pattern=None if permission is None else permission.pattern,
        questions=_objects(ask.questions),
        answer=None if ask.answer is None else msgspec.to_builtins(ask.answer),
        expired_because=ask.expired_because,
    )


def prompt_shape(prompt: AdmittedPrompt) -> shapes.Prompt:
    """Return a prompt as it is now."""
    return shapes.Prompt(
        id=prompt.id,
        session_id=prompt.session_id,
        status=prompt.status,
        delivery=prompt.delivery,
        parts=_objects(prompt.parts),
        held=prompt.held,
        origin=prompt.origin,
    )


def profile_shape(record: ProfileRecord) -> shapes.Profile:
    """Return a profile as it is now."""
    fields: dict[str, object] = msgspec.to_builtins(record.profile)
    return msgspec.convert(
        {"id": record.id, "revision": record.revision, "status": record.status, **fields},
        shapes.Profile,
    )


def problem_object(error: SpacedError | Problem) -> dict[str, object]:
    """Return why something did not work, as `{code, message, remedy}`."""
    return {"code": error.code, "message": error.message, "remedy": error.remedy}


def finding_shape(finding: Finding) -> reports.Finding:
    """Return one difference between rows and log."""
    return reports.Finding(
        kind=finding.kind, stream=finding.stream, detail=finding.detail, table=finding.table
    )


def event_shape(event: RecordedEvent, log_id: str) -> shapes.Event:
    """Return a durable event."""
    return shapes.Event(
        stream=event.stream,
        version=event.version,
        cursor=str(Cursor(log_id=log_id, position=event.position)),
        kind=event.kind,
        session_id=event.session_id,
        item_id=event.item_id,
        body=msgspec.json.decode(event.body),
        created_at=time_text(event.created_at),
        recorded_at=time_text(event.recorded_at),
    )


def _objects(values: tuple[JsonObject, ...]) -> tuple[dict[str, object], ...]:
    return tuple(copy_object(value) for value in values)


def session_shape(
    session: Session,
    run: Run,
    *,
    status: LiveStatus,
    damage: str | None = None,
    problem: SpacedError | None = None,
) -> shapes.Session:
    """Return a session as it is now.

    Args:
        damage: why its stream cannot be read further.
        problem: why it could not go on when it was tried last.
    """
    return shapes.Session(
        id=session.id,
        run_id=session.run_id,
        agent_id=session.agent_id,
        status=session.status,
        live=live_shape(status),
        title=session.title,
        directory=session.directory or run.directory,
        created_at=time_text(session.created_at),
        updated_at=None if session.updated_at is None else time_text(session.updated_at),
        item_count=session.item_count,
        generation=session.generation,
        is_primary=run.primary_session_id == session.id,
        archived=run.is_archived,
        queue_paused=session.is_queue_paused,
        settings=settings_shape(session),
        usage=copy_object(session.usage),
        data=copy_object(session.data),
        metadata=copy_object(session.metadata),
        damage=damage,
        problem=None if problem is None else problem_object(problem),
    )

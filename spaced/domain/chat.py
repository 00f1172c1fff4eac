"""Decides how a chat comes into being: a run of one step, with one session that waits for input."""

from dataclasses import dataclass

from spaced.domain.events.event import Event
from spaced.domain.events.handover import InitialSessionRecorded
from spaced.domain.events.run import EntrySettled, RunCreated, StepEntered, StepWaiting
from spaced.domain.events.session import SessionConfigured, SessionMadePrimary
from spaced.domain.events.transcript import AgentSessionCreated, AgentStatusChanged
from spaced.domain.json_values import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """What a client wants of a new chat; two equal requests with one id are the same chat.

    Attributes:
        profile_id: whom it talks to.
        directory: where it works, as an absolute path.
        options: the runtime's named options; they replace the profile's of the same names.
        permissions: rules that are asked before the profile's.
        headless: whether an ask that no rule settles is refused at once.
    """

    profile_id: str
    directory: str
    title: str | None = None
    mode: str | None = None
    model: str | None = None
    options: JsonObject | None = None
    permissions: tuple[JsonObject, ...] | None = None
    headless: bool | None = None


def begin_chat(
    session_id: str,
    request: ChatRequest,
    *,
    workflow_id: str,
    workflow_version: int,
    step_id: str,
    entry_id: str,
    forked_from: JsonObject | None = None,
    before: tuple[Event, ...] = (),
) -> list[Event]:
    """Return what makes a chat: after it the session is useful, and nothing has run yet.

    Args:
        forked_from: where the chat branches off, for a fork.
        before: further facts about the session, told before it is idle, such as copied items.
    """
    data: dict[str, object] = {"agent_id": request.profile_id, "directory": request.directory}
    if request.title is not None:
        data["title"] = request.title
    if forked_from is not None:
        data |= {"forked_from": forked_from, "owes_history": True}
    return [
        RunCreated(
            workflow_id=workflow_id,
            workflow_version=workflow_version,
            context={"agent_session": True},
            title=request.title,
            directory=request.directory,
            forked_from=forked_from,
        ),
        AgentSessionCreated(data=data),
        *_configured(request),
        *before,
        AgentStatusChanged(status="idle"),
        InitialSessionRecorded(session_id=session_id, agent_profile_id=request.profile_id),
        SessionMadePrimary(),
        StepEntered(
            entry_id=entry_id,
            step_id=step_id,
            workflow_id=workflow_id,
            workflow_version=workflow_version,
            cause="start",
        ),
        EntrySettled(entry_id=entry_id, outcome="ok"),
        StepWaiting(
            entry_id=entry_id,
            wait_kind="agent-user-input",
            request={"agent_id": request.profile_id},
        ),
    ]


def _configured(request: ChatRequest) -> list[Event]:
    settings = (request.mode, request.model, request.options, request.permissions, request.headless)
    if all(setting is None for setting in settings):
        return []
    return [
        SessionConfigured(
            mode=request.mode,
            model=request.model,
            options=request.options,
            permissions=request.permissions,
            headless=request.headless,
        )
    ]


def request_of(told: list[Event]) -> ChatRequest | None:
    """Return the request that made a chat, from the first events of its stream."""
    created = next((e for e in told if isinstance(e, AgentSessionCreated)), None)
    if created is None:
        return None
    configured = SessionConfigured()
    for event in told:
        if isinstance(event, AgentStatusChanged):
            break
        if isinstance(event, SessionConfigured):
            configured = event
    data = created.data
    return ChatRequest(
        profile_id=str(data.get("agent_id")),
        directory=str(data.get("directory")),
        title=None if data.get("title") is None else str(data["title"]),
        mode=configured.mode,
        model=configured.model,
        options=configured.options,
        permissions=configured.permissions,
        headless=configured.headless,
    )

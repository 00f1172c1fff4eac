"""Every call of the native API as a value: what is sent, and what the answer is read into.

`perform` does one and waits; `Client.do` does one without blocking. Calls that carry an id, and
those that only read, may be repeated: nothing is done twice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, Literal, TypeVar, cast
from urllib.parse import quote, urlencode

import msgspec

from spaced.client.exchange import HttpRequest, exchange
from spaced.client.place import Place
from spaced.wire import reports, shapes

_T = TypeVar("_T")
JsonValue = Mapping[str, Any]

TIMEOUT: Final = 60.0
_SLACK: Final = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[_T]):
    """A request, and what its answer is.

    Attributes:
        answer: the shape to read the answer into; `None` leaves bytes.
        repeatable: whether doing it twice is the same as doing it once.
        timeout: seconds to wait for the answer.
    """

    request: HttpRequest
    answer: type[_T] | None
    repeatable: bool
    timeout: float = TIMEOUT

    def read(self, body: bytes) -> _T:
        """Return what an answer's body means."""
        if self.answer is None:
            return cast("_T", body)
        if self.answer is type(None):
            return None
        return msgspec.json.decode(body, type=self.answer)


def perform(place: Place, call: Call[_T]) -> _T:
    """Do a call, once, and wait for its answer.

    Raises:
        NoDaemon: nobody is there.
        DaemonGone: what became of it is unknown.
        SpacedError: it was refused.
    """
    return call.read(exchange(place, call.request, timeout=call.timeout))


def health() -> Call[reports.Health]:
    """Whether the daemon is there."""
    return reading("/v1/health", reports.Health)


def status() -> Call[reports.Status]:
    """What the daemon is doing."""
    return reading("/v1/status", reports.Status)


def plugins() -> Call[reports.PluginList]:
    """The plugins that are installed."""
    return reading("/v1/plugins", reports.PluginList)


def settings() -> Call[reports.SettingList]:
    """Every key of the daemon's settings."""
    return reading("/v1/settings", reports.SettingList)


def search(q: str, **filters: Any) -> Call[reports.HitList]:
    """What holds all these words; filters as in the API: `profile directory since until limit`."""
    return reading("/v1/search", reports.HitList, q=q, **filters)


def create_session(
    session_id: str, profile: str, directory: str, **more: Any
) -> Call[shapes.Session]:
    """Create a chat under an id of the caller's; `more` as in the API."""
    body = {"id": session_id, "profile": profile, "directory": directory, **more}
    return sending("POST", "/v1/sessions", shapes.Session, body, repeatable=True)


def session(session_id: str) -> Call[shapes.Session]:
    """A session."""
    return reading(_session(session_id), shapes.Session)


def sessions(**filters: Any) -> Call[shapes.SessionPage]:
    """A page of sessions; filters: `status directory profile archived limit cursor`."""
    return reading("/v1/sessions", shapes.SessionPage, **filters)


def change_session(session_id: str, **changes: Any) -> Call[shapes.Configured]:
    """Change a session's title, settings, or whether it is archived."""
    path = _session(session_id)
    return sending("PATCH", path, shapes.Configured, changes, repeatable=True)


def delete_session(session_id: str, *, force: bool = False, now: bool = False) -> Call[None]:
    """Delete a session."""
    return deleting(_session(session_id), force=force, now=now)


def items(session_id: str, *, before: str | None = None, limit: int = 100) -> Call[shapes.ItemPage]:
    """The newest items of a transcript, or the newest before one of them."""
    return reading(_session(session_id, "items"), shapes.ItemPage, before=before, limit=limit)


def events(session_id: str | None = None, **wanted: Any) -> Call[shapes.EventPage]:
    """A page of events, of a session or of the whole log."""
    path = "/v1/events" if session_id is None else _session(session_id, "events")
    return reading(path, shapes.EventPage, **wanted)


def export(session_id: str, form: Literal["json", "md"], *, redacted: bool = True) -> Call[bytes]:
    """A chat as a file."""
    request = HttpRequest(
        method="GET", target=target(_session(session_id, "export"), format=form, redacted=redacted)
    )
    return Call(request=request, answer=None, repeatable=True)


def prompt(
    session_id: str,
    prompt_id: str,
    parts: Sequence[JsonValue],
    *,
    delivery: Literal["queue", "steer"] = "queue",
    wake: bool = True,
    on_busy: Literal["queue", "replace"] = "queue",
) -> Call[shapes.Receipt]:
    """Admit a prompt under an id of the caller's."""
    body = {
        "id": prompt_id,
        "parts": list(parts),
        "delivery": delivery,
        "wake": wake,
        "on_busy": on_busy,
    }
    path = _session(session_id, "prompts")
    return sending("POST", path, shapes.Receipt, body, repeatable=True)


def pending(session_id: str) -> Call[shapes.PromptList]:
    """The prompts that wait."""
    return reading(_session(session_id, "prompts"), shapes.PromptList)


def change_prompt(session_id: str, prompt_id: str, **changes: Any) -> Call[shapes.Prompt]:
    """Change or move a pending prompt."""
    path = _session(session_id, "prompts", prompt_id)
    return sending("PATCH", path, shapes.Prompt, changes, repeatable=True)


def cancel_prompt(session_id: str, prompt_id: str) -> Call[None]:
    """Take a pending prompt out of the queue."""
    return deleting(_session(session_id, "prompts", prompt_id))


def send_now(session_id: str, prompt_id: str) -> Call[shapes.Prompt]:
    """Make a pending prompt a steer."""
    path = _session(session_id, "prompts", prompt_id, "send-now")
    return sending("POST", path, shapes.Prompt, repeatable=True)


def interrupt(session_id: str) -> Call[shapes.Interrupted]:
    """End what a session is doing; not repeatable, since a second one kills."""
    return sending("POST", _session(session_id, "interrupt"), shapes.Interrupted)


def pause(session_id: str) -> Call[shapes.PromptList]:
    """Let pending prompts wait."""
    return sending("POST", _session(session_id, "pause"), shapes.PromptList, repeatable=True)


def resume(session_id: str) -> Call[shapes.PromptList]:
    """Let the queue go on."""
    return sending("POST", _session(session_id, "resume"), shapes.PromptList, repeatable=True)


def wait(session_id: str, *, timeout: float) -> Call[shapes.Progress]:
    """Wait until a session is idle, for at most these seconds."""
    path = target(_session(session_id, "wait"), timeout=timeout)
    call = sending("POST", path, shapes.Progress, repeatable=True)
    return replace(call, timeout=timeout + _SLACK)


def reset(session_id: str) -> Call[None]:
    """Begin the provider's conversation anew."""
    return sending("POST", _session(session_id, "reset"), type(None))


def compact(session_id: str) -> Call[None]:
    """Let the agent shorten its conversation."""
    return sending("POST", _session(session_id, "compact"), type(None))


def complete(session_id: str) -> Call[shapes.Session]:
    """End a session for good."""
    return sending("POST", _session(session_id, "complete"), shapes.Session, repeatable=True)


def fork(session_id: str, new_id: str, *, item: str | None = None) -> Call[shapes.Session]:
    """Start a new chat with the transcript up to an item."""
    body = {"id": new_id, "item": item}
    # Not repeatable: an id that a fork took cannot be told from one that something else took.
    return sending("POST", _session(session_id, "fork"), shapes.Session, body)


def permissions(session_id: str | None = None) -> Call[shapes.AskList]:
    """The permission requests that wait."""
    return reading("/v1/permissions", shapes.AskList, session=session_id)


def answer_permission(
    ask_id: str, option_id: str, *, digest: str | None = None, message: str | None = None
) -> Call[shapes.Ask]:
    """Answer a permission request; not repeatable, since a second answer is refused."""
    body = {"option_id": option_id, "digest": digest, "message": message}
    return sending("POST", f"/v1/permissions/{quoted(ask_id)}", shapes.Ask, body)


def questions(session_id: str | None = None) -> Call[shapes.AskList]:
    """The questions that wait."""
    return reading("/v1/questions", shapes.AskList, session=session_id)


def answer_question(ask_id: str, answers: Sequence[Sequence[str]]) -> Call[shapes.Ask]:
    """Answer a question; not repeatable, since a second answer is refused."""
    body = {"answers": [list(texts) for texts in answers]}
    return sending("POST", f"/v1/questions/{quoted(ask_id)}", shapes.Ask, body)


def grants() -> Call[shapes.GrantList]:
    """The standing permissions."""
    return reading("/v1/grants", shapes.GrantList)


def revoke_grant(grant_id: str) -> Call[None]:
    """Withdraw a standing permission."""
    return deleting(f"/v1/grants/{quoted(grant_id)}")


def profiles() -> Call[shapes.ProfileList]:
    """All profiles."""
    return reading("/v1/profiles", shapes.ProfileList)


def agents() -> Call[reports.AgentList]:
    """All agents that are known, and what the daemon's machine has of each."""
    return reading("/v1/agents", reports.AgentList)


def detected_profiles() -> Call[reports.DetectedProfileList]:
    """A profile for each agent that is installed there."""
    return reading("/v1/profiles/detected", reports.DetectedProfileList)


def profile(profile_id: str) -> Call[shapes.Profile]:
    """A profile."""
    return reading(_profile(profile_id), shapes.Profile)


def create_profile(profile_id: str, definition: JsonValue) -> Call[shapes.Profile]:
    """Create a profile under an id of the caller's."""
    body = {**definition, "id": profile_id}
    return sending("POST", "/v1/profiles", shapes.Profile, body, repeatable=True)


def change_profile(
    profile_id: str, changes: JsonValue, *, revision: int | None = None
) -> Call[shapes.Profile]:
    """Change a profile, only at this revision if one is given."""
    call = sending("PATCH", _profile(profile_id), shapes.Profile, changes, repeatable=True)
    return replace(call, request=replace(call.request, revision=revision))


def delete_profile(profile_id: str) -> Call[None]:
    """Delete a profile that nobody uses."""
    return deleting(_profile(profile_id))


def probe_profile(profile_id: str) -> Call[shapes.Probe]:
    """Whether the profile's agent could serve a session now."""
    return sending("POST", f"{_profile(profile_id)}/probe", shapes.Probe, repeatable=True)


def store_blob(content: bytes) -> Call[shapes.Blob]:
    """Store content under its digest."""
    request = HttpRequest(
        method="POST",
        target="/v1/blobs",
        body=content,
        content_type="application/octet-stream",
    )
    return Call(request=request, answer=shapes.Blob, repeatable=True)


def blob(blob_id: str) -> Call[bytes]:
    """Stored content."""
    request = HttpRequest(method="GET", target=f"/v1/blobs/{quoted(blob_id)}")
    return Call(request=request, answer=None, repeatable=True)


def examine() -> Call[reports.DoctorReport]:
    """Compare every derived row with the log."""
    call = sending("POST", "/v1/doctor", reports.DoctorReport, repeatable=True)
    return replace(call, timeout=3600.0)


def reclaim() -> Call[reports.Reclaimed]:
    """Remove what nothing names any more."""
    return replace(sending("POST", "/v1/gc", reports.Reclaimed, repeatable=True), timeout=3600.0)


def backup(folder: str) -> Call[reports.BackupDone]:
    """Write a consistent copy into an empty folder."""
    call = sending("POST", "/v1/backup", reports.BackupDone, {"folder": folder})
    return replace(call, timeout=3600.0)


def quoted(name: str) -> str:
    """Return an id as a part of a path."""
    # What is no text is no id either; the daemon says so better than an encoder does.
    return quote(name, safe="", errors="replace")


def _session(session_id: str, *further: str) -> str:
    parts = ("sessions", session_id, *further)
    return "/v1/" + "/".join(quoted(part) for part in parts)


def _profile(profile_id: str) -> str:
    return f"/v1/profiles/{quoted(profile_id)}"


def target(path: str, **query: Any) -> str:
    """Return a path with its query; what is `None` is left out."""
    told = {name: _plain(value) for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(told)}" if told else path


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def reading(path: str, answer: type[_T], **query: Any) -> Call[_T]:
    """Return a call that only reads."""
    request = HttpRequest(method="GET", target=target(path, **query))
    return Call(request=request, answer=answer, repeatable=True)


def deleting(path: str, **query: Any) -> Call[None]:
    """Return a call that deletes."""
    # Not repeatable: the second time what is to be deleted is not found.
    return Call(
        request=HttpRequest(method="DELETE", target=target(path, **query)),
        answer=type(None),
        repeatable=False,
    )


def sending(
    method: str,
    path: str,
    answer: type[_T],
    body: JsonValue | None = None,
    *,
    repeatable: bool = False,
) -> Call[_T]:
    """Return a call that sends a body."""
    content = None if body is None else msgspec.json.encode(body)
    request = HttpRequest(method=method, target=path, body=content)
    return Call(request=request, answer=answer, repeatable=repeatable)

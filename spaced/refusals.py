"""Errors of requests: what was asked for is not there, not allowed now, or not usable.

They stand apart from `spaced.errors` only to keep both files readable; a client meets both.
"""

from collections.abc import Mapping

from spaced.errors import SpacedError


class NotFound(SpacedError):
    """What was asked for does not exist."""

    code = "not-found"
    remedy = "Check the id; lists show what there is."


class UnknownSession(NotFound):
    """No session has this id."""

    code = "unknown-session"
    remedy = "List the sessions to see what there is."

    def __init__(self, session_id: str) -> None:
        super().__init__(f"there is no session {session_id!r}")


class UnknownRun(NotFound):
    """No run has this id."""

    code = "unknown-run"
    remedy = "List the runs to see what there is."

    def __init__(self, run_id: str) -> None:
        super().__init__(f"there is no run {run_id!r}")


class UnknownPrompt(NotFound):
    """No prompt of the session has this id."""

    code = "unknown-prompt"
    remedy = "List the session's prompts to see which are pending."

    def __init__(self, prompt_id: str) -> None:
        super().__init__(f"there is no prompt {prompt_id!r}")


class UnknownAsk(NotFound):
    """No permission request or question has this id."""

    code = "unknown-ask"
    remedy = "List the open permissions and questions to see what waits for an answer."

    def __init__(self, ask_id: str) -> None:
        super().__init__(f"there is no ask {ask_id!r}")


class Refused(SpacedError):
    """The state does not allow what was asked; nothing was changed."""

    code = "refused"
    remedy = "Look at the newest state and decide again."


class SessionExists(Refused):
    """A session of this id was created with other content."""

    code = "session-exists"
    remedy = "Leave the id out to get a new one, or repeat the request exactly."


class SessionBusy(Refused):
    """The session is at work, so this has to wait."""

    code = "session-busy"
    remedy = "Wait until it is idle, or interrupt it first."


class SessionTerminal(Refused):
    """The session has ended and takes nothing more."""

    code = "session-terminal"
    remedy = "Fork it, or start a new session."


class SessionDeleted(Refused):
    """The session was deleted; its id is never used again."""

    code = "session-deleted"
    remedy = "Start a new session."


class SessionIsPrimary(Refused):
    """The session answers for its run, so it cannot be deleted alone."""

    code = "session-is-primary"
    remedy = "Delete the run, or make another session the primary first."


class PromptConflict(Refused):
    """A prompt of this id was admitted with other content."""

    code = "prompt-conflict"
    remedy = "Leave the id out to get a new one, or repeat the request exactly."


class PromptNotPending(Refused):
    """The prompt is no longer in the queue."""

    code = "prompt-not-pending"
    remedy = "It was handed to the agent or cancelled; send a new prompt instead."


class InvalidPrompt(SpacedError):
    """A prompt's parts are not what a prompt can hold."""

    code = "invalid-prompt"
    remedy = (
        "Send at least one part: {type: text, text}, {type: file, name, mime, blob | path} or "
        "{type: mention, name}."
    )


class InvalidRequest(SpacedError):
    """A value of a request is not one that can be used."""

    code = "invalid-request"
    remedy = "Change the value that is named and try again."


class AskAnswered(Refused):
    """Somebody answered first; their answer holds.

    Attributes:
        answer: the first one, `{option_id}` or `{answers}`.
    """

    code = "ask-answered"
    facts = ("answer",)
    remedy = "Nothing to do; the first answer is shown with the ask."

    def __init__(self, message: str, *, answer: Mapping[str, object]) -> None:
        super().__init__(message)
        self.answer = answer


class AskChanged(Refused):
    """The tool call has changed since it was shown."""

    code = "ask-changed"
    remedy = "Look at the call as it is now, and answer with its new digest."


class AskExpired(SpacedError):
    """Nobody waits for the answer any more."""

    code = "ask-expired"
    remedy = "The agent asks again if it still needs to know; prompt it if it does not."


class ForkTooLarge(Refused):
    """A fork's last item alone is too large to be copied."""

    code = "fork-too-large"
    remedy = "Fork from another item, or start a new session."


class ProfileDisabled(Refused):
    """The profile takes no new sessions."""

    code = "profile-disabled"
    remedy = "Enable the profile, or choose another one."


class AgentCannot(Refused):
    """The session's agent has no such thing."""

    code = "agent-cannot"
    remedy = "Use another profile whose agent can do it."


class UnknownRoute(NotFound):
    """No route has this path."""

    code = "unknown-route"
    remedy = "GET /v1/openapi.json lists every route."


class MethodNotAllowed(SpacedError):
    """The route exists, but not for this method."""

    code = "method-not-allowed"
    remedy = "GET /v1/openapi.json lists the methods of every route."


class Unauthorized(SpacedError):
    """The request has no credential, or a wrong one."""

    code = "unauthorized"
    remedy = "Send the daemon's token as `Authorization: Bearer …`, or use the Unix socket."


class PeerRefused(SpacedError):
    """A process of another user connected to the Unix socket."""

    code = "peer-refused"
    remedy = "Run the client as the user who runs the daemon."


class WrongHost(SpacedError):
    """The request's `Host` is not one under which the daemon is reached."""

    code = "wrong-host"
    remedy = "Use the host and port that the daemon prints, or add yours to listen.allowed_hosts."


class ForeignOrigin(SpacedError):
    """A web page of another origin sent the request."""

    code = "foreign-origin"
    remedy = "Add the page's origin to listen.allowed_origins if you trust it."


class UnsupportedContent(SpacedError):
    """The body is of a type, or encoded in a way, that is not taken."""

    code = "unsupported-content"
    remedy = "Send JSON in UTF-8 with `Content-Type: application/json` and without compression."


class BodyTooLarge(SpacedError):
    """The request's body is larger than is taken."""

    code = "body-too-large"
    remedy = "Store large content with POST /v1/blobs, and name it in the prompt."


class BadCursor(SpacedError):
    """A cursor does not have the form that the daemon gives out."""

    code = "bad-cursor"
    remedy = "Pass a cursor exactly as it was given, or none to begin now."


class TooManyStreams(SpacedError):
    """As many clients listen as the daemon serves at once."""

    code = "too-many-streams"
    remedy = "Close some, or try again in a few seconds."


class DaemonStopping(SpacedError):
    """The daemon is about to end and takes nothing new."""

    code = "daemon-stopping"
    remedy = "Try again once it is back."


class NoDaemon(SpacedError):
    """No daemon answers where one was looked for."""

    code = "no-daemon"
    remedy = "Start it with `spaced up`, or as a service with `spaced service install`."


class DaemonGone(SpacedError):
    """The daemon went away in the middle of an exchange; what became of the request is unknown."""

    code = "daemon-gone"
    remedy = "Once it is back, repeat the request with the same id: nothing is done twice."


class AlreadyRunning(SpacedError):
    """Another daemon serves this data directory."""

    code = "already-running"
    remedy = "Use that one, stop it first, or choose another data directory with SPACED_DATA_DIR."


class InvalidSettings(SpacedError):
    """The settings cannot be used as they are written."""

    code = "invalid-settings"
    remedy = "`spaced config` lists every key with its type and where its value comes from."


class UnsafePlace(SpacedError):
    """A file or folder is not ours alone, so nothing secret may lie there."""

    code = "unsafe-place"
    remedy = "Choose a folder that you own and that nobody else can change."


class SocketPathTooLong(SpacedError):
    """A Unix socket's path has more bytes than the system allows."""

    code = "socket-path-too-long"
    remedy = "Set SPACED_SOCKET to a shorter path, such as one in /tmp/spaced."


class CannotListen(SpacedError):
    """A listener could not be opened."""

    code = "cannot-listen"
    remedy = "Choose another address, or end the program that uses it."

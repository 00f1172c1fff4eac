"""What can go wrong with an OpenCode server, each with a code and what to do about it."""

from spaced.plugin_api import RuntimeProblem


class ServerUnreachable(RuntimeProblem):
    """The server does not answer, or the connection to it was cut.

    Attributes:
        may_have_arrived: whether the server may have got what it was sent.
    """

    code = "agent-unreachable"

    def __init__(self, url: str, words: str, *, may_have_arrived: bool = True) -> None:
        super().__init__(
            f"the OpenCode server at {url} cannot be reached: {words}",
            remedy=f"Start it, or correct the profile's url; `curl {url}/global/health` tells"
            " whether it answers.",
        )
        self.may_have_arrived = may_have_arrived


class NotAuthorized(RuntimeProblem):
    """The server wants another password."""

    code = "agent-unauthorized"
    remedy = (
        "Put the server's password (OPENCODE_SERVER_PASSWORD there) into a variable of the daemon's"
        " environment, and name that in the profile's option `password_variable` and in its"
        " environment."
    )


class ServerRefused(RuntimeProblem):
    """The server answered with an error, or with something that is no answer.

    Attributes:
        status: the HTTP status.
    """

    code = "agent-error"
    remedy = "Look at the server's own log; `spaced profiles probe` asks it again."

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class ServerNotStarted(RuntimeProblem):
    """The profile's command did not become a server."""

    code = "agent-not-started"
    remedy = "Run the profile's command with `serve` in a terminal to see what it says."


class SettingUnavailable(RuntimeProblem):
    """The server does not offer the model or the agent that the profile wants."""

    code = "setting-unavailable"
    remedy = "Choose another one with `spaced profiles edit`; a probe lists what there is."


class BadOptions(RuntimeProblem):
    """The profile's options cannot be read."""

    code = "bad-options"
    remedy = "Correct them with `spaced profiles edit`; docs/agents.md lists them."

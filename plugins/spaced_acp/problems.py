"""What can go wrong with an agent, each with a code, and what a person can do about it."""

from spaced.plugin_api import RuntimeProblem


class AgentNotStarted(RuntimeProblem):
    """The agent's process ended, or answered with an error, before it could take a prompt."""

    code = "agent-not-started"
    remedy = "Run the profile's command in a terminal; `spaced profiles probe` tries it again."


class AgentSilent(RuntimeProblem):
    """The agent did not answer in time."""

    code = "agent-silent"
    remedy = "Look whether the agent works in a terminal, then prompt again; nothing was sent."


class LoginNeeded(RuntimeProblem):
    """The agent wants to know who pays."""

    code = "agent-login-needed"
    remedy = "Log in with the agent's own command (`spaced agents show` names it), or add the name"
    remedy += " of the variable with its key to the profile's environment."


class WrongProtocol(RuntimeProblem):
    """The agent speaks another version of the protocol than we do."""

    code = "agent-protocol"
    remedy = "Install a version of the agent that speaks version 1 of the Agent Client Protocol."


class SettingUnavailable(RuntimeProblem):
    """The agent does not offer, or refuses, the mode or the model that the profile wants."""

    code = "setting-unavailable"
    remedy = "Choose another one with `spaced profiles edit`, or for the session alone."


class BadOptions(RuntimeProblem):
    """The profile's options cannot be read."""

    code = "bad-options"
    remedy = "Correct them with `spaced profiles edit`; docs/agents.md lists them."


class DirectoryGone(RuntimeProblem):
    """The folder that the session works in is not there."""

    code = "directory-gone"
    remedy = "Create the folder again, or begin a new session in another one."

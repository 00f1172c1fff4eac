"""Greeting an agent: which version it speaks, what it can do, and who pays."""

from importlib.metadata import PackageNotFoundError, version
from typing import Final

from spaced_acp import codec_v1 as v1
from spaced_acp.calls import Caller, CallRefused
from spaced_acp.codec_v1 import AgentFacts
from spaced_acp.options import AcpOptions
from spaced_acp.problems import AgentNotStarted, LoginNeeded, WrongProtocol

_LOGIN_SECONDS: Final = 120


async def greet(caller: Caller, options: AcpOptions) -> AgentFacts:
    """Greet an agent and log in where the profile says how.

    Raises:
        WrongProtocol: it speaks another version.
        LoginNeeded: it does not let us in.
        AgentNotStarted, AgentSilent: it cannot be used.
    """
    try:
        result = await caller.call(
            v1.INITIALIZE, v1.initialize_params(_version()), seconds=options.start_seconds
        )
    except CallRefused as refused:
        raise AgentNotStarted(f"{caller.agent} refused to start: {refused}") from refused
    facts = v1.read_facts(result)
    if not facts.is_readable:
        raise WrongProtocol(
            f"{caller.agent} speaks version {facts.version!r} of the protocol, and we version"
            f" {v1.VERSION}"
        )
    if options.auth_method is not None:
        await _log_in(caller, options.auth_method, facts)
    return facts


async def _log_in(caller: Caller, method: str, facts: AgentFacts) -> None:
    if method not in facts.login_methods:
        offered = ", ".join(facts.login_methods) or "none"
        raise LoginNeeded(f"{caller.agent} has no login method {method!r}; it has: {offered}")
    try:
        await caller.call(v1.AUTHENTICATE, {"methodId": method}, seconds=_LOGIN_SECONDS)
    except CallRefused as refused:
        raise LoginNeeded(f"{caller.agent} refused the login: {refused}") from refused


def _version() -> str:
    try:
        return version("spaced")
    except PackageNotFoundError:  # run from a folder that is not installed
        return "0"

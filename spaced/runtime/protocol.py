"""The runtime protocol: what the core asks of something that can talk to agents.

A runtime opens connections, one execution for a session at a time. A connection is told to do
things and returns at once; what comes of it is pushed through the session's sink, in order. The
promises, each proved by `spaced.testing.runtime_contract`:

1. `start_turn` hands its prompts to the agent once. The turn ends with exactly one `TurnFinished`,
   or with `PromptNotTaken` if the agent did not take them, or with the end of the execution.
2. Updates of one sink are reported one after the other; the next waits until the last was taken.
3. After `interrupt` the turn ends soon, with the outcome that it came to; a cooperative agent is
   idle then and takes another turn.
4. After `close` returned, nothing is reported any more and no process is left. Closing twice is
   fine, also while it is still closing.
5. `answer` with an ask that is not open returns false and changes nothing.
6. An execution that ends by itself is reported once, as `ExecutionFinished`, and nothing follows.
7. Nothing here blocks the event loop or raises anything but `RuntimeProblem`.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from spaced.clock import Clock
from spaced.domain.json_values import JsonObject
from spaced.domain.problem import Problem
from spaced.domain.profile import Profile
from spaced.domain.prompt_parts import text_of
from spaced.runtime.child import Spawn
from spaced.runtime.updates import Update


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeServices:
    """What the daemon lends to a runtime.

    Attributes:
        clock: the only source of time and of delays.
        log: where the runtime logs; never what people write or what tools return.
        state_folder: a folder of the runtime's own that outlives the daemon; it may not exist yet.
        spawn: starts supervised child processes.
        redact: replaces secrets in a text that goes to a log or an error.
        read_blob: returns the content of a blob that a prompt's file part names; raises
            `UnknownBlob` if there is none.
    """

    clock: Clock
    log: logging.Logger
    state_folder: Path
    spawn: Spawn
    redact: Callable[[str], str]
    read_blob: Callable[[str], Awaitable[bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a runtime can do.

    Attributes:
        steer: takes further prompts into a running turn.
        resume: continues a provider's conversation in a later execution.
        reattach: finds a turn again that was running when the daemon died.
        asks: reports permissions and questions.
        images: takes images as parts of prompts.
        compact: shortens its conversation when told to.
        cancel_grace_ms: how long its agents may take to end a turn before they are killed, where
            the profile says nothing; `None` leaves it to the daemon's setting.
    """

    steer: bool = False
    resume: bool = False
    reattach: bool = False
    asks: bool = False
    images: bool = False
    compact: bool = False
    cancel_grace_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSpec:
    """The session that an execution serves.

    Attributes:
        generation: the number of the provider's conversation, from 1.
        profile_id: names the profile, also after it was changed.
        directory: the folder to work in, as an absolute path.
        profile: as it holds for this session: its own mode, model and options are filled in.
        environment: everything that the agent's processes may see.
        mcp_servers: servers to offer to the agent, in the shape of the Agent Client Protocol.
        was_cut: whether its last turn was cut off, so that the agent may remember less of it, or
            more, than the log does.
    """

    session_id: str
    run_id: str
    execution_id: str
    generation: int
    profile_id: str
    directory: str
    profile: Profile
    environment: Mapping[str, str] = field(default_factory=dict)
    mcp_servers: tuple[JsonObject, ...] = ()
    was_cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One admitted prompt.

    Attributes:
        parts: `{type: "text", text}`, `{type: "file", name, mime, blob | path}` or
            `{type: "mention", …}` in their order.
    """

    id: str
    parts: tuple[JsonObject, ...]

    @property
    def text(self) -> str:
        """All its text, parts separated by an empty line."""
        return text_of(self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Prompts that are handed to the agent together.

    Attributes:
        instructions: the workflow's words for this step, to go before the prompts; may be empty.
        history: what was said before, where the provider's conversation does not know it: to go
            before everything else, marked as what it is; may be empty.
    """

    id: str
    prompts: tuple[Prompt, ...]
    instructions: str = ""
    history: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionAnswer:
    """What may be done.

    Attributes:
        option_id: the chosen one of the options that the ask offered.
        is_allowed: what the choice means; "always" is the core's business, so this is for once.
        message: what the person said with it.
    """

    option_id: str
    is_allowed: bool
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswer:
    """The chosen labels or free texts, one list for each question."""

    answers: tuple[tuple[str, ...], ...]


AskAnswer: TypeAlias = PermissionAnswer | QuestionAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeReport:
    """Whether a profile's agent could serve a session now.

    Attributes:
        problem: why not; `None` if it could.
        details: versions, models and modes that were found.
    """

    problem: Problem | None = None
    details: JsonObject = field(default_factory=dict)


ConfigureOutcome: TypeAlias = Literal["applied", "unsupported", "failed"]
ConfigureReport: TypeAlias = Mapping[str, ConfigureOutcome]
"""By field of the changes: `mode`, `model`, and each option's name."""


class Sink(Protocol):
    """Takes what a runtime reports about one execution."""

    async def report(self, update: Update) -> None:
        """Take an update; returns when it is safe, so that a flood waits here.

        It never raises: what a deleted or ended session cannot take is counted and refused.
        """
        ...


class AgentConnection(Protocol):
    """One live execution: an agent that serves one session."""

    async def start_turn(self, turn: Turn) -> None:
        """Hand over prompts; returns when they are on their way, not when the turn ends.

        Raises:
            RuntimeProblem: the agent cannot be reached; the turn has not begun.
        """
        ...

    async def steer(self, turn_id: str, prompts: tuple[Prompt, ...]) -> bool:
        """Hand further prompts into a running turn; false: it can take none any more."""
        ...

    async def interrupt(self, turn_id: str) -> None:
        """Ask the agent to end the turn; its end is reported as always."""
        ...

    async def answer(self, ask_id: str, answer: AskAnswer) -> bool:
        """Answer an ask by the runtime's own name for it; false: it is not open any more."""
        ...

    async def configure(self, changes: JsonObject) -> ConfigureReport:
        """Change `mode`, `model` or `options` and say for each field what came of it."""
        ...

    async def compact(self) -> bool:
        """Shorten the provider's conversation; false: the agent has no such thing."""
        ...

    async def forget(self) -> None:
        """Drop the provider's conversation; the next turn begins a new one."""
        ...

    async def close(self, grace_ms: int) -> None:
        """End the execution; with 0 at once, otherwise leaving the agent this long to end well."""
        ...


class AgentRuntime(Protocol):
    """Talks to agents of one kind."""

    capabilities: Capabilities

    async def probe(self, profile: Profile, environment: Mapping[str, str]) -> ProbeReport:
        """Tell whether the profile's agent could serve a session now, and start nothing lasting.

        Args:
            environment: what the agent's processes may see, as in `SessionSpec`.
        """
        ...

    async def open(
        self, session: SessionSpec, continuity: JsonObject | None, sink: Sink
    ) -> AgentConnection:
        """Begin an execution, continuing the provider's conversation where that is possible.

        Args:
            continuity: what `ContinuityChanged` last told; `None` begins a new conversation.

        Raises:
            RuntimeProblem: the agent cannot be started or reached.
        """
        ...

    async def reattach(
        self,
        session: SessionSpec,
        continuity: JsonObject,
        sink: Sink,
        turn_id: str | None = None,
    ) -> AgentConnection | None:
        """Find an execution again that outlived the daemon; `None`: there is none.

        What happened meanwhile is reported as whole items, then the turn goes on; asks that are
        still open are reported again.

        Args:
            turn_id: the turn whose end is waited for. An agent that does not have it, since it
                never got it or its end was told just before the daemon died, is no longer the one
                that is looked for: nobody would ever hear of the turn again.
        """
        ...

    async def close(self) -> None:
        """Let go of every connection and process; closing twice is fine."""
        ...


class RuntimeFactory(Protocol):
    """What a plugin registers for a runtime."""

    def __call__(self, config: Mapping[str, object], services: RuntimeServices) -> AgentRuntime:
        """Return a runtime for the user's settings; it must be quick and start nothing.

        Args:
            config: the runtime's section of the settings; empty if there is none.
        """
        ...

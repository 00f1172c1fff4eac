"""The steps of a script: what a scripted agent can do, as data.

A step is a JSON object; `do` names its kind, the other keys are the fields of the class here. What
is unknown or has the wrong type is refused with one sentence that names the step and the key.
docs/scripted.md has the table.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
Positive: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
OnReject: TypeAlias = Literal["continue", "end"]


class ScriptProblem(Exception):
    """A script cannot be played; the message is one sentence for a person."""


class _Step(msgspec.Struct, tag_field="do", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What all steps share."""


class Say(_Step, frozen=True, tag="say"):
    """Say a text in pieces."""

    text: str
    pieces: Positive | None = None
    piece_length: Positive | None = None
    cut_pairs: bool = False
    source: str | None = None


class Think(_Step, frozen=True, tag="think"):
    """Think a text in pieces."""

    text: str
    pieces: Positive | None = None
    piece_length: Positive | None = None
    source: str | None = None


class Plan(_Step, frozen=True, tag="plan"):
    """Show a plan."""

    entries: list[dict[str, Any]]
    source: str | None = None


class Echo(_Step, frozen=True, tag="echo"):
    """Repeat what the agent was given in this turn."""

    what: Literal["prompts", "instructions", "history", "everything"] = "prompts"


class Recall(_Step, frozen=True, tag="recall"):
    """Say what was said to the agent in this conversation so far."""


class Flood(_Step, frozen=True, tag="flood"):
    """Report a huge text, made while it is reported."""

    bytes: Count
    line_length: Positive = 80
    piece_bytes: Positive = 65536
    field: Literal["content", "output"] = "content"


class Raw(_Step, frozen=True, tag="raw"):
    """Report an item as it stands."""

    item: dict[str, Any]
    source: str | None = None
    round: int | None = None


class Tool(_Step, frozen=True, tag="tool"):
    """Use a tool: with a given output, or by really running a command."""

    name: str
    kind: str = "other"
    title: str | None = None
    arguments: dict[str, Any] | str = {}
    output: str = ""
    is_error: bool = False
    command: Annotated[list[str], msgspec.Meta(min_length=1)] | None = None
    permission: bool = False
    on_reject: OnReject = "continue"
    subject: str | None = None
    pattern: str | None = None
    source: str | None = None


class AskPermission(_Step, frozen=True, tag="ask_permission"):
    """Ask for a tool call that is not made."""

    name: str = "tool"
    kind: str = "other"
    title: str | None = None
    arguments: dict[str, Any] | str = {}
    options: list[dict[str, Any]] | None = None
    subject: str = ""
    pattern: str | None = None
    on_reject: OnReject = "continue"
    wait: bool = True
    ask_id: str | None = None
    source: str | None = None


class Question(_Step, frozen=True, tag="question"):
    """Ask the person something."""

    questions: Annotated[list[dict[str, Any]], msgspec.Meta(min_length=1)]
    wait: bool = True
    echo: bool = False
    ask_id: str | None = None


class Withdraw(_Step, frozen=True, tag="withdraw"):
    """No longer wait for the answer to an ask."""

    ask_id: str


class Usage(_Step, frozen=True, tag="usage"):
    """Tell tokens and cost."""

    usage: dict[str, Any]


class Info(_Step, frozen=True, tag="info"):
    """Tell about the session: title, commands, modes, models."""

    info: dict[str, Any]


class Retrying(_Step, frozen=True, tag="retrying"):
    """Tell that the agent tries something again by itself."""

    message: str
    attempt: Positive = 1
    next_in_ms: Count | None = None


class Unknown(_Step, frozen=True, tag="unknown"):
    """Report something that spaced has no word for."""

    kind: str
    payload: dict[str, Any] = {}


class Continuity(_Step, frozen=True, tag="continuity"):
    """Tell again what continues the conversation."""


class LoseConversation(_Step, frozen=True, tag="lose_conversation"):
    """Forget everything and say so; a new conversation begins."""

    message: str = "The scripted agent has lost its conversation."


class Wait(_Step, frozen=True, tag="wait"):
    """Let time pass on the daemon's clock."""

    ms: Count


class Gate(_Step, frozen=True, tag="gate"):
    """Wait until a test opens the gate."""

    name: str


class Steered(_Step, frozen=True, tag="steered"):
    """Wait until prompts were handed into the running turn, and repeat them."""

    count: Positive = 1


class Hang(_Step, frozen=True, tag="hang"):
    """Do nothing until the turn is interrupted."""


class RefuseToStop(_Step, frozen=True, tag="refuse_to_stop"):
    """Ignore every interrupt of this turn from here on."""


class NotTaken(_Step, frozen=True, tag="not_taken"):
    """Do not take the turn's prompts the first times that they are handed over."""

    times: Positive = 1
    after_ms: Count | None = None
    message: str = "The scripted agent is too busy to take the prompt."


class Fail(_Step, frozen=True, tag="fail"):
    """End the turn as failed."""

    message: str = "The scripted agent failed as its script says."
    code: str = "scripted-failure"


class End(_Step, frozen=True, tag="end"):
    """End the turn here."""

    outcome: Literal["completed", "failed", "interrupted"] = "completed"
    stop_reason: str | None = None


class Crash(_Step, frozen=True, tag="crash"):
    """End the execution without a word about the turn."""

    message: str = "The scripted agent crashed as its script says."


class Background(_Step, frozen=True, tag="background"):
    """Play steps outside of any turn, from now on or when this turn has ended."""

    steps: list["Step"]
    after: Literal["turn", "now"] = "turn"


class Late(_Step, frozen=True, tag="late"):
    """Play steps under this turn's id after it has ended."""

    steps: list["Step"]


Speech: TypeAlias = Say | Think | Plan | Echo | Recall | Flood | Raw
Asking: TypeAlias = Tool | AskPermission | Question | Withdraw
Signal: TypeAlias = Usage | Info | Retrying | Unknown | Continuity | LoseConversation
Pause: TypeAlias = Wait | Gate | Steered | Hang
Control: TypeAlias = RefuseToStop | NotTaken | Fail | End | Crash | Background | Late
Step: TypeAlias = (
    Say
    | Think
    | Plan
    | Echo
    | Recall
    | Flood
    | Raw
    | Tool
    | AskPermission
    | Question
    | Withdraw
    | Usage
    | Info
    | Retrying
    | Unknown
    | Continuity
    | LoseConversation
    | Wait
    | Gate
    | Steered
    | Hang
    | RefuseToStop
    | NotTaken
    | Fail
    | End
    | Crash
    | Background
    | Late
)


def read_steps(turn: object) -> Sequence[Step]:
    """Read the steps of a turn.

    Raises:
        ScriptProblem: it is no list, or a step is not one of those above; steps count from 1.
    """
    if not isinstance(turn, list | tuple):
        raise ScriptProblem(f"a turn of a script is a list of steps, not {_kind(turn)}")
    return [_read_step(number, step) for number, step in enumerate(turn, start=1)]


def _read_step(number: int, step: object) -> Step:
    try:
        read: Step = msgspec.convert(step, type=Step)
    except msgspec.ValidationError as error:
        kind = step.get("do") if isinstance(step, Mapping) else None
        named = f" ({kind})" if isinstance(kind, str) else ""
        raise ScriptProblem(f"step {number}{named} of the script is wrong: {error}") from error
    return read


def _kind(value: object) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"

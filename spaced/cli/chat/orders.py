"""What a line of a chat is: a prompt, an answer, or an order to the chat itself."""

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from spaced.cli.chat.screen import Line

HELP: Final = """\
  /queue             the prompts that wait, each with its number
  /cancel N, /now N  take one out of the queue, or hand it into the running turn
  /pause, /resume    let the queue wait, or go on
  !TEXT, /steer TEXT into the running turn; an agent that cannot take it gets it next
  /send TEXT         as a prompt, though a question waits for an answer
  /show              the whole of what waits for an answer
  /title TEXT        another title; /model NAME and /mode NAME likewise
  /fork              a new chat with everything up to here
  /export [FILE]     the chat as Markdown
  /quit              leave; the session goes on
A line that begins with // is a prompt that begins with /.
Ctrl-C interrupts the agent, a second time kills it. Ctrl-D leaves. Alt-Enter begins a new line.
"""

Name: TypeAlias = Literal[
    "help",
    "queue",
    "cancel",
    "now",
    "pause",
    "resume",
    "show",
    "title",
    "model",
    "mode",
    "fork",
    "export",
    "quit",
]
_NAMES: Final[dict[str, Name]] = {
    **{name: name for name in get_args(Name)},
    "h": "help",
    "?": "help",
    "q": "quit",
    "exit": "quit",
}
_PROMPTS: Final[dict[str, Literal["queue", "steer"]]] = {"steer": "steer", "send": "queue"}
_NEED_A_WORD: Final = frozenset({"cancel", "now", "title", "model", "mode"})
_ORDER: Final = re.compile(r"/(\S*)\s*(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Words for the agent."""

    text: str
    delivery: Literal["queue", "steer"] = "queue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Words that answer what waits."""

    line: Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Something for the chat to do."""

    name: Name
    rest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nonsense:
    """A line that is none of these, and why."""

    why: str


Meaning: TypeAlias = Prompt | Answer | Order | Nonsense | None


def meaning_of(line: Line) -> Meaning:
    """Return what a line is; nothing for an empty one."""
    text = line.text
    if not text.strip():
        return None
    if text.startswith("//"):
        return Prompt(text=text[1:])
    if text.startswith("!") and text[1:].strip():
        return Prompt(text=text[1:].strip(), delivery="steer")
    order = _ORDER.fullmatch(text)
    if order is not None:
        return _order(order[1], order[2].strip())
    return Prompt(text=text) if line.focus is None else Answer(line=line)


def _order(word: str, rest: str) -> Meaning:
    if word in _PROMPTS:
        return Prompt(text=rest, delivery=_PROMPTS[word]) if rest else Nonsense(why=_lacks(word))
    name = _NAMES.get(word)
    if name is None:
        return Nonsense(why="there is no such order; /help lists them, // begins a prompt with /")
    if name in _NEED_A_WORD and not rest:
        return Nonsense(why=_lacks(word))
    return Order(name=name, rest=rest)


def _lacks(word: str) -> str:
    return f"/{word} needs something behind it; /help says what"

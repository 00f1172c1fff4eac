"""Which asks of a session wait, and what a line means that answers one.

A line answers only the question that was on the screen when its first letter was typed. Otherwise
a question that appears under somebody's hands would be answered by what was meant for another one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from spaced.cli.chat.open_ask import Focus, OpenAsk, hint_of, key_of, lines_of
from spaced.cli.chat.spans import Span

_MEANINGS: Final = {"yes": "y", "no": "n", "always": "a"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionReply:
    """An option was chosen, for the call that was shown."""

    ask_id: str
    option_id: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionReply:
    """All questions of an ask were answered."""

    ask_id: str
    answers: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unclear:
    """A line answers nothing, and why."""

    why: str


Reply: TypeAlias = PermissionReply | QuestionReply | Unclear | None


class AskDesk:
    """The asks of a session that wait, in the order in which they came."""

    def __init__(self) -> None:
        self._open: dict[str, OpenAsk] = {}

    @property
    def count(self) -> int:
        """How many wait for an answer."""
        return sum(not ask.is_sent for ask in self._open.values())

    @property
    def current(self) -> OpenAsk | None:
        """The ask that a line would answer."""
        shown = (ask for ask in self._open.values() if ask.is_shown and not ask.is_sent)
        return next(shown, None)

    @property
    def focus(self) -> Focus | None:
        """What a line would answer."""
        return None if self.current is None else self.current.focus

    def take(self, ask_id: str, kind: Literal["permission", "question"], told: Any) -> None:
        """Take an ask that waits; a call that has changed is to be shown again."""
        ask = OpenAsk(id=ask_id, kind=kind, told=told)
        known = self._open.get(ask_id)
        if known is None or known.focus.digest != ask.focus.digest:
            self._open[ask_id] = ask

    def keep_only(self, ask_ids: Iterable[str]) -> None:
        """Forget what does not wait any more."""
        kept = set(ask_ids)
        self._open = {name: ask for name, ask in self._open.items() if name in kept}

    def settle(self, ask_id: str) -> OpenAsk | None:
        """Take an ask away, and return it."""
        return self._open.pop(ask_id, None)

    def give_back(self, ask_id: str) -> None:
        """Let an ask wait again whose answer did not arrive."""
        ask = self._open.get(ask_id)
        if ask is not None and ask.is_sent:
            self._open[ask_id] = replace(ask, is_sent=False, is_shown=False, answers=())

    def show_new(self) -> list[Span]:
        """Return how those look that nobody has seen."""
        spans: list[Span] = []
        for name, ask in self._open.items():
            if not ask.is_shown:
                spans += lines_of(ask)
                self._open[name] = replace(ask, is_shown=True)
        return spans

    def show_current(self) -> list[Span]:
        """Return how the one looks that a line would answer, whatever its length."""
        return [] if self.current is None else lines_of(self.current, is_whole=True)

    def answer(self, line: str, focus: Focus) -> Reply:
        """Take a line that was meant for what had the focus when it was begun.

        Returns:
            What is to be sent; `None` if another question of the same ask comes first.
        """
        ask = self._open.get(focus.ask_id)
        if ask is None or ask.is_sent or ask.focus != focus:
            return Unclear(why="that question has gone or changed, so nothing was sent")
        if ask.kind == "permission":
            return self._choose(ask, line.strip())
        return self._tell(ask, line.strip())

    def _choose(self, ask: OpenAsk, line: str) -> Reply:
        option = _option_of(ask, line)
        if option is None:
            told = f"that is none of the answers ({hint_of(ask)})"
            return Unclear(why=f"{told}; to prompt the agent instead, begin with /send")
        self._open[ask.id] = replace(ask, is_sent=True)
        option_id = str(option.get("option_id"))
        return PermissionReply(ask_id=ask.id, option_id=option_id, digest=ask.focus.digest)

    def _tell(self, ask: OpenAsk, line: str) -> Reply:
        answers = (*ask.answers, _chosen(ask, line))
        is_last = len(answers) == len(ask.told.get("questions") or ())
        if is_last:
            self._open[ask.id] = replace(ask, is_sent=True)
            return QuestionReply(ask_id=ask.id, answers=answers)
        self._open[ask.id] = replace(ask, answers=answers, is_shown=False)
        return None


def _option_of(ask: OpenAsk, line: str) -> Mapping[str, Any] | None:
    if line.isdecimal() and line.isascii():
        number = int(line) if len(line) < 4 else 0  # noqa: PLR2004 - nobody offers a thousand
        return ask.options[number - 1] if 1 <= number <= len(ask.options) else None
    word = line.casefold()
    key = _MEANINGS.get(word, word)
    for option in ask.options:
        names = {str(option.get(name) or "").casefold() for name in ("option_id", "name")}
        if word and (word in names or key == key_of(ask, option)):
            return option
    return None


def _chosen(ask: OpenAsk, line: str) -> tuple[str, ...]:
    """Return the labels that a line names by number, or the line."""
    labels = [str(choice.get("label") or "") for choice in ask.options]
    words = line.replace(",", " ").split()
    may_be_so_many = len(words) == 1 or bool(words and ask.question("multiple"))
    if may_be_so_many and all(_is_number(word, labels) for word in words):
        return tuple(labels[int(word) - 1] for word in words)
    return (line,)


def _is_number(word: str, labels: Sequence[str]) -> bool:
    is_short = word.isascii() and word.isdecimal() and len(word) < 4  # noqa: PLR2004 - as above
    return is_short and 1 <= int(word) <= len(labels)

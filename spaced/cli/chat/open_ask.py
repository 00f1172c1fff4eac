"""Asks that wait: what an agent wants to know or to be allowed, and how a person sees it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from spaced.cli.chat.spans import Span, asking, bold, dim, escaped, one_line, plain

_KEYS: Final = {
    "allow_once": "y",
    "allow_always": "a",
    "reject_once": "n",
    "reject_always": "d",
}
_SHOWN_CALL: Final = 6000
_LABEL: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Focus:
    """What a line answers: an ask as it was shown, and which of its questions."""

    ask_id: str
    digest: str
    question: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAsk:
    """An ask that waits.

    Attributes:
        told: as the event or the API tells it.
        answers: to the first ones of its questions.
        is_shown: whether a person can see it.
        is_sent: whether its answer is on its way.
    """

    id: str
    kind: Literal["permission", "question"]
    told: Mapping[str, Any]
    answers: tuple[tuple[str, ...], ...] = ()
    is_shown: bool = False
    is_sent: bool = False

    @property
    def focus(self) -> Focus:
        """What a line answers now."""
        digest = str(self.told.get("digest") or "")
        return Focus(ask_id=self.id, digest=digest, question=len(self.answers))

    @property
    def options(self) -> Sequence[Mapping[str, Any]]:
        """What can be chosen now."""
        found = self.told.get("options") if self.kind == "permission" else self.question("choices")
        return [option for option in found or () if isinstance(option, Mapping)]

    def question(self, name: str) -> Any:
        """Return a field of the question that waits now."""
        questions = self.told.get("questions") or ()
        place = len(self.answers)
        return questions[place].get(name) if place < len(questions) else None


def key_of(ask: OpenAsk, option: Mapping[str, Any]) -> str:
    """Return the letter of an option; of two options of one kind only the first has one."""
    key = _KEYS.get(str(option.get("kind")), "")
    first = next((o for o in ask.options if o.get("kind") == option.get("kind")), None)
    return key if first is option else ""


def hint_of(ask: OpenAsk) -> str:
    """Return what can be typed, in a few letters."""
    numbers = [str(number) for number, _ in enumerate(ask.options, start=1)]
    if ask.kind == "permission":
        keys = [key for option in ask.options if (key := key_of(ask, option))]
        return " ".join([*numbers, *keys])
    return " ".join([*numbers, "or your own words"] if numbers else ["your own words"])


def title_of(ask: OpenAsk) -> str:
    """Return what an ask is about, on one line."""
    call = ask.told.get("tool_call")
    if ask.kind == "permission" and isinstance(call, Mapping):
        title = str(call.get("title") or call.get("name") or ask.told.get("tool_kind") or "tool")
    else:
        questions: Sequence[Mapping[str, Any]] = ask.told.get("questions") or ({},)
        title = str(questions[0].get("text") or questions[0].get("header") or "question")
    return one_line(title, longest=_LABEL)


def option_name(ask: OpenAsk, option_id: str) -> str:
    """Return what a person calls an option."""
    options = ask.told.get("options") or ()
    names = [str(o.get("name") or option_id) for o in options if o.get("option_id") == option_id]
    return one_line(names[0] if names else option_id, longest=_LABEL)


def lines_of(ask: OpenAsk, *, is_whole: bool = False) -> list[Span]:
    """Return how an ask is shown: exactly, since it decides what happens."""
    spans = _call_lines(ask, is_whole=is_whole) if ask.kind == "permission" else _head(ask)
    for number, option in enumerate(ask.options, start=1):
        key = f" {key_of(ask, option) or '-'}" if ask.kind == "permission" else ""
        spans.append(bold(f"  {number}{key}  "))
        spans.append(plain(f"{_label(option)}{_addition(ask, option)}\n"))
    return [*spans, dim(f"  type {hint_of(ask)}{_several(ask)}\n")]


def _call_lines(ask: OpenAsk, *, is_whole: bool) -> list[Span]:
    told = ask.told
    call = told.get("tool_call")
    arguments = str(call.get("arguments") or "") if isinstance(call, Mapping) else ""
    kind = one_line(str(told.get("tool_kind") or ""), longest=_LABEL)
    spans = [asking(f"? may it {kind}: {title_of(ask)}\n" if kind else f"? {title_of(ask)}\n")]
    for name, text in (("subject", str(told.get("subject") or "")), ("arguments", arguments)):
        if text and not (name == "arguments" and text == "{}"):
            spans.append(dim(f"  {name}: "))
            spans.append(plain(f"{_exactly(text, is_whole=is_whole)}\n"))
    return spans


def _exactly(text: str, *, is_whole: bool) -> str:
    rest = len(text) - _SHOWN_CALL
    if is_whole or rest <= 0:
        return escaped(text)
    more = f"… {rest} more characters; /show prints them, look before you answer"
    return f"{escaped(text[:_SHOWN_CALL])}\n  {more}"


def _head(ask: OpenAsk) -> list[Span]:
    header, text = ask.question("header"), ask.question("text")
    told = ": ".join(escaped(str(part)) for part in (header, text) if part)
    many = len(ask.told.get("questions") or ())
    place = f" ({len(ask.answers) + 1} of {many})" if many > 1 else ""
    return [asking(f"? {told or 'question'}{place}\n")]


def _label(option: Mapping[str, Any]) -> str:
    name = option.get("name") or option.get("label") or option.get("option_id") or ""
    return one_line(str(name), longest=_LABEL)


def _addition(ask: OpenAsk, option: Mapping[str, Any]) -> str:
    if option.get("description"):
        return f" - {one_line(str(option['description']), longest=_LABEL)}"
    pattern = ask.told.get("pattern")
    if pattern and option.get("kind") == "allow_always":
        return f" (covers {escaped(str(pattern))})"
    return ""


def _several(ask: OpenAsk) -> str:
    return ", several as 1,2" if ask.kind == "question" and ask.question("multiple") else ""

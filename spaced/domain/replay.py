"""Compares what an agent tells again of a conversation with what the log has of it.

The log is the truth, whatever comes out: nothing of what is told again becomes part of it. But a
person should know when the agent remembers something else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from spaced.domain.json_values import JsonObject

Verdict = Literal["same", "agent-behind", "agent-ahead", "diverged", "forgotten"]
"""`agent-behind`: it lacks the end of ours. `agent-ahead`: it went on without us. `forgotten`: it
knows of nothing at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How two tellings of a conversation differ.

    Attributes:
        missing: how many of our entries the agent does not know.
        more: how many entries the agent has after the last one that both have.
    """

    verdict: Verdict
    missing: int = 0
    more: int = 0


@dataclass(frozen=True, slots=True)
class _Entry:
    """What is compared of an item: a message's speaker and words, or a call's name."""

    kind: str
    words: str


def compare(ours: Sequence[JsonObject], told: Sequence[JsonObject]) -> Comparison:
    """Compare the newest items of a transcript with what an agent tells of its end.

    Both may begin in the middle, and the agent's telling may begin earlier. What an agent thinks is
    left out, since many do not keep it; so are prompts of which nothing was said.

    Args:
        ours: items of the log, oldest first.
        told: `{type: "message", role, text}` and `{type: "tool-call", call_id}`, oldest first.
    """
    mine = [entry for entry in map(_of_item, ours) if entry is not None]
    theirs = [entry for entry in map(_of_told, told) if entry is not None]
    if not mine:
        return Comparison(verdict="same")  # a session that goes on where another one has ended
    if not theirs:
        return Comparison(verdict="forgotten", missing=len(mine))
    return _judged(_matched(mine, theirs), theirs)


@dataclass(slots=True)
class _Match:
    """How ours were found in theirs.

    Attributes:
        known: for each of ours, whether it was found whole.
        next: where theirs go on after the last one that was found.
        is_cut: whether ours is only the beginning of the one that was found last.
    """

    known: list[bool]
    next: int = 0
    is_cut: bool = False


def _judged(match: _Match, theirs: Sequence[_Entry]) -> Comparison:
    missing = match.known.count(False)
    more = len(theirs) - match.next + match.is_cut
    if not missing:
        verdict: Verdict = "agent-ahead" if more else "same"
    else:
        is_at_the_end = not any(match.known[len(match.known) - missing :])
        verdict = "agent-behind" if is_at_the_end and not more else "diverged"
    return Comparison(verdict=verdict, missing=missing, more=more)


def _matched(mine: Sequence[_Entry], theirs: Sequence[_Entry]) -> _Match:
    match = _Match([])
    for entry in mine:
        found = next(
            (i for i in range(match.next, len(theirs)) if _is_same(entry, theirs[i])), None
        )
        if found is None and match.next and _is_same(entry, theirs[match.next - 1]):
            # Prompts that were handed over together may be told as one.
            found = match.next - 1 if entry.kind == "user" else None
        if found is None:
            match.known.append(False)
            continue
        match.next = found + 1
        match.is_cut = len(entry.words) < len(theirs[found].words) and entry.kind == "assistant"
        match.known.append(len(entry.words) <= len(theirs[found].words))
    return match


def _is_same(mine: _Entry, theirs: _Entry) -> bool:
    if mine.kind != theirs.kind:
        return False
    if mine.kind == "user":
        # A prompt reaches the agent with more around it: instructions, or what was said before.
        return mine.words in theirs.words
    if mine.kind == "call":
        return mine.words == theirs.words
    # A message that was cut off is the beginning of the whole one, on either side.
    return theirs.words.startswith(mine.words) or mine.words.startswith(theirs.words)


def _of_item(item: JsonObject) -> _Entry | None:
    if item.get("background") or item.get("origin") == "agent":
        return None
    if item.get("type") == "message":
        return _message(item.get("role"), item.get("content"))
    return _call(item)


def _of_told(entry: JsonObject) -> _Entry | None:
    if entry.get("type") == "message":
        return _message(entry.get("role"), entry.get("text"))
    return _call(entry)


def _message(role: object, text: object) -> _Entry | None:
    words = "".join(str(text or "").split())  # spaces between parts differ from agent to agent
    return _Entry(str(role), words) if words else None


def _call(item: Mapping[str, object]) -> _Entry | None:
    is_call = item.get("type") == "tool-call" and isinstance(item.get("call_id"), str)
    return _Entry("call", str(item["call_id"])) if is_call else None

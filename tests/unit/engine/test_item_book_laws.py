"""Laws of recording: whatever is reported in whatever way, the log has what was reported last."""

import itertools
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from spaced.domain.capped_text import HEAD_BYTES, WHOLE_BYTES, cap
from spaced.domain.events.transcript import AgentItemUpdated
from spaced.domain.open_text import BURST_BYTES, INTERVAL_MS, PIECE_BYTES
from spaced.domain.session_items import is_open
from spaced.domain.text_door import storable_text
from tests.unit.engine.reporting import Reporter

LAW = settings(deadline=None, derandomize=True, max_examples=120)
SMILE = "\U0001f600"
TEXTS = st.text(st.sampled_from(["a", "b", "ä", SMILE]), max_size=4) | st.sampled_from(
    ["x" * PIECE_BYTES, "y" * BURST_BYTES, "z" * HEAD_BYTES, SMILE * WHOLE_BYTES]
)
VALUES = st.sampled_from([1, "word", None, {"a": [1]}, [2**60]])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("delta"), TEXTS),
        st.tuples(st.just("whole"), TEXTS),
        st.tuples(st.just("other text"), TEXTS),
        st.tuples(st.just("field"), VALUES),
        st.tuples(st.just("no text"), st.sampled_from([None, 5])),
        st.tuples(st.just("tick"), st.integers(0, 2 * INTERVAL_MS)),
        st.tuples(st.just("close"), st.booleans()),
        st.tuples(st.just("crash"), st.none()),
    ),
    max_size=10,
)


@dataclass
class _Agent:
    """Reports one item, and knows what it has said."""

    name: str
    reporter: Reporter = field(default_factory=Reporter)
    text: str = ""
    usage: object = "none"
    is_closed: bool = False

    def begin(self) -> None:
        kind = "tool-result" if self.name == "output" else "message"
        self.reporter.upsert(**{"type": kind, "usage": "none", self.name: ""}, **self.state)

    @property
    def state(self) -> dict[str, str]:
        return {"stream_status": "complete" if self.is_closed else "streaming"}

    def step(self, kind: str, value: Any) -> None:
        match kind:
            case "delta":
                self.text += value
                self.reporter.append(value, field=self.name)
            case "whole":
                self.text += value
                self.reporter.upsert(**{self.name: self.text})
            case "other text":
                self.text = value
                self.reporter.upsert(**{self.name: self.text})
            case "field":
                self.usage = value
                self.reporter.upsert(usage=value)
            case "no text":
                self.reporter.upsert(**{self.name: value})
            case "tick":
                self.reporter.now += value
                self.reporter.tick()
            case "close":
                self.is_closed = value
                self.reporter.upsert(**self.state)
            case _:
                self.check_recoverable()

    def check_recoverable(self) -> None:
        """After a tick the log and the tails have all that was said, as far as it is not held."""
        self.reporter.now += INTERVAL_MS
        self.reporter.tick()
        item_id = self.reporter.book.item_id("s") or ""
        found = self.reporter.log.after_crash(item_id, self.name)
        if self.name == "content":
            assert found == self.text

    def end(self) -> None:
        self.is_closed = True
        self.reporter.upsert(**self.state)


@LAW
@given(name=st.sampled_from(["content", "output"]), steps=STEPS)
def test_the_transcript_says_what_was_reported_last(
    name: str, steps: list[tuple[str, Any]]
) -> None:
    """By deltas, whole texts and other texts, before and behind the end; nothing is misplaced."""
    agent = _Agent(name)
    agent.begin()
    for kind, value in steps:
        agent.step(kind, value)
    agent.end()

    item = agent.reporter.item()
    if name == "content":
        assert item[name] == agent.text
    elif ("close", True) not in steps:  # what comes behind the end is not capped again
        assert item[name] == cap(agent.text)[0]
    assert (item["usage"], item["stream_status"]) == (agent.usage, "complete")
    assert agent.reporter.log.transcript.misplaced_texts == 0
    assert agent.reporter.log.tails == {}
    assert agent.reporter.book.is_safe


@LAW
@given(deltas=st.lists(st.tuples(TEXTS, st.integers(0, INTERVAL_MS)), max_size=8))
def test_announced_text_stands_at_its_offset_in_the_stored_text(
    deltas: list[tuple[str, int]],
) -> None:
    """A client that joins deltas to what it read shows exactly what the log will have."""
    reporter = Reporter()
    reporter.append("")
    for text, pause in deltas:
        reporter.append(text)
        reporter.now += pause
        reporter.tick()
    reporter.end_turn()

    stored = reporter.item()["content"]
    assert stored == "".join(text for text, _ in deltas)
    assert "".join(d.text for d in reporter.log.deltas) == stored
    assert all(stored[d.offset : d.offset + len(d.text)] == d.text for d in reporter.log.deltas)


@LAW
@given(
    texts=st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=20),
    pauses=st.lists(st.integers(-100, 700), min_size=20, max_size=20),
)
def test_an_open_item_is_rewritten_at_most_once_a_second(
    texts: list[str], pauses: list[int]
) -> None:
    """However often an agent changes its mind; the end is recorded right away."""
    reporter, moments = Reporter(), []
    reporter.upsert(type="message", content="", stream_status="streaming")
    for place, (text, pause) in enumerate(zip(texts, pauses, strict=False)):
        reporter.now += max(pause, 0)
        changes = reporter.upsert(content=text, usage={"n": place})
        if any(isinstance(event, AgentItemUpdated) for event in changes.events):
            moments.append(reporter.now)

    assert all(b - a >= INTERVAL_MS for a, b in itertools.pairwise(moments))
    reporter.end_turn()
    assert (reporter.item()["content"], reporter.item()["usage"]) == (
        *(texts[-1], {"n": len(texts) - 1}),
    )


@LAW
@given(
    item=st.fixed_dictionaries(
        {"type": st.sampled_from(["message", "tool-call", "tool-result", "plan"])},
        optional={
            "content": TEXTS,
            "output": TEXTS,
            "status": st.sampled_from(["running", "completed"]),
            "stream_status": st.sampled_from(["streaming", "complete"]),
            "entries": st.just([{"content": "a"}]),
        },
    ),
    repeats=st.integers(1, 3),
    pause=st.integers(0, 2 * INTERVAL_MS),
)
def test_a_repeated_report_changes_nothing(item: dict[str, Any], repeats: int, pause: int) -> None:
    """An agent that reports everything again and again fills no log."""
    reporter = Reporter()
    reporter.upsert(**item)
    if not is_open(item):
        reporter.end_turn()
    before = list(reporter.log.events)

    for _ in range(repeats):
        reporter.now += pause
        changes = reporter.upsert(turn_id="other", **item)
        late = [event for event in changes.events if isinstance(event, AgentItemUpdated)]
        assert all(set(event.updates) == {"late"} for event in late)

    assert len(reporter.log.events) - len(before) <= 1


@LAW
@given(steps=STEPS, is_completed=st.booleans(), how=st.sampled_from(["turn", "execution"]))
def test_nothing_of_a_turn_stays_open_behind_its_end(
    steps: list[tuple[str, Any]], is_completed: bool, how: str
) -> None:
    """Every text is closed, and every tail's row is gone."""
    agent = _Agent("content")
    agent.begin()
    for kind, value in steps:
        agent.step(kind, value)
    reporter = agent.reporter
    if how == "turn":
        reporter.end_turn(is_completed=is_completed)
    else:
        reporter.log.take(reporter.book.end_execution(reporter.moment))

    assert not any(map(is_open, reporter.log.transcript.items()))
    assert reporter.log.tails == {}
    assert reporter.item()["content"] == storable_text(agent.text)

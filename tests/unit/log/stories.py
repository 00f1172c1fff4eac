"""Stories: statements as the engine could make them, and the events that a log has of them.

A story never contradicts itself: items exist before they change, sessions before they are spoken
of. So whatever follows from it has to be free of damage.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from hypothesis import strategies as st

from spaced.clock import Timestamp
from spaced.domain.events.event import Event
from spaced.domain.events.handover import InitialSessionRecorded
from spaced.domain.events.profile import (
    ProfileDefined,
    ProfileDeleted,
    ProfileDisabled,
    ProfileEnabled,
)
from spaced.domain.events.prompt import QueuePaused, QueueResumed
from spaced.domain.events.run import (
    EntrySettled,
    RunCancelled,
    RunCompleted,
    RunCreated,
    RunDeleted,
    RunReopened,
    RunUpdated,
    StepEntered,
    StepLeft,
    StepResumed,
    StepWaiting,
)
from spaced.domain.events.session import (
    SessionConfigured,
    SessionDeleted,
    SessionMadePrimary,
    SessionParked,
    SessionReset,
)
from spaced.domain.events.sync_source import (
    SyncOutcomeChanged,
    SyncSourceDefined,
    SyncSourcePaused,
    SyncSourceRemoved,
    SyncSourceResumed,
)
from spaced.domain.events.system import (
    DescriptorBound,
    DescriptorUnbound,
    GrantRecorded,
    GrantRevoked,
)
from spaced.domain.events.transcript import (
    AgentItemAppended,
    AgentItemTextAppended,
    AgentItemUpdated,
    AgentItemUpserted,
    AgentSessionCreated,
    AgentSessionDataUpdated,
    AgentStatusChanged,
)
from spaced.domain.events.workflow import (
    WorkflowDefined,
    WorkflowDeleted,
    WorkflowReleased,
    WorkflowRetired,
)
from spaced.domain.problem import Problem
from spaced.domain.profile import Profile
from spaced.domain.session_items import ITEM_TYPES
from spaced.domain.workflow import ProfileDescriptor, Workflow
from spaced.engine.journal import Statement
from spaced.log.fact import new_event
from spaced.log.record import RecordedEvent
from spaced.testing.fake_clock import START
from tests.unit.log.told_lives import Draw, ToldLives

Story = Sequence[Statement]

WORDS: Final = st.sampled_from(["", "alpha", "beta gamma", "ä\x00\u2028", "\U0001f600"])
_FIELDS: Final = st.fixed_dictionaries(
    {"type": st.sampled_from(ITEM_TYPES)},
    optional={
        "turn_id": st.sampled_from([None, "turn", "other-turn"]),
        "call_id": st.just("call"),
        "content": WORDS,
        "output": st.none() | WORDS,
        "stream_status": st.sampled_from(["streaming", "complete", "interrupted"]),
        "status": st.sampled_from(["pending", "running", "completed", "failed"]),
        "usage": st.fixed_dictionaries({"n": st.integers(0, 2**70)}),
    },
)
_DATA: Final = st.fixed_dictionaries(
    {}, optional={"agent_id": WORDS, "title": WORDS, "data": st.just({"a": [1.5]}), "id": WORDS}
)


def said(event: Event, session_id: str | None = None, *, at: int = START) -> Statement:
    """Return a statement that happened at a time."""
    return Statement(event=event, session_id=session_id, created_at=Timestamp(at))


def recorded(
    stream: str, story: Story, *, position: int = 1, recorded_at: int = START
) -> list[RecordedEvent]:
    """Return the events that a log holds after a story was told to an empty stream."""
    events = []
    for place, statement in enumerate(story):
        moment = START if statement.created_at is None else statement.created_at
        new = new_event(
            statement.event, created_at=Timestamp(moment), session_id=statement.session_id
        )
        events.append(
            RecordedEvent(
                stream=stream,
                version=place + 1,
                position=position + place,
                kind=new.kind,
                body=new.body,
                created_at=moment,
                recorded_at=recorded_at,
                session_id=new.session_id,
                item_id=new.item_id,
            )
        )
    return events


@dataclass(slots=True)
class _Telling:
    """What a story knows of itself while it is made: the items of each session, and its lives."""

    run_id: str
    draw: Draw
    items: dict[str, list[str]] = field(default_factory=dict)
    lives: ToldLives = field(init=False)

    def __post_init__(self) -> None:
        self.lives = ToldLives(self.run_id, self.draw)

    def next_statement(self) -> Statement:
        choices = [self._about_run, self._about_session, self._about_session, self._new_item]
        choices += [self._about_life] * 4
        if len(self.items) == 1:
            choices.append(self._second_session)
        if any(self.items.values()):
            choices += [self._about_item] * 4
        event, session_id = self.draw(st.sampled_from(choices))()
        return said(event, session_id, at=self.draw(st.integers(START - 5, START + 5)))

    def open(self, session_id: str) -> tuple[Event, str]:
        self.items[session_id] = []
        return AgentSessionCreated(data=self.draw(_DATA)), session_id

    def _second_session(self) -> tuple[Event, str]:
        return self.open(f"{self.run_id}-second")

    def _session(self) -> str:
        return str(self.draw(st.sampled_from(sorted(self.items))))

    def _new_item(self) -> tuple[Event, str]:
        session_id = self._session()
        known = self.items[session_id]
        item = {**self.draw(_FIELDS), "id": f"item-{len(known)}"}
        known.append(item["id"])
        cls = self.draw(st.sampled_from([AgentItemAppended, AgentItemUpserted]))
        return cls(item=item), session_id

    def _about_item(self) -> tuple[Event, str]:
        session_id = str(
            self.draw(st.sampled_from([s for s in sorted(self.items) if self.items[s]]))
        )
        item_id = self.draw(st.sampled_from(self.items[session_id]))
        text = AgentItemTextAppended(
            item_id=item_id,
            field=self.draw(st.sampled_from(["content", "output"])),
            offset=self.draw(st.integers(0, 8)),
            text=self.draw(WORDS),
        )
        events: list[Event] = [
            text,
            AgentItemUpserted(item={**self.draw(_FIELDS), "id": item_id}),
            AgentItemUpdated(item_id=item_id, updates=self.draw(_FIELDS)),
        ]
        return self.draw(st.sampled_from(events)), session_id

    def _about_life(self) -> tuple[Event, str]:
        session_id = self._session()
        return self.lives.next_event(sorted(self.items), self.items[session_id]), session_id

    def _about_session(self) -> tuple[Event, str]:
        events: list[Event] = [
            AgentSessionCreated(data=self.draw(_DATA)),
            AgentStatusChanged(status=self.draw(WORDS)),
            AgentSessionDataUpdated(data={"b": 2**65}),
            SessionConfigured(title=self.draw(st.none() | WORDS), options={"x": None}),
            SessionReset(
                generation=self.draw(st.integers(1, 3)),
                reason=self.draw(st.sampled_from(["person", "lost"])),
            ),
            SessionMadePrimary(),
            SessionParked(),
            SessionDeleted(),
            QueuePaused(reason="person"),
            QueueResumed(reason="person"),
        ]
        return self.draw(st.sampled_from(events)), self._session()

    def _about_run(self) -> tuple[Event, None]:
        entry_id = self.draw(st.sampled_from(["ent-1", "ent-2"]))
        entered = StepEntered(
            entry_id=entry_id, step_id="s", workflow_id="wf", workflow_version=1, cause="manual"
        )
        problem = Problem(code="x", message="y")
        named = tuple(self.draw(st.sets(st.sampled_from([*sorted(self.items), "nobody"]))))
        events: list[Event] = [
            RunUpdated(title=self.draw(st.none() | WORDS), context={"c": [None]}),
            RunUpdated(archived=self.draw(st.booleans()), session_ids=named),
            RunCompleted(),
            RunCancelled(),
            RunReopened(),
            RunDeleted(purge_at="2027-01-01T00:00:00.000Z", session_ids=named),
            entered,
            EntrySettled(entry_id=entry_id, outcome="error", problem=problem),
            StepWaiting(entry_id=entry_id, wait_kind="signal"),
            StepResumed(entry_id=entry_id),
            StepLeft(entry_id=entry_id),
            InitialSessionRecorded(session_id=self.run_id, agent_profile_id="prof"),
        ]
        return self.draw(st.sampled_from(events)), None


@st.composite
def run_stories(draw: Draw, run_id: str, *, most: int = 25) -> Story:
    """Tell a run with one session or two; every kind that moves a row may come."""
    created = RunCreated(
        workflow_id="wf",
        workflow_version=draw(st.integers(1, 2**70)),
        context=draw(_DATA),
        title=draw(st.none() | WORDS),
        directory=draw(st.none() | WORDS),
    )
    telling = _Telling(run_id, draw)
    event, session_id = telling.open(run_id)
    length = draw(st.integers(most // 4, most))
    rest = [telling.next_statement() for _ in range(length)]
    return [said(created), said(event, session_id), *rest]


_WORKFLOW = st.sampled_from(
    [
        WorkflowDefined(workflow=Workflow(name="A"), origin={"source": "local"}),
        WorkflowDefined(workflow=Workflow(name="B"), origin={"source": "synced", "path": "b"}),
        WorkflowRetired(reason="gone"),
        WorkflowDeleted(),
        WorkflowReleased(),
    ]
)
_PROFILE = st.sampled_from(
    [
        ProfileDefined(profile=Profile(name="P", agent_name="a", runtime="acp", options={"x": 1})),
        ProfileDefined(profile=Profile(name="Q", agent_name="a", runtime="acp", command=("c",))),
        ProfileDisabled(),
        ProfileEnabled(),
        ProfileDeleted(),
    ]
)
_SOURCE = st.sampled_from(
    [
        SyncSourceDefined(path="/p"),
        SyncSourceDefined(path="/q", polling=True, name="Q"),
        SyncSourcePaused(),
        SyncSourceResumed(),
        SyncSourceRemoved(),
        SyncOutcomeChanged(ok=False, problem=Problem(code="x", message="y"), warnings=({},)),
    ]
)
_SYSTEM = st.builds(
    GrantRecorded,
    grant_id=st.uuids().map(str),
    profile_id=WORDS,
    directory=WORDS,
    tool_kind=WORDS,
    match=st.just({"digest": "d"}),
) | st.sampled_from(
    [
        GrantRevoked(grant_id="never"),
        DescriptorBound(descriptor=ProfileDescriptor(agent_name="a"), profile_id="p"),
        DescriptorBound(descriptor=ProfileDescriptor(agent_name="a"), profile_id="q"),
        DescriptorBound(descriptor=ProfileDescriptor(agent_name="b", mode="m"), profile_id="p"),
        DescriptorUnbound(descriptor=ProfileDescriptor(agent_name="a")),
    ]
)


def definition_stories() -> st.SearchStrategy[Story]:
    """Tell a workflow, a profile or a sync source."""
    return st.one_of(*map(_lists_of, (_WORKFLOW, _PROFILE, _SOURCE)))


def system_stories() -> st.SearchStrategy[Story]:
    """Tell the daemon's own stream, of which there is one."""
    return _lists_of(_SYSTEM)


def _lists_of(events: st.SearchStrategy[Event]) -> st.SearchStrategy[Story]:
    return st.lists(events.map(said), min_size=1, max_size=8)

"""What an execution asks: which ask it is, and what settles it at once."""

from collections.abc import Sequence
from typing import Any

import pytest

from spaced.domain.ask import Ask
from spaced.domain.events.ask import (
    AskExpired,
    PermissionAnswered,
    PermissionAsked,
    QuestionAnswered,
    QuestionAsked,
)
from spaced.domain.events.event import Event
from spaced.domain.events.run import RunCreated
from spaced.domain.events.session import SessionConfigured
from spaced.domain.events.system import GrantRecorded
from spaced.domain.events.transcript import AgentSessionCreated
from spaced.domain.permissions import Grant
from spaced.domain.profile import Profile
from spaced.engine.held_run import about
from spaced.engine.journal import Entry, Statement
from spaced.engine.parts import EngineParts
from spaced.engine.recording.ask_book import AskBook
from spaced.runtime.protocol import PermissionAnswer, QuestionAnswer, SessionSpec
from spaced.runtime.updates import PermissionWanted, QuestionWanted
from tests.unit.engine.reporting import Reporter

OPTIONS = (
    {"option_id": "yes", "name": "Yes", "kind": "allow_once"},
    {"option_id": "no", "name": "No", "kind": "reject_once"},
)
ALLOW = {"tool_kind": "edit", "decision": "allow"}
DENY = {"tool_kind": "edit", "decision": "deny"}
YES = ("1", PermissionAnswer(option_id="yes", is_allowed=True))
NO = ("1", PermissionAnswer(option_id="no", is_allowed=False))


def _wanted(**fields: Any) -> PermissionWanted:
    given: dict[str, Any] = {
        "ask_id": "1",
        "tool_kind": "edit",
        "tool_call": {"name": "write", "arguments": {"path": "a"}},
        "options": OPTIONS,
        "turn_id": "turn",
    }
    return PermissionWanted(**(given | fields))


QUESTION = QuestionWanted(ask_id="q", questions=({"text": "Which?"},), turn_id="turn")


class _Desk:
    """A session whose agent asks, over a storage in memory."""

    def __init__(self, parts: EngineParts, **profile: Any) -> None:
        self.parts = parts
        self.reporter = Reporter()
        self.delivered: list[tuple[str, object]] = []
        self.spec = SessionSpec(
            session_id="ses",
            run_id="ses",
            execution_id="exe",
            generation=1,
            profile_id="prof",
            directory="/project",
            profile=Profile(name="P", agent_name="a", runtime="scripted", **profile),
        )
        self.book = self.new_book()

    def new_book(self) -> AskBook:
        deliver = lambda name, answer: self.delivered.append((name, answer))  # noqa: E731
        return AskBook(self.parts, self.spec, self.reporter.book, deliver)

    async def begin(self, *events: Event) -> "_Desk":
        created = RunCreated(workflow_id="wf", workflow_version=1, context={})
        await self.record(created, AgentSessionCreated(data={}), *events)
        return self

    async def record(self, *events: Event) -> None:
        async with self.parts.queues.hold("ses") as held:
            await held.append(about("ses", *events))

    async def want(self, update: PermissionWanted, grants: Sequence[Grant] = ()) -> list[Event]:
        async with self.parts.queues.hold("ses") as held:
            return await self._recorded(held, await self.book.want(held, update, grants))

    async def question(self, update: QuestionWanted = QUESTION) -> list[Event]:
        async with self.parts.queues.hold("ses") as held:
            return await self._recorded(held, await self.book.question(held, update))

    async def withdraw(self, name: str) -> list[Event]:
        async with self.parts.queues.hold("ses") as held:
            return await self._recorded(held, await self.book.withdraw(held, name))

    async def compare(self, item_id: str | None, call: dict[str, Any]) -> list[Event]:
        async with self.parts.queues.hold("ses") as held:
            return await self._recorded(held, await self.book.compare(held, item_id, call))

    async def _recorded(self, held: Any, events: list[Event]) -> list[Event]:
        if events:
            await held.append(about("ses", *events))
        self.book.deliver()
        return events

    async def asks(self) -> list[Ask]:
        async with self.parts.queues.hold("ses") as held:
            return held.open_asks("ses")


@pytest.fixture
async def desk(parts: EngineParts) -> _Desk:
    """A session without rules."""
    return await _Desk(parts).begin()


async def test_a_permission_that_nothing_settles_is_asked(desk: _Desk) -> None:
    """With the item of its call, an id of ours and the runtime's own name."""
    desk.reporter.upsert("call", type="tool-call", status="running")

    (asked,) = await desk.want(_wanted(source="call", subject="a", pattern="*"))

    assert isinstance(asked, PermissionAsked)
    assert asked.ask_id.startswith("per_")
    assert (asked.item_id, asked.turn_id, asked.subject, asked.pattern) == (
        *("itm-1", "turn", "a", "*"),
    )
    assert desk.book.has_any
    assert (asked.options, asked.source) == (OPTIONS, {"execution_id": "exe", "id": "1"})
    assert desk.delivered == []
    assert [ask.id for ask in await desk.asks()] == [asked.ask_id]


async def test_what_cannot_be_stored_is_asked_as_far_as_it_can(desk: _Desk) -> None:
    """Halves of characters in any of its texts."""
    half = "\ud800"
    update = _wanted(
        tool_kind=half, tool_call={"name": half}, subject=half, pattern=half, options=({half: 1},)
    )

    assert await desk.book.grants_for(update) == []
    (asked,) = await desk.want(update)

    assert isinstance(asked, PermissionAsked)
    assert (asked.tool_kind, asked.subject, asked.pattern) == ("\ufffd", "\ufffd", "\ufffd")


async def test_the_same_call_asked_again_is_the_same_ask(desk: _Desk) -> None:
    """A repeat records nothing; another call under the same name reopens it."""
    (asked,) = await desk.want(_wanted())
    assert isinstance(asked, PermissionAsked)

    assert await desk.want(_wanted()) == []
    (again,) = await desk.want(_wanted(tool_call={"name": "delete"}))

    assert isinstance(again, PermissionAsked)
    assert again.ask_id == asked.ask_id
    assert again.digest != asked.digest


@pytest.mark.parametrize(
    ("rule", "outcome", "answer"),
    [(ALLOW, "allow", YES), (DENY, "reject", NO)],
    ids=["allow", "deny"],
)
@pytest.mark.parametrize("place", ["profile", "session"])
async def test_a_rule_settles_a_permission_at_once(
    parts: EngineParts, rule: dict[str, str], outcome: str, answer: object, place: str
) -> None:
    """The agent is answered once that is recorded, and the log says by what."""
    desk = _Desk(parts, permissions=(rule,) if place == "profile" else ())
    await desk.begin(SessionConfigured(permissions=(rule,) if place == "session" else None))

    _asked, answered = await desk.want(_wanted())

    assert isinstance(answered, PermissionAnswered)
    assert (answered.outcome, answered.by) == (outcome, "rule")
    assert desk.delivered == [answer]
    assert await desk.asks() == []


async def test_a_rule_that_no_option_can_express_leaves_it_to_a_person(parts: EngineParts) -> None:
    """Nothing is taken for allowed that the agent does not offer."""
    desk = await _Desk(parts, permissions=(ALLOW,)).begin()

    events = await desk.want(_wanted(options=OPTIONS[1:]))

    assert [event.kind for event in events] == ["permission-asked"]
    assert desk.delivered == []


async def test_a_grant_settles_a_permission_of_its_kind(desk: _Desk) -> None:
    """It is found by profile, folder and kind of tool."""
    fields: dict[str, Any] = {"profile_id": "prof", "directory": "/project", "tool_kind": "edit"}
    match = {"pattern": "*"}
    events = [
        GrantRecorded(grant_id="grt", match=match, **fields),
        GrantRecorded(grant_id="elsewhere", match=match, **{**fields, "directory": "/other"}),
    ]
    statements = [Statement(event=event) for event in events]
    entry = Entry(stream="system", expected_version=0, statements=statements)
    await desk.parts.journal.append(entry)

    grants = await desk.book.grants_for(_wanted())
    _, answered = await desk.want(_wanted(), grants)

    assert [grant.id for grant in grants] == ["grt"]
    assert isinstance(answered, PermissionAnswered)
    assert (answered.by, answered.grant_id, desk.delivered) == ("grant", "grt", [YES])


@pytest.mark.parametrize(
    ("profile", "session", "is_refused"),
    [(True, None, True), (False, True, True), (True, False, False), (False, None, False)],
)
async def test_where_nobody_is_there_what_no_rule_settles_is_refused(
    parts: EngineParts, profile: bool, session: bool | None, is_refused: bool
) -> None:
    """What the session says counts more than its profile."""
    desk = await _Desk(parts, headless=profile).begin(SessionConfigured(headless=session))

    events = await desk.want(_wanted())

    assert (len(events) == 2) is is_refused
    assert desk.delivered == ([NO] if is_refused else [])


async def test_a_permission_for_a_turn_that_has_ended_comes_too_late(desk: _Desk) -> None:
    """It is recorded and refused, so that the agent does not wait for ever."""
    desk.book.end_turn("turn")

    asked, expired = await desk.want(_wanted())

    assert isinstance(asked, PermissionAsked)
    assert expired == AskExpired(ask_id=asked.ask_id, reason="turn-ended")
    assert desk.delivered == [NO]


async def test_an_agent_that_asks_again_what_was_answered_hears_the_answer(desk: _Desk) -> None:
    """It may have been gone when the person answered."""
    (asked,) = await desk.want(_wanted())
    (question,) = await desk.question()
    assert isinstance(asked, PermissionAsked)
    assert isinstance(question, QuestionAsked)
    await desk.record(
        PermissionAnswered(ask_id=asked.ask_id, option_id="yes", outcome="allow", by="person"),
        QuestionAnswered(ask_id=question.ask_id, answers=(("a",),)),
    )

    assert await desk.want(_wanted()) == []
    assert await desk.question() == []
    assert desk.delivered == [YES, ("q", QuestionAnswer(answers=(("a",),)))]


async def test_a_question_is_asked_once(desk: _Desk) -> None:
    """A repeat is the same ask, and nobody has answered it yet."""
    (asked,) = await desk.question()

    assert isinstance(asked, QuestionAsked)
    assert asked.ask_id.startswith("que_")
    assert (asked.questions, asked.turn_id) == (({"text": "Which?"},), "turn")
    assert await desk.question() == []
    assert desk.delivered == []


async def test_an_ask_that_its_agent_withdraws_expires(desk: _Desk) -> None:
    """Once; one that nobody knows is none."""
    (asked,) = await desk.want(_wanted())
    assert isinstance(asked, PermissionAsked)

    assert await desk.withdraw("1") == [AskExpired(ask_id=asked.ask_id, reason="withdrawn")]
    assert await desk.withdraw("1") == []
    assert await desk.withdraw("unknown") == []


async def test_a_call_that_changes_while_a_person_looks_is_asked_again(desk: _Desk) -> None:
    """Nobody allows what they have not seen; what is only shown makes no difference."""
    desk.reporter.upsert("call", type="tool-call", status="running")
    (asked,) = await desk.want(_wanted(source="call"))
    assert isinstance(asked, PermissionAsked)

    assert await desk.compare("itm-1", {"status": "running", "title": "Write a"}) == []
    assert await desk.compare("other", {"arguments": {"path": "b"}}) == []
    assert await desk.compare(None, {"arguments": {"path": "b"}}) == []
    (again,) = await desk.compare("itm-1", {"arguments": {"path": "b"}})

    assert isinstance(again, PermissionAsked)
    assert again.tool_call == {"name": "write", "arguments": {"path": "b"}}
    assert (again.ask_id, again.options) == (asked.ask_id, OPTIONS)
    assert await desk.want(_wanted(tool_call={"name": "write", "arguments": {"path": "b"}})) == []


async def test_asks_of_an_earlier_life_are_adopted(desk: _Desk) -> None:
    """The same names mean the same asks, and an answer is given to who asks again."""
    (asked,) = await desk.want(_wanted())
    (question,) = await desk.question()
    assert isinstance(asked, PermissionAsked)
    assert isinstance(question, QuestionAsked)
    known = await desk.asks()
    desk.book = desk.new_book()
    desk.book.adopt([*known, Ask(id="old", kind="question", session_id="ses", asked_at=0)])

    assert await desk.want(_wanted()) == []
    assert await desk.question() == []
    assert [event.kind for event in await desk.withdraw("q")] == ["ask-expired"]


async def test_an_ask_that_has_expired_is_asked_anew(desk: _Desk) -> None:
    """The agent wants to know after all: it must not wait for an answer that cannot come."""
    (first,) = await desk.want(_wanted())
    await desk.withdraw("1")

    (again,) = await desk.want(_wanted())

    assert isinstance(first, PermissionAsked)
    assert isinstance(again, PermissionAsked)
    assert again.ask_id == first.ask_id
    assert [ask.status for ask in await desk.asks()] == ["open"]


async def test_a_question_that_has_expired_is_asked_anew(desk: _Desk) -> None:
    """As for permissions."""
    await desk.question()
    await desk.withdraw(QUESTION.ask_id)

    assert len(await desk.question()) == 1

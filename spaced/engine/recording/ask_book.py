"""What an execution asks: recorded as asks of ours, and settled at once where a rule or grant says.

The runtime names an ask in its own way; the book keeps which is which, for as long as it lives.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from spaced.domain.ask import Ask
from spaced.domain.events.ask import (
    AskExpired,
    PermissionAnswered,
    PermissionAsked,
    QuestionAsked,
)
from spaced.domain.events.event import Event
from spaced.domain.json_values import JsonObject
from spaced.domain.permissions import (
    Grant,
    PermissionRequest,
    Rule,
    Verdict,
    choose_option,
    decide,
    digest_of,
    read_rules,
)
from spaced.domain.session import Session
from spaced.domain.text_door import storable_object, storable_text
from spaced.engine.held_run import HeldRun
from spaced.engine.parts import EngineParts
from spaced.engine.recording.item_book import ItemBook
from spaced.log.read_models.lives import ASKS
from spaced.log.read_models.system import GRANT
from spaced.runtime.protocol import AskAnswer, PermissionAnswer, QuestionAnswer, SessionSpec
from spaced.runtime.updates import PermissionWanted, QuestionWanted

Deliver: TypeAlias = Callable[[str, AskAnswer], None]
"""Answers an ask by the runtime's name for it."""


class AskBook:
    """The asks of one execution."""

    def __init__(
        self, parts: EngineParts, spec: SessionSpec, items: ItemBook, deliver: Deliver
    ) -> None:
        """Begin with nothing asked.

        Args:
            deliver: called with what a rule, a grant or an earlier answer says, once that is
                recorded.
        """
        self._parts = parts
        self._spec = spec
        self._items = items
        self._deliver = deliver
        self._ids: dict[str, str] = {}
        self._settled: list[tuple[str, AskAnswer]] = []
        self._ended_turns: set[str] = set()

    def adopt(self, asks: Sequence[Ask]) -> None:
        """Take over asks that an earlier life of the daemon has recorded, answered or not."""
        for ask in asks:
            if ask.source is not None:
                self._ids[str(ask.source.get("id"))] = ask.id

    @property
    def has_any(self) -> bool:
        """Whether the execution has asked anything."""
        return bool(self._ids)

    def end_turn(self, turn_id: str) -> None:
        """Note that a turn has ended: a permission for it comes too late."""
        self._ended_turns.add(turn_id)

    async def grants_for(self, update: PermissionWanted) -> Sequence[Grant]:
        """Return the standing permissions that may be about an ask."""
        where = {
            "profile_id": self._spec.profile_id,
            "directory": self._spec.directory,
            "tool_kind": storable_text(update.tool_kind),
        }
        found = await self._parts.storage.list_rows(GRANT.name, where=where, order="by_scope")
        return [
            Grant(
                id=str(row["id"]),
                profile_id=str(row["profile_id"]),
                directory=str(row["directory"]),
                tool_kind=str(row["tool_kind"]),
                match=msgspec.json.decode(str(row["match"])),
            )
            for row in found.rows
        ]

    async def want(
        self, held: HeldRun, update: PermissionWanted, grants: Sequence[Grant]
    ) -> list[Event]:
        """Record that a permission is wanted, and the answer if there is one already."""
        known = await self._recorded(held, update.ask_id)
        asked = self._asked(held, update)
        # The same call asked again is the same ask, whether somebody has answered it or not.
        if known is not None and known.status != "expired" and _digest(known) == asked.digest:
            self._answer_again(update.ask_id, known)
            return []
        return [asked, *self._settled_at_once(held, update, asked, grants)]

    async def question(self, held: HeldRun, update: QuestionWanted) -> list[Event]:
        """Record that the agent asks something."""
        known = await self._recorded(held, update.ask_id)
        if known is not None and known.status != "expired":
            self._answer_again(update.ask_id, known)
            return []
        return [
            QuestionAsked(
                ask_id=self._id_of(held, update.ask_id, "que"),
                questions=tuple(storable_object(question) for question in update.questions),
                turn_id=update.turn_id,
                source=self._source(update.ask_id),
            )
        ]

    async def withdraw(self, held: HeldRun, runtime_ask_id: str) -> list[Event]:
        """Record that the agent no longer waits."""
        known = await self._recorded(held, runtime_ask_id)
        if known is None or known.status != "open":
            return []
        return [AskExpired(ask_id=known.id, reason="withdrawn")]

    async def compare(self, held: HeldRun, item_id: str | None, call: JsonObject) -> list[Event]:
        """Ask again if a tool call has changed since it was shown to a person."""
        asks = held.open_asks(self._spec.session_id) if item_id is not None else []
        events = (_changed(ask, call) for ask in asks if ask.item_id == item_id)
        return [event for event in events if event is not None]

    def deliver(self) -> None:
        """Pass on what was settled, now that it is recorded."""
        settled, self._settled = self._settled, []
        for runtime_ask_id, answer in settled:
            self._deliver(runtime_ask_id, answer)

    def forget_settled(self) -> None:
        """Pass nothing on: what was settled could not be recorded."""
        self._settled.clear()

    async def _recorded(self, held: HeldRun, runtime_ask_id: str) -> Ask | None:
        """Return an ask as the log has it, read while nobody can answer it."""
        ask_id = self._ids.get(runtime_ask_id)
        if ask_id is None:
            return None
        for ask in held.open_asks(self._spec.session_id):
            if ask.id == ask_id:
                return ask
        rows = (await self._parts.storage.get_rows(ASKS.table.name, [(ask_id,)])).rows
        return ASKS.state_of(rows[0]) if rows else None

    def _id_of(self, held: HeldRun, runtime_ask_id: str, prefix: Literal["per", "que"]) -> str:
        known = self._ids.get(runtime_ask_id)
        if known is not None:
            return known
        ask_id = self._ids[runtime_ask_id] = self._parts.ids.new(prefix)
        held.expect_new(ASKS.table.name, ask_id)
        return ask_id

    def _settled_at_once(
        self,
        held: HeldRun,
        update: PermissionWanted,
        asked: PermissionAsked,
        grants: Sequence[Grant],
    ) -> list[Event]:
        """Return what answers a permission without a person, if anything does."""
        if update.turn_id in self._ended_turns:
            self._settle(update, allow=False)
            return [AskExpired(ask_id=asked.ask_id, reason="turn-ended")]
        verdict = self._verdict(asked, held.session(self._spec.session_id), grants)
        if verdict.decision == "ask":
            return []
        option_id = self._settle(update, allow=verdict.decision == "allow")
        if option_id is None:
            return []  # the agent offers nothing that says so; a person has to look
        return [
            PermissionAnswered(
                ask_id=asked.ask_id,
                option_id=option_id,
                outcome="allow" if verdict.decision == "allow" else "reject",
                by=str(verdict.by),
                grant_id=verdict.grant_id,
                message=verdict.reason,
            )
        ]

    def _asked(self, held: HeldRun, update: PermissionWanted) -> PermissionAsked:
        tool_call = storable_object(update.tool_call)
        return PermissionAsked(
            ask_id=self._id_of(held, update.ask_id, "per"),
            tool_kind=storable_text(update.tool_kind),
            tool_call=tool_call,
            options=tuple(storable_object(option) for option in update.options),
            digest=digest_of(update.tool_kind, tool_call),
            turn_id=update.turn_id,
            item_id=self._items.item_id(update.source),
            subject=storable_text(update.subject),
            pattern=None if update.pattern is None else storable_text(update.pattern),
            source=self._source(update.ask_id),
        )

    def _source(self, runtime_ask_id: str) -> JsonObject:
        return {"execution_id": self._spec.execution_id, "id": storable_text(runtime_ask_id)}

    def _verdict(
        self, asked: PermissionAsked, session: Session | None, grants: Sequence[Grant]
    ) -> Verdict:
        configuration = None if session is None else session.configuration
        own = () if configuration is None else configuration.permissions or ()
        is_headless = self._spec.profile.headless
        if configuration is not None and configuration.headless is not None:
            is_headless = configuration.headless
        return decide(
            PermissionRequest(
                tool_kind=asked.tool_kind,
                subject=asked.subject or "",
                digest=asked.digest,
                profile_id=self._spec.profile_id,
                directory=self._spec.directory,
            ),
            session_rules=_rules(own),
            profile_rules=_rules(self._spec.profile.permissions),
            grants=grants,
            is_headless=is_headless,
        )

    def _answer_again(self, runtime_ask_id: str, known: Ask) -> None:
        """Tell an agent that asks again what was answered: it has not heard of it."""
        answer = answer_of(known)
        if answer is not None:
            self._settled.append((runtime_ask_id, answer))

    def _settle(self, update: PermissionWanted, *, allow: bool) -> str | None:
        option_id = choose_option(update.options, allow=allow)
        if option_id is not None:
            answer = PermissionAnswer(option_id=option_id, is_allowed=allow)
            self._settled.append((update.ask_id, answer))
        return option_id


def answer_of(ask: Ask) -> AskAnswer | None:
    """Return what the agent is told of the answer to an ask, if there is one; "always" is once."""
    answer = ask.answer
    if answer is None:
        return None
    if ask.permission is None:
        return QuestionAnswer(answers=answer.answers)
    is_allowed = answer.outcome == "allow"
    option_id = choose_option(ask.permission.options, allow=is_allowed) or answer.option_id or ""
    return PermissionAnswer(option_id=option_id, is_allowed=is_allowed, message=answer.message)


def _digest(ask: Ask) -> str | None:
    return None if ask.permission is None else ask.permission.digest


def _changed(ask: Ask, call: JsonObject) -> PermissionAsked | None:
    """Return what asks again for a call as it is now, if that is another one."""
    before = ask.permission
    if before is None:
        return None
    tool_call = {**before.tool_call, **_shown(call)}
    digest = digest_of(before.tool_kind, tool_call)
    if digest == before.digest:
        return None
    return PermissionAsked(
        ask_id=ask.id,
        tool_kind=before.tool_kind,
        tool_call=tool_call,
        options=before.options,
        digest=digest,
        turn_id=ask.turn_id,
        item_id=ask.item_id,
        subject=before.subject,
        pattern=before.pattern,
        source=ask.source,
    )


def _rules(raw: Sequence[JsonObject]) -> tuple[Rule, ...]:
    return read_rules(raw) if raw else ()


def _shown(call: Mapping[str, object]) -> JsonObject:
    return {name: call[name] for name in ("name", "title", "arguments") if name in call}

"""Answers to what agents ask: the first one wins, and is durable before the agent hears it."""

from collections.abc import Sequence

from spaced.domain.ask import Answer, Ask
from spaced.domain.events.ask import PermissionAnswered, QuestionAnswered
from spaced.domain.events.event import Event
from spaced.domain.events.system import GrantRecorded, GrantRevoked
from spaced.domain.json_values import JsonObject
from spaced.domain.permissions import meaning_of
from spaced.domain.prompt_queue import admit_ours, rank_behind, release
from spaced.domain.session import Session
from spaced.domain.text_door import storable_text
from spaced.engine.coordinator import Coordinator
from spaced.engine.executions import Executions
from spaced.engine.held_run import HeldRun, about
from spaced.engine.journal import Entry, Statement
from spaced.engine.parts import EngineParts
from spaced.engine.recipients import recipient_of
from spaced.engine.recording.ask_book import answer_of
from spaced.engine.session_commands import living_session
from spaced.errors import RuntimeProblem
from spaced.log.read_models.lives import ASKS, PROMPTS
from spaced.log.read_models.system import GRANT
from spaced.log.record import SYSTEM_STREAM
from spaced.log.table import Row
from spaced.refusals import (
    AskAnswered,
    AskChanged,
    AskExpired,
    InvalidRequest,
    NotFound,
    UnknownAsk,
)


class Asks:
    """The commands about permissions, questions and grants."""

    def __init__(
        self, parts: EngineParts, executions: Executions, coordinator: Coordinator
    ) -> None:
        self._parts = parts
        self._executions = executions
        self._coordinator = coordinator

    async def open(self, session_id: str | None = None) -> Sequence[Ask]:
        """Return the asks that nobody has answered, of one session or of all."""
        where = {"status": "open"}
        rows = (await self._parts.storage.list_rows("ask", where=where, order="unfinished")).rows
        asks = [ASKS.state_of(row) for row in rows]
        return [ask for ask in asks if session_id in (None, ask.session_id)]

    async def get(self, ask_id: str) -> Ask:
        """Return an ask, also one that is closed.

        Raises:
            UnknownAsk: there is none of this id.
        """
        return ASKS.state_of(await self._row(ask_id))

    async def answer_permission(
        self,
        ask_id: str,
        *,
        option_id: str,
        digest: str | None = None,
        message: str | None = None,
    ) -> Ask:
        """Choose one of the options of a permission; "always" becomes a grant of ours.

        Args:
            digest: of the call as it was shown; another one refuses the answer.

        Raises:
            AskAnswered: somebody was faster.
            AskExpired: nobody waits any more.
            AskChanged: the call is another one by now.
            InvalidRequest: the ask has no such option.
        """
        stream = str((await self._row(ask_id))["stream"])
        work = self._answer_permission(stream, ask_id, option_id, digest, message)
        return await self._parts.tasks.finish(work, name=f"answer to {ask_id}")

    async def answer_question(self, ask_id: str, answers: Sequence[Sequence[str]]) -> Ask:
        """Answer a question: chosen labels or free texts, one list for each of its questions.

        If the turn that asked has ended, the answer is admitted as a prompt.

        Raises:
            AskAnswered: somebody was faster.
            AskExpired: nobody waits any more.
            InvalidRequest: there are not as many answers as questions.
        """
        stream = str((await self._row(ask_id))["stream"])
        told = tuple(tuple(storable_text(text) for text in texts) for texts in answers)
        work = self._answer_question(stream, ask_id, told)
        return await self._parts.tasks.finish(work, name=f"answer to {ask_id}")

    async def grants(self) -> Sequence[JsonObject]:
        """Return the standing permissions."""
        return [dict(row) for row in (await self._parts.storage.list_rows(GRANT.name)).rows]

    async def revoke(self, grant_id: str) -> None:
        """Withdraw a standing permission.

        Raises:
            NotFound: there is none of this id.
        """
        if not (await self._parts.storage.get_rows(GRANT.name, [(grant_id,)])).rows:
            raise NotFound(f"there is no grant {grant_id!r}")

        async def command() -> None:
            async with self._parts.queues.hold(SYSTEM_STREAM) as held:
                await held.append([Statement(event=GrantRevoked(grant_id=grant_id))])

        await self._parts.tasks.finish(command(), name=f"revocation of {grant_id}")

    async def _row(self, ask_id: str) -> Row:
        rows = (await self._parts.storage.get_rows(ASKS.table.name, [(ask_id,)])).rows
        if not rows:
            raise UnknownAsk(ask_id)
        return rows[0]

    async def _answer_permission(
        self, stream: str, ask_id: str, option_id: str, digest: str | None, message: str | None
    ) -> Ask:
        async with self._parts.queues.hold(stream) as held:
            ask = await self._open_ask(held, ask_id)
            session = living_session(held, ask.session_id)
            meaning, is_always = self._meaning(ask, option_id)
            self._check_digest(ask, digest)
            grant = self._grant(held, ask, session) if is_always and meaning == "allow" else None
            answered = PermissionAnswered(
                ask_id=ask_id,
                option_id=option_id,
                outcome=meaning,
                by="person",
                grant_id=None if grant is None else grant.grant_id,
                message=None if message is None else storable_text(message),
            )
            await self._record(held, ask, [answered], grant)
        self._parts.reach("answer-recorded")
        return await self._delivered(ask_id)

    async def _answer_question(
        self, stream: str, ask_id: str, answers: tuple[tuple[str, ...], ...]
    ) -> Ask:
        async with self._parts.queues.hold(stream) as held:
            ask = await self._open_ask(held, ask_id)
            if ask.kind != "question" or len(answers) != len(ask.questions):
                raise InvalidRequest(f"the ask {ask_id!r} wants {len(ask.questions)} answers")
            turn = held.open_turn(ask.session_id)
            is_waiting = ask.turn_id is None or (turn is not None and turn.id == ask.turn_id)
            if is_waiting:
                await self._record(
                    held, ask, [QuestionAnswered(ask_id=ask_id, answers=answers)], None
                )
            else:
                await self._admit_answer(held, ask, answers)
        self._parts.reach("answer-recorded")
        return await (self._delivered(ask_id) if is_waiting else self.get(ask_id))

    async def _admit_answer(
        self, held: HeldRun, ask: Ask, answers: tuple[tuple[str, ...], ...]
    ) -> None:
        asked = living_session(held, ask.session_id)
        session, opening = recipient_of(self._parts, held, asked)
        prompt_id = self._parts.ids.new("msg")
        pending = held.pending(session.id)
        held.expect_new(PROMPTS.table.name, prompt_id)
        events: list[Event] = [
            *release(pending, is_paused=session.is_queue_paused),
            admit_ours(
                asked.id,
                _as_text(ask.questions, answers),
                prompt_id=prompt_id,
                origin="question-answer",
                rank=rank_behind(pending),
                ahead=len(pending),
            ),
        ]
        answered = QuestionAnswered(ask_id=ask.id, answers=answers, prompt_id=prompt_id)
        await held.append([*opening, *about(asked.id, answered), *about(session.id, *events)])
        self._coordinator.wake(held.id, session.id)

    async def _open_ask(self, held: HeldRun, ask_id: str) -> Ask:
        ask = ASKS.state_of(await self._row(ask_id))
        if ask.status == "answered":
            raise _answered_before(ask)
        if ask.status == "expired" or held.run.is_deleted:
            raise AskExpired(f"the ask {ask_id!r} has expired: {ask.expired_because}")
        return ask

    def _meaning(self, ask: Ask, option_id: str) -> tuple[str, bool]:
        options = () if ask.permission is None else ask.permission.options
        for option in options:
            if option.get("option_id") == option_id:
                return meaning_of(option)
        offered = ", ".join(repr(option.get("option_id")) for option in options)
        raise InvalidRequest(f"the ask {ask.id!r} has no option {option_id!r}, but {offered}")

    def _check_digest(self, ask: Ask, digest: str | None) -> None:
        if digest is not None and ask.permission is not None and digest != ask.permission.digest:
            raise AskChanged(f"the call of the ask {ask.id!r} has changed since it was shown")

    def _grant(self, held: HeldRun, ask: Ask, session: Session) -> GrantRecorded:
        assert ask.permission is not None
        pattern = ask.permission.pattern
        return GrantRecorded(
            grant_id=self._parts.ids.new("gra"),
            profile_id=session.agent_id or "",
            directory=session.directory or held.run.directory or "/",
            tool_kind=ask.permission.tool_kind,
            match={"digest": ask.permission.digest} if pattern is None else {"pattern": pattern},
        )

    async def _record(
        self, held: HeldRun, ask: Ask, events: list[Event], grant: GrantRecorded | None
    ) -> None:
        if grant is None:
            await held.append(about(ask.session_id, *events))
            return
        async with self._parts.queues.hold(SYSTEM_STREAM) as system:
            entry = Entry(
                stream=SYSTEM_STREAM,
                expected_version=system.version,
                statements=[Statement(event=grant)],
            )
            await held.append(about(ask.session_id, *events), also=[entry])
            system.is_usable = False  # its version has moved by another door

    async def _delivered(self, ask_id: str) -> Ask:
        """Tell the agent, and return the ask with its answer.

        An agent that is gone has had its ask expired, or will ask again.
        """
        ask = await self.get(ask_id)
        live, source, answer = self._executions.live(ask.session_id), ask.source, answer_of(ask)
        if live is not None and live.connection is not None and source and answer is not None:
            if source.get("execution_id") == live.id:
                try:
                    await live.connection.answer(str(source.get("id")), answer)
                except RuntimeProblem as problem:
                    self._executions.log_fault(live, problem)
            self._parts.reach("answer-delivered")
        self._coordinator.asks_changed(ask.session_id)
        return ask


def _answered_before(ask: Ask) -> AskAnswered:
    first = ask.answer or Answer()
    said = first.option_id or "; ".join(", ".join(texts) for texts in first.answers)
    answer: dict[str, object] = {"answers": first.answers}
    if first.option_id is not None:
        answer = {"option_id": first.option_id, "outcome": first.outcome, "by": first.by}
    return AskAnswered(f"the ask {ask.id!r} was answered before: {said}", answer=answer)


def _as_text(questions: Sequence[JsonObject], answers: Sequence[Sequence[str]]) -> str:
    lines = [
        f"{question.get('text') or question.get('header') or 'Question'}\n{', '.join(texts)}"
        for question, texts in zip(questions, answers, strict=True)
    ]
    return "\n\n".join(lines)

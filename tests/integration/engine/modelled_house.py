"""An engine beside its model: the commands that both are told, and the looks at both."""

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pytest

from spaced.domain.events.turn import TurnDispatched, TurnEnded, TurnRetrying, TurnStarted
from spaced.engine.announcements import StatusChanged
from spaced.engine.doctor import examine
from spaced.engine.held_run import HeldRun
from spaced.engine.prompts import Address, PromptRequest, Receipt
from spaced.errors import SpacedError
from spaced.log.fact import fact_of
from spaced.log.read_models.lives import PROMPTS
from spaced.refusals import PromptConflict, SessionDeleted
from spaced.testing.samples import next_turn
from tests.integration.engine.house import House, Houses, text_prompt
from tests.integration.engine.model import (
    GRACE_MS,
    KINDS,
    Chat,
    Delivery,
    Kind,
    Model,
    Prompt,
    Turn,
    parts_of,
)

HASTY: Final = ("admit", "steer", "replace", "interrupt", "end", "cancel", "send-now", "resume")
LIVE_WORDS: Final = {"idle", "starting", "busy", "waiting", "retry", "queued"}
SETTLED_SECONDS: Final = 20
LOOKS_APART: Final = 10
SETTINGS: Final[Mapping[str, Any]] = {"stop_grace_ms": 0, "retention_ms": 10**12}


@dataclass(slots=True, kw_only=True)
class Sent:
    """A prompt as it was asked for, and the answer, once there is one."""

    address: Address
    request: PromptRequest
    kind: Kind
    receipt: Receipt | None = None

    @property
    def session_id(self) -> str:
        """Who took it."""
        assert self.receipt is not None
        return self.receipt.session_id


class ModelledHouse:
    """One engine after the other over the same log, and the model that goes with them.

    Attributes:
        requests: what was asked for, by the prompt's id.
    """

    house: House

    def __init__(self, houses: Houses, folder: Path) -> None:
        self.model = Model()
        self.requests: dict[str, Sent] = {}
        self._houses = houses
        self._journal = folder / "state" / "scripted" / "deliveries.jsonl"
        self._next_id = 0

    async def open(self, survive: Sequence[bool]) -> None:
        """Start, with a chat for each of these."""
        self.house = await self._houses.open(**SETTINGS)
        for survives in survive:
            options = {"survives": survives}
            chat_id = await self.house.chat(options=options, cancel_grace_ms=GRACE_MS)
            self.model.chats[chat_id] = Chat(id=chat_id, run_id=chat_id, survives=survives)

    async def close(self) -> None:
        """End whatever runs."""
        await self._houses.close()

    async def begin_another_life(self, *, is_crash: bool) -> None:
        """Crash, or stop well, and start again."""
        another = self._houses.crash if is_crash else self._houses.restart
        self.house = await another(self.house, **SETTINGS)

    async def admit(
        self, chat: Chat, kind: Kind, delivery: Delivery, *, wake: bool, replaces: bool
    ) -> None:
        """Send a prompt, and compare its receipt."""
        sent = self._request(chat, kind, delivery, wake=wake, replaces=replaces)
        before = self.model.recipient(chat)
        waiting = 0 if before is None else len(before.pending)
        receipt = await self._send(sent)
        taker = self._taker(sent)
        assert before is None or before is taker
        assert (receipt.delivery, receipt.queue_index) == (_delivery(sent.request), waiting)
        taker.admit(self._prompt(sent), wake=wake, replaces=replaces)

    async def repeat(self, prompt: Prompt, change: str) -> None:
        """Send a prompt again, perhaps with another content."""
        sent = self.requests[prompt.id]
        chat = self.model.chats[sent.session_id]
        request = sent.request
        if change == "parts":
            request = replace(request, parts=text_prompt("other"))
        elif change == "delivery":
            other: Delivery = "queue" if _delivery(request) == "steer" else "steer"
            request = replace(request, delivery=other, replaces_turn=False)
        asking = self.house.engine.prompts.send(sent.address, request)
        if self.model.chats[sent.address.id].is_deleted:
            with pytest.raises(SessionDeleted):
                await asking
        elif change:
            with pytest.raises(PromptConflict):
                await asking
        else:
            assert await asking == sent.receipt
            prompt.held = False
            chat.go_on()

    async def open_gate(self, name: str) -> None:
        """Let an agent through."""
        self.house.runtime.gates.open(name)

    async def pass_time(self) -> None:
        """Let every wait be over."""
        self.house.clock.advance(seconds=3600)

    async def settle(self) -> None:
        """Wait until the engine is where the model is; say what differs if it never comes there."""
        try:
            async with asyncio.timeout(SETTLED_SECONDS):
                while any([difference async for difference in self._differences()]):
                    for _ in range(LOOKS_APART):
                        await next_turn()
        except TimeoutError:
            found = [difference async for difference in self._differences()]
            raise AssertionError(f"it does not come to rest: {found}") from None

    async def act_in_haste(
        self, acts: Sequence[tuple[str, int]], crashes_after: int | None
    ) -> None:
        """Begin all at once, crash after so many turns of the loop, and learn what has become."""
        tasks = [asyncio.ensure_future(self._try(name, pick)) for name, pick in acts]
        if crashes_after is None:
            await asyncio.gather(*tasks)
        else:
            for _ in range(crashes_after):
                await next_turn()
            for task in tasks:
                task.cancel()
            await self.begin_another_life(is_crash=True)
            await asyncio.gather(*tasks, return_exceptions=True)
        await self._learn()

    async def finish(self) -> None:
        """See that every living session takes one more prompt, and that the log is whole."""
        await self._silence()
        for chat in self.model.open():
            for prompt in await self.house.engine.queue.pending(chat.id):
                await self.house.engine.queue.cancel(chat.id, prompt.id)
        for chat in self.model.living():
            last = await self._send(self._request(chat, "quick", "queue"))
            await self.house.idle(last.session_id)
            assert await self._status(last.id) == "delivered", "a further prompt is not answered"
        assert [finding async for finding in examine(self.house.storage)] == []
        await self._check_log()
        await self.house.engine.stop()
        assert self.house.engine.executions.all() == ()
        assert dict(self.house.engine.coordinator.active()) == {}

    def _request(
        self,
        chat: Chat,
        kind: Kind,
        delivery: Delivery,
        *,
        wake: bool = True,
        replaces: bool = False,
    ) -> Sent:
        self._next_id += 1
        name = f"p{self._next_id}"
        request = PromptRequest(
            parts=parts_of(kind, name),
            delivery=delivery,
            prompt_id=name,
            wake=wake,
            replaces_turn=replaces,
        )
        sent = Sent(address=Address(kind="session", id=chat.id), request=request, kind=kind)
        self.requests[name] = sent
        return sent

    async def _send(self, sent: Sent) -> Receipt:
        sent.receipt = await self.house.engine.prompts.send(sent.address, sent.request)
        return sent.receipt

    def _taker(self, sent: Sent) -> Chat:
        """Return who took a prompt, a follow-up perhaps that was opened for it."""
        chat = self.model.chats[sent.address.id]
        if sent.session_id not in self.model.chats:
            last = self.model.last_completed(chat)
            follow_up = Chat(
                id=sent.session_id, run_id=chat.run_id, survives=chat.survives, follows=last.id
            )
            self.model.chats[follow_up.id] = follow_up
        return self.model.chats[sent.session_id]

    def _prompt(self, sent: Sent) -> Prompt:
        assert sent.receipt is not None
        prompt = Prompt(
            id=sent.receipt.id,
            kind=sent.kind,
            parts=tuple(sent.request.parts),
            delivery=_delivery(sent.request),
            held=not sent.request.wake,
            number=sent.receipt.admitted_version,
        )
        self.model.prompts[prompt.id] = prompt
        return prompt

    async def _try(self, name: str, pick: int) -> None:
        open_chats = self.model.open()
        if open_chats:
            with suppress(SpacedError):
                await self._act(open_chats[pick % len(open_chats)], name, pick)

    async def _act(self, chat: Chat, name: str, pick: int) -> None:
        engine = self.house.engine
        match name:
            case "admit" | "steer" | "replace":
                kind: Kind = KINDS[pick % len(KINDS)]
                delivery: Delivery = "steer" if name == "steer" else "queue"
                replaces = name == "replace"
                await self._send(self._request(chat, kind, delivery, replaces=replaces))
            case "interrupt":
                await engine.control.interrupt(chat.id)
            case "resume":
                await engine.queue.resume(chat.id)
            case "end" if chat.turn is not None:
                await self.open_gate(chat.turn.gate)
            case "cancel" if chat.pending:
                await engine.queue.cancel(chat.id, chat.pending[0].id)
            case "send-now" if chat.pending:
                await engine.queue.send_now(chat.id, chat.pending[-1].id)

    async def _learn(self) -> None:
        """Bring all to rest, let clients repeat what nobody answered, and take over what is."""
        await self._silence()
        for sent in self.requests.values():
            if sent.receipt is None:
                await self._send(sent)
            if sent.receipt is not None and sent.receipt.id not in self.model.prompts:
                self._taker(sent)
                self._prompt(sent)
        await self._silence()
        handed = self._handed_over()
        for chat in self.model.open():
            await self._learn_chat(chat, list(dict.fromkeys(handed[chat.id])))
        for prompt in self.model.prompts.values():
            prompt.status = await self._status(prompt.id)
        await self._check_log()

    async def _learn_chat(self, chat: Chat, delivered: list[str]) -> None:
        chat.is_paused = (await self.house.session(chat.id)).is_queue_paused
        chat.turn, chat.pending, chat.delivered = None, [], delivered
        for row in await self.house.engine.queue.pending(chat.id):
            prompt = self.model.prompts[row.id]
            prompt.held, prompt.delivery, prompt.parts = row.held, row.delivery, row.parts
            chat.pending.append(prompt)
        assert not chat.next_prompts(), "something could go on, but nobody does it"

    async def _silence(self) -> None:
        """Interrupt until nobody does anything."""
        for chat in self.model.open():
            while self.house.engine.coordinator.status(chat.id).word != "idle":
                await self.house.engine.control.interrupt(chat.id)
                await next_turn()

    async def _status(self, prompt_id: str) -> Any:
        (row,) = (await self.house.storage.get_rows(PROMPTS.table.name, [(prompt_id,)])).rows
        return row["status"]

    async def _differences(self) -> AsyncIterator[str]:
        handed = self._handed_over()
        for chat in self.model.chats.values():
            word = self.house.engine.coordinator.status(chat.id).word
            if word != _word(chat.turn):
                yield f"{chat.id} is {word} instead of {_word(chat.turn)}"
            last = [a.status.word for a in self._heard(chat)][-1:]
            if last not in ([], [word]):
                yield f"{chat.id} was announced as {last} and is {word}"
            if (names := list(dict.fromkeys(handed[chat.id]))) != chat.delivered:
                yield f"{chat.id} was handed {names} instead of {chat.delivered}"
            if not chat.is_deleted:
                async with self.house.engine._parts.queues.hold(chat.run_id) as held:
                    for difference in self._compare(chat, held):
                        yield difference
        for prompt in self.model.prompts.values():
            if (status := await self._status(prompt.id)) != prompt.status:
                yield f"{prompt.id} is {status} instead of {prompt.status}"

    def _heard(self, chat: Chat) -> Iterator[StatusChanged]:
        for said in self.house.heard:
            if isinstance(said, StatusChanged) and said.session_id == chat.id:
                assert said.status.word in LIVE_WORDS
                yield said

    def _compare(self, chat: Chat, held: HeldRun) -> Iterator[str]:
        session, turn = held.session(chat.id), held.open_turn(chat.id)
        assert session is not None
        wanted = "idle" if chat.turn is None else "running"
        if session.status != ("completed" if chat.is_completed else wanted):
            yield f"the row of {chat.id} says {session.status}, but {chat}"
        if session.is_queue_paused != chat.is_paused:
            yield f"the queue of {chat.id} is paused: {session.is_queue_paused}"
        found = [(p.id, p.delivery, p.held, p.parts) for p in held.pending(chat.id)]
        if found != [(p.id, p.delivery, p.held, p.parts) for p in chat.pending]:
            yield f"{chat.id} has pending {found}, but {chat.pending}"
        if (turn is None) != (chat.turn is None):
            yield f"{chat.id} has the turn {turn}, but {chat.turn}"
        if chat.turn is not None and not self._stands(chat.turn):
            yield f"the agent of {chat.id} has not come to {chat.turn.gate}"

    def _stands(self, turn: Turn) -> bool:
        if turn.is_asking or turn.is_retrying:
            return True
        runtimes = self.house._runtimes
        return bool(runtimes) and runtimes[-1].gates._reached[turn.gate].is_set()

    def _handed_over(self) -> dict[str, list[str]]:
        found: defaultdict[str, list[str]] = defaultdict(list)
        text = self._journal.read_text() if self._journal.exists() else ""
        for line in map(json.loads, text.splitlines()):
            found[line["session_id"]] += line["prompt_ids"]
        return found

    async def _check_log(self) -> None:
        """One turn at a time; nothing handed over that was not recorded, nothing twice."""
        open_turns: dict[str | None, str] = {}
        recorded: Counter[str] = Counter()
        retried: Counter[str] = Counter()
        in_turn: dict[str, tuple[str, ...]] = {}
        for one in await self.house.log():
            fact = fact_of(one)
            match None if fact is None else fact.event:
                case TurnStarted(turn_id=turn_id):
                    assert open_turns.setdefault(one.session_id, turn_id) == turn_id
                case TurnEnded():
                    open_turns.pop(one.session_id)
                case TurnDispatched(turn_id=turn_id, prompt_ids=prompt_ids):
                    recorded.update(prompt_ids)
                    in_turn[turn_id] = in_turn.get(turn_id, ()) + prompt_ids
                case TurnRetrying(turn_id=turn_id):
                    retried.update(set(in_turn[turn_id]))
        handed = Counter(name for names in self._handed_over().values() for name in names)
        for name, count in handed.items():
            assert count <= recorded[name] <= 1 + retried[name], name


def _delivery(request: PromptRequest) -> Delivery:
    return "steer" if request.replaces_turn else request.delivery


def _word(turn: Turn | None) -> str:
    if turn is None:
        return "idle"
    if turn.is_retrying:
        return "retry"
    return "waiting" if turn.is_asking else "busy"

"""Admits prompts, durably and once, and changes the queue in which they wait.

An answer means "on disk". A prompt's id is unique over all runs; a request that repeats one is
judged against the admission, whatever has become of the prompt since.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from spaced.domain.events.event import Event
from spaced.domain.events.prompt import (
    Delivery,
    PromptAdmitted,
    PromptEdited,
)
from spaced.domain.events.session import SessionConfigured
from spaced.domain.json_values import JsonObject
from spaced.domain.prompt import AdmittedPrompt, digest_of_parts
from spaced.domain.prompt_parts import check_parts, title_from
from spaced.domain.prompt_queue import rank_ahead, rank_behind, release
from spaced.domain.session import Session
from spaced.engine.coordinator import Claim, Coordinator
from spaced.engine.held_run import HeldRun, about
from spaced.engine.parts import EngineParts
from spaced.engine.recipients import recipient_of
from spaced.engine.session_commands import living_session
from spaced.errors import KeyTaken
from spaced.identifiers import accept
from spaced.log.read_models.lives import PROMPTS
from spaced.refusals import (
    PromptConflict,
    SessionDeleted,
    SessionTerminal,
    UnknownRun,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Whom a request names: a session, or a run for its primary."""

    kind: Literal["session", "run"]
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptRequest:
    """What a client wants to say.

    Attributes:
        prompt_id: the client's own id, so that asking again never says it twice.
        wake: false admits it held: it waits until somebody releases it.
        replaces_turn: a turn that runs is interrupted, and this goes next.
    """

    parts: Sequence[JsonObject]
    delivery: Delivery = "queue"
    prompt_id: str | None = None
    wake: bool = True
    replaces_turn: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The answer to an admission; a repeat gets the same one."""

    id: str
    session_id: str
    admitted_version: int
    delivery: Delivery
    queue_index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """A receipt, and the claim that lets the session begin once the receipt is delivered."""

    receipt: Receipt
    claim: Claim


class Prompts:
    """The commands about prompts."""

    def __init__(self, parts: EngineParts, coordinator: Coordinator) -> None:
        self._parts = parts
        self._coordinator = coordinator

    async def send(self, address: Address, request: PromptRequest) -> Receipt:
        """Admit a prompt and let its session begin at once."""
        admitted = await self.admit(address, request)
        admitted.claim.go()
        return admitted.receipt

    async def admit(self, address: Address, request: PromptRequest) -> Admitted:
        """Admit a prompt; when this returns it is on disk.

        The caller answers its client and then lets the claim go, whatever became of the answer.

        Raises:
            InvalidPrompt: its parts cannot be a prompt.
            PromptConflict: another prompt was admitted under its id.
            UnknownSession: there is no such session.
            SessionTerminal: the session failed or was cancelled.
            SessionDeleted: the session was deleted.
        """
        parts = check_parts(request.parts)
        own = request.prompt_id
        prompt_id = self._parts.ids.new("msg") if own is None else accept(own, what="prompt")
        admission = _Admission(address, request, parts, prompt_id)
        run_id = await self._run_of(address)
        work = self._admit(run_id, admission)
        return await self._parts.tasks.finish(
            work,
            name=f"admission of {prompt_id}",
            # A caller that hung up will not let the session begin.
            if_abandoned=lambda admitted: admitted.claim.go(),
        )

    async def _run_of(self, address: Address) -> str:
        if address.kind == "run":
            return address.id
        return await self._parts.queues.run_of_session(address.id)

    async def _admit(self, run_id: str, admission: "_Admission") -> Admitted:
        try:
            async with self._parts.queues.hold(run_id) as held:
                known = held.prompt(admission.prompt_id) if held.exists else None
                if known is not None:
                    return await self._repeat(held, known, admission)
                return await self._record(held, admission)
        except KeyTaken as taken:
            if taken.table != PROMPTS.table.name:
                raise
        except SessionTerminal:
            if not await self._is_known(admission.prompt_id):
                raise
        return await self._admitted_before(admission)

    async def _is_known(self, prompt_id: str) -> bool:
        return bool((await self._parts.storage.get_rows(PROMPTS.table.name, [(prompt_id,)])).rows)

    async def _record(self, held: HeldRun, admission: "_Admission") -> Admitted:
        named = self._named_session(held, admission.address)
        session, opening = recipient_of(self._parts, held, named)
        pending = held.pending(session.id)
        request = admission.request
        events: list[Event] = []
        if session.title is None:
            title = title_from(admission.parts)
            events += [SessionConfigured(title=title)] if title is not None else []
        if request.wake:
            events += release(pending, is_paused=session.is_queue_paused)
        rank = rank_ahead(pending) if request.replaces_turn else rank_behind(pending)
        events.append(
            PromptAdmitted(
                prompt_id=admission.prompt_id,
                parts=admission.parts,
                delivery="steer" if request.replaces_turn else request.delivery,
                address={"kind": admission.address.kind, "id": admission.address.id},
                origin="person",
                held=not request.wake,
                rank=rank,
                queue_index=len(pending),
            )
        )
        held.expect_new(PROMPTS.table.name, admission.prompt_id)
        await held.append([*opening, *about(session.id, *events)])
        self._parts.reach("admitted")
        prompt = held.prompt(admission.prompt_id)
        assert prompt is not None
        if request.replaces_turn:
            self._coordinator.interrupt(session.id, "replace")
        return self._answer(held.id, prompt, wakes=request.wake)

    def _named_session(self, held: HeldRun, address: Address) -> Session:
        if address.kind == "session":
            return living_session(held, address.id)
        primary = held.run.primary_session_id if held.exists else None
        if primary is None:
            raise UnknownRun(address.id)
        return living_session(held, primary)

    async def _repeat(
        self, held: HeldRun, prompt: AdmittedPrompt, admission: "_Admission"
    ) -> Admitted:
        admission.judge(prompt)
        if prompt.status == "pending" and prompt.held:
            release_it = PromptEdited(prompt_id=prompt.id, held=False)
            await held.append(about(prompt.session_id, release_it))
        return self._answer(held.id, prompt, wakes=True)

    async def _admitted_before(self, admission: "_Admission") -> Admitted:
        """Answer a request whose id was taken before, perhaps in another run."""
        key = (admission.prompt_id,)
        rows = (await self._parts.storage.get_rows(PROMPTS.table.name, [key])).rows
        if not rows:
            raise SessionDeleted(f"the prompt {admission.prompt_id!r} was deleted with its session")
        async with self._parts.queues.hold(str(rows[0]["stream"])) as held:
            prompt = held.prompt(admission.prompt_id) or PROMPTS.state_of(rows[0])
            return await self._repeat(held, prompt, admission)

    def _answer(self, run_id: str, prompt: AdmittedPrompt, *, wakes: bool) -> Admitted:
        receipt = Receipt(
            id=prompt.id,
            session_id=prompt.admission.session_id,
            admitted_version=prompt.admission.version,
            delivery=prompt.admission.delivery,
            queue_index=prompt.admission.queue_index,
        )
        if not wakes:
            return Admitted(receipt=receipt, claim=Claim(lambda: None))
        return Admitted(receipt=receipt, claim=self._coordinator.claim(run_id, prompt.session_id))


@dataclass(frozen=True, slots=True)
class _Admission:
    """A request whose parts are checked and whose id is known."""

    address: Address
    request: PromptRequest
    parts: tuple[JsonObject, ...]
    prompt_id: str

    def judge(self, prompt: AdmittedPrompt) -> None:
        """Refuse a request that differs from what was admitted under its id."""
        first = prompt.admission
        differences = []
        if dict(first.address) != {"kind": self.address.kind, "id": self.address.id}:
            differences.append(f"to {first.address['kind']} {first.address['id']!r}")
        if first.digest != digest_of_parts(self.parts):
            differences.append("with other parts")
        delivery = "steer" if self.request.replaces_turn else self.request.delivery
        if first.delivery != delivery:
            differences.append(f"with delivery {first.delivery!r}")
        if differences:
            raise PromptConflict(
                f"the prompt {self.prompt_id!r} was admitted {' and '.join(differences)}"
            )

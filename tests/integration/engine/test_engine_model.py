"""The engine does what a small model says, whatever the order of commands, crashes and restarts."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from spaced.engine.engine import Engine
from spaced.engine.sessions import Configuration
from spaced.refusals import PromptNotPending, SessionBusy, SessionDeleted
from spaced.testing.storage_harness import MemoryStorageHarness
from tests.integration.engine.house import Houses
from tests.integration.engine.model import KINDS, Chat, Delivery, Kind, Prompt, parts_of
from tests.integration.engine.modelled_house import HASTY, ModelledHouse

_T = TypeVar("_T")
PATIENCE = 60
picks = st.integers(0, 9)


class EngineAndModel(RuleBasedStateMachine):
    """Tells both the same, and looks at both whenever the engine is at rest."""

    def __init__(self) -> None:
        super().__init__()
        self._runner = asyncio.Runner()
        self._scratch = tempfile.TemporaryDirectory()
        scratch = Path(self._scratch.name)
        self._harness = MemoryStorageHarness(scratch)
        self._home = ModelledHouse(Houses(self._harness, scratch), scratch)
        self._model = self._home.model
        self._is_disturbed = False

    @initialize(survive=st.tuples(st.booleans(), st.booleans()))
    def open(self, survive: tuple[bool, bool]) -> None:
        """Begin with two chats, whose agents may outlive the daemon."""
        self._run(self._home.open(survive))

    def teardown(self) -> None:
        """Let every living session answer once more, and leave nothing behind."""
        try:
            if self._model.chats:
                self._run(self._home.finish())
        finally:
            self._run(self._home.close())
            self._run(self._harness.close())
            self._runner.close()
            self._scratch.cleanup()

    @rule(
        pick=picks,
        kind=st.sampled_from(KINDS),
        delivery=st.sampled_from(["queue", "queue", "steer"]),
        wake=st.sampled_from([True, True, False]),
        replaces=st.sampled_from([False, False, False, True]),
    )
    def admit(self, pick: int, kind: Kind, delivery: Delivery, wake: bool, replaces: bool) -> None:
        """Send a prompt; to a completed session it goes to its follow-up."""
        chat = self._pick(self._model.living(), pick)
        if chat is None:
            return
        self._run(self._home.admit(chat, kind, delivery, wake=wake, replaces=replaces))

    @rule(pick=picks, change=st.sampled_from(["", "", "parts", "delivery"]))
    def repeat(self, pick: int, change: str) -> None:
        """Send a prompt's id again: the first answer, or the difference."""
        prompt = self._pick(self._model.prompts.values(), pick)
        if prompt is None:
            return
        self._run(self._home.repeat(prompt, change))

    @rule(pick=picks, delivery=st.sampled_from([None, "queue", "steer"]), text=st.booleans())
    def edit(self, pick: int, delivery: Delivery | None, text: bool) -> None:
        """Change a prompt, if it is still there to be changed."""
        prompt = self._pick(self._model.prompts.values(), pick)
        if prompt is None:
            return
        parts = parts_of(prompt.kind, prompt.id, "edited") if text else None
        queue = self._engine.queue

        def change(chat: Chat) -> None:
            prompt.delivery = prompt.delivery if delivery is None else delivery
            prompt.parts = prompt.parts if parts is None else parts
            chat.go_on()

        edit = queue.edit(self._place(prompt), prompt.id, parts=parts, delivery=delivery)
        self._change(prompt, edit, change)

    @rule(pick=picks)
    def cancel(self, pick: int) -> None:
        """Cancel a prompt, if it is still there to be cancelled."""
        prompt = self._pick(self._model.prompts.values(), pick)
        if prompt is None:
            return

        def change(chat: Chat) -> None:
            prompt.status = "cancelled"
            chat.pending.remove(prompt)

        cancel = self._engine.queue.cancel(self._place(prompt), prompt.id)
        self._change(prompt, cancel, change)

    @rule(pick=picks, index=st.integers(0, 4))
    def move(self, pick: int, index: int) -> None:
        """Move a pending prompt."""
        prompt = self._pick(self._pending(), pick)
        if prompt is None:
            return

        def change(chat: Chat) -> None:
            chat.pending.remove(prompt)
            chat.pending.insert(index, prompt)

        move = self._engine.queue.move(self._place(prompt), prompt.id, to_index=index)
        self._change(prompt, move, change)

    @rule(pick=picks)
    def send_now(self, pick: int) -> None:
        """Let a pending prompt overtake."""
        prompt = self._pick(self._pending(), pick)
        if prompt is None:
            return

        def change(chat: Chat) -> None:
            prompt.delivery, prompt.held, chat.is_paused = "steer", False, False
            chat.go_on()

        send = self._engine.queue.send_now(self._place(prompt), prompt.id)
        self._change(prompt, send, change)

    @rule(pick=picks, resumes=st.booleans())
    def pause_or_resume(self, pick: int, resumes: bool) -> None:
        """Hold a queue, or let it go on."""
        chat = self._pick(self._model.open(), pick)
        if chat is None:
            return
        queue = self._engine.queue
        self._run(queue.resume(chat.id) if resumes else queue.pause(chat.id))
        if resumes:
            chat.release()
            chat.go_on()
        else:
            chat.is_paused = True

    @rule(pick=picks)
    def end_turn(self, pick: int) -> None:
        """Let an agent through its gate."""
        chat = self._pick(self._at_gates(), pick)
        if chat is None or chat.turn is None:
            return
        self._run(self._home.open_gate(chat.turn.gate))
        chat.end_turn()

    @rule(pick=picks, is_allowed=st.booleans())
    def answer(self, pick: int, is_allowed: bool) -> None:
        """Answer a permission."""
        chat = self._pick(self._asking(), pick)
        if chat is None or chat.turn is None:
            return
        (ask,) = self._run(self._engine.asks.open(chat.id))
        option = "allow" if is_allowed else "reject"
        self._run(self._engine.asks.answer_permission(ask.id, option_id=option))
        chat.turn.is_asking = False

    @rule(pick=picks, twice=st.booleans())
    def interrupt(self, pick: int, twice: bool) -> None:
        """Interrupt a session once, or twice in a row."""
        chat = self._pick(self._model.open(), pick)
        if chat is None:
            return
        was_stubborn = chat.turn is not None and chat.turn.is_stubborn
        assert self._run(self._engine.control.interrupt(chat.id)) == chat.interrupt()
        if twice and was_stubborn:
            # Of any other agent it is not known whether it has stopped by now.
            assert self._run(self._engine.control.interrupt(chat.id)) == chat.interrupt()

    @rule(pick=picks, force=st.sampled_from([False, False, True]))
    def delete(self, pick: int, force: bool) -> None:
        """Delete a session, of which nothing goes on afterwards; its last one goes with its run."""
        chat = self._pick(self._model.living(), pick)
        if chat is None or len(self._model.living()) < 2:
            return
        gone = list(self._model.of_run(chat))
        work = self._engine.deletions.delete(chat.id, force=force)
        if not force and any(one.turn is not None for one in gone):
            with pytest.raises(SessionBusy):
                self._run(work)
            return
        self._run(work)
        for one in gone:
            one.delete()

    @rule(pick=picks)
    def complete(self, pick: int) -> None:
        """End a session for good; its next prompt opens a follow-up."""
        chat = self._pick(self._model.open(), pick)
        if chat is None:
            return
        work = self._engine.sessions.complete(chat.id)
        if chat.turn is not None or chat.pending:
            with pytest.raises(SessionBusy):
                self._run(work)
            return
        self._run(work)
        chat.is_completed = True

    @rule(pick=picks, title=st.sampled_from(["one", "two"]))
    def configure(self, pick: int, title: str) -> None:
        """Change what never matters to a queue."""
        chat = self._pick(self._model.open(), pick)
        if chat is None:
            return
        changes = Configuration(title=title, mode=title)
        self._run(self._engine.sessions.configure(chat.id, changes))

    @rule(pick=picks)
    def reset(self, pick: int) -> None:
        """Let the conversation begin anew, unless a turn runs."""
        chat = self._pick(self._model.open(), pick)
        if chat is None:
            return
        work = self._engine.control.reset(chat.id)
        if chat.turn is None:
            self._run(work)
            return
        with pytest.raises(SessionBusy):
            self._run(work)

    @rule()
    def pass_time(self) -> None:
        """Let everything that waits for the clock have its time."""
        self._run(self._home.pass_time())
        for chat in self._model.open():
            chat.pass_time()

    @rule(is_crash=st.booleans())
    def begin_another_life(self, is_crash: bool) -> None:
        """Crash, or stop well, and start again."""
        self._run(self._home.begin_another_life(is_crash=is_crash))
        for chat in self._model.open():
            if is_crash and chat.survives:
                chat.survive()
            else:
                chat.end_turn()

    @rule(
        acts=st.lists(st.tuples(st.sampled_from(HASTY), picks), min_size=2, max_size=5),
        crashes_after=st.none() | st.integers(0, 30),
    )
    def act_in_haste(self, acts: list[tuple[str, int]], crashes_after: int | None) -> None:
        """Do several things at once, perhaps with a crash among them, then let all come to rest."""
        self._run(self._home.act_in_haste(acts, crashes_after))

    @invariant()
    def they_agree(self) -> None:
        """At rest, all that can be seen of the engine is what the model says."""
        if self._is_disturbed:
            self._run(self._home.settle())
            self._is_disturbed = False

    @property
    def _engine(self) -> Engine:
        return self._home.house.engine

    def _run(self, work: Awaitable[_T]) -> _T:
        self._is_disturbed = True

        async def bounded() -> _T:
            async with asyncio.timeout(PATIENCE):
                return await work

        return self._runner.run(bounded())

    def _pick(self, those: Iterable[_T], pick: int) -> _T | None:
        """Choose one, if there is any; a precondition would see what depends on the weather."""
        some = list(those)
        return some[pick % len(some)] if some else None

    def _asking(self) -> list[Chat]:
        return [c for c in self._model.open() if c.turn is not None and c.turn.is_asking]

    def _at_gates(self) -> list[Chat]:
        turns = [(chat, chat.turn) for chat in self._model.open()]
        return [c for c, t in turns if t is not None and not (t.is_asking or t.is_retrying)]

    def _pending(self) -> list[Prompt]:
        return [prompt for chat in self._model.open() for prompt in chat.pending]

    def _place(self, prompt: Prompt) -> str:
        return self._home.requests[prompt.id].session_id

    def _change(
        self, prompt: Prompt, work: Awaitable[object], change: Callable[[Chat], None]
    ) -> None:
        """Change a prompt; where that cannot be, be told why."""
        chat = self._model.chats[self._place(prompt)]
        if chat.is_deleted:
            with pytest.raises(SessionDeleted):
                self._run(work)
        elif prompt.status != "pending":
            with pytest.raises(PromptNotPending, match=prompt.status):
                self._run(work)
        else:
            self._run(work)
            change(chat)


TestEngineAndModel = EngineAndModel.TestCase
TestEngineAndModel.settings = settings(
    max_examples=60,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

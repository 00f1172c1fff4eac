"""A sink that keeps what is reported, and on which a test waits without looking again and again."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias, TypeVar

from spaced.runtime.updates import (
    AskWithdrawn,
    ContinuityChanged,
    ExecutionFinished,
    ItemUpserted,
    PermissionWanted,
    PromptNotTaken,
    QuestionWanted,
    TextAppended,
    TurnFinished,
    Update,
)

PATIENCE_SECONDS: Final = 10.0
"""How long a test waits for what should come; only one that fails does."""

Ending: TypeAlias = TurnFinished | PromptNotTaken | ExecutionFinished
Ask: TypeAlias = PermissionWanted | QuestionWanted
U = TypeVar("U", bound=Update)


class RecordingSink:
    """Takes updates; held, it takes none until it is released.

    Attributes:
        updates: what was taken, in order.
        at_once: the largest number of reports that were under way at the same time.
    """

    def __init__(self, *, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._patience = patience_seconds
        self.updates: list[Update] = []
        self.at_once = 0
        self._under_way = 0
        self._begun = 0
        self._open = asyncio.Event()
        self._open.set()
        self._changes: set[asyncio.Future[None]] = set()

    @property
    def begun(self) -> int:
        """How many reports were begun since it was held last, whether or not they were taken."""
        return self._begun

    async def report(self, update: Update) -> None:
        """Take an update, once the sink is not held."""
        self._under_way += 1
        self._begun += 1
        self.at_once = max(self.at_once, self._under_way)
        self._announce()
        try:
            await self._open.wait()
            self.updates.append(update)
        finally:
            self._under_way -= 1
        self._announce()

    def hold(self) -> None:
        """Make every report wait from now on."""
        self._begun = 0
        self._open.clear()

    def release(self) -> None:
        """Take what waits, and whatever comes."""
        self._open.set()

    async def until(self, is_so: Callable[[Sequence[Update]], bool], *, what: str = "it") -> None:
        """Return once something is true of the updates.

        Raises:
            AssertionError: it does not become true.
        """
        await self._wait(lambda: is_so(self.updates), what)

    async def until_begun(self, count: int) -> None:
        """Return once this many reports were begun since it was held last."""
        await self._wait(lambda: self._begun >= count, f"report {count} to begin")

    async def until_one(self, kind: type[U], *, number: int = 1) -> U:
        """Return the n-th update of a kind, once it is there."""
        await self._wait(lambda: len(self.of(kind)) >= number, f"{kind.__name__} number {number}")
        return self.of(kind)[number - 1]

    async def end_of(self, turn_id: str) -> Ending:
        """Return what ended a turn, once it has."""
        await self._wait(lambda: bool(self.ends_of(turn_id)), f"the end of turn {turn_id!r}")
        return self.ends_of(turn_id)[0]

    async def ask(self, *, number: int = 1) -> Ask:
        """Return the n-th ask, once it is there."""
        await self._wait(lambda: len(self.asks()) >= number, f"ask number {number}")
        return self.asks()[number - 1]

    def of(self, kind: type[U]) -> list[U]:
        """Return the updates of a kind."""
        return [update for update in self.updates if isinstance(update, kind)]

    def asks(self) -> list[Ask]:
        """Return the asks."""
        return [u for u in self.updates if isinstance(u, PermissionWanted | QuestionWanted)]

    def ends_of(self, turn_id: str) -> list[Ending]:
        """Return everything that ended a turn; more than one is a fault."""
        return [
            update
            for update in self.updates
            if isinstance(update, ExecutionFinished)
            or (isinstance(update, TurnFinished | PromptNotTaken) and update.turn_id == turn_id)
        ]

    def withdrawn(self) -> set[str]:
        """Return the names of the asks that were withdrawn."""
        return {update.ask_id for update in self.of(AskWithdrawn)}

    def continuity(self) -> ContinuityChanged | None:
        """Return what continues the conversation, as it was last told."""
        told = self.of(ContinuityChanged)
        return told[-1] if told else None

    def items(self) -> dict[str, dict[str, object]]:
        """Return the items as they look now, by source, in the order of their beginning."""
        items: dict[str, dict[str, object]] = {}
        for update in self.updates:
            if isinstance(update, ItemUpserted):
                items.setdefault(update.source, {}).update(update.item)
            elif isinstance(update, TextAppended):
                opening = {"type": update.item_type, **(update.opens_with or {})}
                item = items.setdefault(update.source, dict(opening))
                item[update.field] = f"{item.get(update.field) or ''}{update.text}"
        return items

    def text(self, item_type: str = "message", field: str = "content") -> str:
        """Return the text of all items of a type, one after the other."""
        items = self.items().values()
        return "".join(str(i.get(field, "")) for i in items if i.get("type") == item_type)

    async def _wait(self, is_so: Callable[[], bool], what: str) -> None:
        try:
            async with asyncio.timeout(self._patience):
                while not is_so():
                    await self._change()
        except TimeoutError:
            seen = [type(update).__name__ for update in self.updates[-10:]]
            raise AssertionError(f"waited in vain for {what}; the last updates: {seen}") from None

    async def _change(self) -> None:
        change: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._changes.add(change)
        try:
            await change
        finally:
            self._changes.discard(change)

    def _announce(self) -> None:
        for change in self._changes:
            if not change.done():
                change.set_result(None)

"""Runtimes that report wrongly: the scripted one, with something before its sinks."""

import asyncio
from dataclasses import replace
from typing import ClassVar

from spaced.runtime.protocol import (
    Sink,
)
from spaced.runtime.updates import (
    ConversationLost,
    ExecutionFinished,
    ItemUpserted,
    TextAppended,
    TurnFinished,
    Update,
)
from tests.contract.faulty_runtimes import FaultyRuntime, PassingSink


class ReportsOutOfOrder(FaultyRuntime):
    """Turns pieces of text around, two by two."""

    class sink_type(PassingSink):  # noqa: N801 - it takes the place of an attribute
        _kept: Update | None = None

        async def report(self, update: Update) -> None:
            if isinstance(update, TextAppended) and self._kept is None:
                self._kept = update
                return
            await self._sink.report(update)
            if self._kept is not None:
                kept, self._kept = self._kept, None
                await self._sink.report(kept)


class DropsTheLastText(FaultyRuntime):
    """Loses the piece that is still on its way when a message is complete."""

    class sink_type(PassingSink):  # noqa: N801
        _kept: Update | None = None

        async def report(self, update: Update) -> None:
            kept, self._kept = self._kept, None
            if isinstance(update, TextAppended):
                self._kept = update
                if kept is not None:
                    await self._sink.report(kept)
            else:
                await self._sink.report(update)


class FinishesTwice(FaultyRuntime):
    """Ends each turn twice."""

    class sink_type(PassingSink):  # noqa: N801
        async def report(self, update: Update) -> None:
            await self._sink.report(update)
            if isinstance(update, TurnFinished):
                await self._sink.report(update)


class FinishesBeforeItsLastWord(FaultyRuntime):
    """Says a little more when the turn has ended."""

    class sink_type(PassingSink):  # noqa: N801
        async def report(self, update: Update) -> None:
            await self._sink.report(update)
            if isinstance(update, TurnFinished):
                late = {"type": "message", "role": "assistant", "content": "And another thing."}
                await self._sink.report(
                    ItemUpserted(source="late", item=late, turn_id=update.turn_id)
                )


class FinishesATurnAfterACrash(FaultyRuntime):
    """Tidies up after the execution has ended."""

    class sink_type(PassingSink):  # noqa: N801
        async def report(self, update: Update) -> None:
            await self._sink.report(update)
            if isinstance(update, ExecutionFinished):
                await self._sink.report(TurnFinished(turn_id="turn-1", outcome="failed"))


class DoesNotWaitForTheSink(FaultyRuntime):
    """Reports whatever it has, all at once."""

    class sink_type(PassingSink):  # noqa: N801
        reports: ClassVar[set[asyncio.Task[None]]] = set()

        async def report(self, update: Update) -> None:
            task = asyncio.get_running_loop().create_task(self._sink.report(update))
            self.reports.add(task)
            task.add_done_callback(self.reports.discard)

    async def end(self) -> None:
        await super().end()
        for report in self.sink_type.reports:
            report.cancel()


class MixesSessions(FaultyRuntime):
    """Reports everything to the session that was opened last."""

    class sink_type(PassingSink):  # noqa: N801
        newest: "MixesSessions.sink_type | None" = None

        def __init__(self, sink: Sink) -> None:
            super().__init__(sink)
            type(self).newest = self

        async def report(self, update: Update) -> None:
            newest = type(self).newest
            assert newest is not None
            await newest._sink.report(update)


class LosesTheTurn(FaultyRuntime):
    """Reports items as if they belonged to no turn."""

    class sink_type(PassingSink):  # noqa: N801
        async def report(self, update: Update) -> None:
            if isinstance(update, ItemUpserted | TextAppended):
                update = replace(update, turn_id=None)
            await self._sink.report(update)


class ReusesSources(FaultyRuntime):
    """Counts items anew in each turn."""

    class sink_type(PassingSink):  # noqa: N801
        async def report(self, update: Update) -> None:
            if isinstance(update, ItemUpserted | TextAppended):
                update = replace(update, source="item-" + update.source.rpartition(".")[2])
            await self._sink.report(update)


class LosesAConversationInSilence(FaultyRuntime):
    """Begins a new conversation as if it were the old one."""

    class sink_type(PassingSink):  # noqa: N801
        async def report(self, update: Update) -> None:
            if not isinstance(update, ConversationLost):
                await self._sink.report(update)

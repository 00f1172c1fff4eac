"""What a scripted agent says in one turn or outside of any, and which items are still open."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from spaced.plugin_api import ItemUpserted, JsonObject, Reporter, TextAppended, Update

_CUT_SHORT: Final[Mapping[str, JsonObject]] = {
    "message": {"stream_status": "interrupted"},
    "reasoning": {"stream_status": "interrupted"},
    "tool-call": {"status": "interrupted"},
    "tool-result": {"is_error": True},
}


class Voice:
    """Reports items under one turn's id."""

    def __init__(
        self,
        reporter: Reporter,
        *,
        turn_id: str | None,
        prefix: str,
        items: dict[str, dict[str, Any]] | None = None,
    ) -> None:
        """Speak for a turn.

        Args:
            reporter: where everything goes.
            turn_id: the turn; `None` speaks outside of any.
            prefix: begins every source, so that no two turns share one.
            items: where whole items are kept up to date, if somebody will ask for them again.
        """
        self.turn_id = turn_id
        self.prefix = prefix
        self.is_repeating = False
        self._reporter = reporter
        self._items = items
        self._open: dict[str, str] = {}

    async def report(self, update: Update) -> None:
        """Report something that is no item."""
        await self._reporter.report(update)

    async def show(self, source: str, item_type: str, **fields: object) -> None:
        """Report an item, or what has changed of it."""
        await self.show_item(source, {"type": item_type, **fields})

    async def show_item(self, source: str, item: JsonObject, *, call: int | None = None) -> None:
        """Report an item as it stands."""
        self._note(source, item)
        await self._reporter.report(
            ItemUpserted(source=source, item=item, turn_id=self.turn_id, round=call)
        )

    async def stream(
        self,
        source: str,
        pieces: Iterable[str],
        *,
        opens_with: JsonObject | None = None,
        is_kept: bool = True,
    ) -> None:
        """Report the text of a message piece by piece; repeated after a restart, as a whole."""
        opening = {"type": "message", **(opens_with or {})}
        if self.is_repeating:
            whole = "".join(pieces) if is_kept else ""
            await self.show_item(source, {**opening, _growing_field(opening): whole})
            if is_kept:
                return
        for piece in pieces:
            await self.append(source, piece, opens_with=opening, is_kept=is_kept)

    async def append(
        self, source: str, text: str, *, opens_with: Mapping[str, object], is_kept: bool = True
    ) -> None:
        """Report one piece of the text of an item whose type is in `opens_with`."""
        item_type = opens_with["type"]
        field = _growing_field(opens_with)
        if source not in self._open:
            self._note(source, opens_with)
            self._open[source] = str(item_type)
        if self._items is not None and is_kept:
            item = self._items[source]
            item[field] = item.get(field, "") + text
        await self._reporter.report(
            TextAppended(
                source=source,
                text=text,
                item_type=item_type,  # type: ignore[arg-type]  # one of ours
                field=field,
                opens_with={k: v for k, v in opens_with.items() if k != "type"},
                turn_id=self.turn_id,
            )
        )

    async def repeat(self) -> None:
        """Report every kept item as a whole."""
        for source, item in list((self._items or {}).items()):
            await self.show_item(source, dict(item))

    async def cut_short(self) -> None:
        """Report what is still open as interrupted."""
        for source, item_type in list(self._open.items()):
            await self.show(source, item_type, **_CUT_SHORT.get(item_type, {}))
        self._open.clear()

    def _note(self, source: str, item: JsonObject) -> None:
        item_type = str(item.get("type"))
        is_open = item.get("stream_status") == "streaming" or item.get("status") in (
            "pending",
            "running",
        )
        if is_open:
            self._open[source] = item_type
        elif source in self._open and _closes(item_type, item):
            del self._open[source]
        if self._items is not None:
            self._items.setdefault(source, {}).update(item)


def _closes(item_type: str, item: JsonObject) -> bool:
    if item_type == "tool-call":
        return "status" in item
    if item_type == "tool-result":
        return "is_error" in item
    return "stream_status" in item


def _growing_field(item: Mapping[str, object]) -> str:
    return "output" if item["type"] == "tool-result" else "content"

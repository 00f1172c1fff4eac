"""What a transcript looks like on a strip of paper, from its items and from what becomes of them.

Every item begins a block. Text that grows is written as it comes; if another item was shown in
between, its block goes on further down. A block that changes is written again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from spaced.cli.chat.blocks import (
    Item,
    attachments_of,
    block_of,
    call_ending,
    call_title,
    opening_of,
)
from spaced.cli.chat.paper import OutputHead, Paper
from spaced.cli.chat.shown_text import Change, ShownText
from spaced.cli.chat.spans import Span, Style, bold, dim, escaped, one_line

_GROWING: Final = {"message": "content", "reasoning": "content", "tool-result": "output"}
_MARK: Final = "  | "
_LONGEST_HISTORY: Final = 10_000
_REMEMBERED: Final = 1000


@dataclass(slots=True)
class _Entry:
    """An item that was shown."""

    item: dict[str, Any]
    text: ShownText = field(default_factory=ShownText)
    head: OutputHead | None = None
    block: list[Span] = field(default_factory=list)
    ending: Span | None = None
    is_open: bool = True

    @property
    def growing(self) -> str | None:
        """The field whose text grows."""
        return _GROWING.get(str(self.item.get("type")))

    @property
    def style(self) -> Style:
        """How its text looks."""
        if self.item.get("type") == "message":
            return "bold" if self.item.get("role") == "user" else "plain"
        return "dim"


class TranscriptView:
    """The transcript of one session, as it is printed."""

    def __init__(self, paper: Paper) -> None:
        self._paper = paper
        self._entries: dict[str, _Entry] = {}
        self._calls: dict[str, str] = {}
        self._early: dict[str, list[tuple[int, str]]] = {}

    def begin(self, items: Iterable[Item]) -> None:
        """Show items that are there already."""
        self._entries.clear()
        self._calls.clear()
        self._early.clear()
        for item in items:
            self._put(str(item.get("id")), item, longest=_LONGEST_HISTORY)

    def take(self, kind: str, body: Mapping[str, Any]) -> bool:
        """Take an event or a delta; false: it is not about the transcript."""
        match kind:
            case "agent-item-appended" | "agent-item-upserted":
                self._put(str(body["item"]["id"]), body["item"])
            case "agent-item-updated":
                self._update(str(body["item_id"]), body["updates"])
            case "agent-item-text-appended":
                self._append(body)
            case "agent-item-delta":
                self._announce(body)
            case _:
                return False
        return True

    def reconnect(self, texts: Iterable[Mapping[str, Any]]) -> None:
        """Go on behind a gap, with what is announced and not recorded right now."""
        self._early.clear()
        for entry in self._entries.values():
            if entry.is_open:
                entry.text.reconnect()
        for text in texts:
            self._announce(text)

    def _put(self, item_id: str, item: Item, *, longest: int | None = None) -> None:
        known = self._entries.get(item_id)
        if known is not None:
            self._change(item_id, known, dict(item), item)
            return
        entry = self._entries[item_id] = _Entry(item=_without_text(item))
        if item.get("type") == "tool-call":
            self._calls[str(item.get("call_id"))] = item_id
        if entry.growing is None:
            self._show_block(item_id, entry)
        else:
            self._open_text(item_id, entry, item, longest)
        for offset, text in self._early.pop(item_id, ()):
            self._write(item_id, entry, entry.text.announce(offset, text))
        self._settle(item_id, entry)
        self._forget_old()

    def _update(self, item_id: str, updates: Mapping[str, Any]) -> None:
        entry = self._entries.get(item_id)
        if entry is not None:
            self._change(item_id, entry, {**entry.item, **updates}, updates)

    def _change(
        self, item_id: str, entry: _Entry, item: dict[str, Any], named: Mapping[str, Any]
    ) -> None:
        entry.item = _without_text(item)
        growing = entry.growing
        if growing is None:
            self._show_block(item_id, entry)
        elif isinstance(whole := named.get(growing), str):
            self._write(item_id, entry, entry.text.replace(whole))
        self._settle(item_id, entry)

    def _append(self, body: Mapping[str, Any]) -> None:
        item_id, offset, text = str(body["item_id"]), int(body["offset"]), str(body["text"])
        entry = self._entries.get(item_id)
        if entry is None:
            # An item from before the ones that are shown; what it is cannot be told from here.
            entry = self._entries[item_id] = _Entry(item={"type": "message"})
            entry.text = ShownText(begins_at=offset)
            self._paper.begin(item_id)
            self._paper.write(dim("[an earlier text goes on:]\n"))
        if entry.growing == body["field"]:
            self._write(item_id, entry, entry.text.append(offset, text))

    def _announce(self, body: Mapping[str, Any]) -> None:
        item_id, offset, text = str(body["item_id"]), int(body["offset"]), str(body["text"])
        entry = self._entries.get(item_id)
        if entry is None:
            self._early.setdefault(item_id, []).append((offset, text))
        elif entry.growing == body["field"]:
            self._write(item_id, entry, entry.text.announce(offset, text))

    def _open_text(self, item_id: str, entry: _Entry, item: Item, longest: int | None) -> None:
        if entry.growing == "output":
            entry.head = OutputHead(_MARK)
            self._begin_output(item_id, entry)
        else:
            self._paper.begin(item_id)
            if item.get("role") == "user":
                self._paper.leave_room()
            self._paper.write(opening_of(item))
        text = item.get(entry.growing or "")
        change = entry.text.append(0, text if isinstance(text, str) else "")
        if longest is not None and entry.head is None and len(change.text) > longest:
            hidden = len(change.text) - longest
            self._paper.write(dim(f"[{hidden} characters; /export writes all of it into a file] …"))
            change = Change(text=change.text[-longest:])
        self._write(item_id, entry, change)
        self._paper.write(Span(text=attachments_of(item), style=entry.style))

    def _begin_output(self, item_id: str, entry: _Entry) -> None:
        call_id = self._calls.get(str(entry.item.get("call_id")))
        if call_id is None or self._paper.owner != call_id:
            call = self._entries.get(call_id or "")
            title = call_title(call.item if call is not None else entry.item)
            self._paper.begin(item_id)
            self._paper.write(bold(f"* {title}"), dim("  output\n"))
        self._paper.begin(item_id)

    def _write(self, item_id: str, entry: _Entry, change: Change) -> None:
        if change.wrong or change.is_anew:
            self._correct(item_id, entry, change)
        if not change.text:
            return
        self._reopen(item_id, entry)
        text = escaped(change.text)
        shown = text if entry.head is None else entry.head.add(text)
        self._paper.write(Span(text=shown, style=entry.style))

    def _reopen(self, item_id: str, entry: _Entry) -> None:
        """Go back to the block of an item, if another one was written meanwhile."""
        if self._paper.owner == item_id:
            return
        if entry.head is not None:
            self._begin_output(item_id, entry)
            return
        self._paper.begin(item_id)
        self._paper.write(dim("[… goes on] "), opening_of(entry.item))

    def _correct(self, item_id: str, entry: _Entry, change: Change) -> None:
        if entry.head is not None and not change.text:
            return  # of an output only the beginning is shown anyway
        self._paper.begin(item_id)
        first = one_line(change.wrong, longest=30)
        told = f"[not kept: the last {len(change.wrong)} characters above, from “{first}” on]"
        self._paper.write(dim("[written anew:]\n" if change.is_anew else f"{told}\n"))

    def _show_block(self, item_id: str, entry: _Entry) -> None:
        block = block_of(entry.item)
        if block != entry.block:
            entry.block = block
            self._paper.begin(item_id)
            self._paper.write(*block)

    def _settle(self, item_id: str, entry: _Entry) -> None:
        """Show that an item has come to its end."""
        if entry.item.get("type") == "tool-call":
            self._end_call(item_id, entry)
        elif entry.growing is None:
            entry.is_open = False
        elif entry.is_open and not _is_streaming(entry.item):
            entry.is_open = False
            self._write(item_id, entry, entry.text.close())
            self._end_text(item_id, entry)

    def _end_text(self, item_id: str, entry: _Entry) -> None:
        if entry.head is None and entry.item.get("stream_status") == "interrupted":
            self._cut_off(item_id)
        if entry.head is not None and (rest := entry.head.rest()):
            self._reopen(item_id, entry)
            self._paper.end_line()
            self._paper.write(dim(f"{_MARK}{rest}"))
        if self._paper.owner == item_id:
            self._paper.end_line()

    def _cut_off(self, item_id: str) -> None:
        if self._paper.owner == item_id:
            self._paper.write(dim(" [cut off]"))
            return
        self._paper.begin(None)
        self._paper.write(dim("[the text above is cut off]\n"))

    def _end_call(self, item_id: str, entry: _Entry) -> None:
        ending = call_ending(entry.item)
        if ending is None or ending == entry.ending:
            return
        entry.ending, entry.is_open = ending, False
        is_below = self._paper.owner in (item_id, self._result_shown_last(entry))
        self._paper.begin(item_id)
        name = "" if is_below else f": {call_title(entry.item)}"
        self._paper.write(Span(text=f"{ending.text}{name}\n", style=ending.style))

    def _result_shown_last(self, call: _Entry) -> str | None:
        owner = self._entries.get(self._paper.owner or "")
        is_result = owner is not None and owner.item.get("type") == "tool-result"
        if owner is None or not is_result:
            return None
        same = owner.item.get("call_id") == call.item.get("call_id")
        return self._paper.owner if same else None

    def _forget_old(self) -> None:
        while len(self._entries) > _REMEMBERED:
            closed = (name for name, entry in self._entries.items() if not entry.is_open)
            oldest = next(closed, next(iter(self._entries)))
            del self._entries[oldest]
            self._calls = {c: i for c, i in self._calls.items() if i != oldest}


def _without_text(item: Item) -> dict[str, Any]:
    """Leave out what may be long and is kept elsewhere."""
    growing = _GROWING.get(str(item.get("type")))
    return {name: value for name, value in item.items() if name != growing}


def _is_streaming(item: Item) -> bool:
    return item.get("stream_status") == "streaming"

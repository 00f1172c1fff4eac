"""What is going on right now, kept from what is announced, so that it is exact at every moment.

A listener that has caught up is told this picture, and from then on what changes it. It is kept
and not read: a read would be of another moment than the one from which the listener goes on.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from spaced.api.presenting import ask_shape, live_shape
from spaced.api.streams.filters import EventFilter
from spaced.domain.ask import Ask, apply_to_ask, open_ask
from spaced.domain.event_codec import CODEC
from spaced.domain.events.ask import (
    AskExpired,
    PermissionAnswered,
    PermissionAsked,
    QuestionAnswered,
    QuestionAsked,
)
from spaced.domain.events.transcript import (
    AgentItemTextAppended,
    AgentItemUpdated,
    AgentItemUpserted,
)
from spaced.domain.events.turn import ExecutionEnded
from spaced.engine.announcements import StatusChanged, TextDelta
from spaced.engine.live_status import LiveStatus
from spaced.log.record import RecordedEvent

_ASKED = (PermissionAsked, QuestionAsked)
_SETTLED = (PermissionAnswered, QuestionAnswered, AskExpired)
_ABOUT_ASKS = frozenset(cls.kind for cls in (*_ASKED, *_SETTLED))
_ABOUT_TEXTS = frozenset(
    cls.kind for cls in (AgentItemTextAppended, AgentItemUpdated, AgentItemUpserted)
)


@dataclass(slots=True)
class _OpenText:
    """Text that was announced and is not recorded yet; `offset` in code points of the whole."""

    offset: int
    text: str


@dataclass(slots=True)
class Picture:
    """Live statuses, open asks, and texts on their way into the log."""

    _statuses: dict[str, tuple[str, LiveStatus]] = field(default_factory=dict)
    _asks: dict[str, tuple[str, Ask]] = field(default_factory=dict)
    _texts: dict[tuple[str, str], dict[tuple[str, str], _OpenText]] = field(default_factory=dict)

    @property
    def open_asks(self) -> int:
        """How many asks wait for an answer."""
        return len(self._asks)

    def begin(self, asks: Iterable[tuple[str, Ask]]) -> None:
        """Take the asks that were open before anything was announced, each with its run."""
        for run_id, ask in asks:
            self._asks.setdefault(ask.id, (run_id, ask))

    def status_changed(self, change: StatusChanged) -> None:
        """Take a session's new live status."""
        if change.status.word == "idle":
            self._statuses.pop(change.session_id, None)
        else:
            self._statuses[change.session_id] = (change.run_id, change.status)

    def text_came(self, delta: TextDelta) -> None:
        """Take text that may not be recorded yet."""
        texts = self._texts.setdefault((delta.run_id, delta.session_id), {})
        known = texts.get((delta.item_id, delta.field))
        if known is None or known.offset + len(known.text) != delta.offset:
            texts[delta.item_id, delta.field] = _OpenText(delta.offset, delta.text)
        else:
            known.text += delta.text

    def recorded(self, event: RecordedEvent) -> None:
        """Take a durable event."""
        if event.kind in _ABOUT_ASKS:
            self._take_ask(event)
        elif event.session_id is not None:
            self._take_text(event, (event.stream, event.session_id))

    def told(self, wanted: EventFilter) -> Mapping[str, object]:
        """Return what a listener wants to know of it."""
        statuses = {
            session_id: live_shape(status)
            for session_id, (run_id, status) in self._statuses.items()
            if wanted.concerns(run_id=run_id, session_id=session_id)
        }
        asks = [
            ask_shape(ask)
            for run_id, ask in self._asks.values()
            if wanted.concerns(run_id=run_id, session_id=ask.session_id)
        ]
        texts = [
            {
                "session_id": session_id,
                "item_id": item_id,
                "field": name,
                "offset": text.offset,
                "text": text.text,
            }
            for (run_id, session_id), texts in self._texts.items()
            if wanted.concerns(run_id=run_id, session_id=session_id)
            for (item_id, name), text in texts.items()
        ]
        return {"statuses": statuses, "asks": asks, "texts": texts}

    def _take_ask(self, event: RecordedEvent) -> None:
        told = CODEC.decode(event.kind, event.body)
        if isinstance(told, _ASKED) and event.session_id is not None:
            ask = open_ask(told, session_id=event.session_id, created_at=event.created_at)
            self._asks[ask.id] = (event.stream, ask)
        elif isinstance(told, _SETTLED) and told.ask_id in self._asks:
            run_id, ask = self._asks[told.ask_id]
            if apply_to_ask(ask, told).status == "open":
                self._asks[told.ask_id] = (run_id, ask)
            else:
                del self._asks[told.ask_id]

    def _take_text(self, event: RecordedEvent, place: tuple[str, str]) -> None:
        texts = self._texts.get(place)
        if texts is None:
            return
        if event.kind == ExecutionEnded.kind:
            texts.clear()  # whatever was on its way has arrived or never will
        elif event.kind in _ABOUT_TEXTS and any(item == event.item_id for item, _ in texts):
            _remove_recorded(texts, event)
        if not texts:
            del self._texts[place]


def _remove_recorded(texts: dict[tuple[str, str], _OpenText], event: RecordedEvent) -> None:
    told = CODEC.decode(event.kind, event.body)
    match told:
        case AgentItemTextAppended(item_id=item_id, field=name, offset=offset, text=text):
            known = texts.get((item_id, name))
            if known is None:
                return
            covered = offset + len(text) - known.offset
            if covered >= len(known.text):
                del texts[item_id, name]
            elif covered > 0:
                texts[item_id, name] = _OpenText(known.offset + covered, known.text[covered:])
        case AgentItemUpdated(item_id=item_id, updates=updates):
            for name in updates:
                texts.pop((item_id, name), None)
        case AgentItemUpserted():
            for key in [key for key in texts if key[0] == event.item_id]:
                del texts[key]
        case _:
            pass

"""One connection's stream of events, read by one reader, in order."""

from collections import deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import aiohttp

from spaced_opencode.frames import FrameReader, FrameTooLarge
from spaced_opencode.problems import ServerUnreachable

_REMEMBERED: Final = 2000


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """Something that happened on the server."""

    type: str
    facts: Mapping[str, Any]


class EventSource:
    """Yields what the server tells, each event once."""

    def __init__(self, response: aiohttp.ClientResponse, url: str) -> None:
        self._response = response
        self._url = url
        self._seen: set[str] = set()
        self._order: deque[str] = deque()

    async def __aiter__(self) -> AsyncIterator[ServerEvent]:
        """Yield the events until the server ends the stream.

        Raises:
            ServerUnreachable: the stream cannot be read further.
        """
        reader = FrameReader()
        try:
            async for piece in self._response.content.iter_any():
                for frame in reader.feed(piece):
                    event = self._event(frame)
                    if event is not None:
                        yield event
        except FrameTooLarge as error:
            raise ServerUnreachable(self._url, "it sent an event without an end") from error

    def _event(self, frame: Mapping[str, Any]) -> ServerEvent | None:
        kind, facts, event_id = frame.get("type"), frame.get("properties"), frame.get("id")
        if not isinstance(kind, str) or not isinstance(facts, dict):
            return None
        if isinstance(event_id, str) and event_id:
            if event_id in self._seen:
                return None
            self._remember(event_id)
        return ServerEvent(kind, facts)

    def _remember(self, event_id: str) -> None:
        self._seen.add(event_id)
        self._order.append(event_id)
        if len(self._order) > _REMEMBERED:
            self._seen.discard(self._order.popleft())

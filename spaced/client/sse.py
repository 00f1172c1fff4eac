"""Reads server-sent events, as the HTML standard defines them, from bytes in any pieces."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from spaced.refusals import DaemonGone


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One event of a stream.

    Attributes:
        name: the kind of a durable event, or `hello reset live heartbeat lagged bye problem
            agent-item-delta status`.
        cursor: where the stream goes on behind it; `None` for what is not recorded.
    """

    name: str
    data: dict[str, Any]
    cursor: str | None = None


@dataclass(slots=True)
class FrameReader:
    """Gathers bytes until a frame is whole."""

    _rest: bytes = b""
    _name: str = ""
    _data: list[str] = field(default_factory=list)
    _cursor: str | None = None

    def feed(self, piece: bytes) -> Iterator[Frame]:
        """Take bytes and return the frames that they complete.

        Raises:
            DaemonGone: what comes is no event stream of ours.
        """
        text = self._rest + piece
        # A CR at the very end may be half of a CR LF.
        held = b"\r" if text.endswith(b"\r") else b""
        text = text.removesuffix(b"\r") if held else text
        *lines, rest = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = rest + held
        for line in lines:
            frame = self._take(line.decode("utf-8", "replace"))
            if frame is not None:
                yield frame

    def _take(self, line: str) -> Frame | None:
        if not line:
            return self._finish()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._name = value
        elif name == "id":
            self._cursor = value
        return None

    def _finish(self) -> Frame | None:
        name, data, cursor = self._name, "\n".join(self._data), self._cursor
        self._name, self._data, self._cursor = "", [], None
        if not data:
            return None
        try:
            return Frame(
                name=name, data=msgspec.json.decode(data, type=dict[str, Any]), cursor=cursor
            )
        except msgspec.MsgspecError as error:
            raise DaemonGone("the event stream holds something that is no JSON object") from error

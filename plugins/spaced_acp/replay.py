"""What an agent tells again of a conversation that it was asked to load.

It is collected for comparison and never reported as anything new. Only the newest entries are kept:
the daemon compares them with the end of its own transcript.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final

from spaced.plugin_api import JsonObject
from spaced_acp.reports import CallChanged, Report, Said

_KEPT: Final = 400
_LONGEST_TEXT: Final = 64 * 1024
_REMEMBERED: Final = 20_000


class Replay:
    """Collects what is told again.

    Attributes:
        is_open: whether the agent may still be telling.
    """

    def __init__(self) -> None:
        self.is_open = True
        self._entries: deque[dict[str, object]] = deque(maxlen=_KEPT)
        self._last: tuple[str, str | None] | None = None
        self._names: dict[str, None] = {}

    @property
    def entries(self) -> Sequence[JsonObject]:
        """Messages and tool calls in their order, the newest last."""
        return tuple(self._entries)

    def take(self, report: Report) -> bool:
        """Take what belongs to the transcript; false: it is something else."""
        match report:
            case Said():
                self._say(report)
                return True
            case CallChanged(call_id=call_id):
                self._last = None
                if self._remember(f"call:{call_id}"):
                    self._entries.append({"type": "tool-call", "call_id": call_id})
                return True
            case _:
                return False

    def _say(self, said: Said) -> None:
        if said.message_id is not None:
            self._remember(f"{said.speaker}:{said.message_id}")
        key = (said.speaker, said.message_id)
        if self._last == key:
            entry = self._entries[-1]
            entry["text"] = (str(entry["text"]) + said.text)[:_LONGEST_TEXT]
            return
        self._last = key
        is_reasoning = said.speaker == "reasoning"
        entry = {
            "type": "reasoning" if is_reasoning else "message",
            "role": "assistant" if is_reasoning else said.speaker,
            "text": said.text[:_LONGEST_TEXT],
        }
        self._entries.append(entry)

    def _remember(self, name: str) -> bool:
        """Note a name; false: it was noted before."""
        if name in self._names:
            return False
        self._names[name] = None
        if len(self._names) > _REMEMBERED:
            del self._names[next(iter(self._names))]
        return True

"""Permissions that the agent waits for: each is answered once, or settled when nobody will."""

from dataclasses import dataclass
from typing import Final

from spaced.plugin_api import PermissionAnswer, PermissionWanted
from spaced_acp.codec_v1 import permission_answer
from spaced_acp.link import AgentLink
from spaced_acp.messages import MessageId
from spaced_acp.reports import PermissionRequest
from spaced_acp.tool_calls import ToolCalls

_KINDS: Final = ("allow_once", "allow_always", "reject_once", "reject_always")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pending:
    message_id: MessageId
    call_id: str


class Permissions:
    """The open permissions of one agent's process; they die with it."""

    def __init__(self, execution_id: str, calls: ToolCalls) -> None:
        self._execution_id = execution_id
        self._calls = calls
        self._pending: dict[str, _Pending] = {}

    @property
    def are_open(self) -> bool:
        """Whether the agent waits for an answer."""
        return bool(self._pending)

    def want(
        self, message_id: MessageId, request: PermissionRequest, turn_id: str | None
    ) -> PermissionWanted:
        """Note a permission and return what is reported of it."""
        call = request.call
        ask_id = f"{self._execution_id}:{message_id}"
        self._pending[ask_id] = _Pending(message_id=message_id, call_id=call.call_id)
        tool_call = self._calls.item_of(call)
        return PermissionWanted(
            ask_id=ask_id,
            tool_kind=str(tool_call.get("kind") or "other"),
            tool_call=tool_call,
            options=request.options,
            subject=self._calls.subject_of(call),
            source=self._calls.source_of(call.call_id),
            turn_id=turn_id,
        )

    def answer(self, ask_id: str, answer: PermissionAnswer, link: AgentLink) -> bool:
        """Pass an answer on; false: nobody waits for it any more."""
        pending = self._pending.pop(ask_id, None)
        if pending is None:
            return False
        if not answer.is_allowed:
            self._calls.reject(pending.call_id)
        link.answer(pending.message_id, permission_answer(answer.option_id))
        return True

    def settle_all(self, link: AgentLink | None) -> list[str]:
        """Tell the agent that no answer comes any more, and return what it waited for.

        Args:
            link: `None` if the agent is gone.
        """
        settled, self._pending = self._pending, {}
        if link is not None:
            for pending in settled.values():
                link.answer(pending.message_id, permission_answer(None))
        return list(settled)


def is_answerable(request: PermissionRequest) -> bool:
    """Tell whether a permission offers anything that can be chosen."""
    return any(option["kind"] in _KINDS for option in request.options)

"""A turn in the middle of which a puppet is, and what it may do there."""

from typing import Any

from spaced.runtime.protocol import AgentConnection
from spaced.runtime.updates import PermissionWanted
from tests.unit.acp.puppet import SILENCE, Params, Puppet, Stage, turn_of

OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "yes-a", "name": "Yes, here", "kind": "allow_always"},
    {"optionId": "yes-b", "name": "Yes, for ever", "kind": "allow_always"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]
CALL: dict[str, Any] = {
    "toolCallId": "c1",
    "title": "rm x",
    "kind": "execute",
    "rawInput": {"command": "rm x"},
}


def silent(puppet: Puppet, params: Params) -> Any:
    """Answer later, or never."""
    return SILENCE


async def hanging(stage: Stage, **more: Any) -> tuple[Puppet, AgentConnection]:
    """Return a puppet in the middle of a turn."""
    puppet = Puppet(session__prompt=silent)
    connection = await stage.open(puppet, **more)
    await connection.start_turn(turn_of("go"))
    return puppet, connection


def finish(puppet: Puppet, **result: Any) -> None:
    """End the turn well."""
    ending = {"stopReason": "end_turn", **result}
    puppet.answer(puppet.id_of("session/prompt"), ending)


async def asked(stage: Stage, puppet: Puppet, **params: Any) -> PermissionWanted:
    """Let the puppet ask for a permission."""
    fields = {"sessionId": "conv-1", "toolCall": CALL, "options": OPTIONS, **params}
    puppet.ask(90, "session/request_permission", **fields)
    return await stage.sink.until_one(PermissionWanted)

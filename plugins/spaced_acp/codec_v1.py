"""Version 1 of the Agent Client Protocol: its names and its shapes, and no decisions.

Fields that are missing, null or of another type than promised are left out rather than refused:
agents differ, and what they say is kept as far as it can be read. The names are those of the
protocol's schema, version 1, and of extensions that agents in use send today.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from spaced.plugin_api import JsonObject
from spaced_acp.reports import (
    CallChanged,
    ContextUsed,
    InfoChanged,
    PermissionRequest,
    PlanReplaced,
    Report,
    Said,
    Speaker,
    TurnResult,
    Unknown,
)
from spaced_acp.settings import AgentSettings, Choice

VERSION: Final = 1

INITIALIZE: Final = "initialize"
AUTHENTICATE: Final = "authenticate"
NEW: Final = "session/new"
LOAD: Final = "session/load"
RESUME: Final = "session/resume"
LIST: Final = "session/list"
PROMPT: Final = "session/prompt"
CANCEL: Final = "session/cancel"
CANCEL_REQUEST: Final = "$/cancel_request"
UPDATE: Final = "session/update"
PERMISSION: Final = "session/request_permission"
SET_MODE: Final = "session/set_mode"
SET_MODEL: Final = "session/set_model"
SET_OPTION: Final = "session/set_config_option"

_SPEAKERS: Final[Mapping[str, Speaker]] = {
    "user_message_chunk": "user",
    "agent_message_chunk": "assistant",
    "agent_thought_chunk": "reasoning",
}
_STATUSES: Final = {
    "pending": "pending",
    "in_progress": "running",
    "completed": "completed",
    "failed": "failed",
    "cancelled": "interrupted",
}
_CALL_FIELDS: Final = {
    "rawInput": "raw_input",
    "rawOutput": "raw_output",
    "content": "content",
    "locations": "locations",
}
_USAGE: Final = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "totalTokens": "total_tokens",
    "thoughtTokens": "reasoning_tokens",
    "cachedReadTokens": "cached_read_tokens",
    "cachedWriteTokens": "cached_write_tokens",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFacts:
    """What an agent says about itself when it is greeted.

    Attributes:
        version: of the protocol, as the agent chose it.
        is_readable: whether it answered in the shape of version 1.
        login_methods: ids of the ways to log in.
    """

    version: object
    is_readable: bool
    name: str
    agent_version: str
    can_load: bool
    can_resume: bool
    can_list: bool
    takes_images: bool
    takes_audio: bool
    takes_resources: bool
    mcp_transports: frozenset[str]
    login_methods: tuple[str, ...]

    def as_details(self) -> JsonObject:
        """Return what a person is told of the agent."""
        return {
            "agent": self.name,
            "version": self.agent_version,
            "protocol": self.version,
            "continues_by": [
                name
                for name, is_there in (("resume", self.can_resume), ("load", self.can_load))
                if is_there
            ],
            "images": self.takes_images,
            "login_methods": list(self.login_methods),
        }


def initialize_params(client_version: str) -> JsonObject:
    """Return how we greet an agent.

    Neither files nor terminals of ours are offered: agents work without, version 2 has none, and
    some fail to write new files where they are offered.
    """
    return {
        "protocolVersion": VERSION,
        "clientCapabilities": {},
        "clientInfo": {"name": "spaced", "title": "spaced", "version": client_version},
    }


def read_facts(result: JsonObject) -> AgentFacts:
    """Return what an agent answered to the greeting."""
    capabilities = _object(result, "agentCapabilities")
    prompts = _object(capabilities, "promptCapabilities")
    mcp = _object(capabilities, "mcpCapabilities")
    sessions = _object(capabilities, "sessionCapabilities")
    info = _object(result, "agentInfo")
    methods = [m for m in _objects(result.get("authMethods")) if isinstance(m.get("id"), str)]
    return AgentFacts(
        version=result.get("protocolVersion"),
        is_readable=result.get("protocolVersion") == VERSION,
        name=_text(info.get("title")) or _text(info.get("name")) or "",
        agent_version=_text(info.get("version")) or "",
        can_load=capabilities.get("loadSession") is True,
        can_resume=sessions.get("resume") is not None,
        can_list=sessions.get("list") is not None,
        takes_images=prompts.get("image") is True,
        takes_audio=prompts.get("audio") is True,
        takes_resources=prompts.get("embeddedContext") is True,
        mcp_transports=frozenset(name for name in ("http", "sse") if mcp.get(name) is True),
        login_methods=tuple(str(method["id"]) for method in methods),
    )


def session_id_of(result: JsonObject) -> str | None:
    """Return the conversation's id from the answer that begins or continues one."""
    return _text(result.get("sessionId"))


def listed_sessions(result: JsonObject) -> tuple[frozenset[str], str | None]:
    """Return the ids on a page of the agent's conversations, and where the next page begins."""
    ids = {str(one.get("sessionId")) for one in _objects(result.get("sessions"))}
    return frozenset(ids), _text(result.get("nextCursor")) or None


def read_settings(result: JsonObject) -> AgentSettings:
    """Return what can be chosen, from the answer that begins or continues a conversation."""
    modes, models = _object(result, "modes"), _object(result, "models")
    return AgentSettings(
        mode=_choice(modes, SET_MODE, "availableModes", "id", "currentModeId"),
        model=_choice(models, SET_MODEL, "availableModels", "modelId", "currentModelId"),
        options=read_options(result.get("configOptions")),
    )


def read_options(options: object) -> Mapping[str, Choice]:
    """Return an agent's own options: by category where it is one that every agent has, or by id."""
    found: dict[str, Choice] = {}
    for option in _objects(options):
        option_id = _text(option.get("id"))
        if option_id is None:
            continue
        category = option.get("category")
        name = category if category in ("mode", "model") and category not in found else option_id
        current = option.get("currentValue")
        found[str(name)] = Choice(
            via=option_id,
            is_option=True,
            values=dict(_option_values(option.get("options"))),
            current=current if isinstance(current, str | bool) else None,
        )
    return found


def setting_request(choice: Choice, value: str | bool, session_id: str) -> tuple[str, JsonObject]:
    """Return the request that makes a choice: its method and its parameters."""
    if choice.is_option:
        return SET_OPTION, {"sessionId": session_id, "configId": choice.via, "value": value}
    name = "modeId" if choice.via == SET_MODE else "modelId"
    return choice.via, {"sessionId": session_id, name: value}


def read_update(params: JsonObject) -> Report:
    """Return what a `session/update` tells."""
    update = _object(params, "update")
    kind = _text(update.get("sessionUpdate")) or "unnamed"
    if kind in _SPEAKERS:
        return _said(update, _SPEAKERS[kind])
    reader = _READERS.get(kind)
    report = None if reader is None else reader(update)
    return report or Unknown(kind=f"acp:{kind}", payload=update)


def read_permission(params: JsonObject) -> PermissionRequest:
    """Return what a `session/request_permission` asks."""
    options = [
        {
            "option_id": str(option["optionId"]),
            "name": _text(option.get("name")) or str(option["optionId"]),
            "kind": _text(option.get("kind")) or "",
        }
        for option in _objects(params.get("options"))
        if isinstance(option.get("optionId"), str)
    ]
    call = _call(_object(params, "toolCall"))
    return PermissionRequest(
        conversation=_text(params.get("sessionId")) or "",
        call=call or CallChanged(call_id=""),
        options=tuple(options),
    )


def permission_answer(option_id: str | None) -> JsonObject:
    """Return the answer to a permission: the chosen option, or that nobody will choose any more."""
    if option_id is None:
        return {"outcome": {"outcome": "cancelled"}}
    return {"outcome": {"outcome": "selected", "optionId": option_id}}


def read_result(result: JsonObject) -> TurnResult:
    """Return how a turn ended."""
    told = _object(result, "usage")
    usage = {ours: told[theirs] for theirs, ours in _USAGE.items() if _is_number(told.get(theirs))}
    return TurnResult(stop_reason=_text(result.get("stopReason")) or "unknown", usage=usage or None)


def _said(update: JsonObject, speaker: Speaker) -> Said:
    content = update.get("content")
    message_id = _text(update.get("messageId")) or None
    if isinstance(content, Mapping):
        if content.get("type") == "text":
            text = _text(content.get("text")) or ""
            return Said(speaker=speaker, text=text, message_id=message_id)
        return Said(speaker=speaker, message_id=message_id, block=dict(content))
    return Said(speaker=speaker, text=_text(content) or "", message_id=message_id)


def _call(update: JsonObject) -> CallChanged | None:
    call_id = _text(update.get("toolCallId"))
    if not call_id:
        return None
    changes: dict[str, object] = {}
    if name := _tool_name(update):
        changes["name"] = name
    for field in ("title", "kind"):
        if isinstance(update.get(field), str):
            changes[field] = update[field]
    status = update.get("status")
    if isinstance(status, str):
        changes["status"] = _STATUSES.get(status, "running")
    # Codex has no field for what a command prints while it runs, so it puts that beside the others.
    printed = _object(_object(update, "_meta"), "terminal_output_delta").get("data")
    if isinstance(printed, str):
        changes["printed"] = printed
    for theirs, ours in _CALL_FIELDS.items():
        if update.get(theirs) is not None:
            changes[ours] = update[theirs]
    is_beginning = update.get("sessionUpdate") == "tool_call"
    return CallChanged(call_id=call_id, is_beginning=is_beginning, changes=changes)


def _tool_name(update: JsonObject) -> str | None:
    """Return the tool's name from wherever agents put it."""
    meta = _object(update, "_meta")
    places = (
        update.get("name"),
        _object(meta, "claudeCode").get("toolName"),
        meta.get("toolName"),
        meta.get("tool_name"),
    )
    return next((place for place in places if isinstance(place, str) and place), None)


def _plan(update: JsonObject) -> PlanReplaced:
    entries = [
        {name: entry[name] for name in ("content", "priority", "status") if name in entry}
        for entry in _objects(update.get("entries"))
    ]
    return PlanReplaced(entries=tuple(entries))


def _commands(update: JsonObject) -> InfoChanged:
    commands = [
        {name: command[name] for name in ("name", "description") if name in command}
        for command in _objects(update.get("availableCommands"))
    ]
    return InfoChanged(info={"commands": commands})


def _mode(update: JsonObject) -> InfoChanged:
    return InfoChanged(info={"mode": update.get("currentModeId")})


def _options(update: JsonObject) -> InfoChanged:
    options = read_options(update.get("configOptions"))
    return InfoChanged(info=AgentSettings(options=options).as_info())


def _session_info(update: JsonObject) -> InfoChanged:
    title = update.get("title")
    return InfoChanged(info={"title": title} if isinstance(title, str) else {})


def _context(update: JsonObject) -> ContextUsed:
    usage: dict[str, object] = {}
    for theirs, ours in (("used", "context_tokens"), ("size", "context_size")):
        if _is_number(update.get(theirs)):
            usage[ours] = update[theirs]
    cost = _object(update, "cost")
    if _is_number(cost.get("amount")):
        usage["cost"] = {"amount": cost["amount"], "currency": cost.get("currency")}
    return ContextUsed(usage=usage)


_READERS: Final[Mapping[str, Callable[[JsonObject], Report | None]]] = {
    "tool_call": _call,
    "tool_call_update": _call,
    "plan": _plan,
    "available_commands_update": _commands,
    "current_mode_update": _mode,
    "config_option_update": _options,
    "session_info_update": _session_info,
    "usage_update": _context,
}


def _choice(
    state: JsonObject, method: str, values: str, value_id: str, current: str
) -> Choice | None:
    found = {
        str(one[value_id]): _text(one.get("name")) or str(one[value_id])
        for one in _objects(state.get(values))
        if isinstance(one.get(value_id), str)
    }
    if not found:
        return None
    return Choice(via=method, is_option=False, values=found, current=_text(state.get(current)))


def _option_values(options: object) -> Sequence[tuple[str, str]]:
    """Return the values of an option with their names; they may lie in groups."""
    found: list[tuple[str, str]] = []
    for option in _objects(options):
        value = _text(option.get("value"))
        if value is None:
            found += _option_values(option.get("options"))
        else:
            found.append((value, _text(option.get("name")) or value))
    return found


def _object(container: JsonObject, name: str) -> JsonObject:
    value = container.get(name)
    return value if isinstance(value, Mapping) else {}


def _objects(value: object) -> list[JsonObject]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

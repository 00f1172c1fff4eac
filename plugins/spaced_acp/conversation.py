"""Begins a conversation with an agent, or goes on with one.

A known one is resumed or loaded. If the agent no longer knows it, a new one is begun, and the
daemon hands the transcript over to it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from spaced.plugin_api import JsonObject, SessionSpec
from spaced_acp import codec_v1 as v1
from spaced_acp.calls import Caller, CallRefused
from spaced_acp.codec_v1 import AgentFacts
from spaced_acp.messages import METHOD_NOT_FOUND, NOT_FOUND, ErrorAnswer
from spaced_acp.options import AcpOptions
from spaced_acp.problems import AgentNotStarted
from spaced_acp.settings import AgentSettings

Way = Literal["new", "resume", "load"]

# "Unknown session" has no code of its own: agents use four, and each of them for other things too.
_UNKNOWN: Final = re.compile(
    r"(session|conversation|thread)[^.\n]{0,80}?"
    r"(not found|unknown|doesn.t exist|does not exist|no longer exists|expired)"
    r"|no (previous |such )?(session|conversation|thread)s?\b"
    r"|(unknown|invalid) (session|conversation|thread)",
    re.IGNORECASE,
)
_MOST_PAGES: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation that an agent's process holds.

    Attributes:
        way: how it came to be held.
        lost: why the earlier one could not be continued, if there was one.
    """

    id: str
    way: Way
    settings: AgentSettings
    lost: str | None = None


class ConversationLostByAgent(Exception):
    """The agent does not know the conversation any more; a new one has to be begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversations:
    """Opens the conversation of one session.

    Attributes:
        directory: the session's folder without symbolic links: agents compare it.
    """

    caller: Caller
    facts: AgentFacts
    options: AcpOptions
    session: SessionSpec
    directory: str

    async def begin(self, *, lost: str | None = None) -> Conversation:
        """Begin a new conversation.

        Raises:
            AgentNotStarted, AgentSilent, LoginNeeded: the agent does not begin one.
        """
        seconds = self.options.session_seconds
        try:
            result = await self.caller.call(v1.NEW, self._place(), seconds=seconds)
        except CallRefused as refused:
            words = f"{self.caller.agent} refused to begin a conversation: {refused}"
            raise AgentNotStarted(words) from refused
        session_id = v1.session_id_of(result)
        if session_id is None:
            raise AgentNotStarted(f"{self.caller.agent} began a conversation without an id")
        settings = v1.read_settings(result)
        return Conversation(id=session_id, way="new", settings=settings, lost=lost)

    async def go_on(self, known: str) -> Conversation:
        """Go on with a conversation.

        Raises:
            ConversationLostByAgent: it is not there any more, and a new one has to be begun.
            AgentNotStarted, AgentSilent, LoginNeeded: something else is in the way, so that it may
                be there the next time.
        """
        for way in self._ways():
            method, seconds = self._method(way)
            try:
                place = self._place() | {"sessionId": known}
                result = await self.caller.call(method, place, seconds=seconds)
            except CallRefused as refused:
                if refused.error.code == METHOD_NOT_FOUND:
                    continue  # it only says that it can
                await self._judge(known, refused)
            else:
                settings = v1.read_settings(result)
                # Some agents answer with another conversation, and say nothing of it.
                answered = v1.session_id_of(result) or known
                lost = None if answered == known else "the agent went on with another conversation"
                return Conversation(id=answered, way=way, settings=settings, lost=lost)
        raise ConversationLostByAgent("the agent cannot continue conversations")

    def continuity(self, conversation: Conversation) -> JsonObject:
        """Return what finds a conversation again."""
        return {"runtime": "acp", "id": conversation.id, "directory": self.directory}

    def known(self, continuity: JsonObject) -> str:
        """Return the id of the conversation that a continuity names.

        Raises:
            ConversationLostByAgent: this agent cannot go on with it.
        """
        known = continuity.get("id")
        if not isinstance(known, str) or not known:
            raise ConversationLostByAgent("it is not known which conversation it was")
        if continuity.get("directory") not in (None, self.directory):
            raise ConversationLostByAgent("it was held in another folder")
        if not self.options.resumable:
            raise ConversationLostByAgent("this agent does not keep conversations")
        return known

    def _ways(self) -> list[Literal["resume", "load"]]:
        ways: list[Literal["resume", "load"]] = []
        if self.facts.can_resume:
            ways.append("resume")
        if self.facts.can_load:
            # After a turn that was cut off, only a load tells what the agent remembers of it.
            ways.insert(0 if self.session.was_cut else len(ways), "load")
        return ways

    def _method(self, way: Literal["resume", "load"]) -> tuple[str, float]:
        if way == "resume":
            return v1.RESUME, self.options.session_seconds
        return v1.LOAD, self.options.load_seconds

    async def _judge(self, known: str, refused: CallRefused) -> None:
        """Raise what a refusal to continue means."""
        words = f"{self.caller.agent} refused to continue: {refused}"
        if is_unknown(refused.error) or await self._is_unlisted(known):
            raise ConversationLostByAgent(words) from refused
        raise AgentNotStarted(words) from refused

    async def _is_unlisted(self, known: str) -> bool:
        """Tell whether the agent, which lists its conversations, does not list this one."""
        cursor: str | None = None
        for _ in range(_MOST_PAGES if self.facts.can_list else 0):
            page = {"cwd": self.directory} | ({} if cursor is None else {"cursor": cursor})
            try:
                seconds = self.options.session_seconds
                result = await self.caller.call(v1.LIST, page, seconds=seconds)
            except CallRefused:
                return False
            ids, cursor = v1.listed_sessions(result)
            if known in ids:
                return False
            if cursor is None:
                return True
        return False

    def _place(self) -> dict[str, object]:
        servers = [server for server in self.session.mcp_servers if self._takes(server)]
        return {"cwd": self.directory, "mcpServers": servers}

    def _takes(self, server: Mapping[str, object]) -> bool:
        transport = server.get("type", "stdio")
        return transport == "stdio" or transport in self.facts.mcp_transports


def is_unknown(error: ErrorAnswer) -> bool:
    """Tell whether an error says that a conversation is not there."""
    return error.code == NOT_FOUND or _UNKNOWN.search(error.text) is not None

"""The agent: answers what it is asked, the way its script says."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from spaced.testing.acp_agent.memory import Memory
from spaced.testing.acp_agent.script import Script
from spaced.testing.acp_agent.stage import Answered, Cancelled, Stage
from spaced.testing.acp_agent.steps import play
from spaced.testing.acp_agent.wire import Wire

_AUTH_REQUIRED: Final = -32000
_NOT_FOUND: Final = -32002
_UNKNOWN_METHOD: Final = -32601


class Refused(Exception):
    """The agent does not do what it is asked."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class ScriptedAcpAgent:
    """Serves one client until its input ends."""

    def __init__(self, script: Script, state: Path | None) -> None:
        self._script = script
        self._memory = Memory(state)
        self._wire = Wire(lambda message: self._memory.note("received", message))
        self._is_logged_in = not script.login
        self._prompts = 0
        self._name = uuid4().hex[:8]
        self._methods: dict[str, Callable[[Stage], Any]] = {
            "initialize": self._greet,
            "authenticate": self._log_in,
            "session/new": self._begin,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/list": self._list,
            "session/set_mode": lambda _: {},
            "session/set_model": lambda _: {},
            "session/set_config_option": self._choose,
            "session/prompt": self._prompt,
        }

    def serve(self) -> None:
        """Answer requests in their order."""
        self._wire.start()
        while (request := self._wire.inbox.get()) is not None:
            self._serve(request)
        if "eof" in self._script.ignores:
            threading.Event().wait()
        os._exit(0)  # whatever a thread of ours still waits for

    def _serve(self, request: dict[str, Any]) -> None:
        method = request["method"]
        stage = self._stage(request)
        try:
            play(self._script.on.get(method, ()), stage)
            result = self._answer(method, stage)
            self._keep(stage)
            stage.answer(result)
        except Answered:
            pass
        except Cancelled:
            self._keep(stage)
            stage.answer({"stopReason": "cancelled"})
        except Refused as refused:
            stage.fail(refused.code, str(refused))
        afterwards = self._stage(request)
        afterwards.heeds_cancel = False
        play(stage.afterwards, afterwards)

    def _keep(self, stage: Stage) -> None:
        """Remember a turn for good, before anybody hears that it is over."""
        if stage.request["method"] == "session/prompt":
            self._memory.keep(stage.conversation)

    def _answer(self, method: str, stage: Stage) -> Any:
        if method not in self._methods:
            raise Refused(_UNKNOWN_METHOD, f"Method not found: {method}")
        return self._methods[method](stage)

    def _stage(self, request: dict[str, Any]) -> Stage:
        is_prompt = request["method"] == "session/prompt"
        return Stage(
            wire=self._wire,
            memory=self._memory,
            request=request,
            conversation=str(request.get("params", {}).get("sessionId", "")),
            heeds_cancel=is_prompt and "cancel" not in self._script.ignores,
            prefix=f"{self._name}.{self._prompts}",
        )

    def _greet(self, _: Stage) -> Any:
        given = self._script.greeting
        capabilities = {
            "loadSession": True,
            "promptCapabilities": {"image": True, "embeddedContext": True},
            "sessionCapabilities": {"resume": {}, "list": {}},
            **given.get("agentCapabilities", {}),
        }
        return {
            "protocolVersion": 1,
            "agentInfo": {"name": "scripted-acp", "version": "1"},
            "authMethods": [{"id": "key", "name": "Key"}],
            **given,
            "agentCapabilities": capabilities,
        }

    def _log_in(self, _: Stage) -> Any:
        self._is_logged_in = True
        return {}

    def _begin(self, _: Stage) -> Any:
        if not self._is_logged_in:
            raise Refused(_AUTH_REQUIRED, "Authentication required")
        return {"sessionId": self._memory.begin(), **self._script.conversation}

    def _load(self, stage: Stage) -> Any:
        if self._script.forgets:
            self._memory.forget(stage.conversation)
        for update in self._known(stage):
            params = {"sessionId": stage.conversation, "update": update}
            self._wire.send({"method": "session/update", "params": params})
        return self._script.conversation

    def _resume(self, stage: Stage) -> Any:
        self._known(stage)
        return self._script.conversation

    def _list(self, _: Stage) -> Any:
        return {"sessions": [{"sessionId": one, "cwd": "/"} for one in self._memory.ids()]}

    def _known(self, stage: Stage) -> list[dict[str, Any]]:
        known = self._memory.load(stage.conversation)
        if known is None:
            raise Refused(_NOT_FOUND, f"Session not found: {stage.conversation}")
        return known

    def _choose(self, stage: Stage) -> Any:
        params = stage.request["params"]
        for option in self._script.conversation.get("configOptions", []):
            if option["id"] == params["configId"]:
                option["currentValue"] = params["value"]
        return {"configOptions": self._script.conversation.get("configOptions", [])}

    def _prompt(self, stage: Stage) -> Any:
        blocks = stage.request["params"]["prompt"]
        self._memory.note("prompts", {"session": stage.conversation, "prompt": blocks})
        self._known(stage)
        for block in blocks:
            content = {"type": "text", "text": block.get("text", "")}
            self._memory.add(
                stage.conversation, {"sessionUpdate": "user_message_chunk", "content": content}
            )
        self._memory.keep(stage.conversation)
        number, self._prompts = self._prompts, self._prompts + 1
        play(self._script.turn(number), stage)
        return {"stopReason": "end_turn", "usage": {"inputTokens": 3, "outputTokens": 5}}

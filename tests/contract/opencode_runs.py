"""What the agents of the small OpenCode server do: for each model one run, told event by event."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tests.contract.opencode_server import FakeOpenCode, Session

Facts = dict[str, Any]


class Run:
    """One run of an agent in a session, from busy to idle.

    Attributes:
        prompt: the message that it answers.
        steered: messages that came meanwhile.
        over: set by a test, ends a run of the model `by hand`.
    """

    def __init__(
        self, server: "FakeOpenCode", session: "Session", prompt: Facts, model: str
    ) -> None:
        self.server = server
        self.session = session
        self.prompt = prompt
        self.model = model
        self.steered: list[Facts] = []
        self.over = asyncio.Event()
        self.status: Facts = {"type": "busy"}
        self.row: Facts = {}
        self._task: asyncio.Task[None] | None = None
        self._text: Facts | None = None

    @property
    def directory(self) -> str:
        """The folder that the session works in."""
        return str(self.session.info["directory"])

    @property
    def said(self) -> str:
        """What the prompts say, without what clients hide."""
        parts = [part for row in (self.prompt, *self.steered) for part in row["parts"]]
        return "\n".join(p["text"] for p in parts if p["type"] == "text" and not p.get("synthetic"))

    async def play(self, behaviour: Callable[["Run"], Awaitable[None]]) -> None:
        """Do what the model says, and be idle then."""
        self._task = asyncio.current_task()
        self.begin_step()
        await behaviour(self)
        while self.steered:
            steered = self.steered.pop(0)
            self.end_step()
            self.prompt = steered
            self.begin_step()
            self.say(f"And then: {self.said}")
            self.end_text()
        self.end_step()
        self.become_idle()

    async def abort(self) -> None:
        """Stop as the real server does: idle is told, then the message ends, then idle again."""
        error = {"name": "MessageAbortedError", "data": {"message": "Aborted"}}
        facts = {"sessionID": self.session.id, "error": error}
        self.server.emit(self.session, "session.error", facts)
        self.server.say_idle(self.session)
        if self._task is not None:
            self._task.cancel()
        self.end_text()
        for part in list(self.row.get("parts", ())):
            if part["type"] == "tool" and part["state"]["status"] in ("pending", "running"):
                self.end_tool(part, error="Tool execution aborted", metadata={"interrupted": True})
        self.end_step(finish=None, error=error)
        self.become_idle()

    def say_busy(self) -> None:
        """Tell that the session is busy."""
        facts = {"sessionID": self.session.id, "status": {"type": "busy"}}
        self.server.emit(self.session, "session.status", facts)

    def retry(self, attempt: int, message: str) -> None:
        """Tell that the model is asked again."""
        self.status = {"type": "retry", "attempt": attempt, "message": message, "next": 0}
        facts = {"sessionID": self.session.id, "status": self.status}
        self.server.emit(self.session, "session.status", facts)

    def become_idle(self) -> None:
        """Tell that the run is over."""
        self.server.runs.pop(self.session.id, None)
        self.server.say_idle(self.session)

    def begin_step(self) -> None:
        """Begin a message of the agent."""
        info = {
            "id": self.server.new_id("msg"),
            "sessionID": self.session.id,
            "role": "assistant",
            "parentID": self.prompt["info"]["id"],
            "providerID": "fake",
            "modelID": self.model,
            "cost": 0,
            "tokens": {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}},
            "time": {"created": self.server.now()},
        }
        self.row = {"info": info, "parts": []}
        self.session.rows.append(self.row)
        self._tell_message()
        self.store({"id": self.server.new_id("prt"), "type": "step-start"})

    def end_step(self, *, finish: str | None = "stop", error: Facts | None = None) -> None:
        """End the message of the agent."""
        info = self.row["info"] = dict(self.row["info"])
        info["tokens"] = {**info["tokens"], "input": 100, "output": 20}
        info["time"] = {**info["time"], "completed": self.server.now()}
        if finish is not None:
            info["finish"] = finish
        if error is not None:
            info["error"] = error
        self._tell_message()

    def say(self, text: str, *, pieces: int = 1, kind: str = "text") -> None:
        """Say a text piece by piece; until it is ended, none of it is stored."""
        if self._text is None:
            start = {"start": self.server.now()}
            part = {"id": self.server.new_id("prt"), "type": kind, "text": "", "time": start}
            self.store(part)
            self._text = {**part, "text": ""}
        size = -(-len(text) // pieces)
        for begin in range(0, len(text), size):
            self._text["text"] += text[begin : begin + size]
            facts = {
                "sessionID": self.session.id,
                "messageID": self.row["info"]["id"],
                "partID": self._text["id"],
                "field": "text",
                "delta": text[begin : begin + size],
            }
            self.server.emit(self.session, "message.part.delta", facts)

    def end_text(self) -> None:
        """Store the text that was said."""
        if self._text is not None:
            end = {**self._text["time"], "end": self.server.now()}
            self.store({**self._text, "time": end})
            self._text = None

    def begin_tool(self, name: str, arguments: Mapping[str, Any]) -> Facts:
        """Begin a tool call and return its part."""
        part = {
            "id": self.server.new_id("prt"),
            "type": "tool",
            "tool": name,
            "callID": self.server.new_id("call"),
            "state": {"status": "pending", "input": {}, "raw": ""},
        }
        self.store(part)
        start = {"start": self.server.now()}
        part["state"] = {"status": "running", "input": dict(arguments), "time": start}
        self.store(part)
        return part

    def end_tool(
        self,
        part: Facts,
        output: str = "",
        *,
        error: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """End a tool call."""
        state = {**part["state"], "metadata": dict(metadata or {})}
        if error is None:
            state |= {"status": "completed", "output": output, "title": part["tool"]}
        else:
            state |= {"status": "error", "error": error}
        self.store({**part, "state": state})

    async def want(self, part: Facts, permission: str = "edit") -> str:
        """Wait for a permission and return the reply."""
        facts = {
            "id": self.server.new_id("per"),
            "sessionID": self.session.id,
            "permission": permission,
            "patterns": ["notes.txt"],
            "metadata": {},
            "always": ["*"],
            "tool": {"messageID": self.row["info"]["id"], "callID": part["callID"]},
        }
        return str((await self._wait("permission", facts))["reply"])

    async def ask(self, question: str) -> list[list[str]]:
        """Ask a question and return the answers."""
        asked = [{"question": question, "header": "One", "options": [{"label": "red"}]}]
        facts = {"id": self.server.new_id("que"), "sessionID": self.session.id, "questions": asked}
        answers: list[list[str]] = (await self._wait("question", facts))["answers"]
        return answers

    def store(self, part: Facts) -> None:
        """Store a part of the agent's message."""
        self.server.store_part(self.session, self.row, part)

    async def _wait(self, kind: str, facts: Facts) -> Facts:
        asked = Asked(facts)
        asked.answered = asyncio.get_running_loop().create_future()
        waiting = self.server.permissions if kind == "permission" else self.server.questions
        waiting[facts["id"]] = asked
        self.server.emit(self.session, f"{kind}.asked", facts)
        answer: Facts = await asked.answered
        return answer

    def _tell_message(self) -> None:
        facts = {"sessionID": self.session.id, "info": self.row["info"]}
        self.server.emit(self.session, "message.updated", facts)


class Asked(dict[str, Any]):
    """What is asked, and where its answer goes; as JSON it is the former alone."""

    answered: asyncio.Future[Facts]


async def _reply(run: Run) -> None:
    run.say(f"You said: {run.said}", pieces=3)
    run.end_text()


async def _stream(run: Run) -> None:
    run.say(run.server.streamed, pieces=7)
    run.end_text()


async def _use_tool(run: Run) -> None:
    part = run.begin_tool("bash", {"command": "make"})
    run.store({**part, "state": {**part["state"], "metadata": {"output": "made by"}}})
    run.end_tool(part, "made by a tool")
    run.end_step(finish="tool-calls")
    run.begin_step()
    run.say("Done.")
    run.end_text()


async def _ask_permission(run: Run) -> None:
    part = run.begin_tool("edit", {"filePath": "notes.txt"})
    if await run.want(part) == "reject":
        run.end_tool(part, error="The user rejected permission to use this specific tool call.")
    else:
        run.end_tool(part, "It was edited.")


async def _ask_question(run: Run) -> None:
    answers = await run.ask("Which one?")
    run.say(f"So it is {answers}.")
    run.end_text()


async def _hang(run: Run) -> None:
    run.say("I am at it.")
    await asyncio.Event().wait()


async def _crash(run: Run) -> None:
    run.say("Oh no.")
    if "FAKE_OPENCODE_STREAMED" in os.environ:
        await asyncio.to_thread(os._exit, 3)
    run.server.delete(run.session)
    await asyncio.Event().wait()


async def _by_hand(run: Run) -> None:
    await run.over.wait()


async def _fail(run: Run) -> None:
    error = {"name": "APIError", "data": {"message": "no more money\n  at somewhere"}}
    facts = {"sessionID": run.session.id, "error": error}
    run.server.emit(run.session, "session.error", facts)
    run.server.say_idle(run.session)
    run.end_step(finish=None, error=error)
    run.become_idle()
    await asyncio.Event().wait()


BEHAVIOURS: Final[Mapping[str, Callable[[Run], Awaitable[None]]]] = {
    "replies": _reply,
    "streams": _stream,
    "uses a tool": _use_tool,
    "asks permission": _ask_permission,
    "asks a question": _ask_question,
    "hangs": _hang,
    "refuses to stop": _hang,
    "crashes": _crash,
    "by hand": _by_hand,
    "fails": _fail,
}
"""What an agent does, by the name of its model."""

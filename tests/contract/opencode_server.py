"""A small OpenCode server for tests: its older interface, with what its agents do up to its model.

What is on its disk outlives a restart, and what is in its memory does not, as with the real one:
pieces of a text are never stored, open runs and permissions are forgotten. A model's name says what
its agent does; see `tests.contract.opencode_runs`. Run as a module it stands for the program:
`python -m tests.contract.opencode_server serve --hostname 127.0.0.1 --port 0`.
"""

import asyncio
import base64
import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, Self

from aiohttp import web

from tests.contract.opencode_runs import BEHAVIOURS, Asked, Run

VERSION: Final = "1.18.33"
_BEGINNING: Final = 1_796_000_000_000

Facts = dict[str, Any]


@dataclass(eq=False)
class Session:
    """A session on the disk, with its messages in the order of their times."""

    info: Facts
    rows: list[Facts] = field(default_factory=list)

    @property
    def id(self) -> str:
        """Its id."""
        return str(self.info["id"])

    def row(self, message_id: str) -> Facts | None:
        """Return a message."""
        return next((row for row in self.rows if row["info"]["id"] == message_id), None)


class FakeOpenCode:
    """A server that a test runs, stops, starts again and looks into.

    Attributes:
        streamed: what the agent `streams` says.
        password: what it wants to be told; `None` is nothing.
        requests: what it was asked, as method, path and body.
        sessions: its disk.
        runs: what runs now, by session.
        on_prompt: what becomes of the next prompt: `cut-before` it is stored, or `cut-after`.
        storing: prompts are stored while this is set; they are answered before.
        is_deaf_to_steers: whether a prompt into a run is stored, and left lying.
    """

    def __init__(self, *, streamed: str = "one two three", password: str | None = None) -> None:
        self.streamed = streamed
        self.password = password
        self.requests: list[tuple[str, str, Any]] = []
        self.sessions: dict[str, Session] = {}
        self.runs: dict[str, Run] = {}
        self.on_prompt: str | None = None
        self.storing = asyncio.Event()
        self.storing.set()
        self.is_deaf_to_steers = False
        self.port = 0
        self.permissions: dict[str, Asked] = {}
        self.questions: dict[str, Asked] = {}
        self._streams: dict[asyncio.Queue[bytes | None], str] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._numbers = count(1)
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """Where it listens, or did."""
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen, on the port that it had before."""
        app = web.Application(middlewares=[self._guard], client_max_size=2**30)
        app.add_routes(self._routes())
        self._runner = web.AppRunner(app, shutdown_timeout=0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Die: forget what is not on the disk."""
        for task in self._tasks:
            task.cancel()
        self.cut_streams()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.runs.clear()
        self.permissions.clear()
        self.questions.clear()

    async def leave(self) -> None:
        """Be away for clients only; what runs goes on, and nobody hears of it."""
        self.cut_streams()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def cut_streams(self) -> None:
        """Cut everybody off who listens."""
        for queue in self._streams:
            queue.put_nowait(None)
        self._streams.clear()

    def emit(self, session: Session, kind: str, facts: Mapping[str, Any]) -> None:
        """Tell those who listen to a session's folder."""
        self.emit_raw(session, self.frame(kind, facts))

    def emit_raw(self, session: Session, content: bytes) -> None:
        """Send bytes to those who listen to a session's folder."""
        for queue, directory in self._streams.items():
            if directory == session.info["directory"]:
                queue.put_nowait(content)

    def frame(self, kind: str, facts: Mapping[str, Any]) -> bytes:
        """Return an event as it goes over the wire."""
        event = {"id": self.new_id("evt"), "type": kind, "properties": facts}
        return b"data: " + json.dumps(event).encode() + b"\n\n"

    def new_id(self, prefix: str) -> str:
        """Return an id that is larger than those before."""
        number = next(self._numbers)
        return f"{prefix}_{(self.now() * 4096 + number) & (1 << 48) - 1:012x}{number:014d}"

    def now(self) -> int:
        """Return a time that never stands still."""
        return _BEGINNING + next(self._numbers)

    def only_session(self) -> Session:
        """Return the one session that there is."""
        (session,) = self.sessions.values()
        return session

    def asked(self, method: str, ending: str) -> list[Any]:
        """Return the bodies of the requests whose path ends like this."""
        return [body for m, path, body in self.requests if m == method and path.endswith(ending)]

    def new_session(self, directory: str, parent: str | None = None) -> Session:
        """Begin a session."""
        now = self.now()
        info: Facts = {
            "id": self.new_id("ses"),
            "directory": directory,
            "title": "New session",
            "version": VERSION,
            "time": {"created": now, "updated": now},
        }
        if parent is not None:
            info["parentID"] = parent
        session = self.sessions[info["id"]] = Session(info)
        self.emit(session, "session.created", {"sessionID": session.id, "info": info})
        return session

    def delete(self, session: Session) -> None:
        """Delete a session; what runs in it runs on."""
        del self.sessions[session.id]
        self.emit(session, "session.deleted", {"sessionID": session.id, "info": session.info})

    def say_idle(self, session: Session) -> None:
        """Tell that a session is idle, in both ways that there are."""
        status = {"sessionID": session.id, "status": {"type": "idle"}}
        self.emit(session, "session.status", status)
        self.emit(session, "session.idle", {"sessionID": session.id})

    def _routes(self) -> list[web.RouteDef]:
        one = "/session/{session}"
        return [
            web.get("/global/health", self._health),
            web.get("/config/providers", self._providers),
            web.get("/agent", self._agents),
            web.get("/event", self._events),
            web.post("/session", self._create),
            web.get("/session/status", self._status),
            web.get(one, self._with_session(_info)),
            web.get(f"{one}/children", self._with_session(self._children)),
            web.get(f"{one}/message", self._with_session(self._messages)),
            web.post(f"{one}/prompt_async", self._with_session(self._prompt)),
            web.post(f"{one}/abort", self._with_session(self._abort)),
            web.post(f"{one}/summarize", self._with_session(self._summarize)),
            web.get("/permission", self._waiting),
            web.get("/question", self._waiting),
            web.post("/permission/{ask}/reply", self._reply),
            web.post("/question/{ask}/reply", self._reply),
        ]

    @web.middleware
    async def _guard(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        secret = base64.b64encode(f"opencode:{self.password}".encode()).decode()
        told = request.headers.get("Authorization")
        if self.password is not None and told != f"Basic {secret}":
            return web.Response(status=401)
        body = await request.json() if request.can_read_body else None
        self.requests.append((request.method, request.path, body))
        return await handler(request)

    def _with_session(
        self, handle: Callable[[web.Request, Session], Awaitable[web.Response]]
    ) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def with_session(request: web.Request) -> web.Response:
            session = self.sessions.get(request.match_info["session"])
            if session is None:
                words = f"Session not found: {request.match_info['session']}"
                error = {"name": "NotFoundError", "data": {"message": words}}
                return web.json_response(error, status=404)
            return await handle(request, session)

        return with_session

    async def _health(self, _: web.Request) -> web.Response:
        return web.json_response({"healthy": True, "version": VERSION})

    async def _providers(self, _: web.Request) -> web.Response:
        models = {name: {"id": name, "name": name.title()} for name in BEHAVIOURS}
        fake = {"id": "fake", "name": "Fake", "models": models}
        return web.json_response({"providers": [fake], "default": {"fake": "replies"}})

    async def _agents(self, _: web.Request) -> web.Response:
        modes = {"build": "primary", "plan": "primary", "general": "subagent"}
        return web.json_response([{"name": name, "mode": mode} for name, mode in modes.items()])

    async def _events(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        queue.put_nowait(self.frame("server.connected", {}))
        self._streams[queue] = request.query["directory"]
        try:
            while (content := await queue.get()) is not None:
                await response.write(content)
        except ConnectionError:
            pass
        finally:
            self._streams.pop(queue, None)
        return response

    async def _create(self, request: web.Request) -> web.Response:
        return web.json_response(self.new_session(request.query["directory"]).info)

    async def _status(self, request: web.Request) -> web.Response:
        here = request.query["directory"]
        busy = {i: run.status for i, run in self.runs.items() if run.directory == here}
        return web.json_response(busy)

    async def _children(self, _: web.Request, session: Session) -> web.Response:
        found = [s.info for s in self.sessions.values() if s.info.get("parentID") == session.id]
        return web.json_response(found)

    async def _messages(self, request: web.Request, session: Session) -> web.Response:
        end = int(request.query.get("before", len(session.rows)))
        begin = max(end - int(request.query.get("limit", end)), 0)
        headers = {"X-Next-Cursor": str(begin)} if begin else {}
        return web.json_response(session.rows[begin:end], headers=headers)

    async def _prompt(self, request: web.Request, session: Session) -> web.Response:
        how, self.on_prompt = self.on_prompt, None
        if how != "cut-before":
            self.keep(self._take(session, await request.json()))
        if how is not None and request.transport is not None:
            request.transport.abort()
        return web.Response(status=204)

    async def _take(self, session: Session, body: Facts) -> None:
        await self.storing.wait()
        agent, model = body.get("agent", "build"), body.get("model", {"modelID": "replies"})
        if agent not in ("build", "plan"):
            words = f'Agent not found: "{agent}".\n    at somewhere'
            self._fail(session, words)
            return
        row = session.row(body["messageID"])
        is_new = row is None
        if row is None:
            info = {
                "id": body["messageID"],
                "sessionID": session.id,
                "role": "user",
                "time": {"created": self.now()},
            }
            row = {"info": info, "parts": []}
            session.rows.append(row)
        self.emit(session, "message.updated", {"sessionID": session.id, "info": row["info"]})
        for part in body["parts"]:
            self.store_part(session, row, {"sessionID": session.id, **part})
        run = self.runs.get(session.id)
        if run is not None:
            if not self.is_deaf_to_steers:
                run.steered.append(row)
            return
        if not is_new and any(r["info"].get("parentID") == body["messageID"] for r in session.rows):
            self.say_idle(session)
            return
        await self._run(session, row, str(model["modelID"]))

    async def _run(self, session: Session, row: Facts, model: str) -> None:
        run = Run(self, session, row, model)
        self.runs[session.id] = run
        run.say_busy()
        if model not in BEHAVIOURS:
            del self.runs[session.id]
            self._fail(session, f"Model not found: fake/{model}.\n    at somewhere")
            self.say_idle(session)
            return
        await run.play(BEHAVIOURS[model])

    def _fail(self, session: Session, words: str) -> None:
        error = {"name": "UnknownError", "data": {"message": words}}
        self.emit(session, "session.error", {"sessionID": session.id, "error": error})

    def store_part(self, session: Session, row: Facts, part: Facts) -> None:
        """Store a part of a message, or what it is like now, and tell of it."""
        part = {**part, "messageID": row["info"]["id"], "sessionID": session.id}
        row["parts"] = [*(p for p in row["parts"] if p["id"] != part["id"]), part]
        facts = {"sessionID": session.id, "part": part, "time": self.now()}
        self.emit(session, "message.part.updated", facts)

    async def _abort(self, _: web.Request, session: Session) -> web.Response:
        run = self.runs.get(session.id)
        if run is None:
            self.say_idle(session)
        elif run.model != "refuses to stop":
            await run.abort()
        return web.json_response(True)

    async def _summarize(self, _: web.Request, session: Session) -> web.Response:
        info = {"id": self.new_id("msg"), "sessionID": session.id, "role": "user", "time": {}}
        row: Facts = {"info": info, "parts": []}
        session.rows.append(row)
        self.emit(session, "message.updated", {"sessionID": session.id, "info": info})
        part = {"id": self.new_id("prt"), "type": "compaction", "auto": False}
        self.store_part(session, row, part)
        self.emit(session, "session.compacted", {"sessionID": session.id})
        return web.json_response(True)

    async def _waiting(self, request: web.Request) -> web.Response:
        found = self.permissions if request.path == "/permission" else self.questions
        return web.json_response(list(found.values()))

    async def _reply(self, request: web.Request) -> web.Response:
        ask_id, body = request.match_info["ask"], await request.json()
        asked = self.permissions.pop(ask_id, None) or self.questions.pop(ask_id, None)
        if asked is None:
            error = {"_tag": "PermissionNotFoundError", "requestID": ask_id, "message": "gone"}
            return web.json_response(error, status=404)
        kind = "permission" if "permission" in asked else "question"
        session = self.sessions[asked["sessionID"]]
        replied = {"sessionID": session.id, "requestID": ask_id, **body}
        self.emit(session, f"{kind}.replied", replied)
        asked.answered.set_result(body)
        return web.json_response(True)

    def keep(self, work: Any) -> asyncio.Task[None]:
        """Run something beside the requests."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def _info(_: web.Request, session: Session) -> web.Response:
    return web.json_response(session.info)


async def main() -> None:
    """Serve until somebody ends the process."""
    assert sys.argv[1:4] == ["serve", "--hostname", "127.0.0.1"], sys.argv
    server = FakeOpenCode(
        streamed=os.environ.get("FAKE_OPENCODE_STREAMED", "one two three"),
        password=os.environ.get("OPENCODE_SERVER_PASSWORD"),
    )
    await server.start()
    print(f"opencode server listening on {server.url}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())

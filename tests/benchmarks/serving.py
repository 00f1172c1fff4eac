"""What the API adds: admissions, streams, starts, memory and commands, against bare ones."""

import asyncio
import os
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from itertools import count
from pathlib import Path
from time import perf_counter
from urllib.parse import urlencode

import aiohttp
import msgspec
from yarl import URL

from spaced.agents.finding import Agents, Machine
from spaced.api.application import application
from spaced.api.services import DaemonFacts, Services
from spaced.api.streams.hub import EventHub
from spaced.clock import SystemClock
from spaced.engine.announcements import TextDelta
from spaced.plugin_host.inventory import Inventory
from spaced.portable.shipped import ShippedWorkflows
from spaced.redaction import Redactor
from spaced.sync.service import SyncService
from spaced.wire.reports import ListenerFacts
from spaced_sqlite.search_index import match_expression
from tests.benchmarks.bare_server import BareServer, SearchFloor, serving
from tests.benchmarks.chats import PROMPT_TEXT
from tests.benchmarks.engines import Hook, Host
from tests.benchmarks.floors import CommitFloor, ReadFloor
from tests.benchmarks.measure import (
    Line,
    alternate,
    at_least,
    at_most,
    compare,
    compare_medians,
    median,
    nothing,
    timed,
)
from tests.benchmarks.searching import QUERIES
from tests.benchmarks.stage import Stage
from tests.benchmarks.streaming import Streams

_CLIENTS = 64
_STREAMS = 50
_LISTENERS = (1, 10, 100)
_MEGABYTE = 1e6


class Caller:
    """A client of a server that keeps its connection."""

    def __init__(self, session: aiohttp.ClientSession, targets: Sequence[str], each: int) -> None:
        self._session = session
        self._targets = targets
        self._each = each
        self._numbers = count()

    async def admit(self) -> None:
        """Send the next prompt, held, and read the whole answer."""
        number = next(self._numbers)
        target = self._targets[number // self._each % len(self._targets)]
        body = msgspec.json.encode({"text": PROMPT_TEXT, "wake": False})
        headers = {"Content-Type": "application/json"}
        async with self._session.post(f"http://x{target}", data=body, headers=headers) as answer:
            assert answer.status == 202, await answer.text()
            await answer.read()


class Served:
    """An engine behind the real API, and a bare server, each with its client."""

    def __init__(self, host: Host, hub: EventHub, bare: BareServer) -> None:
        self.host = host
        self.hub = hub
        self.bare = bare
        self.ours: aiohttp.ClientSession
        self.theirs: aiohttp.ClientSession

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        stage: Stage,
        *,
        folder: Path | None = None,
        before_text: Hook = nothing,
        search: SearchFloor | None = None,
    ) -> AsyncIterator["Served"]:
        """Serve both on Unix sockets.

        Args:
            folder: of a storage that is there; without one it is a new one.
            search: what the bare server asks for hits.
        """
        floor = CommitFloor(stage.new_folder())
        host = await Host.open(folder or stage.new_folder(), before_text=before_text)
        hub = EventHub(host.storage, host.engine.announcements, SystemClock())
        await hub.open()
        served = cls(host, hub, BareServer(floor, search))
        app = application(_services(host, hub))
        async with AsyncExitStack() as stack:
            name = stack.enter_context(tempfile.TemporaryDirectory(prefix="spaced-bench-"))
            for place, one in (("a", app), ("b", served.bare.app)):
                await stack.enter_async_context(serving(one, Path(name) / place))
            served.ours = await stack.enter_async_context(_session(Path(name) / "a"))
            served.theirs = await stack.enter_async_context(_session(Path(name) / "b"))
            yield served
            await hub.close()
        await host.close()
        floor.close()

    def caller(self, session_ids: Sequence[str], each: int) -> Caller:
        """Return a client that prompts these sessions, so many times each."""
        return Caller(self.ours, [f"/v1/sessions/{one}/prompts" for one in session_ids], each)

    def bare_caller(self) -> Caller:
        """Return a client of the bare server."""
        return Caller(self.theirs, ["/prompts"], 1)


def _session(path: Path) -> aiohttp.ClientSession:
    connector = aiohttp.UnixConnector(str(path), limit=0)
    return aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=None))


def _services(host: Host, hub: EventHub) -> Services:
    return Services(
        engine=host.engine,
        storage=host.storage,
        clock=SystemClock(),
        streams=hub,
        facts=DaemonFacts(version="0", pid=os.getpid(), started_at="", token="", storage="sqlite"),
        plugins=Inventory(plugins=()),
        settings=(),
        redactor=Redactor(),
        listeners=lambda: ListenerFacts(socket=None, tcp=()),
        agents=Agents(Machine(environment={}, home=Path("/"), installed=Path("/")), None),
        shipped=ShippedWorkflows(),
        sync=SyncService(host.engine, host.storage, SystemClock()),
    )


async def one_client(stage: Stage) -> list[Line]:
    """Admit prompts over the socket, one after the other."""
    rounds, block = stage.sizes.rounds, stage.sizes.block
    async with Served.open(stage) as served:
        caller = served.caller(await served.host.chats(rounds + 1), block)
        admits, floors = await alternate(
            caller.admit,
            served.bare_caller().admit,
            rounds=rounds,
            block=block,
            settle=served.host.settle,
        )
    name = "admit over the socket, one client"
    return compare(name, admits, floors, middle=at_most(2.5), tail=at_most(5))


async def beside_streams(stage: Stage) -> list[Line]:
    """Admit over the socket while fifty sessions stream; the floor runs while they stand still."""
    streams = Streams(_STREAMS)
    rounds, block = stage.sizes.rounds // 2, stage.sizes.block
    admits: list[float] = []
    floors: list[float] = []
    async with Served.open(stage, before_text=streams.before_text) as served:
        caller, bare = (
            served.caller(await served.host.chats(rounds + 1), block),
            served.bare_caller(),
        )
        await streams.begin(served.host)
        for number in range(rounds + 1):
            streams.go_on()
            found = [await timed(caller.admit) for _ in range(block)]
            await streams.stand_still()
            await served.host.settle()
            least = [await timed(bare.admit) for _ in range(block)]
            if number:
                admits += found
                floors += least
        streams.let_go()
    return compare(
        "admit over the socket, 50 sessions streaming", admits, floors, middle=at_most(6)
    )


async def many_clients(stage: Stage) -> list[Line]:
    """Let 64 clients admit at once."""
    async with Served.open(stage) as served:
        session_ids = await served.host.chats(_CLIENTS)
        callers = [served.caller([one], 1) for one in session_ids]
        bare = [served.bare_caller() for _ in range(_CLIENTS)]
        admits, floors = await alternate(
            partial(_at_once, callers),
            partial(_at_once, bare),
            rounds=max(1, stage.sizes.rounds // 3),
            settle=served.host.settle,
        )
    ours, theirs = (_CLIENTS / median(times) * 1000 for times in (admits, floors))
    return [
        Line(
            moment="64 clients admit over the socket",
            value=ours / theirs,
            budget=at_least(0.6),
            product=ours,
            floor=theirs,
            amount_unit="1/s",
        )
    ]


async def first_frame(stage: Stage) -> list[Line]:
    """Wait for the frame that tells of an admission, at a client that listens."""
    async with Served.open(stage) as served:
        (session_id,) = await served.host.chats(1)
        ours = await _Listener.open(served.ours, "/v1/events?kinds=prompt-admitted")
        theirs = await _Listener.open(served.theirs, "/events")
        caller, bare = served.caller([session_id], 1), served.bare_caller()

        async def told(listener: _Listener, admit: Callable[[], Awaitable[None]]) -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(listener.frames(1))
                group.create_task(_await(admit))

        times, floors = await alternate(
            lambda: told(ours, caller.admit),
            lambda: told(theirs, bare.admit),
            rounds=stage.sizes.rounds,
            block=2,
            settle=served.host.settle,
        )
        for listener in (ours, theirs):
            listener.close()
    return [compare_medians("admit until the frame is at a listener", times, floors, at_most(3))]


async def fan_out(stage: Stage) -> list[Line]:
    """Tell 1, 10 and 100 listeners of small pieces of text."""
    lines = []
    pieces = 20 if stage.sizes.rounds < 10 else 500
    for number in _LISTENERS:
        async with Served.open(stage) as served:
            ours = [
                await _Listener.open(served.ours, "/v1/events?kinds=agent-item-delta")
                for _ in range(number)
            ]
            theirs = [await _Listener.open(served.theirs, "/events") for _ in range(number)]
            delta = TextDelta(
                run_id="ses_x",
                session_id="ses_x",
                item_id="itm_0193a5b2c7d0AAAAAAAAAAAAAA",
                field="content",
                offset=1000,
                text="x" * 60,
            )
            frame = b"event: agent-item-delta\ndata: " + b"x" * 150 + b"\n\n"
            announce = served.host.engine.announcements.announce
            times, floors = await alternate(
                partial(_deliver, ours, partial(announce, delta), pieces),
                partial(_deliver, theirs, partial(served.bare.write, frame), pieces),
                rounds=max(1, stage.sizes.heavy_rounds),
            )
            for listener in (*ours, *theirs):
                listener.close()
        fast, slow = (number * pieces / median(found) * 1000 for found in (times, floors))
        lines.append(
            Line(
                moment=f"deltas to {number} listeners",
                value=fast / slow,
                budget=at_least(0.7),
                product=fast,
                floor=slow,
                amount_unit="1/s",
            )
        )
    return lines


async def search(stage: Stage) -> list[Line]:
    """Search a large log over the socket, with snippets, against the bare index query."""
    folder = await stage.large_folder()
    index = ReadFloor(folder / "spaced.db")
    lines = []
    async with Served.open(stage, folder=folder, search=index.search) as served:
        for name, query in QUERIES.items():
            ours = f"http://x/v1/search?{urlencode({'q': query})}"
            theirs = f"http://x/search?{urlencode({'q': match_expression(query)})}"
            times, floors = await alternate(
                partial(_get, served.ours, ours),
                partial(_get, served.theirs, theirs),
                rounds=stage.sizes.rounds // 2 or 1,
                block=3,
            )
            moment = f"search over the socket, {name}"
            lines.append(compare_medians(moment, times, floors, at_most(3)))
    index.close()
    return lines


async def _get(session: aiohttp.ClientSession, url: str) -> None:
    async with session.get(URL(url, encoded=True)) as answer:
        assert answer.status == 200, await answer.text()
        await answer.read()


async def commands(stage: Stage) -> list[Line]:
    """Run short commands against the import of click alone."""
    rounds = stage.sizes.heavy_rounds * 2
    python = (sys.executable,)
    async with _daemon() as folder:
        wanted = {
            "spaced --help": (*python, "-m", "spaced", "--help"),
            "spaced status": (*python, "-m", "spaced", "status", "--data-dir", str(folder)),
        }
        sides = [partial(_run, *command) for command in wanted.values()]
        *found, floors = await alternate(
            *sides, partial(_run, *python, "-c", "import click"), rounds=rounds
        )
    return [
        compare_medians(name, times, floors, at_most(2.5))
        for name, times in zip(wanted, found, strict=True)
    ]


async def processes(stage: Stage) -> list[Line]:
    """Start the daemon and the least server there could be, and look at their memory."""
    times: list[float] = []
    floors: list[float] = []
    memory = (0, 0)
    for _ in range(max(2, stage.sizes.heavy_rounds)):
        with tempfile.TemporaryDirectory(prefix="spaced-bench-", dir="/tmp") as name:
            folder = Path(name)
            await _start(*_serve(folder / "data"))  # the first start makes the log
            ours = await _start(*_serve(folder / "data"))
            theirs = await _start("-m", "tests.benchmarks.bare_server", str(folder / "bare"))
            times.append(ours[0])
            floors.append(theirs[0])
            memory = (ours[1], theirs[1])
    return [
        compare_medians("start of the daemon until it is ready", times, floors, at_most(1.5)),
        Line(
            moment="idle memory of the daemon",
            value=memory[0] / memory[1],
            budget=at_most(1.5),
            product=memory[0] / _MEGABYTE,
            floor=memory[1] / _MEGABYTE,
            amount_unit="MB",
        ),
    ]


class _Listener:
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    @classmethod
    async def open(cls, session: aiohttp.ClientSession, target: str) -> "_Listener":
        headers = {"Accept": "text/event-stream"}
        listener = cls(await session.get(f"http://x{target}", headers=headers))
        # Ours says hello and what is going on; the bare one says hello.
        await listener.frames(2 if target.startswith("/v1") else 1)
        return listener

    async def frames(self, number: int) -> None:
        ends = 0
        while ends < number:
            ends += (await self._response.content.readany()).count(b"\n\n")

    def close(self) -> None:
        self._response.close()


async def _deliver(listeners: Sequence[_Listener], tell: Callable[[], object], pieces: int) -> None:
    async with asyncio.TaskGroup() as group:
        for listener in listeners:
            group.create_task(listener.frames(pieces))
        for number in range(pieces):
            tell()
            if number % 10 == 0:
                turn = asyncio.get_running_loop().create_future()
                asyncio.get_running_loop().call_soon(turn.set_result, None)
                await turn


async def _at_once(callers: Sequence[Caller]) -> None:
    async with asyncio.TaskGroup() as group:
        for caller in callers:
            group.create_task(caller.admit())


async def _await(work: Callable[[], Awaitable[None]]) -> None:
    await work()


async def _run(*command: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    await process.wait()


def _serve(folder: Path) -> tuple[str, ...]:
    return ("-P", "-m", "spaced", "serve", "--data-dir", str(folder), "--no-tcp")


async def _start(*arguments: str) -> tuple[float, int]:
    """Start a program; return the milliseconds until it was ready, and its memory after that."""
    async with _started(*arguments) as (taken, pid):
        return taken, _resident_bytes(pid)


def _resident_bytes(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@asynccontextmanager
async def _started(*arguments: str) -> AsyncIterator[tuple[float, int]]:
    with (
        tempfile.TemporaryDirectory(prefix="spaced-bench-", dir="/tmp") as name,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready,
    ):
        ready.setblocking(False)
        address = str(Path(name) / "r")
        ready.bind(address)
        begun = perf_counter()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, *arguments),
            env={**os.environ, "NOTIFY_SOCKET": address},
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            async with asyncio.timeout(60):
                await asyncio.get_running_loop().sock_recv(ready, 100)
            yield (perf_counter() - begun) * 1000, process.pid
        finally:
            process.terminate()
            await process.wait()


@asynccontextmanager
async def _daemon() -> AsyncIterator[Path]:
    with tempfile.TemporaryDirectory(prefix="spaced-bench-", dir="/tmp") as name:
        folder = Path(name) / "data"
        async with _started(*_serve(folder)):
            yield folder

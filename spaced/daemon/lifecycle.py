"""A daemon's life: lock, storage, recovery, listeners, work; and the same way back.

Each step undoes itself if a later one fails, in the opposite order, so a start that is refused
leaves nothing behind but empty folders.
"""

import asyncio
import logging
import os
import signal
from collections.abc import AsyncGenerator, Callable, MutableMapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from socket import socket
from typing import Final

from aiohttp import web

from spaced.api.access import AccessRules, access_middleware, announce_origin
from spaced.api.application import application
from spaced.api.listeners import RUNNER_OPTIONS, Listeners, hosts_of
from spaced.api.slow_heads import SlowHeads
from spaced.clock import SystemClock, to_rfc3339
from spaced.daemon.composition import VERSION, Parts, compose, runtimes_folder
from spaced.daemon.directories import check_socket_path, private_folder
from spaced.daemon.first_start import ensure_profiles
from spaced.daemon.log_setup import setup_logging
from spaced.daemon.runtime_file import RunningDaemon, remove_runtime_file, write_runtime_file
from spaced.daemon.service_manager import Notifier, inherited_sockets
from spaced.daemon.settings import LoadedSettings, Settings
from spaced.daemon.single_instance import Lock
from spaced.daemon.storage_place import plugins_of
from spaced.daemon.token import access_token
from spaced.redaction import Redactor
from spaced.wire.reports import ListenerFacts

log = logging.getLogger(__name__)

_ENDING: Final = (signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a daemon finds around it.

    Attributes:
        environment: its own variables; those of a service manager are taken out of it.
        console: whether people read what it prints.
        started: called with where it is reached, once it is.
    """

    environment: MutableMapping[str, str]
    console: bool
    started: Callable[[ListenerFacts], None]


async def serve(loaded: LoadedSettings, around: Surroundings) -> None:
    """Run a daemon until SIGTERM or SIGINT tells it to end; a second one does not wait for turns.

    Raises:
        AlreadyRunning: another daemon serves the data directory.
        UnsafePlace: a folder is not ours alone.
        CannotListen: nobody could reach it.
        StorageRefused: what lies in the data directory cannot be opened.
    """
    inherited = inherited_sockets(around.environment, os.getpid())
    notifier = Notifier(around.environment)
    ending = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in _ENDING:
        loop.add_signal_handler(name, _end, ending)
    async with _running(loaded, around, inherited) as parts:
        notifier.ready()
        around.started(parts.services.listeners())
        await ending.wait()
        notifier.stopping()
        log.info("ending", extra={"event": "daemon-ending"})


def _end(ending: asyncio.Event) -> None:
    """Begin the orderly end; a second signal ends at once, which costs no more than a crash."""
    ending.set()
    for name in _ENDING:
        asyncio.get_running_loop().remove_signal_handler(name)
        signal.signal(name, signal.SIG_DFL)


@asynccontextmanager
async def _running(
    loaded: LoadedSettings, around: Surroundings, inherited: Sequence[socket]
) -> AsyncGenerator[Parts]:
    settings, clock = loaded.settings, SystemClock()
    started_at = to_rfc3339(clock.now())
    async with AsyncExitStack() as undo:
        _prepare_folders(settings)
        undo.enter_context(Lock.take(settings.data_dir, started_at=started_at))
        redactor = Redactor.from_environment(around.environment)
        undo.callback(_logging(settings, redactor, console=around.console))
        token = access_token(settings.data_dir)
        redactor.learn(token)
        plugins = await asyncio.to_thread(plugins_of, settings)
        door = _Door(settings, token)
        parts = await compose(
            loaded,
            plugins,
            clock=clock,
            environment=around.environment,
            token=token,
            redactor=redactor,
            listeners=door.facts,
        )
        undo.push_async_callback(parts.storage.close)
        undo.push_async_callback(parts.engine.stop)
        await parts.engine.start()
        look = parts.services.agents.look
        found = await asyncio.to_thread(look) if settings.agents_detect else ()
        await ensure_profiles(parts.engine, found)
        await parts.streams.open()
        undo.push_async_callback(parts.services.sync.close)
        await parts.services.sync.start()
        undo.push_async_callback(door.close)
        undo.push_async_callback(parts.streams.close)
        await door.open(parts, inherited)
        undo.callback(remove_runtime_file, settings.data_dir, pid=os.getpid())
        write_runtime_file(settings.data_dir, door.told(started_at))
        yield parts
        parts.gate.close()
        await parts.services.sync.close()
        # While listeners are open, so that whoever watches sees the turns end.
        await parts.engine.stop()


class _Door:
    """The API and everything that it is reached by."""

    def __init__(self, settings: Settings, token: str) -> None:
        self._settings = settings
        self._token = token
        self._listeners: Listeners | None = None
        self._rules = self._rules_for([])

    async def open(self, parts: Parts, inherited: Sequence[socket]) -> None:
        """Begin to serve; on inherited sockets where a service manager gave some."""
        slow_heads, access = SlowHeads(), access_middleware(lambda: self._rules)
        app = application(
            parts.services,
            middlewares=[slow_heads.middleware(), access, parts.gate.middleware()],
        )
        app.on_response_prepare.append(announce_origin(lambda: self._rules))
        runner = web.AppRunner(app, **RUNNER_OPTIONS)
        await runner.setup()
        self._listeners = listeners = Listeners(runner, slow_heads)
        for one in inherited:
            await listeners.open_inherited(one)
        if listeners.socket_path is None:
            await listeners.open_unix(self._settings.socket)
        if self._settings.listen_tcp and not listeners.tcp:
            await listeners.open_tcp(self._settings.listen_host, self._settings.listen_port)
        self._rules = self._rules_for(listeners.tcp)

    async def close(self) -> None:
        """Serve nobody any more."""
        if self._listeners is not None:
            await self._listeners.close()

    def facts(self) -> ListenerFacts:
        """Tell where the daemon is reached."""
        listeners = self._listeners
        if listeners is None:
            return ListenerFacts(socket=None, tcp=())
        path = listeners.socket_path
        return ListenerFacts(
            socket=None if path is None else str(path),
            tcp=tuple(f"{host}:{port}" for host, port in listeners.tcp),
        )

    def told(self, started_at: str) -> RunningDaemon:
        """Return what the runtime file tells."""
        host, port = self._listeners.tcp[0] if self._listeners and self._listeners.tcp else ("", 0)
        return RunningDaemon(
            pid=os.getpid(),
            version=VERSION,
            socket=self.facts().socket,
            host=host or None,
            port=port or None,
            started_at=started_at,
        )

    def _rules_for(self, tcp: Sequence[tuple[str, int]]) -> AccessRules:
        return AccessRules(
            token=self._token,
            hosts=hosts_of(tcp) | frozenset(self._settings.listen_allowed_hosts),
            origins=frozenset(self._settings.listen_allowed_origins),
        )


def _prepare_folders(settings: Settings) -> None:
    check_socket_path(settings.socket)
    places = (settings.data_dir, settings.state_dir, settings.socket.parent)
    for folder in (*places, runtimes_folder(settings)):
        private_folder(folder)


def _logging(settings: Settings, redactor: Redactor, *, console: bool) -> Callable[[], None]:
    return setup_logging(
        folder=settings.state_dir,
        level=settings.log_level,
        format=settings.log_format,
        redactor=redactor,
        console=console,
    )

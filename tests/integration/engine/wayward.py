"""A runtime that fails where a profile's options say so, and is the scripted one otherwise."""

import asyncio

from spaced.domain.json_values import JsonObject
from spaced.errors import RuntimeProblem
from spaced.runtime.protocol import AgentConnection, Prompt, SessionSpec, Sink, Turn
from spaced.runtime.updates import ConversationReplayed
from spaced_scripted.runtime import ScriptedRuntime


class WaywardRuntime(ScriptedRuntime):
    """Its `open` obeys the option `open`: `fails`, `hangs` or `breaks`.

    With the option `replay`, it tells the entries again whenever it goes on with a conversation.

    Attributes:
        opened: the sessions that it was asked to serve, in order.
        is_opening: set when a hanging `open` began.
        was_cancelled: whether it was cancelled.
    """

    def __init__(self, *args: object, **kwargs: object) -> None:
        """Begin with nothing opened."""
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.is_opening = asyncio.Event()
        self.was_cancelled = False
        self.opened: list[SessionSpec] = []

    async def open(
        self, session: SessionSpec, continuity: JsonObject | None, sink: Sink
    ) -> AgentConnection:
        """Open a scripted agent, or do what the option says."""
        self.opened.append(session)
        match (session.profile.options or {}).get("open"):
            case "fails":
                raise RuntimeProblem("the agent's program is not there", remedy="Install it.")
            case "breaks":
                raise ValueError("a fault of the plugin")
            case "hangs":
                self.is_opening.set()
                try:
                    await asyncio.Event().wait()
                finally:
                    self.was_cancelled = True
        connection = await super().open(session, continuity, sink)
        entries = (session.profile.options or {}).get("replay")
        if continuity is not None and isinstance(entries, list | tuple):
            await sink.report(ConversationReplayed(entries=tuple(entries)))
        _spoil(connection, (session.profile.options or {}).get("hand_over"))
        return connection


def _spoil(connection: AgentConnection, how: object) -> None:
    """Let a connection obey the option `hand_over`: `hangs`, `breaks`, `fails`, `hangs on steer`."""
    start_turn = connection.start_turn
    failures = iter([RuntimeProblem("the pipe is closed")])

    async def hang(*_: Turn | str | tuple[Prompt, ...]) -> bool:
        await asyncio.Event().wait()
        return True

    async def fail_once(turn: Turn) -> None:
        for failure in failures:
            raise failure
        await start_turn(turn)

    async def break_down(turn: Turn) -> None:
        raise ValueError(f"a fault of the plugin in {turn.id}")

    match how:
        case "hangs":
            connection.start_turn = hang  # type: ignore[method-assign, assignment]
        case "fails":
            connection.start_turn = fail_once  # type: ignore[method-assign]
        case "breaks":
            connection.start_turn = break_down  # type: ignore[method-assign]
        case "hangs on steer":
            connection.steer = hang  # type: ignore[method-assign, assignment]

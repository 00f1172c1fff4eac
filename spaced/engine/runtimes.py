"""The runtimes that sessions can use, made when the first session needs them."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path

from spaced.clock import Clock
from spaced.errors import RuntimeProblem
from spaced.runtime.child import Spawn
from spaced.runtime.protocol import AgentRuntime, RuntimeFactory, RuntimeServices


class Runtimes:
    """Makes each runtime once, with services of its own, and closes them all."""

    def __init__(
        self,
        factories: Mapping[str, RuntimeFactory],
        *,
        clock: Clock,
        spawn: Spawn,
        state_folder: Path,
        configs: Mapping[str, Mapping[str, object]] | None = None,
        redact: Callable[[str], str] = lambda text: text,
        read_blob: Callable[[str], Awaitable[bytes]],
    ) -> None:
        """Know the factories by name.

        Args:
            state_folder: where each runtime gets a folder of its own.
            configs: the settings of each runtime, by its name.
        """
        self._factories = factories
        self._configs = configs or {}
        self._state_folder = state_folder
        self._services = RuntimeServices(
            clock=clock,
            log=logging.getLogger("spaced.runtimes"),
            state_folder=state_folder,
            spawn=spawn,
            redact=redact,
            read_blob=read_blob,
        )
        self._made: dict[str, AgentRuntime] = {}

    def knows(self, name: str) -> bool:
        """Tell whether there is a runtime of this name."""
        return name in self._factories

    def get(self, name: str) -> AgentRuntime:
        """Return a runtime.

        Raises:
            RuntimeProblem: there is none of this name, or it cannot be made.
        """
        made = self._made.get(name)
        if made is None:
            made = self._made[name] = self._make(name)
        return made

    async def close(self) -> None:
        """Let go of every runtime that was made."""
        while self._made:
            _, runtime = self._made.popitem()
            await runtime.close()

    def _make(self, name: str) -> AgentRuntime:
        factory = self._factories.get(name)
        if factory is None:
            raise RuntimeProblem(
                f"there is no runtime {name!r}",
                remedy="Install the plugin that offers it, or change the profile's runtime.",
            )
        services = replace(
            self._services,
            log=logging.getLogger(f"spaced.runtimes.{name}"),
            state_folder=self._state_folder / name,
        )
        return factory(self._configs.get(name, {}), services)

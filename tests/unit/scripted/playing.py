"""Plays one turn of a script and tells what came of it."""

from pathlib import Path
from typing import Any

from spaced.runtime.updates import TurnFinished
from spaced.testing.runtime_harness import OpenAgent
from tests.contract.scripted_harness import ScriptedHarness, profile_with

Step = dict[str, Any]


async def start(
    agents: ScriptedHarness, *steps: Step, prompt: str = "Hello", **options: object
) -> OpenAgent:
    """Start a turn that plays steps."""
    agent = await agents.open_with(profile_with([list(steps)], **options))
    await agent.prompt(prompt)
    return agent


async def play(agents: ScriptedHarness, *steps: Step, prompt: str = "Hello") -> OpenAgent:
    """Play a turn to its end."""
    agent = await start(agents, *steps, prompt=prompt)
    await agent.sink.end_of("turn-1")
    return agent


async def finished(agent: OpenAgent, turn_id: str = "turn-1") -> TurnFinished:
    """Return how a turn finished."""
    ending = await agent.sink.end_of(turn_id)
    assert isinstance(ending, TurnFinished), ending
    return ending


def write_file(agent: OpenAgent, name: str, content: str | bytes) -> None:
    """Write a file into the session's folder."""
    path = Path(agent.session.directory, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def has_file(agent: OpenAgent, name: str) -> bool:
    """Tell whether a file is in the session's folder."""
    return Path(agent.session.directory, name).exists()


def items_of(agent: OpenAgent, item_type: str) -> list[dict[str, object]]:
    """Return the items of a type as they look now."""
    return [item for item in agent.sink.items().values() if item["type"] == item_type]

"""The fake model and the agents that are installed here."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.real_agents.agents import NAMES, RealAgent, set_up
from tests.real_agents.chats import Chat
from tests.real_agents.fake_model.server import FakeModel, fake_model
from tests.real_agents.installing import why_missing


@pytest.fixture
def model() -> Iterator[FakeModel]:
    """A model on loopback that answers as the prompts say."""
    with fake_model() as model:
        yield model


@pytest.fixture(params=NAMES)
def agent(request: pytest.FixtureRequest, tmp_path: Path, model: FakeModel) -> RealAgent:
    """Each agent that is installed, with a home and a model of its own."""
    missing = why_missing(request.param)
    if missing is not None:
        pytest.skip(missing)
    return set_up(request.param, tmp_path / "home", tmp_path / "project", model)


@pytest.fixture
async def chat(agent: RealAgent, tmp_path: Path) -> AsyncIterator[Chat]:
    """A chat with it in a daemon of its own."""
    async with Chat.begun(agent, tmp_path / "project") as chat:
        yield chat

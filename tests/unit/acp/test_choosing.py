"""Modes, models and options: told after each start, and believed only when the agent says so."""

from typing import Any

import pytest

from spaced.runtime.updates import (
    UnknownReport,
)
from spaced_acp.problems import (
    SettingUnavailable,
)
from tests.unit.acp.puppet import (
    Params,
    Puppet,
    Stage,
    turn_of,
)

KNOWN = {"runtime": "acp", "id": "conv-7"}
RESUMES: dict[str, Any] = {"sessionCapabilities": {"resume": {}}}


def modes(current: str) -> dict[str, Any]:
    """Return a conversation with modes, a model and an option of its own."""
    values = [{"value": value, "name": value.title()} for value in ("ask", "auto")]
    return {
        "sessionId": "conv-1",
        "configOptions": [
            {"id": "mode", "category": "mode", "currentValue": current, "options": values},
            {
                "id": "llm",
                "category": "model",
                "currentValue": "small",
                "options": [{"group": "g", "options": [{"value": "large", "name": "Large one"}]}],
            },
            {"id": "thinking", "currentValue": False, "type": "boolean"},
        ],
    }


def choosing(puppet: Puppet, params: Params) -> Any:
    """Take a choice and answer with all of them."""
    state = modes("auto")
    for option in state["configOptions"]:
        if option["id"] == params["configId"]:
            option["currentValue"] = params["value"]
    return {"configOptions": state["configOptions"]}


async def test_what_the_profile_chooses_is_told_after_each_start(stage: Stage) -> None:
    """Agents begin with a mode of their own, and some of those ask nobody."""
    for continuity in (None, KNOWN):
        puppet = Puppet(
            session__new=lambda p, params: modes("auto"),
            session__load=lambda p, params: modes("auto"),
            session__set_config_option=choosing,
        )
        await stage.open(
            puppet,
            continuity,
            profile={"mode": "ask", "model": "Large one"},
            options={"thinking": True},
        )
        told = [m["params"] for m in puppet.heard if m.get("method") == "session/set_config_option"]
        chosen = {one["configId"]: one["value"] for one in told}  # type: ignore[index]
        assert chosen == {"mode": "ask", "llm": "large", "thinking": True}
        assert not stage.sink.of(UnknownReport)


async def test_modes_and_models_of_the_older_kind_are_set_too(stage: Stage) -> None:
    """They have methods of their own."""
    state = {
        "sessionId": "conv-1",
        "modes": {"currentModeId": "auto", "availableModes": [{"id": "ask", "name": "Ask"}]},
        "models": {"currentModelId": "a", "availableModels": [{"modelId": "b", "name": "B"}]},
    }
    puppet = Puppet(
        session__new=lambda p, params: state,
        session__set_mode=lambda p, params: {},
        session__set_model=lambda p, params: {},
    )
    await stage.open(puppet, profile={"mode": "ask", "model": "b"})
    assert puppet.params_of("session/set_mode")["modeId"] == "ask"
    assert puppet.params_of("session/set_model")["modelId"] == "b"


@pytest.mark.parametrize("field", ["mode", "model"])
async def test_a_mode_that_cannot_be_set_keeps_the_agent_from_starting(
    stage: Stage, field: str
) -> None:
    """It would go on with more rights, or at another price, than somebody chose."""
    with pytest.raises(SettingUnavailable, match="'turbo'"):
        await stage.open(
            Puppet(session__new=lambda p, params: modes("auto")), profile={field: "turbo"}
        )
    with pytest.raises(SettingUnavailable):
        await stage.open(Puppet(), profile={field: "turbo"})


async def test_a_mode_that_the_agent_does_not_take_is_noticed(stage: Stage) -> None:
    """It answers well and goes on with its own."""
    puppet = Puppet(
        session__new=lambda p, params: modes("auto"),
        session__set_config_option=lambda p, params: {
            "configOptions": modes("auto")["configOptions"]
        },
    )
    with pytest.raises(SettingUnavailable, match="did not take"):
        await stage.open(puppet, profile={"mode": "ask"})


async def test_an_option_that_cannot_be_set_is_told(stage: Stage) -> None:
    """It is no reason not to start, and none to be silent."""
    await stage.open(Puppet(), options={"colour": "red"})
    (told,) = stage.sink.of(UnknownReport)
    assert (told.kind, told.payload) == ("options-not-applied", {"colour": "unsupported"})


async def test_what_a_person_chose_holds_for_later_conversations(stage: Stage) -> None:
    """A reset begins a new one, and must not fall back to what the profile says."""
    puppet = Puppet(
        session__new=lambda p, params: modes("auto"), session__set_config_option=choosing
    )
    connection = await stage.open(puppet, profile={"mode": "ask"})
    assert await connection.configure({"mode": "auto"}) == {"mode": "applied"}
    await connection.forget()
    await connection.start_turn(turn_of("go"))
    told = [m["params"] for m in puppet.heard if m.get("method") == "session/set_config_option"]
    assert [one["value"] for one in told] == ["ask", "auto", "auto"]  # type: ignore[index]

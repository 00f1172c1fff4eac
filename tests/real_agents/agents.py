"""Real agents as tests use them: isolated in a folder, and with the fake model as their only one."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.real_agents.fake_model.server import FakeModel
from tests.real_agents.installing import program

NAMES: Final = ("opencode", "vibe")


@dataclass(frozen=True, slots=True, kw_only=True)
class RealAgent:
    """An agent that is set up.

    Attributes:
        profile: what a client creates for it.
        ends_on_no: whether a rejected tool ends the turn at once.
    """

    name: str
    profile: Mapping[str, Any]
    ends_on_no: bool = False
    allow: str = "allow_once"
    reject: str = "reject_once"
    more: Mapping[str, Any] = field(default_factory=dict)


def set_up(name: str, folder: Path, project: Path, model: FakeModel) -> RealAgent:
    """Write an agent's configuration and return how it is used.

    Args:
        folder: becomes its home.
        project: the folder that its sessions work in.
    """
    folder.mkdir(parents=True, exist_ok=True)
    project.mkdir(parents=True, exist_ok=True)
    return _SET_UPS[name](folder, project, model)


def _home(folder: Path) -> list[str]:
    places = {"CONFIG": "config", "DATA": "data", "STATE": "state", "CACHE": "cache"}
    xdg = [f"XDG_{name}_HOME={folder / place}" for name, place in places.items()]
    return [f"HOME={folder}", *xdg]


def _profile(name: str, *arguments: str, environment: list[str], **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "agent_name": name,
        "runtime": "acp",
        "command": [str(program(name)), *arguments],
        "environment": environment,
        **more,
    }


def _opencode(folder: Path, project: Path, model: FakeModel) -> RealAgent:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Fake",
        "options": {"baseURL": model.url, "apiKey": "x"},
        "models": {"fake-model": {"name": "Fake", "limit": {"context": 100_000, "output": 8000}}},
    }
    config = {
        "autoupdate": False,
        "share": "disabled",
        "provider": {"fake": provider},
        "model": "fake/fake-model",
        "small_model": "fake/fake-model",
        "permission": {"bash": "ask", "edit": "ask"},
    }
    (project / "opencode.json").write_text(json.dumps(config))
    off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
    environment = [*_home(folder), *(f"OPENCODE_DISABLE_{name}=1" for name in off)]
    profile = _profile("opencode", "acp", environment=environment)
    return RealAgent(name="opencode", profile=profile, ends_on_no=True)


def _vibe(folder: Path, project: Path, model: FakeModel) -> RealAgent:
    home = folder / ".vibe"
    home.mkdir(exist_ok=True)
    config = f"""
active_model = "fake"
enable_telemetry = false
enable_update_checks = false

[[providers]]
name = "fake"
api_base = "{model.url}"
api_key_env_var = "FAKE_KEY"
backend = "generic"

[[models]]
name = "fake-model"
provider = "fake"
alias = "fake"
"""
    (home / "config.toml").write_text(config)
    (home / ".env").write_text("FAKE_KEY=x\nMISTRAL_API_KEY=x\n")
    keys = ("FAKE_KEY=x", "MISTRAL_API_KEY=x", f"VIBE_HOME={home}")
    profile = _profile("vibe", environment=[*_home(folder), *keys], mode="ask")
    return RealAgent(name="vibe", profile=profile)


_SET_UPS: Final = {"opencode": _opencode, "vibe": _vibe}

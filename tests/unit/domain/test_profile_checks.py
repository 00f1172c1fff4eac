"""Profiles before they are kept: what could never serve a session is refused in words."""

from dataclasses import replace
from typing import Any

import pytest

from spaced.domain.permissions import LONGEST_PATTERN
from spaced.domain.profile import Profile
from spaced.domain.profile_checks import LONGEST_GRACE_MS, LONGEST_NAME, check_profile
from spaced.errors import InvalidProfile

PLAIN = Profile(name="P", agent_name="claude", runtime="acp")


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"name": "x" * LONGEST_NAME},
        {"name": "Ä \U0001f468\u200d\U0001f469"},
        {"command": ("/usr/bin/agent", "--flag", "")},
        {"environment": ("HOME", "_x", "A1", "B=", "C=1=2")},
        {"permissions": ({"tool_kind": "*", "decision": "ask"},)},
        {"permissions": ({"tool_kind": "*", "decision": "ask", "pattern": "a" * LONGEST_PATTERN},)},
        {"cancel_grace_ms": 0},
        {"cancel_grace_ms": LONGEST_GRACE_MS},
        {"headless": True},
    ],
    ids=lambda changed: repr(changed)[:60],
)
def test_a_profile_that_can_serve_is_taken(changed: dict[str, Any]) -> None:
    """Everything but three names may be left out."""
    check_profile(replace(PLAIN, **changed))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"name": ""}, ["name", "1 to 200"]),
        ({"name": " \u3000"}, ["name", "1 to 200"]),
        ({"name": "x" * (LONGEST_NAME + 1)}, ["name", "1 to 200"]),
        ({"name": "a\nb"}, ["name", "one line"]),
        ({"name": "a\x00"}, ["name"]),
        ({"name": "a\x9b"}, ["name"]),
        ({"name": "a\u2028"}, ["name"]),
        ({"name": "a\ud800"}, ["name"]),
        ({"runtime": ""}, ["runtime"]),
        ({"runtime": "a\0"}, ["runtime", "NUL"]),
        ({"agent_name": ""}, ["agent_name"]),
        ({"agent_name": "\udfff"}, ["agent_name"]),
        ({"model": "a\0"}, ["model"]),
        ({"mode": "\ud800"}, ["mode"]),
        ({"command": ("agent",)}, ["command", "absolute path"]),
        ({"command": ("",)}, ["command", "absolute path"]),
        ({"command": ("/usr/bin/npx", "agent")}, ["command", "fetches"]),
        ({"command": ("/opt/bin/uv", "--quiet", "tool", "run", "agent")}, ["command", "fetches"]),
        ({"command": ("./agent",)}, ["command", "absolute path"]),
        ({"command": ("/agent", "a\0b")}, ["command[1]", "NUL"]),
        ({"environment": ("HOME", "")}, ["environment[1]"]),
        ({"environment": ("A B=C",)}, ["environment[0]", "'A B'"]),
        ({"environment": ("1A",)}, ["environment[0]"]),
        ({"environment": ("Ä",)}, ["environment[0]"]),
        ({"environment": ("A\n",)}, ["environment[0]"]),
        ({"environment": ("A\0",)}, ["environment[0]"]),
        ({"cancel_grace_ms": -1}, ["cancel_grace_ms", "600000"]),
        ({"cancel_grace_ms": LONGEST_GRACE_MS + 1}, ["cancel_grace_ms"]),
        ({"permissions": ({"tool_kind": "*"},)}, ["permissions[0].decision", "'deny'"]),
    ],
    ids=lambda value: ascii(value)[:60],
)
def test_a_profile_that_cannot_is_refused_by_the_name_of_its_field(
    changed: dict[str, Any], words: list[str]
) -> None:
    """A person sees where to look and what is allowed."""
    with pytest.raises(InvalidProfile) as caught:
        check_profile(replace(PLAIN, **changed))

    assert all(word in caught.value.message for word in words), caught.value.message

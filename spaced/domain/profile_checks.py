"""Checks of a profile before it is kept: what could never serve a session is refused in words."""

import re
import unicodedata
from typing import Final

from spaced.domain.fetchers import fetches_another
from spaced.domain.permissions import read_rules
from spaced.domain.profile import Profile
from spaced.errors import InvalidProfile, InvalidRule

LONGEST_NAME: Final = 200
LONGEST_GRACE_MS: Final = 600_000

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
# Control characters, lone surrogates, and the two separators that end a line.
_UNFIT_FOR_NAMES: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})


def check_profile(profile: Profile) -> None:
    """Refuse a profile that could not serve any session.

    Whether its runtime is there, and its command can be started, is not known here.

    Raises:
        InvalidProfile: the message names the field and what is allowed.
    """
    _check_name(profile.name)
    _check_texts(profile)
    if not profile.runtime:
        raise InvalidProfile("runtime must name a runtime")
    if not profile.agent_name:
        raise InvalidProfile("agent_name must name the agent's family")
    if profile.command and not profile.command[0].startswith("/"):
        raise InvalidProfile("command must be empty, or begin with an absolute path to a program")
    if profile.command and fetches_another(profile.command):
        raise InvalidProfile(
            "command must be the agent's own program, and not one that fetches it at each start",
            remedy="Install the agent, `spaced agents install` does that, and name its program.",
        )
    _check_environment(profile.environment)
    _check_grace(profile.cancel_grace_ms)
    try:
        read_rules(profile.permissions)
    except InvalidRule as error:
        raise InvalidProfile(error.message, remedy=error.remedy) from error


def _check_name(name: str) -> None:
    if not name.strip() or len(name) > LONGEST_NAME:
        raise InvalidProfile(f"name must have 1 to {LONGEST_NAME} characters, not only spaces")
    if any(unicodedata.category(character) in _UNFIT_FOR_NAMES for character in name):
        raise InvalidProfile("name must be one line without control characters")


def _check_texts(profile: Profile) -> None:
    texts = {
        "agent_name": profile.agent_name,
        "runtime": profile.runtime,
        "model": profile.model,
        "mode": profile.mode,
        **{f"command[{place}]": part for place, part in enumerate(profile.command)},
    }
    for field, text in texts.items():
        _check_text(field, text)


def _check_text(field: str, text: str) -> None:
    # Neither an argument of a process nor a stored text can hold these.
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise InvalidProfile(f"{field} must not hold NUL or half a character")


def _check_environment(entries: tuple[str, ...]) -> None:
    for place, entry in enumerate(entries):
        name, _, value = entry.partition("=")
        if _VARIABLE.fullmatch(name) is None:
            raise InvalidProfile(
                f"environment[{place}] must be the name of a variable, or NAME=value; a name has"
                f" letters, digits and underscores, no digit first; not {name[:40]!r}"
            )
        _check_text(f"environment[{place}]", value)


def _check_grace(grace_ms: int | None) -> None:
    if grace_ms is not None and not 0 <= grace_ms <= LONGEST_GRACE_MS:
        raise InvalidProfile(f"cancel_grace_ms must lie between 0 and {LONGEST_GRACE_MS}")

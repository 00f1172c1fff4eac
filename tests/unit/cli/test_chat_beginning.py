"""Which profile a new chat gets."""

import pytest

from spaced.cli.chat.beginning import chosen_profile
from spaced.errors import UnknownProfile
from spaced.refusals import InvalidRequest
from spaced.wire.shapes import Profile


def profile(profile_id: str, name: str, status: str = "enabled") -> Profile:
    """Return a profile."""
    return Profile(
        id=profile_id,
        revision=1,
        status=status,  # type: ignore[arg-type]  # one of the three
        name=name,
        agent_name="scripted",
        runtime="scripted",
        command=(),
        model="",
        mode="",
        options=None,
        permissions=(),
        environment=(),
        cancel_grace_ms=None,
        on_restart="ask",
        headless=False,
    )


ONE = profile("prof_1", "one")
TWO = profile("prof_2", "two")
OFF = profile("prof_3", "off", "disabled")


@pytest.mark.parametrize(
    ("profiles", "wanted", "found"),
    [
        ([ONE, OFF], None, ONE),
        ([ONE, TWO], "two", TWO),
        ([ONE, TWO], "prof_2", TWO),
        ([ONE, profile("prof_4", "prof_1")], "prof_1", ONE),
        ([ONE, OFF], "prof_3", OFF),
    ],
)
def test_a_profile_is_found_by_id_by_name_or_because_it_is_the_only_one(
    profiles: list[Profile], wanted: str | None, found: Profile
) -> None:
    """An id beats a name."""
    assert chosen_profile(profiles, wanted) is found


@pytest.mark.parametrize("profiles", [[ONE, TWO], [], [OFF]])
def test_nobody_guesses_a_profile(profiles: list[Profile]) -> None:
    """Several are named, so that one can be chosen."""
    with pytest.raises(InvalidRequest):
        chosen_profile(profiles, None)


def test_two_profiles_of_one_name_are_told_apart_by_their_ids() -> None:
    """The message names both."""
    with pytest.raises(InvalidRequest, match=r"prof_1.*prof_5"):
        chosen_profile([ONE, profile("prof_5", "one")], "one")


@pytest.mark.parametrize("wanted", ["three", "off", ""])
def test_a_profile_that_is_not_there_is_said(wanted: str) -> None:
    """One that is disabled has no name that counts."""
    with pytest.raises(UnknownProfile):
        chosen_profile([ONE, OFF], wanted)

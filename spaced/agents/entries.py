"""What is known of an agent: the shape of the ACP registry, and what spaced needs beside it."""

from collections.abc import Mapping
from typing import Any

import msgspec

from spaced.domain.profile import Profile


def profile_id_of(agent_id: str) -> str:
    """Return the id of the profile that is made for an agent, the same each time."""
    return f"prof_{agent_id.replace('-', '_')}"


class Package(msgspec.Struct, frozen=True, kw_only=True):
    """A package of npm or of PyPI, with its version."""

    package: str
    args: tuple[str, ...] = ()


class Distribution(msgspec.Struct, frozen=True, kw_only=True):
    """Where an agent is had from; further ways of the registry are left alone."""

    npx: Package | None = None
    uvx: Package | None = None


class Login(msgspec.Struct, frozen=True, kw_only=True):
    """How one sees whether somebody is logged in, and how one logs in.

    Attributes:
        variables: one of them is enough.
        files: one of them is enough; `~` is the home folder.
        unseen_on: systems, as `sys.platform` names them, that keep it where nobody else can look.
        how: what to run, and to do then.
        is_optional: whether it works without, at least with some models.
    """

    variables: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    unseen_on: tuple[str, ...] = ()
    how: str = ""
    is_optional: bool = False


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """How spaced runs an agent.

    Attributes:
        programs: what its program may be called; the first that is found is taken.
        mode: what a profile sets, so that the agent asks before it does things.
        environment: as in a profile.
        options: of the runtime, as in a profile.
        node, python: the oldest version of the interpreter that it runs on.
        hints: what is worth knowing, a sentence each.
    """

    programs: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    runtime: str = "acp"
    mode: str = ""
    environment: tuple[str, ...] = ()
    options: dict[str, Any] = {}
    login: Login = Login()
    node: int | None = None
    python: str | None = None
    hints: tuple[str, ...] = ()


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """An agent in a catalogue.

    Attributes:
        launch: under the key `spaced`.
    """

    id: str
    name: str
    version: str
    description: str
    distribution: Distribution
    launch: Launch = msgspec.field(name="spaced")
    website: str = ""
    license: str = ""

    @property
    def profile_id(self) -> str:
        """The id of the profile that is made for it."""
        return profile_id_of(self.id)

    def profile(self, program: str) -> Profile:
        """Return a profile for it.

        Args:
            program: the absolute path of its program.
        """
        launch = self.launch
        options: Mapping[str, Any] = launch.options
        return Profile(
            name=self.id,
            agent_name=self.id,
            runtime=launch.runtime,
            command=(program, *launch.arguments),
            mode=launch.mode,
            options=dict(options) or None,
            environment=launch.environment,
        )

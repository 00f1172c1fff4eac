"""How an agent's process is started for a session."""

from pathlib import Path

from spaced.plugin_api import ChildRequest, Profile, RuntimeProblem, SessionSpec
from spaced_acp.problems import DirectoryGone


def called(profile: Profile) -> str:
    """Return what an agent is called in sentences."""
    program = Path(profile.command[0]).name if profile.command else "none"
    return f"the agent {profile.name!r} ({program})"


def real_directory(session: SessionSpec) -> str:
    """Return a session's folder without symbolic links: agents compare it with what they know.

    Raises:
        DirectoryGone: it is not there.
    """
    folder = Path(session.directory)
    if not folder.is_dir():
        raise DirectoryGone(f"the folder {session.directory!r} of the session does not exist")
    return str(folder.resolve())


def agent_request(session: SessionSpec, directory: str) -> ChildRequest:
    """Return what to start.

    Raises:
        RuntimeProblem: the profile names no program.
    """
    return ChildRequest(
        execution_id=session.execution_id,
        command=command_of(session.profile),
        directory=directory,
        environment=session.environment,
    )


def command_of(profile: Profile) -> tuple[str, ...]:
    """Return a profile's command.

    Raises:
        RuntimeProblem: it has none.
    """
    if not profile.command:
        raise RuntimeProblem(
            f"the profile {profile.name!r} names no command",
            remedy="Give it the absolute path of the agent's program with `spaced profiles edit`.",
        )
    return profile.command

"""A user's service whose commands are recorded instead of run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from spaced.daemon.service_files import CompletedResult, ServiceFiles

UID = 501


@dataclass(kw_only=True)
class Machine:
    """One user's machine.

    Attributes:
        answers: what a command answers, by its beginning; any other one succeeds in silence.
        has_programs: whether there is a service manager to ask.
        ran: the commands that were run.
    """

    home: Path
    platform: str = "linux"
    command: Sequence[str] = ("/opt/spaced/bin/spaced",)
    search_path: str = "/opt/agents/bin:/usr/bin"
    answers: Mapping[str, CompletedResult] = field(default_factory=dict)
    has_programs: bool = True
    ran: list[str] = field(default_factory=list)

    @property
    def service(self) -> ServiceFiles:
        """The service as it is asked for now."""
        return ServiceFiles(
            platform=self.platform,
            home=self.home,
            config=self.home / ".config",
            command=self.command,
            search_path=self.search_path,
            uid=UID,
            run=self._run,
        )

    @property
    def folder(self) -> Path:
        """Where the service's files lie."""
        linux = self.home / ".config" / "systemd" / "user"
        return linux if self.platform == "linux" else self.home / "Library" / "LaunchAgents"

    def forget(self) -> None:
        """Forget which commands were run."""
        self.ran.clear()

    def _run(self, command: Sequence[str]) -> CompletedResult:
        self.ran.append(" ".join(command))
        if not self.has_programs:
            raise FileNotFoundError(command[0])
        for beginning, answer in self.answers.items():
            if self.ran[-1].startswith(beginning):
                return answer
        return CompletedResult(exit_status=0, output="")

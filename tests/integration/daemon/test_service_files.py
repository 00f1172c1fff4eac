"""The daemon as a service of the user: what is written, run, reported and removed."""

import os
import plistlib
import sys
from pathlib import Path

import pytest

from spaced.daemon.service_files import CompletedResult, run_program
from spaced.refusals import Refused, UnsafePlace
from spaced.resources import folder
from tests.integration.daemon.services import UID, Machine

RELOAD = "systemctl --user daemon-reload"
ENABLE = "systemctl --user enable --now spaced.socket"
DISABLE = "systemctl --user disable --now spaced.socket spaced.service"
LAUNCHD = f"gui/{UID}/spaced"
NO = CompletedResult(exit_status=1, output="Failed to connect to bus:\nNo medium found\n")
NOT_LOADED = {"launchctl print": CompletedResult(exit_status=113, output="Could not find it")}


@pytest.fixture
def linux(tmp_path: Path) -> Machine:
    """A machine with systemd."""
    return Machine(home=tmp_path / "home")


@pytest.fixture
def mac(tmp_path: Path) -> Machine:
    """A machine with launchd, which does not know the service yet."""
    return Machine(home=tmp_path / "home", platform="darwin", answers=NOT_LOADED)


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


def files_in(place: Path) -> list[str]:
    return sorted(path.name for path in place.iterdir())


@pytest.mark.parametrize("umask", [0o000, 0o277])
def test_the_files_are_written_for_us_alone_and_the_socket_listens(
    linux: Machine, umask: int
) -> None:
    """One command makes a service of it, whatever the umask."""
    before = os.umask(umask)
    try:
        done = linux.service.install()
    finally:
        os.umask(before)

    assert files_in(linux.folder) == ["spaced.service", "spaced.socket"]
    assert set(done.changed) == {linux.folder / "spaced.service", linux.folder / "spaced.socket"}
    assert (done.problem, done.to_do) == (None, ())
    assert linux.ran == [RELOAD, ENABLE]
    assert {mode_of(path) for path in linux.folder.iterdir()} == {0o600}
    assert {mode_of(path) for path in (linux.folder, *list(linux.folder.parents)[:2])} == {0o700}


def test_folders_that_were_there_stay_as_they_are(linux: Machine) -> None:
    """They are the user's, and other programs look into them."""
    linux.folder.mkdir(parents=True)
    linux.folder.chmod(0o755)

    linux.service.install()

    assert mode_of(linux.folder) == 0o755


def test_the_service_knows_where_spaced_and_the_agents_are(linux: Machine) -> None:
    """A service manager has a search path of its own, in which no agent lies."""
    linux.search_path = "/opt/agents/bin:bin::.:/usr/bin:/opt/agents/bin"

    linux.service.install()

    lines = (linux.folder / "spaced.service").read_text().splitlines()
    assert "ExecStart=/opt/spaced/bin/spaced serve" in lines
    assert 'Environment="PATH=/opt/agents/bin:/usr/bin"' in lines
    assert "@" not in "".join(lines)


def test_an_installation_can_be_repeated(linux: Machine) -> None:
    """Nothing is written twice, and the socket listens if it did not."""
    linux.service.install()
    before = [path.stat().st_mtime_ns for path in sorted(linux.folder.iterdir())]
    linux.forget()

    done = linux.service.install()

    assert done.changed == ()
    assert linux.ran == [RELOAD, ENABLE]
    assert before == [path.stat().st_mtime_ns for path in sorted(linux.folder.iterdir())]


def test_only_what_differs_is_written_again(linux: Machine) -> None:
    """After spaced has moved, the service is told where it lies now."""
    linux.service.install()
    linux.command = ("/opt/new/bin/python", "-m", "spaced")

    done = linux.service.install()

    assert done.changed == (linux.folder / "spaced.service",)
    assert "ExecStart=/opt/new/bin/python -m spaced serve" in done.changed[0].read_text()


@pytest.mark.parametrize("platform", ["linux", "darwin"])
@pytest.mark.parametrize("kind", ["file", "link", "folder"])
def test_what_somebody_else_wrote_is_never_touched(
    tmp_path: Path, platform: str, kind: str
) -> None:
    """Neither by an installation nor by a removal, and no other file is written either."""
    machine = Machine(home=tmp_path / "home", platform=platform)
    path = machine.folder / ("spaced.service" if platform == "linux" else "spaced.plist")
    machine.folder.mkdir(parents=True)
    (tmp_path / "elsewhere").write_text("[Service]")
    match kind:
        case "file":
            path.write_text("[Service]")
        case "link":
            path.symlink_to(tmp_path / "elsewhere")
        case "folder":
            path.mkdir()

    for action in (machine.service.install, machine.service.remove):
        with pytest.raises(Refused, match="was not written by spaced") as refused:
            action()
        assert str(path) in refused.value.message
        assert "Move it away" in refused.value.remedy

    assert machine.ran == []
    assert machine.service.status().state == "foreign"
    assert files_in(machine.folder) == [path.name]
    assert kind == "folder" or path.read_text() == "[Service]"


def test_without_systemd_one_learns_what_was_written_and_what_to_run(linux: Machine) -> None:
    """In a container the files are of use to whoever starts systemd later."""
    linux.has_programs = False

    done = linux.service.install()

    assert files_in(linux.folder) == ["spaced.service", "spaced.socket"]
    assert done.problem == "there is no systemctl here"
    assert done.to_do == (RELOAD, ENABLE)
    assert linux.service.status().units == {}


@pytest.mark.parametrize(("failing", "left"), [(RELOAD, (RELOAD, ENABLE)), (ENABLE, (ENABLE,))])
def test_what_systemd_refuses_is_told_in_its_words(
    linux: Machine, failing: str, left: tuple[str, ...]
) -> None:
    """The files stay: what was refused can be run again once the reason is gone."""
    linux.answers = {failing: NO}

    done = linux.service.install()

    assert done.problem == f"`{failing}` failed: Failed to connect to bus: No medium found"
    assert done.to_do == left


def test_the_status_tells_what_is_installed_and_runs(linux: Machine) -> None:
    """From nothing over everything to an older version."""
    socket, service = linux.folder / "spaced.socket", linux.folder / "spaced.service"
    linux.answers = {
        "systemctl --user is-active spaced.socket": CompletedResult(
            exit_status=0, output="active\n"
        ),
        "systemctl --user is-active spaced.service": CompletedResult(
            exit_status=3, output="inactive\n"
        ),
    }
    assert linux.service.status().files == {socket: "missing", service: "missing"}
    assert linux.service.status().state == "missing"

    linux.service.install()
    assert linux.service.status().state == "installed"
    assert linux.service.status().units == {"spaced.socket": "active", "spaced.service": "inactive"}

    service.write_text(service.read_text().replace("RestartSec=1", "RestartSec=2"))
    assert linux.service.status().files == {socket: "installed", service: "differs"}
    assert linux.service.status().state == "differs"

    service.unlink()
    assert linux.service.status().state == "differs"


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_another_terminal_sees_the_same_service(tmp_path: Path, platform: str) -> None:
    """Its search path is another one, which is no reason to install again."""
    machine = Machine(home=tmp_path / "home", platform=platform)
    machine.service.install()
    machine.search_path = "/usr/local/bin"

    assert machine.service.status().state == "installed"


def test_a_removal_ends_the_service_first(linux: Machine) -> None:
    """Files of others beside it stay."""
    linux.service.install()
    (linux.folder / "other.service").write_text("[Service]")
    linux.forget()

    done = linux.service.remove()

    assert len(done.changed) == 2
    assert linux.ran == [DISABLE, RELOAD]
    assert files_in(linux.folder) == ["other.service"]


def test_a_removal_of_nothing_does_nothing(linux: Machine) -> None:
    """Not even systemd is asked."""
    done = linux.service.remove()

    assert (done.changed, done.problem, done.to_do, linux.ran) == ((), None, (), [])


def test_a_removal_without_systemd_tells_what_is_left_to_do(linux: Machine) -> None:
    """The files are gone all the same."""
    linux.service.install()
    linux.has_programs = False

    done = linux.service.remove()

    assert files_in(linux.folder) == []
    assert (done.problem, done.to_do) == ("there is no systemctl here", (DISABLE, RELOAD))


def test_launchd_gets_a_file_it_can_read(mac: Machine) -> None:
    """With exactly the keys that its manual knows."""
    mac.command = ("/opt/a b & <c>/bin/python", "-m", "spaced")
    mac.search_path = "/opt/x&y/bin:/usr/bin"

    mac.service.install()

    logs = mac.home / "Library" / "Logs" / "spaced"
    assert plistlib.loads((mac.folder / "spaced.plist").read_bytes()) == {
        "Label": "spaced",
        "ProgramArguments": ["/opt/a b & <c>/bin/python", "-m", "spaced", "serve"],
        "EnvironmentVariables": {"PATH": "/opt/x&y/bin:/usr/bin"},
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ExitTimeOut": 30,
        "Umask": 0o077,
        "StandardOutPath": str(logs / "output.log"),
        "StandardErrorPath": str(logs / "errors.log"),
    }
    assert mode_of(logs) == 0o700
    assert mode_of(mac.folder / "spaced.plist") == 0o600


def test_launchd_starts_the_daemon(mac: Machine) -> None:
    """Also after somebody has disabled it by hand."""
    mac.service.install()

    assert mac.ran == [
        f"launchctl print {LAUNCHD}",
        f"launchctl enable {LAUNCHD}",
        f"launchctl bootstrap gui/{UID} {mac.folder / 'spaced.plist'}",
    ]


def test_launchd_restarts_only_a_daemon_that_has_changed(mac: Machine) -> None:
    """Whoever installs twice loses no turn."""
    mac.service.install()
    mac.answers = {}
    mac.forget()
    mac.service.install()
    assert mac.ran == [f"launchctl print {LAUNCHD}"]

    mac.command = ("/opt/new/bin/spaced",)
    mac.forget()
    mac.service.install()
    assert mac.ran[1:] == [
        f"launchctl bootout {LAUNCHD}",
        f"launchctl enable {LAUNCHD}",
        f"launchctl bootstrap gui/{UID} {mac.folder / 'spaced.plist'}",
    ]


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (
            CompletedResult(
                exit_status=0, output=f"{LAUNCHD} = {{\n\tactive count = 1\n\tstate = running\n}}"
            ),
            "running",
        ),
        (CompletedResult(exit_status=0, output="something else"), "loaded"),
        (CompletedResult(exit_status=113, output="Could not find service"), "not loaded"),
    ],
)
def test_launchd_tells_how_the_daemon_is(mac: Machine, answer: CompletedResult, state: str) -> None:
    """In one word."""
    mac.answers = {"launchctl print": answer}

    assert mac.service.status().units == {"spaced": state}


def test_launchd_lets_go_of_the_daemon(mac: Machine) -> None:
    """The folder of its logs stays, for whoever wants to know why."""
    mac.service.install()
    mac.answers = {}
    mac.forget()

    mac.service.remove()

    assert mac.ran == [f"launchctl print {LAUNCHD}", f"launchctl bootout {LAUNCHD}"]
    assert files_in(mac.folder) == []
    assert (mac.home / "Library" / "Logs" / "spaced").is_dir()


@pytest.mark.parametrize(
    ("platform", "command", "what"),
    [
        ("win32", ("/opt/spaced",), "there are no service files for the system 'win32'"),
        ("linux", ("spaced",), "does not begin with an absolute path"),
        ("linux", (), "does not begin with an absolute path"),
        ("linux", ("/opt/a\nExecStartPre=/bin/x",), "characters that no service file can hold"),
        ("darwin", ("/opt/\udcff",), "characters that no service file can hold"),
        ("linux", ("/opt/it's/spaced",), "systemd runs no program whose path has a quote"),
        ("linux", ("/opt/a\\b/spaced",), "systemd runs no program whose path has a quote"),
    ],
)
def test_what_cannot_be_a_service_is_refused(
    linux: Machine, platform: str, command: tuple[str, ...], what: str
) -> None:
    """Before anything is looked at."""
    linux.platform, linux.command = platform, command

    with pytest.raises(Refused, match=what):
        linux.service.install()
    assert not linux.home.exists()


def test_a_folder_that_cannot_be_made_is_a_sentence(linux: Machine) -> None:
    """Something else has its name."""
    linux.home.mkdir()
    (linux.home / ".config").write_text("in the way")

    with pytest.raises(UnsafePlace, match="cannot be"):
        linux.service.install()


def test_a_real_program_is_run_to_its_end() -> None:
    """What it says and how it ends is all that is needed of it."""
    program = "import sys; print('out', flush=True); print('err', file=sys.stderr); sys.exit(3)"

    assert run_program([sys.executable, "-c", program]) == CompletedResult(
        exit_status=3, output="out\nerr\n"
    )
    with pytest.raises(FileNotFoundError):
        run_program(["/nowhere/systemctl"])


def test_a_checkout_reads_the_files_beside_the_package() -> None:
    """In a wheel they lie in spaced itself, under the same name for the code."""
    repository = Path(__file__).parents[3]

    assert folder("service_files") == repository / "packaging"

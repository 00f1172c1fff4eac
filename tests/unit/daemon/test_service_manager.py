"""A service manager's side of the daemon, with real sockets and processes that inherit them."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from spaced.daemon.service_manager import Notifier, inherited_sockets

PASS_ON = """
import os, sys
# As a service manager does: the descriptors from 3 on, then the program, in one process.
held = [int(number) for number in sys.argv[3].split(",") if number]
for at, descriptor in enumerate([os.dup2(fd, 100 + n) for n, fd in enumerate(held)]):
    os.dup2(descriptor, 3 + at)
os.environ["LISTEN_PID"] = sys.argv[1].replace("ME", str(os.getpid()))
os.environ["LISTEN_FDS"] = sys.argv[2]
os.execv(sys.executable, [sys.executable, "-c", sys.argv[4]])
"""

SERVE = """
import json, logging, os, subprocess, sys
logging.basicConfig(level="WARNING", stream=sys.stderr, format="%(message)s")
from spaced.daemon.service_manager import inherited_sockets
found = inherited_sockets(os.environ, os.getpid())
child = "import os; print([n for n in range(3, 10) if os.path.exists(f'/proc/self/fd/{n}')])"
seen = subprocess.run([sys.executable, "-c", child], close_fds=False, capture_output=True)
report = {
    "names": [one.getsockname() for one in found],
    "left": [name for name in os.environ if name.startswith("LISTEN_")],
    "open": [n for n in range(3, 6) if os.path.exists(f"/proc/self/fd/{n}")],
    "inheritable": [one.get_inheritable() for one in found],
}
print(json.dumps(report), flush=True)
for one in found:
    connection, _ = one.accept()
    connection.sendall(b"hello")
    connection.close()
    one.close()
"""

MISUNDERSTOOD = "so what the service manager passed on was not taken"

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has abstract names")


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose name is short enough for a socket in it."""
    return tmp_path_factory.mktemp("s")


@pytest.fixture
def listen(place: Path) -> Iterator[Callable[[str], socket.socket]]:
    """Opens listening sockets, and closes them."""
    opened = []

    def run(name: str) -> socket.socket:
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        opened.append(listening)
        listening.bind(str(place / name))
        listening.listen()
        return listening

    yield run
    for one in opened:
        one.close()


def serve(
    descriptors: Sequence[int], *, pid: str = "ME", number: str | None = None
) -> subprocess.Popen[str]:
    """Start a program as a service manager does, with descriptors from 3 on."""
    count = str(len(descriptors)) if number is None else number
    command = [sys.executable, "-c", PASS_ON, pid, count, ",".join(map(str, descriptors)), SERVE]
    return subprocess.Popen(
        command,
        pass_fds=descriptors,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    )


def hear(process: subprocess.Popen[str]) -> tuple[dict[str, object], str]:
    """Wait for a program's end; return its report, and what it complained of."""
    said, complaints = process.communicate(timeout=60)
    assert process.returncode == 0, complaints
    return json.loads(said), complaints


def test_a_socket_that_was_passed_on_is_served(
    listen: Callable[[str], socket.socket], place: Path
) -> None:
    """A client that connected before the daemon was there is answered by it."""
    listening = listen("control.sock")
    with socket.socket(socket.AF_UNIX) as client, serve([listening.fileno()]) as process:
        client.connect(str(place / "control.sock"))
        report, complaints = hear(process)

        assert client.recv(10) == b"hello"
    assert report["names"] == [str(place / "control.sock")]
    assert complaints == ""


def test_no_child_gets_the_variables_or_the_socket(
    listen: Callable[[str], socket.socket], place: Path
) -> None:
    """An agent that took itself for the service would hold the socket open for ever."""
    listening = listen("control.sock")
    with socket.socket(socket.AF_UNIX) as client, serve([listening.fileno()]) as process:
        client.connect(str(place / "control.sock"))
        report, _ = hear(process)

    assert report["left"] == []
    assert report["inheritable"] == [False]


@linux
def test_what_takes_no_connections_is_closed_and_said(
    listen: Callable[[str], socket.socket], place: Path
) -> None:
    """A pipe or a plain socket in between costs only itself."""
    listening = listen("control.sock")
    reading, writing = os.pipe()
    with socket.socket(socket.AF_UNIX) as plain, socket.socket(socket.AF_UNIX) as client:
        held = [reading, plain.fileno(), listening.fileno()]
        with serve(held) as process:
            client.connect(str(place / "control.sock"))
            report, complaints = hear(process)
    os.close(reading)
    os.close(writing)

    assert report["names"] == [str(place / "control.sock")]
    assert report["open"] == [5]
    assert complaints.splitlines() == [
        f"descriptor 3 is no socket, {MISUNDERSTOOD}",
        f"descriptor 4 is no socket that takes connections, {MISUNDERSTOOD}",
    ]


def test_what_was_passed_on_to_another_process_is_left_alone(
    listen: Callable[[str], socket.socket],
) -> None:
    """A shell in between inherits the variables, but they are not meant for it."""
    with serve([listen("control.sock").fileno()], pid="1") as process:
        report, complaints = hear(process)

    assert (report["names"], report["left"], complaints) == ([], [], "")


def test_more_descriptors_than_there_are_is_said_once() -> None:
    """A number that somebody set by hand is no reason to look at a million of them."""
    with serve([], number="1000000") as process:
        report, complaints = hear(process)

    assert report["names"] == []
    expected = f"LISTEN_FDS is 1000000, but descriptor 3 is not open, {MISUNDERSTOOD}"
    assert complaints.splitlines() == [expected]


@pytest.mark.parametrize(
    ("pid", "number", "is_said"),
    [
        (None, None, False),
        ("{pid}", None, False),
        (None, "1", False),
        ("{pid}", "0", False),
        ("", "1", True),
        ("me", "1", True),
        ("{pid}", "one", True),
        ("{pid}", "-1", True),
        ("{pid}", "9" * 30, True),
        ("{pid}", "²", True),
    ],
)
def test_wrong_values_are_no_sockets(
    pid: str | None, number: str | None, is_said: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """They are taken out of the environment all the same."""
    values = {"LISTEN_PID": pid and pid.format(pid=os.getpid()), "LISTEN_FDS": number}
    environment = {name: value for name, value in values.items() if value is not None}
    environment |= {"LISTEN_FDNAMES": "a", "OTHER": "stays"}

    assert inherited_sockets(environment, os.getpid()) == []
    assert environment == {"OTHER": "stays"}
    assert [record.event for record in caplog.records] == (  # type: ignore[attr-defined]
        ["service-manager-misunderstood"] if is_said else []
    )


@pytest.fixture(params=["path", pytest.param("abstract", marks=linux)])
def manager(request: pytest.FixtureRequest, place: Path) -> Iterator[tuple[socket.socket, str]]:
    """A service manager's socket, and what it puts into `NOTIFY_SOCKET`."""
    path = str(place / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.settimeout(60)
        listening.bind(path if request.param == "path" else f"\0{path}")
        yield listening, path if request.param == "path" else f"@{path}"


def test_a_manager_hears_how_the_daemon_is(manager: tuple[socket.socket, str]) -> None:
    """One message for each, and no child can send any."""
    listening, address = manager
    environment = {"NOTIFY_SOCKET": address, "OTHER": "stays"}
    notifier = Notifier(environment)

    notifier.ready()
    notifier.status("two turns run")
    notifier.stopping()

    heard = [listening.recv(1000) for _ in range(3)]
    assert heard == [b"READY=1", b"STATUS=two turns run", b"STOPPING=1"]
    assert environment == {"OTHER": "stays"}


def test_a_status_cannot_become_another_message(manager: tuple[socket.socket, str]) -> None:
    """It may hold the words of an agent."""
    listening, address = manager

    Notifier({"NOTIFY_SOCKET": address}).status("a\nMAINPID=1\r\nREADY=1\udcff")

    assert listening.recv(1000) == b"STATUS=a MAINPID=1 READY=1?"


def test_without_a_manager_nothing_happens(caplog: pytest.LogCaptureFixture) -> None:
    """Most daemons are started by a person."""
    notifier = Notifier({})

    notifier.ready()
    notifier.status("x")
    notifier.stopping()

    assert not caplog.records


@pytest.mark.parametrize("address", ["/nowhere/notify", "/" + "x" * 300, "vsock:2:1", "notify"])
def test_a_manager_that_cannot_be_reached_is_said_and_no_error(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The daemon works without it; what goes wrong is the manager's to notice."""
    Notifier({"NOTIFY_SOCKET": address}).ready()

    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_a_manager_that_hears_nothing_holds_up_nobody(
    place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its socket is full, and a start must not wait for it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as deaf:
        deaf.bind(str(place / "notify"))
        notifier = Notifier({"NOTIFY_SOCKET": str(place / "notify")})
        while not caplog.records:
            notifier.status("x")

    assert "timed out" in caplog.text

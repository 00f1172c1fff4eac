"""Where things lie by default, and which folders are taken for private."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from spaced.daemon.directories import (
    LONGEST_SOCKET_PATH,
    check_socket_path,
    default_directories,
    default_socket,
    private_folder,
)
from spaced.daemon.settings import load_settings
from spaced.refusals import SocketPathTooLong, UnsafePlace
from tests.unit.daemon.privacy import STRANGER, events_of, mode_of, root_only


@pytest.fixture
def runtime_dir(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make a folder as a login makes one; its path is short, unlike that of `tmp_path`."""
    with tempfile.TemporaryDirectory(prefix="s") as name:
        monkeypatch.setenv("XDG_RUNTIME_DIR", name)
        yield Path(name)


def _refusal(path: Path) -> str:
    with pytest.raises(UnsafePlace) as refused:
        private_folder(path)
    return refused.value.message


def test_default_places_are_the_users_own() -> None:
    """Each lies in the home folder and is called after us."""
    places = default_directories()

    for place in (places.config, places.data, places.state):
        assert Path.home() in place.parents
        assert place.name == "spaced"
        assert not place.exists()


def test_the_default_socket_lies_in_the_runtime_folder(runtime_dir: Path) -> None:
    """There it vanishes with the login, and service managers look for it."""
    assert default_socket(Path("/data"), is_default=True) == runtime_dir / "spaced/control.sock"


def test_the_socket_of_another_data_directory_lies_inside_of_it(runtime_dir: Path) -> None:
    """Two daemons never meet at one socket."""
    assert default_socket(Path("/data"), is_default=False) == Path("/data/run/control.sock")


@pytest.mark.usefixtures("runtime_dir")
def test_the_default_data_directory_set_by_hand_keeps_the_default_socket() -> None:
    """A daemon and a client that say the same place in two ways find each other."""
    by_default = load_settings(environment={}, flags={}).settings
    environment = {"SPACED_DATA_DIR": str(default_directories().data)}

    assert load_settings(environment=environment, flags={}).settings.socket == by_default.socket


def test_without_a_runtime_folder_the_socket_lies_with_the_data(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not every system and not every way to log in makes one."""
    monkeypatch.delenv("XDG_RUNTIME_DIR")

    assert default_socket(Path("/data"), is_default=True) == Path("/data/run/control.sock")


@pytest.mark.parametrize("value", ["", ".", "relative", "/nowhere/at/all", "/dev/null"])
def test_a_runtime_folder_that_is_none_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    """A variable that was inherited from elsewhere must not keep a daemon from starting."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", value)

    assert default_socket(Path("/data"), is_default=True) == Path("/data/run/control.sock")


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
def test_a_runtime_folder_that_others_may_write_is_passed_over(
    runtime_dir: Path, mode: int
) -> None:
    """In `/tmp`, somebody else could be there first."""
    runtime_dir.chmod(mode)

    assert default_socket(Path("/data"), is_default=True) == Path("/data/run/control.sock")


@root_only
def test_a_runtime_folder_of_another_user_is_passed_over(runtime_dir: Path) -> None:
    """After `su`, the variable still names that of the first user."""
    os.chown(runtime_dir, STRANGER, -1)
    try:
        assert default_socket(Path("/data"), is_default=True) == Path("/data/run/control.sock")
    finally:
        os.chown(runtime_dir, os.geteuid(), -1)


def test_a_runtime_folder_whose_path_is_too_long_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The data directory may have a shorter one."""
    folder = tmp_path / ("long" * 25)
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))

    assert default_socket(Path("/data"), is_default=True) == Path("/data/run/control.sock")


def test_a_socket_path_of_103_bytes_is_the_longest() -> None:
    """One byte more fits on some systems only."""
    longest = Path("/" + "s" * (LONGEST_SOCKET_PATH - 1))
    check_socket_path(longest)

    with pytest.raises(SocketPathTooLong) as refused:
        check_socket_path(Path(f"{longest}s"))
    assert "has 104 bytes; at most 103 are possible" in refused.value.message
    assert "SPACED_SOCKET" in refused.value.remedy


def test_a_socket_path_is_measured_in_bytes() -> None:
    """A letter may have several."""
    with pytest.raises(SocketPathTooLong, match="has 121 bytes"):
        check_socket_path(Path("/" + "ä" * 60))


def test_a_socket_path_that_follows_from_a_long_data_directory_is_refused_before_anything_is_made(
    tmp_path: Path,
) -> None:
    """Whoever chose the directory learns it from a sentence, and finds no half-made folders."""
    data_dir = tmp_path / ("long" * 30)
    settings = load_settings(environment={"SPACED_DATA_DIR": str(data_dir)}, flags={}).settings

    with pytest.raises(SocketPathTooLong):
        check_socket_path(settings.socket)
    assert not data_dir.exists()


def test_a_folder_is_made_with_all_that_lead_to_it(tmp_path: Path) -> None:
    """Nobody else can enter any of them."""
    private_folder(tmp_path / "a" / "b" / "c")

    for made in ("a", "a/b", "a/b/c"):
        assert mode_of(tmp_path / made) == 0o700


def test_a_folder_that_is_private_already_is_left_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The second start finds what the first one made."""
    private_folder(tmp_path / "a")
    private_folder(tmp_path / "a")

    assert not caplog.records


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o711])
def test_a_folder_that_others_can_read_is_closed_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int
) -> None:
    """What lay there may have been read, so its owner has to know."""
    folder = tmp_path / "a"
    folder.mkdir()
    folder.chmod(mode)
    private_folder(folder)

    assert mode_of(folder) == 0o700
    assert events_of(caplog) == [("mode-tightened", str(folder))]


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o1777])
def test_a_folder_that_others_may_write_is_refused(tmp_path: Path, mode: int) -> None:
    """Somebody may have put something into it, so closing it is not enough."""
    folder = tmp_path / "a"
    folder.mkdir()
    folder.chmod(mode)

    assert _refusal(folder) == f"others may write to {folder} (mode {mode:04o})"
    assert mode_of(folder) == mode


def test_a_link_to_a_folder_is_refused(tmp_path: Path) -> None:
    """Whoever can replace the link decides where secrets go."""
    (tmp_path / "true").mkdir(mode=0o700)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "true")

    assert _refusal(link) == f"{link} is a symbolic link, and is not followed"


def test_a_link_to_nothing_is_refused_and_nothing_is_made(tmp_path: Path) -> None:
    """Following it would make a folder where somebody else wants one."""
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "target")

    assert "is a symbolic link" in _refusal(link)
    assert not (tmp_path / "target").exists()


@root_only
def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    """Its owner can open it again at any time."""
    folder = tmp_path / "a"
    folder.mkdir(mode=0o700)
    os.chown(folder, STRANGER, -1)

    assert _refusal(folder) == f"{folder} belongs to another user (uid {STRANGER})"


def test_a_file_in_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    """Nothing of ours is a file there."""
    (tmp_path / "a").touch()

    assert _refusal(tmp_path / "a") == f"{tmp_path / 'a'} is no folder"


def test_what_the_system_refuses_to_make_is_said(tmp_path: Path) -> None:
    """The path and the system's words are in the sentence."""
    (tmp_path / "a").touch()

    assert _refusal(tmp_path / "a" / "b").endswith("Not a directory")
    assert _refusal(tmp_path / ("long" * 100)).endswith("File name too long")


def test_a_folder_above_that_everybody_may_change_is_refused(tmp_path: Path) -> None:
    """There anybody could put another folder in place of ours."""
    above = tmp_path / "open"
    above.mkdir()
    above.chmod(0o777)

    assert _refusal(above / "b" / "c").startswith(f"everybody may replace what lies in {above}")
    assert list(above.iterdir()) == []


def test_a_folder_above_is_found_also_behind_a_link(tmp_path: Path) -> None:
    """A link on the way does not hide it."""
    above = tmp_path / "open"
    (above / "b").mkdir(parents=True)
    above.chmod(0o777)
    (tmp_path / "link").symlink_to(above / "b")

    assert _refusal(tmp_path / "link" / "c").startswith(
        f"everybody may replace what lies in {above}"
    )


def test_a_folder_above_where_everybody_may_add_but_not_replace_is_fine(tmp_path: Path) -> None:
    """`/tmp` is such a place."""
    above = tmp_path / "tmp"
    above.mkdir()
    above.chmod(0o1777)
    private_folder(above / "spaced")

    assert mode_of(above / "spaced") == 0o700
    assert mode_of(above) == 0o1777

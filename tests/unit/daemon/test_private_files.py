"""Private files: whole or not at all, and never shared with others."""

import errno
import os
from pathlib import Path

import pytest

from spaced.daemon.private_files import os_refusal, read_private, write_private
from spaced.errors import StorageFull
from spaced.refusals import UnsafePlace
from tests.unit.daemon.privacy import STRANGER, events_of, mode_of, root_only


def _refusal(path: Path) -> str:
    with pytest.raises(UnsafePlace) as refused:
        read_private(path)
    return refused.value.message


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    """To the byte, and more than one piece of it."""
    content = os.urandom(300_000)
    write_private(tmp_path / "file", content)

    assert read_private(tmp_path / "file") == content
    assert mode_of(tmp_path / "file") == 0o600


def test_writing_leaves_nothing_else_behind(tmp_path: Path) -> None:
    """A folder does not fill up with drafts."""
    write_private(tmp_path / "file", b"old")
    write_private(tmp_path / "file", b"new")

    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_file_is_replaced_and_not_rewritten(tmp_path: Path) -> None:
    """Whoever has the old one open reads the old one to its end."""
    write_private(tmp_path / "file", b"old")
    with (tmp_path / "file").open("rb") as old:
        write_private(tmp_path / "file", b"new and longer")

        assert old.read() == b"old"


def test_a_lax_file_is_replaced_by_a_private_one(tmp_path: Path) -> None:
    """Its mode is not taken over."""
    (tmp_path / "file").touch(mode=0o666)
    write_private(tmp_path / "file", b"new")

    assert mode_of(tmp_path / "file") == 0o600


def test_writing_does_not_follow_a_link(tmp_path: Path) -> None:
    """What it leads to stays as it is."""
    (tmp_path / "other").write_bytes(b"precious")
    (tmp_path / "file").symlink_to(tmp_path / "other")
    write_private(tmp_path / "file", b"new")

    assert (tmp_path / "other").read_bytes() == b"precious"
    assert not (tmp_path / "file").is_symlink()


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    """Neither a draft, nor a change of what is there."""
    (tmp_path / "file").mkdir()

    with pytest.raises(UnsafePlace, match=r"cannot be written: Is a directory"):
        write_private(tmp_path / "file", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_told_apart(number: int) -> None:
    """Its remedy is another one."""
    refusal = os_refusal(Path("/srv/file"), "written", OSError(number, "full"))

    assert isinstance(refusal, StorageFull)
    assert refusal.message == "there is no space left where /srv/file has to be written"


def test_writing_into_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """Making it private is the business of whoever made it."""
    with pytest.raises(UnsafePlace, match="cannot be written: No such file or directory"):
        write_private(tmp_path / "none" / "file", b"")


def test_a_missing_file_is_told_apart(tmp_path: Path) -> None:
    """Most callers make it then."""
    with pytest.raises(FileNotFoundError):
        read_private(tmp_path / "file")


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o666])
def test_a_file_that_was_open_to_others_is_closed_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int
) -> None:
    """It may have been read, so its owner has to know."""
    path = tmp_path / "file"
    path.write_bytes(b"x")
    path.chmod(mode)

    assert read_private(path) == b"x"
    assert mode_of(path) == 0o600
    assert events_of(caplog) == [("mode-tightened", str(path))]


def test_a_stricter_mode_is_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Whoever made it so had a reason."""
    (tmp_path / "file").touch(mode=0o400)
    read_private(tmp_path / "file")

    assert mode_of(tmp_path / "file") == 0o400
    assert not caplog.records


@pytest.mark.parametrize("target", ["other", "nothing"])
def test_a_link_is_not_read(tmp_path: Path, target: str) -> None:
    """Also one that leads nowhere is somebody's doing."""
    (tmp_path / "other").touch()
    (tmp_path / "file").symlink_to(tmp_path / target)

    assert _refusal(tmp_path / "file").endswith("is a symbolic link, and is not followed")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    """Spaced did not make it."""
    assert "is no plain file" in _refusal(tmp_path)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """Nobody may ever write to it."""
    os.mkfifo(tmp_path / "file")

    assert "is no plain file" in _refusal(tmp_path / "file")


@root_only
def test_a_file_of_another_user_is_refused(tmp_path: Path) -> None:
    """They know what is in it, and can change it."""
    (tmp_path / "file").touch(mode=0o600)
    os.chown(tmp_path / "file", STRANGER, -1)

    assert _refusal(tmp_path / "file").endswith(f"belongs to another user (uid {STRANGER})")


def test_a_file_larger_than_expected_is_refused(tmp_path: Path) -> None:
    """It would be read into memory whole."""
    write_private(tmp_path / "file", b"x" * 101)

    with pytest.raises(UnsafePlace, match="has more than 100 bytes"):
        read_private(tmp_path / "file", largest=100)
    assert len(read_private(tmp_path / "file", largest=101)) == 101

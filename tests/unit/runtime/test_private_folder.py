"""Files that a runtime lays down: private, and never anywhere else."""

from pathlib import Path

import pytest

from spaced.runtime.private_folder import PrivateFolder


@pytest.mark.parametrize(
    "name",
    ["a.txt", "../../etc/passwd", "/etc/passwd", "..", ".", "", "a\0b", "x" * 500, "é 😀.png"],
)
async def test_every_name_stays_in_the_folder(tmp_path: Path, name: str) -> None:
    """Whatever a person, or a client, has called a file."""
    folder = PrivateFolder(tmp_path / "own" / "deep")
    path = await folder.put(name, b"content")
    assert path.parent == tmp_path / "own" / "deep"
    check(path)
    await folder.remove(name)
    await folder.remove(name)
    assert not list((tmp_path / "own" / "deep").iterdir())


def check(path: Path) -> None:
    """Check that a file is there and ours alone."""
    assert path.read_bytes() == b"content"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700

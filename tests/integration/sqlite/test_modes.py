"""Nobody but the owner can read what the storage keeps, whatever the umask."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from spaced.testing.samples import start
from tests.integration.sqlite.places import opened


@pytest.fixture(params=[0o000, 0o022, 0o177])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """Set a umask for one test: the laxest, the usual one, and one that forbids folders."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def _modes(folder: Path) -> dict[str, int]:
    return {
        str(path.relative_to(folder.parent)): path.stat().st_mode & 0o777
        for path in (folder, *folder.rglob("*"))
    }


def _let_others_in(folder: Path) -> None:
    folder.chmod(0o755)
    (folder / "spaced.db").chmod(0o644)


def _assert_private(folder: Path) -> None:
    for path, mode in _modes(folder).items():
        is_folder = (folder.parent / path).is_dir()
        assert mode == (0o700 if is_folder else 0o600), f"{path} has mode {mode:o}"


async def test_everything_made_while_open_is_private(folder: Path, umask: int) -> None:
    """Also the WAL and its index, which SQLite makes itself."""
    async with opened(folder / "deeper") as storage:
        await storage.append([start("run-1")])
        await storage.put_blob(b"picture")
        assert (folder / "deeper" / "spaced.db-wal").exists()
        _assert_private(folder)


async def test_a_backup_is_private(folder: Path, tmp_path: Path, umask: int) -> None:
    """It holds the same secrets as the storage."""
    async with opened(folder) as storage:
        await storage.append([start("run-1")])
        await storage.put_blob(b"picture")
        await storage.backup(tmp_path / "backup")
    _assert_private(tmp_path / "backup")


async def test_laxer_modes_are_tightened_and_said(folder: Path) -> None:
    """What was open to others may have been read, and the owner should know."""
    async with opened(folder) as storage:
        await storage.append([start("run-1")])
    _let_others_in(folder)

    async with opened(folder) as storage:
        warnings = [text for text in (await storage.describe()).warnings if "closed" in text]

    _assert_private(folder)
    assert len(warnings) == 2
    assert "0755" in warnings[0]
    assert "0644" in warnings[1]


async def test_a_private_folder_warns_of_nothing(folder: Path) -> None:
    """A warning that always shows is read by nobody."""
    async with opened(folder):
        pass
    async with opened(folder) as storage:
        assert not [text for text in (await storage.describe()).warnings if "mode" in text]

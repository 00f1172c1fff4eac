"""What the storage refuses to open, and that it leaves such a file alone."""

from pathlib import Path

import pytest

from spaced.plugin_api import StorageRefused
from spaced.testing.samples import start
from tests.integration.sqlite.places import open_at, opened, outside


async def _filled(folder: Path) -> Path:
    async with opened(folder) as storage:
        await storage.append([start("run-1", count=500)])
    return folder / "spaced.db"


def _placed(folder: Path, content: bytes) -> Path:
    folder.mkdir(mode=0o700)
    database = folder / "spaced.db"
    database.write_bytes(content)
    database.chmod(0o600)
    return database


async def _assert_refused(folder: Path, reason: str) -> None:
    database = folder / "spaced.db"
    before = database.read_bytes()
    with pytest.raises(StorageRefused, match=reason) as refusal:
        await open_at(folder)
    assert refusal.value.remedy
    assert str(folder) in refusal.value.message
    assert database.read_bytes() == before


async def test_a_file_that_is_no_database_is_refused(folder: Path) -> None:
    """A note that lies under our name is not overwritten."""
    _placed(folder, b"These are my notes, please keep them.\n" * 100)

    await _assert_refused(folder, "not an SQLite database")


async def test_the_database_of_another_program_is_refused(folder: Path) -> None:
    """It has tables and not our application id."""
    database = _placed(folder, b"")
    with outside(database) as conn:
        conn.execute("create table bookmark (url text)")

    await _assert_refused(folder, "another program")


async def test_a_database_with_the_mark_of_another_program_is_refused(folder: Path) -> None:
    """An application id that is not ours is enough, also without any table."""
    database = _placed(folder, b"")
    with outside(database) as conn:
        conn.execute("pragma application_id = 7")

    await _assert_refused(folder, "another program")


async def test_a_newer_schema_is_refused(folder: Path) -> None:
    """An older spaced must not write to what it does not understand."""
    database = await _filled(folder)
    with outside(database) as conn:
        conn.execute("pragma user_version = 99")

    await _assert_refused(folder, "has schema 99")


@pytest.mark.parametrize("kept", [0.5, 0.1])
async def test_a_truncated_database_is_refused(folder: Path, kept: float) -> None:
    """Half a log must not be taken for a whole one."""
    database = await _filled(folder)
    content = database.read_bytes()
    database.write_bytes(content[: int(len(content) * kept) // 4096 * 4096])

    await _assert_refused(folder, "damaged")


async def test_a_database_without_even_a_header_is_refused(folder: Path) -> None:
    """A few bytes are no database."""
    database = await _filled(folder)
    database.write_bytes(database.read_bytes()[:60])

    await _assert_refused(folder, "damaged")


async def test_an_overwritten_header_is_refused(folder: Path) -> None:
    """The first page says nothing any more."""
    database = await _filled(folder)
    content = database.read_bytes()
    database.write_bytes(b"\xff" * 4096 + content[4096:])

    await _assert_refused(folder, "damaged")


async def test_an_overwritten_schema_is_refused(folder: Path) -> None:
    """The header is fine, the list of tables behind it is not."""
    database = await _filled(folder)
    content = database.read_bytes()
    database.write_bytes(content[:100] + b"\xff" * 3996 + content[4096:])

    await _assert_refused(folder, "damaged")


async def test_a_trigger_that_somebody_added_is_refused(folder: Path) -> None:
    """It would run with every append, inside our transaction."""
    database = await _filled(folder)
    with outside(database) as conn:
        conn.execute("create trigger spy after insert on event begin select 1; end")

    await _assert_refused(folder, "the trigger 'spy'")


async def test_a_view_that_somebody_added_is_refused(folder: Path) -> None:
    """We make none, so it came from outside."""
    database = await _filled(folder)
    with outside(database) as conn:
        conn.execute("create view spy as select * from event")

    await _assert_refused(folder, "the view 'spy'")


async def test_a_link_in_the_place_of_the_database_is_refused(folder: Path, tmp_path: Path) -> None:
    """Whoever made it decides what would be written to."""
    database = await _filled(folder)
    elsewhere = tmp_path / "elsewhere.db"
    database.rename(elsewhere)
    database.symlink_to(elsewhere)

    await _assert_refused(folder, "link")


async def test_a_missing_database_beside_its_blobs_is_refused(folder: Path) -> None:
    """A new log in its place would hide that the old one is lost."""
    database = await _filled(folder)
    database.unlink()

    with pytest.raises(StorageRefused, match="missing or empty"):
        await open_at(folder)
    assert not database.exists()


async def test_an_emptied_database_beside_its_blobs_is_refused(folder: Path) -> None:
    """No byte is as bad as no file."""
    database = await _filled(folder)
    database.write_bytes(b"")

    await _assert_refused(folder, "missing or empty")


async def test_an_empty_file_of_an_interrupted_beginning_is_used(folder: Path) -> None:
    """A power cut right after the file was made leaves it empty, and nothing is lost."""
    _placed(folder, b"")

    async with opened(folder) as storage:
        assert await storage.head() == 0


async def test_a_folder_of_another_user_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its owner could replace what lies in it."""
    await _filled(folder)
    monkeypatch.setattr("os.geteuid", lambda: folder.stat().st_uid + 1)

    await _assert_refused(folder, "another user")

"""A backup is of one moment, can be checked, and comes back as another log."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from spaced.plugin_api import InsertRow, Storage, StorageRefused
from spaced.testing.samples import event, read_log, start, write
from spaced.testing.tables import card
from spaced_sqlite.blobs import BlobFolder
from spaced_sqlite.factory import SqliteStorageFactory
from spaced_sqlite.privacy import make_folder
from spaced_sqlite.storage import SqliteStorage
from tests.integration.sqlite.places import opened, outside, place_at


class InterruptedCopy(Exception):
    """Stops a backup in the middle."""


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    """Where the backup goes."""
    return tmp_path / "backup"


async def _restored(backup: Path, folder: Path) -> None:
    await SqliteStorageFactory().restore(backup, place_at(folder))


async def _live(storage: Storage, stop: asyncio.Event) -> None:
    """Write events that name blobs until told to stop; each blob comes before its event."""
    version = 0
    while not stop.is_set():
        blob = await storage.put_blob(b"picture %d" % version)
        body = json.dumps({"blob": blob}).encode()
        row = InsertRow(table="card", row=card(f"card-{version}"))
        await storage.append([write("run-1", version, event(body))], [row])
        version += 1


async def test_a_backup_made_while_writing_is_of_one_moment(
    folder: Path, backup: Path, tmp_path: Path
) -> None:
    """Events, rows and the blobs that events name belong together, and writing never stopped."""
    async with opened(folder) as storage:
        await storage.append([start("big", count=2000)])
        stop = asyncio.Event()
        living = asyncio.ensure_future(_live(storage, stop))
        await storage.put_blob(b"first")
        await storage.backup(backup)
        stop.set()
        await living
        original = await read_log(storage)

    await _restored(backup, tmp_path / "restored")
    async with opened(tmp_path / "restored") as restored:
        events = await read_log(restored)
        assert events == original[: len(events)]
        named = [json.loads(event.body)["blob"] for event in events if event.stream == "run-1"]
        assert [await restored.get_blob(blob) for blob in named] == [
            b"picture %d" % number for number in range(len(named))
        ]
        rows = (await restored.list_rows("card")).rows
        assert len(rows) == len(named)


async def test_a_backup_is_a_plain_database(storage: SqliteStorage, backup: Path) -> None:
    """One file without a WAL beside it, whole, and with all that a person needs to trust it."""
    await storage.append([start("run-1", count=3)])
    await storage.backup(backup)

    assert _names(backup) == ["backup.json", "blobs", "spaced.db"]
    with outside(backup / "spaced.db") as conn:
        assert conn.execute("pragma journal_mode").fetchone() == ("delete",)
        assert conn.execute("pragma integrity_check").fetchone() == ("ok",)
    manifest = json.loads((backup / "backup.json").read_bytes())
    assert manifest == {"format": 1, "log_id": storage.log_id, "schema": 1, "position": 3}


async def test_blobs_are_not_reclaimed_while_they_are_copied(
    storage: SqliteStorage, backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copied log may still name them."""
    blob = await storage.put_blob(b"picture")
    await storage.reclaim([])
    ended: list[str] = []
    backing_up = asyncio.ensure_future(storage.backup(backup))
    backing_up.add_done_callback(lambda _: ended.append("backup"))
    reclaiming = asyncio.ensure_future(storage.reclaim([blob]))
    reclaiming.add_done_callback(lambda _: ended.append("reclaim"))
    reclaimed = await reclaiming
    await backing_up

    assert ended == ["backup", "reclaim"]
    assert reclaimed.blobs == 1
    assert len(list(BlobFolder(backup / "blobs").paths())) == 1


async def test_a_restored_log_has_another_id_and_private_files(
    storage: SqliteStorage, backup: Path, tmp_path: Path
) -> None:
    """A cursor of the old log must not be taken for one of the new."""
    await storage.append([start("run-1")])
    await storage.backup(backup)
    await _restored(backup, tmp_path / "restored")

    async with opened(tmp_path / "restored") as restored:
        assert restored.log_id != storage.log_id
        for path in (tmp_path / "restored").rglob("*"):
            assert path.stat().st_mode & 0o077 == 0


async def test_a_backup_can_be_restored_from_a_folder_that_cannot_be_written(
    storage: SqliteStorage, backup: Path, tmp_path: Path
) -> None:
    """A backup on a read-only disk is one too, and is left as it is."""
    await storage.append([start("run-1")])
    await storage.backup(backup)
    before = _names(backup)
    await _restored(backup, tmp_path / "restored")
    assert _names(backup) == before


@pytest.mark.parametrize("missing", ["backup.json", "spaced.db"])
async def test_an_incomplete_backup_is_refused(
    storage: SqliteStorage, backup: Path, tmp_path: Path, missing: str
) -> None:
    """An interrupted backup must not become a log with holes."""
    await storage.append([start("run-1")])
    await storage.backup(backup)
    (backup / missing).unlink()

    with pytest.raises(StorageRefused):
        await _restored(backup, tmp_path / "restored")
    assert not (tmp_path / "restored").exists()


async def test_a_backup_of_another_format_is_refused(
    storage: SqliteStorage, backup: Path, tmp_path: Path
) -> None:
    """A later spaced may write backups that this one cannot read."""
    await storage.backup(backup)
    manifest = json.loads((backup / "backup.json").read_bytes())
    (backup / "backup.json").write_text(json.dumps({**manifest, "format": 2}))

    with pytest.raises(StorageRefused, match="format 2"):
        await _restored(backup, tmp_path / "restored")


async def test_a_damaged_backup_is_refused(
    storage: SqliteStorage, backup: Path, tmp_path: Path
) -> None:
    """It is found out before anything is copied."""
    await storage.append([start("run-1", count=500)])
    await storage.backup(backup)
    content = (backup / "spaced.db").read_bytes()
    (backup / "spaced.db").write_bytes(content[: len(content) // 2])

    with pytest.raises(StorageRefused, match="damaged"):
        await _restored(backup, tmp_path / "restored")
    assert not (tmp_path / "restored").exists()


async def test_a_restore_that_stops_half_way_is_not_taken_for_a_log(
    storage: SqliteStorage, backup: Path, tmp_path: Path
) -> None:
    """The database comes last, so blobs without one are refused by the next start."""
    await storage.put_blob(b"picture")
    await storage.backup(backup)
    await _restored(backup, tmp_path / "restored")
    (tmp_path / "restored" / "spaced.db").rename(tmp_path / "restored" / "spaced.db.part")

    with pytest.raises(StorageRefused, match="missing"):
        async with opened(tmp_path / "restored"):
            pass


@pytest.mark.parametrize("existed", [False, True])
async def test_a_failing_backup_removes_what_it_began(
    storage: SqliteStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, existed: bool
) -> None:
    """The folder is as it was, whether it existed or not."""
    await storage.put_blob(b"picture")
    monkeypatch.setattr(BlobFolder, "paths", _interrupted)
    target = tmp_path / "target"
    if existed:
        make_folder(target)

    with pytest.raises(InterruptedCopy):
        await storage.backup(target)
    assert _names(target) == []
    assert ("target" in _names(tmp_path)) is existed


def _interrupted(_: BlobFolder) -> Iterator[Path]:
    raise InterruptedCopy

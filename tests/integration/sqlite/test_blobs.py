"""Blobs lie under their digest, once, and an id is never a path."""

import asyncio
from pathlib import Path

import pytest

from spaced.plugin_api import UnknownBlob
from spaced_sqlite.blobs import BlobFolder
from spaced_sqlite.storage import SqliteStorage


def _files(folder: Path) -> list[Path]:
    return [path for path in (folder / "blobs").rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    "blob_id",
    [
        "",
        "blob_",
        "blob_../../spaced.db",
        "blob_" + "a" * 63,
        "blob_" + "a" * 65,
        "blob_" + "A" * 64,
        "blob_" + "a" * 62 + "/.",
        "blob_" + "a" * 64 + "\n",
        "blob_" + "a" * 64 + "\x00",
        "blob_" + "٣" * 64,
        "/etc/passwd",
        "a" * 64,
    ],
)
async def test_an_id_of_another_form_is_unknown(storage: SqliteStorage, blob_id: str) -> None:
    """No part of an id reaches the file system unchecked."""
    with pytest.raises(UnknownBlob):
        await storage.get_blob(blob_id)
    assert (await storage.reclaim([blob_id])).blobs == 0


async def test_the_same_content_put_at_once_is_one_file(
    storage: SqliteStorage, folder: Path
) -> None:
    """Twenty callers race, nothing is left of the race."""
    ids = await asyncio.gather(*(storage.put_blob(b"picture") for _ in range(20)))
    assert len(set(ids)) == 1
    assert len(_files(folder)) == 1


async def test_storing_again_writes_nothing(storage: SqliteStorage, folder: Path) -> None:
    """The file of the first time stays."""
    await storage.put_blob(b"picture")
    (file,) = _files(folder)
    before = file.stat()
    await storage.put_blob(b"picture")
    assert file.stat() == before


async def test_a_clean_up_counts_what_it_removed(storage: SqliteStorage) -> None:
    """Also if an id is named twice, or names nothing."""
    one, two = await storage.put_blob(b"x" * 100), await storage.put_blob(b"y" * 50)
    await storage.reclaim([])
    reclaimed = await storage.reclaim([one, two, one, "blob_" + "0" * 64])
    assert (reclaimed.blobs, reclaimed.bytes) == (2, 150)


async def test_a_put_races_with_a_clean_up(storage: SqliteStorage) -> None:
    """Whoever gets an id for its content can read it, whichever came first."""
    for number in range(30):
        content = b"picture %d" % number
        blob = await storage.put_blob(content)
        await storage.reclaim([])
        _, again = await asyncio.gather(storage.reclaim([blob]), storage.put_blob(content))
        assert await storage.get_blob(again) == content


def test_what_is_no_blob_is_left_alone(tmp_path: Path) -> None:
    """A begun file of a crash is not counted, copied or taken for a blob."""
    blobs = BlobFolder(tmp_path)
    blob = blobs.put(b"picture")
    (tmp_path / blob[5:7] / "part-0").write_bytes(b"half")
    assert len(list(blobs.paths())) == 1
    assert blobs.size() == len(b"picture")

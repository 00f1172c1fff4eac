"""What the storage in memory has over the contract: its disks, and its order of hits."""

from pathlib import Path

import pytest

from spaced.storage.memory import MemoryStorage, MemoryStorageFactory
from spaced.storage.memory_disk import MemoryDisk
from spaced.storage.protocol import StoragePlace
from spaced.testing.fake_clock import FakeClock
from spaced.testing.samples import read_log, start
from spaced.testing.tables import SAMPLE_TABLES, put_card


@pytest.fixture
def disk() -> MemoryDisk:
    return MemoryDisk()


def storage_on(disk: MemoryDisk) -> MemoryStorage:
    return MemoryStorage(disk, tables=SAMPLE_TABLES, clock=FakeClock())


async def test_a_new_storage_over_the_same_disk_is_a_restart(disk: MemoryDisk) -> None:
    """Nothing has to be closed for that: the process died."""
    await storage_on(disk).append([start("run-1", count=2)], [put_card("a", content="word")])
    restarted = storage_on(disk)
    assert restarted.log_id == disk.log_id
    assert len(await read_log(restarted)) == 2
    assert (await restarted.search("card", "word", limit=1)).keys == [("a",)]


async def test_a_copy_of_a_disk_lives_on_its_own(disk: MemoryDisk) -> None:
    """What happens to either later does not reach the other."""
    await storage_on(disk).append([start("run-1")], [put_card("a")])
    copy = disk.copy()
    assert copy == disk
    await storage_on(disk).append([start("run-2")], [put_card("b")])
    await storage_on(copy).purge("run-1")
    assert [e.stream for e in await read_log(storage_on(disk))] == ["run-1", "run-2"]
    assert await read_log(storage_on(copy)) == []


async def test_hits_come_newest_indexed_first(disk: MemoryDisk) -> None:
    """Indexing again moves a row to the front; writing it without text does not."""
    storage = storage_on(disk)
    for name in ("a", "b", "c"):
        await storage.append([], [put_card(name, content="word")])
    await storage.append([], [put_card("a", content="word")])
    await storage.append([], [put_card("b")])
    hits = await storage.search("card", "word", limit=9)
    assert hits.keys == [("a",), ("c",), ("b",)]


async def test_long_words_are_compared_by_their_first_64_characters(disk: MemoryDisk) -> None:
    """So one word can never weigh as much as a text."""
    storage = storage_on(disk)
    await storage.append([], [put_card("a", content="x" * 64 + "a")])
    for query in ("x" * 64, "x" * 64 + "b", "x" * 65 + "*"):
        assert (await storage.search("card", query, limit=1)).keys == [("a",)]
    with_63 = await storage.search("card", "x" * 63, limit=1)
    assert with_63.keys == []


async def test_a_factory_writes_no_file(tmp_path: Path) -> None:
    """The folder only names the disk."""
    folder = tmp_path / "storage"
    place = StoragePlace(folder=folder, tables=SAMPLE_TABLES, clock=FakeClock())
    factory = MemoryStorageFactory()
    await (await factory.open(place)).append([start("run-1")])
    assert len(await read_log(await factory.open(place))) == 1
    assert not folder.exists()

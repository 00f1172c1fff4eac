"""What the storage tells of itself, and what a person is warned of."""

from pathlib import Path

import pytest

from spaced.plugin_api import StorageError, StorageFull
from spaced.testing.samples import start
from spaced_sqlite.driver import sqlite3
from spaced_sqlite.engine import engine_warnings
from spaced_sqlite.faults import storage_fault
from spaced_sqlite.storage import SqliteStorage


@pytest.mark.parametrize(
    "version",
    [(3, 7, 0), (3, 40, 1), (3, 44, 5), (3, 45, 0), (3, 50, 6), (3, 51, 0), (3, 51, 2)],
)
def test_a_version_with_the_wal_reset_fault_is_warned_of(version: tuple[int, ...]) -> None:
    """The warning says what to install."""
    (warning,) = engine_warnings(version)
    assert ".".join(map(str, version)) in warning
    assert "pysqlite3-binary" in warning


@pytest.mark.parametrize(
    "version", [(3, 6, 23), (3, 44, 6), (3, 44, 9), (3, 50, 7), (3, 51, 3), (3, 52, 0), (4, 0, 0)]
)
def test_a_version_without_the_fault_is_fine(version: tuple[int, ...]) -> None:
    """Also those to which the correction was carried back."""
    assert engine_warnings(version) == []


async def test_the_report_names_the_engine_and_where_the_bytes_are(
    storage: SqliteStorage, folder: Path
) -> None:
    """Somebody with a full disk sees which part takes it."""
    await storage.append([start("run-1")])
    await storage.put_blob(b"x" * 1234)
    report = await storage.describe()

    assert report.engine == f"SQLite {sqlite3.sqlite_version}"
    assert report.location == str(folder)
    assert report.sizes["blobs"] == 1234
    assert report.sizes["database"] > 0
    assert report.sizes["wal"] > 0
    assert report.sizes["snapshots"] == 0


@pytest.mark.parametrize(
    ("code", "kind", "remedy"),
    [
        (13, StorageFull, "Free some space"),
        (5, StorageError, "other program"),
        (261, StorageError, "other program"),
        (11, StorageError, "backup"),
        (267, StorageError, "backup"),
        (26, StorageError, "backup"),
        (10, StorageError, "Check the disk"),
        (1034, StorageError, "Check the disk"),
        (1, StorageError, "doctor"),
    ],
)
def test_each_fault_of_sqlite_has_a_remedy(
    tmp_path: Path, code: int, kind: type[StorageError], remedy: str
) -> None:
    """A person reads what happened, where, and what to do."""
    error = sqlite3.OperationalError("what SQLite says")
    error.sqlite_errorcode = code
    fault = storage_fault(error, tmp_path)

    assert type(fault) is kind
    assert str(tmp_path) in fault.message
    assert remedy in fault.remedy


def test_a_fault_without_a_code_is_known_by_its_sentence(tmp_path: Path) -> None:
    """Another driver leaves the code out of some errors."""
    full = sqlite3.OperationalError("database or disk is full")
    assert type(storage_fault(full, tmp_path)) is StorageFull
    other = sqlite3.OperationalError("no such table: event")
    assert type(storage_fault(other, tmp_path)) is StorageError


@pytest.mark.parametrize(
    ("number", "kind"), [(28, StorageFull), (122, StorageFull), (5, StorageError)]
)
def test_a_fault_of_the_system_is_told_apart(
    tmp_path: Path, number: int, kind: type[StorageError]
) -> None:
    """No space and a used-up quota heal by themselves; an I/O error does not."""
    assert type(storage_fault(OSError(number, "what the system says"), tmp_path)) is kind


def test_what_is_no_fault_of_the_storage_stays_what_it_is(tmp_path: Path) -> None:
    """A wrong call is a fault of the caller."""
    error = ValueError("no such column")
    assert storage_fault(error, tmp_path) is error

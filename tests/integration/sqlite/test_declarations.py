"""Tables of the core come, change and go, and no row that cannot be rebuilt is lost."""

from dataclasses import replace
from pathlib import Path

import pytest

from spaced.plugin_api import (
    Column,
    Index,
    IndexColumn,
    InsertRow,
    PutRow,
    Row,
    Storage,
    StorageRefused,
    Table,
)
from spaced.testing.samples import start
from tests.integration.sqlite.places import opened, outside

DERIVED = Table(
    name="task",
    key=("task_id",),
    columns=(Column(name="task_id"), Column(name="stream"), Column(name="rank", type="integer")),
    role="derived",
    indexes=(Index(name="by_rank", columns=(IndexColumn(name="rank"),)),),
    text_columns=("content",),
)
OWN = Table(
    name="draft",
    key=("draft_id",),
    columns=(Column(name="draft_id"), Column(name="note", required=False)),
    role="own",
)
TASK: Row = {"task_id": "t", "stream": "run-1", "rank": 1}
DRAFT: Row = {"draft_id": "d", "note": "half a sentence"}


async def _write_both(folder: Path) -> None:
    async with opened(folder, (DERIVED, OWN)) as storage:
        await storage.append(
            [start("run-1")],
            [
                InsertRow(table="task", row=TASK, text={"content": "words"}),
                InsertRow(table="draft", row=DRAFT),
            ],
        )


async def _unfilled(storage: Storage) -> list[str]:
    return list((await storage.describe()).unfilled_tables)


async def test_a_table_that_did_not_change_keeps_its_rows(folder: Path) -> None:
    """Nothing is rebuilt without need."""
    await _write_both(folder)
    async with opened(folder, (DERIVED, OWN)) as storage:
        assert (await storage.list_rows("task")).rows == [TASK]
        assert await _unfilled(storage) == []


async def test_a_changed_derived_table_is_made_anew_and_listed(folder: Path) -> None:
    """Its rows lack what was added; the log has all of it."""
    await _write_both(folder)
    changed = replace(DERIVED, columns=(*DERIVED.columns, Column(name="state")))
    async with opened(folder, (changed, OWN)) as storage:
        assert (await storage.list_rows("task")).rows == []
        assert (await storage.search("task", "words", limit=5)).keys == []
        assert await _unfilled(storage) == ["task"]
        assert (await storage.list_rows("draft")).rows == [DRAFT]


async def test_other_texts_to_index_also_need_a_rebuild(folder: Path) -> None:
    """Nobody knows the texts of rows that are there."""
    await _write_both(folder)
    changed = replace(DERIVED, text_columns=("content", "heading"))
    async with opened(folder, (changed, OWN)) as storage:
        assert await _unfilled(storage) == ["task"]


async def test_a_new_derived_table_on_an_old_log_is_listed(folder: Path) -> None:
    """The events that its rows derive from are there already."""
    await _write_both(folder)
    added = replace(DERIVED, name="step")
    async with opened(folder, (DERIVED, OWN, added)) as storage:
        assert await _unfilled(storage) == ["step"]


async def test_only_the_core_says_that_a_table_was_rebuilt(folder: Path) -> None:
    """Rows that are written meanwhile, in bulk or not, do not make the table whole."""
    await _write_both(folder)
    changed = replace(DERIVED, columns=(*DERIVED.columns, Column(name="state")))
    async with opened(folder, (changed, OWN)) as storage:
        put = PutRow(table="task", row={**TASK, "state": "open"})
        await storage.append([], [put])
        await storage.append([], [put], bulk=True)
    async with opened(folder, (changed, OWN)) as storage:
        assert await _unfilled(storage) == ["task"]
        await storage.mark_filled(["task"])
        assert await _unfilled(storage) == []


@pytest.mark.parametrize("declared", [DERIVED, OWN], ids=["derived", "own"])
async def test_other_indexes_are_made_in_place(folder: Path, declared: Table) -> None:
    """An order of rows needs no rebuild of the rows."""
    await _write_both(folder)
    index = Index(name="backwards", columns=(IndexColumn(name=declared.key[0], descending=True),))
    changed = replace(declared, indexes=(index,))
    tables = [changed if table == declared else table for table in (DERIVED, OWN)]
    async with opened(folder, tables) as storage:
        assert len((await storage.list_rows(declared.name, order="backwards")).rows) == 1
        assert await _unfilled(storage) == []
    with outside(folder / "spaced.db") as conn:
        indexes = conn.execute(
            "select name from sqlite_schema where type = 'index' and tbl_name = ?",
            [f"row_{declared.name}"],
        ).fetchall()
    names = {name for (name,) in indexes}
    assert f"row_{declared.name}:by:backwards" in names
    assert f"row_{declared.name}:by:by_rank" not in names


async def test_an_own_table_gets_a_column_that_may_be_null(folder: Path) -> None:
    """Rows that are there have null in it."""
    await _write_both(folder)
    changed = replace(
        OWN,
        columns=(*OWN.columns, Column(name="length", type="integer", required=False)),
        text_columns=("note_text",),
    )
    async with opened(folder, (DERIVED, changed)) as storage:
        assert (await storage.list_rows("draft")).rows == [{**DRAFT, "length": None}]
        row = {"draft_id": "e", "note": None, "length": 3}
        await storage.append([], [PutRow(table="draft", row=row, text={"note_text": "new"})])
        assert (await storage.search("draft", "new", limit=5)).keys == [("e",)]
    async with opened(folder, (DERIVED, changed)) as storage:
        assert len((await storage.list_rows("draft")).rows) == 2


@pytest.mark.parametrize(
    "changed",
    [
        replace(OWN, columns=(*OWN.columns, Column(name="owner"))),
        replace(OWN, columns=(Column(name="draft_id"),)),
        replace(OWN, columns=(Column(name="draft_id"), Column(name="note"))),
        replace(
            OWN,
            columns=(
                Column(name="draft_id"),
                Column(name="note", type="integer", required=False),
            ),
        ),
        replace(OWN, columns=(*OWN.columns, Column(name="stream")), role="derived"),
    ],
    ids=["required column", "column gone", "null refused", "other type", "now derived"],
)
async def test_any_other_change_of_an_own_table_is_refused(folder: Path, changed: Table) -> None:
    """Its rows exist nowhere else."""
    await _write_both(folder)
    with pytest.raises(StorageRefused, match="table 'draft'") as refusal:
        async with opened(folder, (DERIVED, changed)):
            pass
    assert refusal.value.remedy
    async with opened(folder, (DERIVED, OWN)) as storage:
        assert (await storage.list_rows("draft")).rows == [DRAFT]


async def test_a_refused_change_changes_no_other_table(folder: Path) -> None:
    """All tables become as declared, or none."""
    await _write_both(folder)
    tables = (
        replace(DERIVED, columns=(*DERIVED.columns, Column(name="state"))),
        replace(OWN, columns=(*OWN.columns, Column(name="owner"))),
    )
    with pytest.raises(StorageRefused):
        async with opened(folder, tables):
            pass
    async with opened(folder, (DERIVED, OWN)) as storage:
        assert (await storage.list_rows("task")).rows == [TASK]


async def test_a_table_that_is_no_longer_declared_keeps_its_rows(folder: Path) -> None:
    """A plugin that is away for a day finds them again."""
    await _write_both(folder)
    async with opened(folder, (DERIVED,)) as storage:
        with pytest.raises(ValueError, match="no table 'draft'"):
            await storage.list_rows("draft")
    async with opened(folder, (DERIVED, OWN)) as storage:
        assert (await storage.list_rows("draft")).rows == [DRAFT]


async def test_every_table_is_strict(folder: Path) -> None:
    """A value of another type is a fault of ours that must not be stored."""
    await _write_both(folder)
    with outside(folder / "spaced.db") as conn:
        lax = conn.execute(
            "select name from pragma_table_list where not strict and type = 'table'"
            " and schema = 'main' and name not like 'sqlite%' and name != '_sqlite_migrations'"
        ).fetchall()
    assert lax == []

"""Whatever is recorded, in whatever portions: rows, words and transcripts equal a fresh fold."""

import re
from collections.abc import Iterator, Sequence

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spaced.engine.journal import Entry, Journal
from spaced.engine.transcripts import all_items, newest_items
from spaced.log.fold import StreamFold, fold_stream
from spaced.log.read_models.catalogue import TABLES
from spaced.log.table import Key
from spaced.storage.protocol import Storage
from spaced.testing.storage_harness import StorageHarness
from tests.integration.journal.telling import derived_rows, findings, found
from tests.unit.log.stories import Story, definition_stories, run_stories, system_stories

STREAMS = ("run-a", "run-b", "defined", "system")
Portions = Sequence[Sequence[Entry]]

law = settings(
    deadline=None,
    derandomize=True,
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@st.composite
def portions(draw: st.DrawFn) -> Portions:
    """Tell four streams at once, in appends of one to all of the streams."""
    left: dict[str, Story] = {
        "run-a": draw(run_stories("run-a", most=14)),
        "run-b": draw(run_stories("run-b", most=8)),
        "defined": draw(definition_stories()),
        "system": draw(system_stories()),
    }
    versions = dict.fromkeys(left, 0)
    told = []
    while any(left.values()):
        entries = []
        open_streams = sorted(stream for stream in left if left[stream])
        chosen = draw(st.lists(st.sampled_from(open_streams), min_size=1, unique=True))
        for stream in chosen:
            count = draw(st.integers(1, len(left[stream])))
            entries.append(
                Entry(
                    stream=stream,
                    expected_version=versions[stream],
                    statements=left[stream][:count],
                )
            )
            left[stream] = left[stream][count:]
            versions[stream] += count
        told.append(entries)
    return told


async def _told(harness: StorageHarness, story: Portions) -> Storage:
    storage = await harness.open(tuple(TABLES.values()))
    journal = Journal(storage, harness.clock)
    for entries in story:
        await journal.append(*entries)
        harness.clock.advance(milliseconds=7)
    return storage


async def _folds(storage: Storage) -> dict[str, StreamFold]:
    return {stream: fold_stream(await storage.read_stream(stream)) for stream in STREAMS}


def _keys_with(folds: dict[str, StreamFold], table: str, word: str) -> Iterator[Key]:
    for fold in folds.values():
        for (name, key), put in fold.rows.items():
            texts = " ".join((put.text or {}).values())
            if name == table and word in re.findall(r"[^\W_]+", texts):
                yield key


@law
@given(story=portions())
async def test_rows_equal_a_fold_of_what_was_recorded(
    harness: StorageHarness, story: Portions
) -> None:
    """In any portions, over several streams: the same rows, and the doctor finds nothing."""
    storage = await _told(harness, story)

    for stream, fold in (await _folds(storage)).items():
        assert fold.damage is None
        assert await derived_rows(storage, stream) == {k: p.row for k, p in fold.rows.items()}
    assert await findings(storage) == []
    await storage.close()


@law
@given(story=portions())
async def test_words_are_found_exactly_where_a_fold_puts_them(
    harness: StorageHarness, story: Portions
) -> None:
    """Search finds complete items and titles as they are now, and nothing that they were."""
    storage = await _told(harness, story)
    folds = await _folds(storage)

    for table in ("run", "session", "item"):
        for word in ("alpha", "beta", "gamma"):
            assert await found(storage, table, word) == set(_keys_with(folds, table, word))
    await storage.close()


@law
@given(story=portions(), limit=st.integers(1, 4))
async def test_transcripts_equal_a_fold_of_what_was_recorded(
    harness: StorageHarness, story: Portions, limit: int
) -> None:
    """As a whole, and page by page from the newest item to the oldest."""
    storage = await _told(harness, story)

    for stream, fold in (await _folds(storage)).items():
        for session_id, transcript in fold.transcripts.items():
            items = transcript.items()
            assert await all_items(storage, stream, session_id) == items
            paged: list[object] = []
            before = None
            while True:
                page = await newest_items(storage, session_id, limit=limit, before=before)
                paged = [*page.items, *paged]
                before = page.before
                if before is None:
                    break
            assert paged == items
    await storage.close()

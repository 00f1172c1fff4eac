"""The storage contract finds every fault it should find, and none in an honest storage."""

import inspect
from functools import partial
from pathlib import Path

import pytest

from spaced.errors import SpacedError
from spaced.storage.memory import MemoryStorage
from spaced.testing.storage_harness import MemoryStorageHarness
from tests.contract import faulty_answers, faulty_blobs, faulty_items, faulty_storages
from tests.contract.contract_runner import all_promises, run_contract
from tests.contract.faulty_answers import (
    AnnouncesAfterTheAnswer,
    AnnouncesBeforeTheCommit,
    AnnouncesInAThread,
    AnnouncesOutOfOrder,
    AnnouncesTwice,
    AnswersAfterItsClose,
    BeginsAPageWithTheLastRow,
    FeelsItsListeners,
    FencesNoRows,
    FetchesRowsInItsOwnOrder,
    FindsAnyWord,
    FindsNothingWithoutWords,
    ForgetsTheFence,
    ForgetsTheFenceInTheNextLife,
    GivesEachRowOnce,
    HidesTheErrorsOfListeners,
    IgnoresAfterInAStream,
    IgnoresAfterInTheLog,
    InsertOverwrites,
    InsertsOneKeyTwice,
    LeavesRowsOfAPurgedStream,
    LetsTheHeadFall,
    LimitsBeforeItFilters,
    ListsWithoutCase,
    NeverMarksATable,
    NeverMatchesNull,
    PutClearsTheText,
    ReadsTablesAtTwoMoments,
    ReusesPositions,
    SharesItsRows,
    SwallowsAnAnnouncement,
    TakesABulkAppendForARebuild,
    WritesABackupOverWhatIsThere,
    WritesBodiesAnew,
)
from tests.contract.faulty_blobs import (
    BeginsAPageWithTheLastBlob,
    ListsBlobsAsTheyCame,
    ListsOnlyNewBlobs,
    ReclaimsNewBlobs,
)
from tests.contract.faulty_items import ReadsItemsOfEverySession, ReadsItemsSessionBySession
from tests.contract.faulty_storages import (
    AnswersBeforeItIsDurable,
    AnswersBulkBeforeItIsDurable,
    AnswersRowsBeforeTheyAreDurable,
    DoublesACancelledAppend,
    HalvesACancelledAppend,
    IsNotAtomicOverStreams,
    LosesACancelledAppend,
    LosesEveryHundredthAppend,
    LosesTheGroupOfACancelledCaller,
    PurgesBeforeItIsDurable,
    ReordersTheEventsOfAnAppend,
    SharesConflicts,
    ShowsAPositionBeforeASmallerOne,
    TornByOtherAppends,
    WritesRowsFirst,
    harness_of,
)

FAULTS: dict[type[MemoryStorage], str] = {
    LosesEveryHundredthAppend: "test_hundreds_of_appends_are_all_there",
    ReordersTheEventsOfAnAppend: "test_events_of_one_append_keep_their_order",
    AnswersBeforeItIsDurable: "test_every_answered_append_survives_a_crash",
    AnswersBulkBeforeItIsDurable: "test_a_bulk_append_survives_a_crash",
    AnswersRowsBeforeTheyAreDurable: "test_rows_alone_survive_a_crash",
    PurgesBeforeItIsDurable: "test_a_purge_is_durable_once_it_returns",
    ShowsAPositionBeforeASmallerOne: "test_a_follower_sees_every_event_once",
    IsNotAtomicOverStreams: "test_one_stale_stream_refuses_all_streams_and_rows",
    WritesRowsFirst: "test_rows_of_a_stale_append_are_not_written",
    TornByOtherAppends: "test_bulk_appends_and_plain_ones_all_succeed",
    SharesConflicts: "test_a_conflict_fails_only_its_own_append",
    LosesTheGroupOfACancelledCaller: "test_a_cancelled_append_takes_nobody_with_it",
    HalvesACancelledAppend: "test_a_cancelled_append_happens_once_or_not_at_all",
    LosesACancelledAppend: "test_what_happened_is_announced_although_its_caller_is_gone",
    DoublesACancelledAppend: "test_a_cancelled_append_happens_once_or_not_at_all",
    AnnouncesBeforeTheCommit: "test_what_is_announced_is_durable",
    AnnouncesTwice: "test_each_event_is_announced_once_and_before_the_answer",
    SwallowsAnAnnouncement: "test_events_are_announced_in_the_order_of_positions",
    AnnouncesAfterTheAnswer: "test_each_event_is_announced_once_and_before_the_answer",
    AnnouncesOutOfOrder: "test_each_event_is_announced_once_and_before_the_answer",
    AnnouncesInAThread: "test_events_are_announced_on_the_event_loop",
    FeelsItsListeners: "test_a_failing_listener_harms_nothing",
    HidesTheErrorsOfListeners: "test_a_failing_listener_harms_nothing",
    ForgetsTheFence: "test_the_name_is_fenced",
    FencesNoRows: "test_a_purged_stream_takes_no_rows_either",
    ForgetsTheFenceInTheNextLife: "test_the_fence_survives_a_reopen",
    ReusesPositions: "test_positions_are_not_given_again",
    LetsTheHeadFall: "test_the_head_does_not_fall",
    LeavesRowsOfAPurgedStream: "test_the_rows_are_gone_from_every_table",
    PutClearsTheText: "test_put_without_text_leaves_the_index",
    InsertOverwrites: "test_insert_of_a_taken_key_refuses_the_append",
    InsertsOneKeyTwice: "test_an_append_cannot_insert_one_key_twice",
    IgnoresAfterInAStream: "test_a_stream_is_read_from_behind_a_version",
    IgnoresAfterInTheLog: "test_the_log_is_read_in_pages",
    LimitsBeforeItFilters: "test_some_kinds_are_read_from_the_log",
    BeginsAPageWithTheLastRow: "test_pages_together_are_the_whole_list",
    ListsWithoutCase: "test_text_is_ordered_by_code_points",
    NeverMatchesNull: "test_null_is_chosen_by_none",
    GivesEachRowOnce: "test_a_key_that_is_given_twice_has_its_row_twice",
    ReadsTablesAtTwoMoments: "test_rows_of_several_tables_are_never_of_two_moments",
    FetchesRowsInItsOwnOrder: "test_rows_are_fetched_in_the_order_of_the_keys",
    FindsAnyWord: "test_all_words_must_be_there",
    FindsNothingWithoutWords: "test_a_query_without_words_is_refused",
    WritesBodiesAnew: "test_bodies_come_back_byte_for_byte",
    ReadsItemsSessionBySession: "test_items_of_several_sessions_are_read_at_once",
    ReadsItemsOfEverySession: "test_items_of_several_sessions_are_read_at_once",
    ReclaimsNewBlobs: "test_reclaim_spares_blobs_put_since_the_last_call",
    ListsBlobsAsTheyCame: "test_blobs_are_listed_by_id",
    BeginsAPageWithTheLastBlob: "test_blobs_are_listed_in_pages",
    ListsOnlyNewBlobs: "test_stored_blobs_are_listed_after_a_crash",
    WritesABackupOverWhatIsThere: "test_a_folder_with_something_in_it_is_refused",
    TakesABulkAppendForARebuild: "test_rows_alone_do_not_fill_a_table",
    NeverMarksATable: "test_a_derived_table_that_changed_waits_for_its_rebuild",
    AnswersAfterItsClose: "test_a_closed_storage_refuses_every_call",
    SharesItsRows: "test_nobody_can_change_what_was_written",
}
"""Each fault, and a test that must find it."""


def test_an_honest_storage_passes_every_test_of_the_contract(tmp_path: Path) -> None:
    """So what fails below fails for its fault, and not because of the runner."""
    assert run_contract(MemoryStorageHarness, tmp_path, all_promises()) == {}


@pytest.mark.parametrize(
    ("faulty", "proof"), FAULTS.items(), ids=[faulty.__name__ for faulty in FAULTS]
)
def test_the_contract_finds_the_fault(
    faulty: type[MemoryStorage], proof: str, tmp_path: Path
) -> None:
    """A storage with this fault fails the test that was written against it."""
    failures = run_contract(partial(harness_of, faulty), tmp_path, [proof])
    assert proof in failures
    assert all(_is_a_verdict(error) for error in _leaves(failures[proof])), failures


@pytest.mark.parametrize("faulty", FAULTS, ids=lambda faulty: faulty.__name__)
def test_a_faulty_storage_still_does_what_a_storage_does(
    faulty: type[MemoryStorage], tmp_path: Path
) -> None:
    """Its fault is one fault: it can be opened, written and read."""
    harmless = ["test_the_first_event_of_a_stream_has_version_one"]
    assert run_contract(partial(harness_of, faulty), tmp_path, harmless) == {}


def test_every_faulty_storage_is_put_before_the_contract() -> None:
    """A fault that is written down is also looked for."""
    written = {
        item
        for module in (faulty_answers, faulty_blobs, faulty_items, faulty_storages)
        for item in vars(module).values()
        if inspect.isclass(item) and issubclass(item, MemoryStorage)
    }
    assert written - {MemoryStorage} == FAULTS.keys()


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for part in error.exceptions for leaf in _leaves(part)]
    return [error]


def _is_a_verdict(error: BaseException) -> bool:
    return isinstance(error, AssertionError | SpacedError | RuntimeError | pytest.fail.Exception)

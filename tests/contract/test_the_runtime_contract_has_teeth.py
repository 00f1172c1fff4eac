"""The runtime contract finds every fault it should find, and none in an honest runtime."""

import inspect
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest

from spaced.errors import SpacedError
from spaced.runtime.protocol import RuntimeServices
from tests.contract import faulty_reports, faulty_runtimes
from tests.contract.faulty_reports import (
    DoesNotWaitForTheSink,
    DropsTheLastText,
    FinishesATurnAfterACrash,
    FinishesBeforeItsLastWord,
    FinishesTwice,
    LosesAConversationInSilence,
    LosesTheTurn,
    MixesSessions,
    ReportsOutOfOrder,
    ReusesSources,
)
from tests.contract.faulty_runtimes import (
    AllowsWhatWasRejected,
    AlwaysTakesAnswers,
    AppliesEverything,
    BlocksTheLoop,
    ClosesEverybody,
    ClosesOnce,
    FaultyRuntime,
    FindsNoProblem,
    FinishesAnInterruptedTurnTwice,
    ForgetsAnEarlyInterrupt,
    ForgetsNothing,
    HandsOverTheFirstPromptOnly,
    IgnoresInterrupts,
    InterruptsWhateverRuns,
    LeavesAChild,
    LetsGoOfNothing,
    PretendsToSteer,
    RaisesWhatItLikes,
    ReportsAfterItsClose,
    TakesASecondAnswer,
    WaitsForTheEndOfTheTurn,
)
from tests.contract.runtime_contract_runner import all_promises, run_contract
from tests.contract.scripted_harness import ScriptedHarness

IMPATIENCE_SECONDS = 2.0

FAULTS: dict[type[FaultyRuntime], str] = {
    ReportsOutOfOrder: "test_streamed_text_arrives_whole_and_in_order",
    DropsTheLastText: "test_streamed_text_arrives_whole_and_in_order",
    FinishesTwice: "test_a_turn_ends_exactly_once",
    FinishesAnInterruptedTurnTwice: "test_an_interrupted_turn_ends_exactly_once",
    FinishesBeforeItsLastWord: "test_the_end_of_a_turn_is_its_last_word",
    FinishesATurnAfterACrash: "test_a_crash_is_reported_once_and_nothing_follows",
    DoesNotWaitForTheSink: "test_the_next_update_waits_until_the_last_was_taken",
    MixesSessions: "test_two_sessions_do_not_mix",
    LosesTheTurn: "test_items_carry_their_turn",
    ReusesSources: "test_items_of_two_turns_are_two",
    IgnoresInterrupts: "test_an_interrupt_ends_the_turn",
    InterruptsWhateverRuns: "test_an_interrupt_of_another_turn_ends_nothing",
    ForgetsAnEarlyInterrupt: "test_an_interrupt_right_after_the_start_is_not_lost",
    AlwaysTakesAnswers: "test_an_unknown_ask_takes_no_answer",
    TakesASecondAnswer: "test_a_second_answer_is_not_taken",
    AllowsWhatWasRejected: "test_a_rejected_tool_is_not_used",
    PretendsToSteer: "test_an_idle_agent_takes_no_steer",
    HandsOverTheFirstPromptOnly: "test_every_prompt_of_a_turn_is_handed_over",
    WaitsForTheEndOfTheTurn: "test_starting_a_turn_does_not_wait_for_the_sink",
    RaisesWhatItLikes: "test_a_closed_agent_takes_nothing_more",
    BlocksTheLoop: "test_nothing_blocks_the_event_loop",
    ReportsAfterItsClose: "test_a_close_during_a_turn_is_its_end",
    LeavesAChild: "test_a_close_after_a_turn_leaves_nothing",
    ClosesOnce: "test_closing_twice_is_fine",
    ClosesEverybody: "test_closing_one_session_leaves_the_others",
    LetsGoOfNothing: "test_closing_the_runtime_lets_go_of_everything",
    ForgetsNothing: "test_a_forgotten_conversation_is_followed_by_a_new_one",
    LosesAConversationInSilence: "test_a_conversation_that_nobody_knows_is_lost_aloud",
    AppliesEverything: "test_changes_are_answered_field_by_field",
    FindsNoProblem: "test_an_agent_that_is_broken_has_a_problem",
}
"""Each fault, and a test that must find it."""


class FaultyHarness(ScriptedHarness):
    """Does not wait long for what will not come, and tidies up after faulty closes."""

    def __init__(self, faulty: type[FaultyRuntime], scratch: Path) -> None:
        super().__init__(scratch, self._make, patience_seconds=IMPATIENCE_SECONDS)
        self._faulty = faulty
        self._made: list[FaultyRuntime] = []

    def _make(self, config: Mapping[str, object], services: RuntimeServices) -> FaultyRuntime:
        runtime = self._faulty(config, services)
        self._made.append(runtime)
        return runtime

    async def close(self) -> None:
        await super().close()
        for runtime in self._made:
            await runtime.end()


def test_an_honest_runtime_passes_every_test_of_the_contract(tmp_path: Path) -> None:
    """What stands before the faulty ones is no fault itself."""
    assert run_contract(partial(ScriptedHarness, factory=FaultyRuntime), tmp_path, _proofs()) == {}


@pytest.mark.parametrize(
    ("faulty", "proof"), FAULTS.items(), ids=[faulty.__name__ for faulty in FAULTS]
)
def test_the_contract_finds_the_fault(
    faulty: type[FaultyRuntime], proof: str, tmp_path: Path
) -> None:
    """A runtime with this fault fails the test that was written against it."""
    failures = run_contract(partial(FaultyHarness, faulty), tmp_path, [proof])
    assert proof in failures
    assert _is_a_verdict(failures[proof]), failures


def test_every_proof_is_a_promise() -> None:
    """A test that was renamed would prove nothing here."""
    assert set(FAULTS.values()) <= set(all_promises())


def test_every_faulty_runtime_is_put_before_the_contract() -> None:
    """A fault that is written down is also looked for."""
    written = {
        item
        for module in (faulty_reports, faulty_runtimes)
        for item in vars(module).values()
        if inspect.isclass(item) and issubclass(item, FaultyRuntime)
    }
    assert written - {FaultyRuntime} == FAULTS.keys()


def _proofs() -> list[str]:
    return sorted(set(FAULTS.values()))


def _is_a_verdict(error: BaseException) -> bool:
    verdicts = (AssertionError, SpacedError, RuntimeError, ValueError, TimeoutError)
    return isinstance(error, (*verdicts, pytest.fail.Exception))

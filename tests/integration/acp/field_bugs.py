"""What hosts of agents were seen to do wrong, and the test that keeps us from it.

The first column is the symptom that people reported, in a few words. The second names the test that
would fail, as `file::test`; or it says why the fault cannot happen here, or is not ours to mend.
"""

from typing import Final

_HERE: Final = "tests/integration/acp"
_UNIT: Final = "tests/unit/acp"
_REAL: Final = "tests/real_agents/test_agents.py"
_TOOLS: Final = "tests/integration/engine/test_tools_and_processes.py"
_LEFT: Final = f"{_TOOLS}::test_what_a_dead_daemon_left_is_killed_and_counted"
_OUTLIVES: Final = (
    f"{_HERE}/test_crashes.py::test_an_agent_that_outlives_the_daemon_does_not_outlive_the_next"
)
_ONCE: Final = (
    f"{_HERE}/test_crashes.py::test_a_prompt_reaches_the_agent_once_wherever_the_daemon_dies"
)
_DEAD_INSIDE: Final = (
    f"{_HERE}/test_stopping.py::test_an_agent_whose_inside_is_dead_gets_no_further_prompt"
)
_STUBBORN: Final = f"{_HERE}/test_stopping.py::test_an_agent_that_does_not_listen_is_killed"
_TWENTY: Final = f"{_HERE}/test_stopping.py::test_twenty_turns_leave_as_many_processes_as_one"
_HOLDS: Final = f"{_HERE}/test_stopping.py::test_a_child_that_holds_the_pipes_holds_nothing_up"
_JUNK: Final = f"{_HERE}/test_output.py::test_junk_between_messages_costs_nothing"
_TOLD_AGAIN: Final = (
    f"{_HERE}/test_continuing.py::test_a_loaded_conversation_is_told_again_to_nobody"
)
_BAD_LOAD: Final = f"{_HERE}/test_continuing.py::test_a_conversation_outlives_a_bad_load"
_BAD_START: Final = f"{_HERE}/test_starting.py::test_a_bad_start_is_told_and_costs_nothing"
_SETTLED: Final = f"{_HERE}/test_permissions.py::test_an_interrupt_settles_what_is_open"
_LATE: Final = f"{_HERE}/test_output.py::test_what_comes_after_the_answer_is_kept_and_marked"
_RUNNERS: Final = (
    "tests/end_to_end/test_agents_command.py::test_a_program_that_fetches_another_is_no_agent"
)

COVERED: Final[tuple[tuple[str, str], ...]] = (
    ("agents of connections that were made anew pile up", _TWENTY),
    ("closed sessions keep their agent's helpers", _TWENTY),
    (
        "agents that nobody uses run for days",
        "tests/integration/engine/test_turns.py::test_an_unused_connection_is_closed_after_a_while",
    ),
    ("killing the wrapper leaves the agent", _RUNNERS),
    ("an agent without a session of its own leaves its leaves", _STUBBORN),
    ("repeated runs leak processes", _TWENTY),
    ("a shim does not pass signals on", _STUBBORN),
    (
        "only one of several agents is stopped at the end",
        "tests/contract/test_acp_runtime.py::TestAcpRuntime",
    ),
    ("closing the handle is taken for a kill", _STUBBORN),
    ("the agent outlives the host's unit", _LEFT),
    ("orphans keep running after the host was killed", _OUTLIVES),
    ("a crash of the host leaves agents, whose numbers others get", _LEFT),
    ("a stop hangs while servers of the agent live", _HOLDS),
    ("the end of the input does not end the agent", _STUBBORN),
    ("an agent that starts itself anew leaves the first", _STUBBORN),
    (
        "all was said, and the prompt is never answered",
        f"{_HERE}/test_stopping.py::test_a_prompt_that_is_never_answered_can_be_given_up",
    ),
    (
        "the work is done, and its answer lost",
        f"{_HERE}/test_continuing.py::test_an_agent_that_goes_on_alone_is_noticed",
    ),
    (
        "a stuck agent spoils the next turn",
        f"{_HERE}/test_stopping.py::test_a_later_turn_that_hangs_spoils_no_other",
    ),
    (
        "a fixed time limit kills good work",
        f"{_UNIT}/test_turns.py::test_silence_with_a_reason_is_no_fault",
    ),
    (
        "prompts go to an agent whose inside is dead",
        _DEAD_INSIDE,
    ),
    (
        "a login blocks for ever",
        f"{_UNIT}/test_beginning.py::test_a_login_that_never_ends_is_given_up",
    ),
    ("the limit for a start is too short, and nobody says so", _BAD_START),
    ("a start hangs, and nobody sees in what", _BAD_START),
    (
        "a thought, and then nothing, counts as an answer",
        f"{_HERE}/test_output.py::test_a_thought_alone_is_no_answer",
    ),
    (
        "a dead agent is used again",
        f"{_HERE}/test_stopping.py::test_an_agent_that_ends_fails_its_turn",
    ),
    ("an open permission outlives the cancel", _SETTLED),
    (
        "a stop with a tool at work leaves a limbo",
        f"{_HERE}/test_stopping.py::test_a_running_tool_ends_with_its_turn",
    ),
    (
        "after a stop the session is busy for ever",
        f"{_HERE}/test_stopping.py::test_an_agent_that_listens_stays",
    ),
    ("queued prompts begin after a cancel", _SETTLED),
    (
        "a permission of an inner agent is never shown",
        f"{_HERE}/test_permissions.py::test_a_permission_of_another_conversation_is_the_sessions",
    ),
    (
        "a permission that is not answered in minutes is lost",
        f"{_UNIT}/test_turns.py::test_silence_with_a_reason_is_no_fault",
    ),
    (
        "a refusal is told as a cancel",
        f"{_HERE}/test_permissions.py::test_a_tool_waits_for_its_answer",
    ),
    (
        "a client that cannot answer makes each step wait",
        f"{_HERE}/test_permissions.py::test_a_rule_answers_for_nobody",
    ),
    (
        "work that waits for an approval is called done",
        f"{_HERE}/test_permissions.py::test_a_tool_waits_for_its_answer",
    ),
    (
        "a state between two states is never left",
        _ONCE,
    ),
    (
        "after a restart of the host sessions run for ever, or twice",
        f"{_REAL}::test_a_daemon_that_is_killed_goes_on_where_it_was",
    ),
    (
        "a load destroys the conversation",
        f"{_HERE}/test_continuing.py::test_a_load_that_destroys_what_it_loads_is_noticed",
    ),
    (
        "that a conversation is unknown is not understood",
        f"{_UNIT}/test_beginning.py::test_an_unknown_conversation_is_lost_aloud",
    ),
    ("what is told again becomes new rows", _TOLD_AGAIN),
    ("what is told again is shown twice", _TOLD_AGAIN),
    ("what is told again is kept out of the transcript and sent to clients", _TOLD_AGAIN),
    (
        "a resume answers with another conversation",
        f"{_HERE}/test_continuing.py::test_another_conversation_than_ours_is_a_loss",
    ),
    (
        "a resume tells everything again",
        f"{_HERE}/test_continuing.py::test_a_resume_that_tells_everything_again_is_not_believed",
    ),
    ("a slow load counts as the end of the conversation", _BAD_LOAD),
    (
        "the conversation's name, or its folder, is not kept",
        f"{_UNIT}/test_beginning.py::test_what_cannot_be_gone_on_with_is_not_tried",
    ),
    ("a new name after a restart, and a fault that misleads", _BAD_LOAD),
    (
        "mode and model are others after a load",
        f"{_HERE}/test_continuing.py::test_the_mode_is_set_again_after_a_load",
    ),
    (
        "the folder of the session is gone",
        f"{_HERE}/test_continuing.py::test_a_folder_that_is_gone_is_no_puzzle",
    ),
    ("what comes after the answer confuses or is lost", _LATE),
    (
        "what comes before a turn is lost",
        f"{_HERE}/test_starting.py::test_an_update_before_its_conversation_is_kept",
    ),
    (
        "results of the background vanish",
        f"{_UNIT}/test_turns.py::test_what_comes_just_after_the_end_belongs_to_the_turn",
    ),
    (
        "handlers race, and words are scrambled",
        f"{_UNIT}/test_turns.py::test_everything_that_is_said_comes_before_the_end",
    ),
    (
        "an update before the answer that it belongs to",
        f"{_HERE}/test_starting.py::test_an_update_before_its_conversation_is_kept",
    ),
    ("log lines on the output end the session", _JUNK),
    (
        "long lines end the session",
        f"{_HERE}/test_output.py::test_a_line_of_ten_megabytes_is_a_line",
    ),
    (
        "error output that nobody reads stops the agent",
        f"{_HERE}/test_starting.py::test_a_flood_of_complaints_blocks_nobody",
    ),
    (
        "the host's path lacks the agent or its interpreter",
        "tests/unit/agents/test_finding.py::test_a_program_is_found_where_installers_put_it",
    ),
    ("the agent is fetched at each start", _RUNNERS),
)

LEFT: Final[tuple[tuple[str, str], ...]] = (
    (
        "a tool reads the agent's own input and eats messages",
        "The agent's fault, which nobody sees from outside; its silence, or an interrupt, ends it.",
    ),
    (
        "reports that are about Windows alone",
        "spaced runs where there are process groups and Unix sockets.",
    ),
)

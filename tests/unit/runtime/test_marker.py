"""The mark that tells for whom a process runs."""

from spaced.runtime.processes.marker import (
    execution_of,
    marked_environment,
    marker_of,
    marks_in,
)


def _marked(outer: str) -> str:
    return marked_environment({}, owner="log", execution_id="exe_2", outer=outer)["SPACED_MARKER"]


def test_the_mark_names_the_owner_and_the_execution() -> None:
    """Both can be read back; another owner's mark names no execution of ours."""
    assert marker_of("log", "exe_1") == "log/exe_1"
    assert execution_of("log/exe_1", "log") == "exe_1"
    assert execution_of("logs/exe_1", "log") is None
    assert execution_of("log", "log") is None


def test_the_mark_is_all_that_is_added() -> None:
    """A request's own variable of that name does not survive."""
    request = {"PATH": "/bin", "SPACED_MARKER": "forged"}

    environment = marked_environment(request, owner="log", execution_id="exe_2")

    assert environment == {"PATH": "/bin", "SPACED_MARKER": "log/exe_2"}


def test_the_mark_of_an_outer_daemon_is_kept() -> None:
    """An agent that starts a daemon is stopped together with what that one started."""
    assert _marked("outer/exe_1") == "outer/exe_1 log/exe_2"


def test_a_mark_of_our_own_is_not_handed_on() -> None:
    """A daemon that an agent of its own has restarted starts processes of new executions only."""
    assert _marked("outer/exe_1 log/exe_1") == "outer/exe_1 log/exe_2"


def test_marks_are_found_as_whole_entries() -> None:
    """A longer name, a longer id, or a value that quotes the variable is something else."""
    assert marks_in(b"A=1\0SPACED_MARKER=a/1 b/2\0B=2\0") == {"a/1", "b/2"}
    assert marks_in(b"MY_SPACED_MARKER=a/1\0X=SPACED_MARKER=a/1\0") == frozenset()
    assert marks_in(b"") == frozenset()

"""Who counts as a descendant."""

from spaced.runtime.processes.kin import Kin
from spaced.runtime.processes.process_table import Process


def _process(
    pid: int, *, parent: int = 1, session: int = 0, group: int = 0, started: str = "s"
) -> Process:
    return Process(pid=pid, parent=parent, group=group, session=session, started=started)


def _pids(kin: Kin, *processes: Process) -> set[int]:
    return {process.pid for process in kin.find(processes)}


def test_children_and_their_children_are_kin() -> None:
    """However deep, and in whatever order they are listed."""
    listed = (_process(12, parent=11), _process(11, parent=10), _process(10), _process(13))

    assert _pids(Kin([(10, "s")]), *listed) == {10, 11, 12}


def test_members_of_a_session_or_a_group_are_kin_of_its_leader() -> None:
    """Also when their parent has ended, and init has taken them."""
    listed = (_process(10), _process(11, session=10), _process(12, group=10), _process(13))

    assert _pids(Kin([(10, "s")]), *listed) == {10, 11, 12}


def test_another_process_of_the_same_number_is_a_stranger() -> None:
    """Numbers are used again; a start time is not."""
    listed = (_process(10, started="later"), _process(11, parent=10), _process(12, session=10))

    assert _pids(Kin([(10, "s")]), *listed) == set()


def test_who_was_seen_once_stays_kin() -> None:
    """A parent's end hides where its children came from, but not from those who looked before."""
    kin = Kin([(10, "s")])
    kin.find([_process(10), _process(11, parent=10, session=11)])

    assert _pids(kin, _process(11, session=11), _process(12, parent=11)) == {11, 12}


def test_processes_that_lead_themselves_end_the_search() -> None:
    """A leader is a member of its own session, and numbers may even form a circle."""
    listed = (_process(10, parent=11, session=10, group=10), _process(11, parent=10))

    assert _pids(Kin([(10, "s")]), *listed) == {10, 11}

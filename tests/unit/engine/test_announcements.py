"""Announcements: every listener hears everything in order, and none costs the others anything."""

import pytest

from spaced.engine.announcements import Announcement, Announcements, Committed, StatusChanged
from spaced.engine.live_status import BUSY, IDLE

FIRST = StatusChanged(run_id="ses", session_id="ses", status=BUSY)
SECOND = StatusChanged(run_id="ses", session_id="ses", status=IDLE)


def test_every_listener_hears_everything_in_its_order() -> None:
    """Committed events among it."""
    announcements, one, other = Announcements(), list[Announcement](), list[Announcement]()
    announcements.listen(one.append)
    announcements.listen(other.append)

    announcements.announce(FIRST)
    announcements.committed([])
    announcements.announce(SECOND)

    assert one == other == [FIRST, Committed(events=[]), SECOND]


def test_a_listener_that_is_ended_hears_nothing_more() -> None:
    """Also if it ends itself while it is told something."""
    announcements, heard = Announcements(), list[Announcement]()

    def once(announcement: Announcement) -> None:
        heard.append(announcement)
        end()

    end = announcements.listen(once)
    announcements.listen(heard.append)
    announcements.announce(FIRST)
    announcements.announce(SECOND)

    assert heard == [FIRST, FIRST, SECOND]


def test_a_listener_that_fails_costs_the_others_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """Its fault is logged."""
    announcements, heard = Announcements(), list[Announcement]()

    def fail(announcement: Announcement) -> None:
        raise ValueError(announcement)

    announcements.listen(fail)
    announcements.listen(heard.append)

    announcements.announce(FIRST)

    assert heard == [FIRST]
    assert [record.__dict__["event"] for record in caplog.records] == ["listener-failed"]

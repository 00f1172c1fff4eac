"""What the tests of private places share."""

import os
import stat
from pathlib import Path

import pytest

STRANGER = 12345

root_only = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can give something to another user"
)


def mode_of(path: Path) -> int:
    """Return the permission bits of a path itself."""
    return stat.S_IMODE(path.lstat().st_mode)


def events_of(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    """Return the event and the path of each record that has them."""
    return [(r.event, r.path) for r in caplog.records if hasattr(r, "event")]  # type: ignore[attr-defined]

"""What a process has used, as the system tells it."""

import os
import resource
from pathlib import Path
from typing import Final

_STATM: Final = Path("/proc/self/statm")
_PEAK_UNIT: Final = 1024
"""Bytes in a unit of `ru_maxrss`; on Linux, as everything here."""


def resident_bytes() -> int:
    """Return how much of the memory is in use now; the most so far where nobody tells."""
    if not _STATM.exists():
        return peak_bytes()
    return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def peak_bytes() -> int:
    """Return the most memory that was in use at any time."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _PEAK_UNIT


def wake_ups() -> int:
    """Return how often any thread of the process has waited for something."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw

"""How much each benchmark does: enough to mean something, or just enough to run."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Amounts of one run.

    Attributes:
        rounds: turns of product and floor for quick calls.
        block: calls in a turn.
        heavy_rounds: turns for calls of many milliseconds.
        small_session: items of the small, middle and large session whose first screen is read.
        sessions: sessions of the large storage.
        events: of the large storage; its items have three events each.
        disk_bytes: text of each storage whose size is measured.
        streamed_bytes: text that streams in small pieces.
        parked: sessions that nobody uses.
        output_bytes: output of a tool.
        workflow_files: files of a folder that is synced.
        idle_seconds: for how long an idle engine is watched.
    """

    rounds: int
    block: int
    heavy_rounds: int
    small_session: int
    middle_session: int
    large_session: int
    sessions: int
    events: int
    disk_bytes: int
    streamed_bytes: int
    parked: int
    output_bytes: int
    workflow_files: int
    idle_seconds: float


FULL: Final = Sizes(
    rounds=60,
    block=20,
    heavy_rounds=9,
    small_session=100,
    middle_session=10_000,
    large_session=100_000,
    sessions=50_000,
    events=1_000_000,
    disk_bytes=2_000_000,
    streamed_bytes=10_000_000,
    parked=10_000,
    output_bytes=50_000_000,
    workflow_files=1000,
    idle_seconds=2.0,
)
QUICK: Final = Sizes(
    rounds=2,
    block=3,
    heavy_rounds=1,
    small_session=20,
    middle_session=40,
    large_session=120,
    sessions=200,
    events=2_000,
    disk_bytes=210_000,
    streamed_bytes=100_000,
    parked=50,
    output_bytes=1_000_000,
    workflow_files=12,
    idle_seconds=0.1,
)

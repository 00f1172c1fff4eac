"""The parts of an engine, over any storage, under a clock that is moved by hand."""

from spaced.engine.announcements import Announcements
from spaced.engine.journal import Journal
from spaced.engine.parts import EngineParts, EngineSettings, never_crash
from spaced.engine.run_queues import RunQueues
from spaced.engine.workflows.locks import EntryLocks
from spaced.identifiers import IdGenerator
from spaced.runtime.tasks import Tasks
from spaced.storage.protocol import Storage
from spaced.testing.fake_clock import FakeClock


def parts_over(storage: Storage, clock: FakeClock) -> EngineParts:
    """Put the parts together; nothing is started."""
    journal = Journal(storage, clock)
    return EngineParts(
        storage=storage,
        journal=journal,
        queues=RunQueues(storage, journal),
        clock=clock,
        ids=IdGenerator(clock.now),
        tasks=Tasks(),
        announcements=Announcements(),
        settings=EngineSettings(),
        entry_locks=EntryLocks(),
        reach=never_crash,
    )

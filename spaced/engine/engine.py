"""The engine: every part of it, put together once, from its start to its stop."""

import logging
from collections.abc import Callable, Mapping
from pathlib import Path

from spaced.clock import Clock
from spaced.domain.profile import Profile
from spaced.engine.announcements import Announcements
from spaced.engine.asks import Asks
from spaced.engine.blob_care import BlobCare
from spaced.engine.control import Control
from spaced.engine.coordinator import Coordinator
from spaced.engine.deletions import Deletions
from spaced.engine.executions import Executions
from spaced.engine.forks import Forks
from spaced.engine.idle_connections import IdleConnections
from spaced.engine.journal import Journal
from spaced.engine.parts import EngineParts, EngineSettings, Reach, never_crash
from spaced.engine.process_records import ProcessRows
from spaced.engine.profiles import Profiles
from spaced.engine.prompt_queues import PromptQueues
from spaced.engine.prompts import Prompts
from spaced.engine.recovery import Recovered, Recovery
from spaced.engine.run_queues import RunQueues
from spaced.engine.runtimes import Runtimes
from spaced.engine.searches import Searches
from spaced.engine.session_lists import SessionLists
from spaced.engine.session_specs import environment_of
from spaced.engine.session_turns import SessionTurns
from spaced.engine.sessions import Sessions
from spaced.engine.sync_sources import SyncSources
from spaced.engine.workflows.bindings import ProfileBindings
from spaced.engine.workflows.builtin import ONLY_CHAT, BuiltinWorkflows, ensure_builtin
from spaced.engine.workflows.editing import WorkflowEditing
from spaced.engine.workflows.importing import WorkflowImports
from spaced.engine.workflows.locks import EntryLocks
from spaced.engine.workflows.reading import Workflows
from spaced.engine.workflows.recording import WorkflowBook, WorkflowCheck, rules_of
from spaced.engine.workflows.synced import SyncedWorkflows
from spaced.identifiers import IdGenerator
from spaced.runtime.processes.supervisor import ProcessSupervisor
from spaced.runtime.protocol import ProbeReport, RuntimeFactory
from spaced.runtime.tasks import Tasks
from spaced.storage.protocol import Storage

log = logging.getLogger(__name__)


class Engine:
    """Everything that decides and acts, over one storage.

    Attributes:
        ids: makes ids for what clients create.
        sessions: create sessions and change them.
        prompts: admit prompts.
        queue: change what waits.
        control: interrupt, wait, reset.
        asks: permissions, questions, grants.
        deletions: delete, and purge what was deleted.
        forks: fork a chat.
        profiles: the agents' configurations.
        workflows: find workflows.
        workflow_editing: create, change and delete them.
        workflow_imports: take over those of a file.
        bindings: which profiles their descriptors mean here.
        synced: records what sync decided.
        sync_sources: the folders that workflows are read from.
        lists: find sessions.
        searches: find words in titles and transcripts.
        blobs: removes those that nothing names any more.
        coordinator: what every session is doing.
        announcements: whom to listen to.
        counters: what is worth knowing and no fact.
    """

    def __init__(
        self,
        storage: Storage,
        factories: Mapping[str, RuntimeFactory],
        *,
        clock: Clock,
        state_folder: Path,
        settings: EngineSettings | None = None,
        runtime_configs: Mapping[str, Mapping[str, object]] | None = None,
        redact: Callable[[str], str] = lambda text: text,
        reach: Reach = never_crash,
        builtins: BuiltinWorkflows = ONLY_CHAT,
        check_workflow: WorkflowCheck = rules_of,
    ) -> None:
        """Put the parts together; nothing runs before `start`.

        Args:
            factories: the runtimes' factories by name.
            state_folder: where runtimes keep what outlives the daemon.
            runtime_configs: the settings of runtimes, by name.
            redact: replaces secrets in what runtimes log.
            reach: called at each crash point.
            builtins: the workflows that are there from the start on.
            check_workflow: what is wrong with a workflow that a person has written.
        """
        self.ids = ids = IdGenerator(clock.now)
        journal = Journal(storage, clock)
        self._storage = storage
        self._parts = parts = EngineParts(
            storage=storage,
            journal=journal,
            queues=RunQueues(storage, journal),
            clock=clock,
            ids=ids,
            tasks=Tasks(),
            announcements=Announcements(),
            settings=settings or EngineSettings(),
            reach=reach,
            entry_locks=EntryLocks(),
        )
        self._processes = ProcessSupervisor(clock, storage.log_id, ProcessRows(storage))
        self._runtimes = Runtimes(
            factories,
            clock=clock,
            spawn=self._processes,
            state_folder=state_folder,
            configs=runtime_configs,
            redact=redact,
            read_blob=storage.get_blob,
        )
        self.announcements = parts.announcements
        self.counters = parts.counters
        self.profiles = Profiles(storage, journal, ids, self._runtimes.knows)
        self.workflows = Workflows(storage)
        self._builtins = builtins
        self._book = book = WorkflowBook(
            storage, journal, self.workflows, parts.entry_locks, check_workflow
        )
        self.workflow_editing = WorkflowEditing(book, self.workflows, ids, builtins)
        self.bindings = ProfileBindings(storage, journal, parts.queues, self.profiles)
        self.workflow_imports = WorkflowImports(
            book, self.workflows, self.workflow_editing, self.bindings, ids
        )
        self.synced = SyncedWorkflows(book)
        self.sync_sources = SyncSources(storage, journal, ids, self.workflows, self.synced)
        self.executions = Executions(parts, self._runtimes, self.profiles, self._processes)
        turns = SessionTurns(parts, self.executions, self.workflows)
        self.coordinator = coordinator = Coordinator(parts, turns)
        self.sessions = Sessions(parts, self.profiles, self.workflows, self.executions, coordinator)
        self.prompts = Prompts(parts, coordinator)
        self.queue = PromptQueues(parts, coordinator)
        self.control = Control(parts, self.executions, coordinator)
        self.asks = Asks(parts, self.executions, coordinator)
        self.deletions = Deletions(parts, self.executions, coordinator)
        self.forks = Forks(parts, self.workflows)
        self.lists = SessionLists(storage)
        self.blobs = BlobCare(storage, clock)
        self.searches = Searches(storage)
        self._idling = IdleConnections(parts, self.executions, coordinator)
        self._is_stopped = False

    async def start(self) -> Recovered:
        """Take over the log: ensure what has to be there, and recover what was left open."""
        self._storage.on_committed = self.announcements.committed
        await ensure_builtin(self._builtins, self._book)
        recovery = Recovery(
            self._parts, self.executions, self.coordinator, self.profiles, self._processes
        )
        recovered = await recovery.run()
        await self.deletions.purge_due()
        log.info(
            "started: %d turns abandoned, %d executions go on, %d processes killed",
            recovered.abandoned,
            recovered.reattached,
            recovered.killed,
            extra={"event": "engine-started"},
        )
        return recovered

    async def probe(self, profile: Profile) -> ProbeReport:
        """Ask a profile's runtime whether its agent could serve a session now.

        Raises:
            RuntimeProblem: the runtime is not installed any more, or cannot be made.
        """
        environment = environment_of(self._parts.settings, profile)
        return await self._runtimes.get(profile.runtime).probe(profile, environment)

    async def stop(self) -> None:
        """Let running turns end within the grace, then end everything; stopping twice is fine."""
        if self._is_stopped:
            return
        self._is_stopped = True
        await self.coordinator.stop()
        await self.executions.end_all(reason="daemon-stopped")
        await self._runtimes.close()
        await self._processes.close()
        await self._parts.tasks.close()
        log.info("stopped", extra={"event": "engine-stopped"})

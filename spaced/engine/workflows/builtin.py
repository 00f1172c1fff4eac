"""The workflows that come with spaced: what the engine needs of them, and that they are there."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Final, Protocol

from spaced.domain.builtin_workflows import AGENT_CHAT, AGENT_CHAT_ID
from spaced.domain.workflow import Workflow
from spaced.engine.workflows.recording import WorkflowBook
from spaced.errors import StaleVersion, StorageFull
from spaced.workflow_refusals import StepInUse

log = logging.getLogger(__name__)


class BuiltinWorkflows(Protocol):
    """The workflows that are there from the first start on; looked at in a thread."""

    def ids(self) -> Sequence[str]:
        """Return their ids, in the order in which they are listed."""
        ...

    def digest(self, workflow_id: str) -> str:
        """Return what changes whenever the shipped text does."""
        ...

    def read(self, workflow_id: str) -> Workflow:
        """Return a workflow as it ships."""
        ...


class OnlyChat:
    """The one workflow that no engine can do without."""

    def ids(self) -> Sequence[str]:
        """Return the id of the chats' workflow."""
        return (AGENT_CHAT_ID,)

    def digest(self, workflow_id: str) -> str:
        """Return the same for ever."""
        return workflow_id

    def read(self, workflow_id: str) -> Workflow:
        """Return the chats' workflow."""
        del workflow_id
        return AGENT_CHAT


ONLY_CHAT: Final = OnlyChat()


async def ensure_builtin(builtins: BuiltinWorkflows, book: WorkflowBook) -> None:
    """Record the built-in workflows that the log lacks, and those whose shipped text is newer.

    What a person has changed or deleted is left alone; `reset` brings the shipped text back.
    """
    for workflow_id in await asyncio.to_thread(builtins.ids):
        try:
            await _ensure(workflow_id, builtins, book)
        except StaleVersion:
            continue  # it was there and is damaged, or somebody was faster
        except StepInUse as refusal:
            log.info("%s keeps its older text: %s", workflow_id, refusal)
        except StorageFull:
            log.warning("there is no space to record the built-in workflow %s", workflow_id)


async def _ensure(workflow_id: str, builtins: BuiltinWorkflows, book: WorkflowBook) -> None:
    digest = await asyncio.to_thread(builtins.digest, workflow_id)
    async with book.locks.changing(workflow_id):
        seen = await book.look(workflow_id)
        state = seen.state
        if state is not None and (
            state.status != "active"
            or state.origin.get("edited") is True
            or state.origin.get("digest", digest) == digest
        ):
            return
        shipped = await asyncio.to_thread(builtins.read, workflow_id)
        defined = seen.defined(shipped, {"source": "builtin", "digest": digest})
        assert defined.changes is not None
        await book.refuse_used(workflow_id, defined.changes.removed)
        await book.record(seen.entry(defined))

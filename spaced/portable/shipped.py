"""The workflows that come with spaced: portable files like any other, with ids that stay."""

import hashlib
from collections.abc import Sequence
from importlib.resources.abc import Traversable
from typing import Final

from spaced import resources
from spaced.domain.builtin_workflows import AGENT_CHAT_ID, AGENT_CHAT_STEP_ID
from spaced.domain.workflow import Step, Workflow
from spaced.domain.workflow_references import with_step_ids
from spaced.portable.checking import check

_SUFFIX: Final = ".yml"


class ShippedWorkflows:
    """Reads the shipped files; a file's name is its workflow's id."""

    def ids(self) -> Sequence[str]:
        """Return the ids of the shipped workflows, in order."""
        names = (file.name for file in resources.folder("workflows").iterdir())
        return sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))

    def digest(self, workflow_id: str) -> str:
        """Return the digest of a file's bytes."""
        return hashlib.sha256(_file(workflow_id).read_bytes()).hexdigest()

    def read(self, workflow_id: str) -> Workflow:
        """Return the workflow of a file; its steps have ids that follow from their names."""
        file = _file(workflow_id)
        checked = check(file.read_bytes(), file.name)
        (workflow,) = checked.workflows
        return with_step_ids(workflow, {s.id: _step_id(workflow_id, s) for s in workflow.steps})


def _file(workflow_id: str) -> Traversable:
    return resources.folder("workflows") / f"{workflow_id}{_SUFFIX}"


def _step_id(workflow_id: str, step: Step) -> str:
    if workflow_id == AGENT_CHAT_ID:
        return AGENT_CHAT_STEP_ID  # every chat names it
    words = "".join(letter if letter.isalnum() else " " for letter in step.name.lower()).split()
    return f"{workflow_id}-{'-'.join(words)}"

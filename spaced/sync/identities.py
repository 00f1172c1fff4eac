"""The ids of synced workflows and their steps: they follow from where and how they are called."""

import hashlib
import string
from typing import Final

from spaced.domain.workflow import Workflow
from spaced.domain.workflow_references import with_step_ids

_BASE62: Final = string.digits + string.ascii_uppercase + string.ascii_lowercase


def workflow_id(source_id: str, file: str, name: str) -> str:
    """Return the id of the workflow of a name in a file of a source."""
    return _derived("wf", source_id, file, name)


def step_id(workflow_id: str, name: str) -> str:
    """Return the id of the step of a name in a workflow."""
    return _derived("step", workflow_id, name)


def with_derived_ids(workflow: Workflow, own_id: str) -> Workflow:
    """Return a workflow as it was read, with the ids of its steps that follow from their names."""
    return with_step_ids(workflow, {step.id: step_id(own_id, step.name) for step in workflow.steps})


def _derived(prefix: str, *parts: str) -> str:
    # With their lengths, so that no two lists of parts are the same bytes.
    told = "".join(f"{len(part.encode())}:{part}" for part in parts)
    digest = hashlib.sha256(told.encode()).digest()
    number = int.from_bytes(digest[6:20], "big")
    letters = []
    for _ in range(14):
        number, rest = divmod(number, len(_BASE62))
        letters.append(_BASE62[rest])
    return f"{prefix}_{digest[:6].hex()}{''.join(letters)}"

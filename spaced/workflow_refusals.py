"""Errors of what people define: workflows, their steps, and the folders they are read from."""

from collections.abc import Mapping

from spaced.errors import SpacedError
from spaced.refusals import NotFound, Refused


class UnknownWorkflow(NotFound):
    """No workflow has this id, or it was deleted."""

    code = "unknown-workflow"
    remedy = "List the workflows to see what there is."

    def __init__(self, workflow_id: str) -> None:
        super().__init__(f"there is no workflow {workflow_id!r}")


class UnknownStep(NotFound):
    """The workflow has no step of this id."""

    code = "unknown-step"
    remedy = "Read the workflow to see its steps."

    def __init__(self, workflow_id: str, step_id: str) -> None:
        super().__init__(f"the workflow {workflow_id!r} has no step {step_id!r}")


class UnknownSource(NotFound):
    """No sync source has this id, or it was removed."""

    code = "unknown-source"
    remedy = "List the sync sources to see what there is."

    def __init__(self, source_id: str) -> None:
        super().__init__(f"there is no sync source {source_id!r}")


class WorkflowExists(Refused):
    """There is another workflow of this id or name."""

    code = "workflow-exists"
    remedy = "Choose another name or id, or change the workflow that is there."


class WorkflowSynced(Refused):
    """The workflow is read from a file, so it is changed there.

    Attributes:
        file: the file's path.
        line: where the workflow begins in it.
    """

    code = "workflow-synced"
    facts = ("workflow_id", "file", "line")
    remedy = "Edit the file, or duplicate the workflow and change the copy."

    def __init__(self, workflow_id: str, *, name: str, file: str, line: int) -> None:
        super().__init__(
            f"the workflow {name!r} is read from {file}:{line}, so it is changed there"
        )
        self.workflow_id = workflow_id
        self.file = file
        self.line = line


class WorkflowRetired(Refused):
    """The file that the workflow was read from is gone, so nothing new begins in it."""

    code = "workflow-retired"
    remedy = "Bring the file back, or choose another workflow."


class StepInUse(Refused):
    """Runs are in the step, or in the workflow, so it cannot be removed.

    Attributes:
        run_ids: some of them.
    """

    code = "step-in-use"
    facts = ("run_ids",)
    remedy = "Move these runs to another step, or finish or delete them first."

    def __init__(self, message: str, *, run_ids: tuple[str, ...]) -> None:
        super().__init__(message)
        self.run_ids = run_ids


class StepReferenced(Refused):
    """Other steps refer to the step in a way that the change would break.

    Attributes:
        dependents: `{id, name, why}` of each of them.
    """

    code = "step-referenced"
    facts = ("dependents",)
    remedy = "Change the steps that are named first."

    def __init__(self, message: str, *, dependents: tuple[Mapping[str, str], ...]) -> None:
        super().__init__(message)
        self.dependents = dependents


class InvalidWorkflow(SpacedError):
    """A workflow breaks rules; nothing was changed.

    Attributes:
        findings: `{code, where, message, remedy}` each; from a file also with line and column.
    """

    code = "invalid-workflow"
    facts = ("findings",)
    remedy = "Correct what is named and try again."

    def __init__(self, message: str, *, findings: tuple[Mapping[str, object], ...]) -> None:
        super().__init__(message)
        self.findings = findings


class StaleChoices(Refused):
    """Profiles that were chosen for an import cannot be used, or were chosen for something else.

    Attributes:
        choices: `{workflow_index, step_position, reason}` of each.
    """

    code = "stale-choices"
    facts = ("choices",)
    remedy = "Look at the preview again and choose anew."

    def __init__(self, message: str, *, choices: tuple[Mapping[str, object], ...]) -> None:
        super().__init__(message)
        self.choices = choices


class SourceExists(Refused):
    """The folder, or the id, is that of another sync source."""

    code = "source-exists"
    remedy = "Use that source, or remove it first."


class SyncFailed(SpacedError):
    """The folder could not be read, so nothing of it was applied."""

    code = "sync-failed"
    remedy = "Check the folder and its permissions; every workflow stays as it is until then."

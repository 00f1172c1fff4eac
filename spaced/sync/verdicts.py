"""From a file's bytes to what it says: the slow part of a run, done once for the same bytes."""

from collections import Counter
from collections.abc import Iterator

from spaced.portable.checking import CheckedDocument, check
from spaced.sync.files import FileVerdict, FoundFile, WorkflowEntry
from spaced.sync.identities import with_derived_ids, workflow_id


def verdict_of(file: FoundFile, source_id: str) -> FileVerdict:
    """Return what a file says; to be called in a thread."""
    checked = check(file.content, file.name)
    unbound = {found for _, found in checked.unbound}
    return FileVerdict(
        name=file.name,
        digest=file.digest,
        is_accepted=checked.is_accepted,
        entries=tuple(_entries(checked, file, source_id)),
        # Which profiles there are may change while the file does not.
        findings=tuple(one for one in checked.findings if one not in unbound),
        unbound=checked.unbound,
    )


def _entries(checked: CheckedDocument, file: FoundFile, source_id: str) -> Iterator[WorkflowEntry]:
    times = Counter(workflow.name for workflow in checked.workflows)
    for workflow, line in zip(checked.workflows, checked.lines, strict=True):
        own_id = workflow_id(source_id, file.name, workflow.name)
        twice = [n for n, count in Counter(s.name for s in workflow.steps).items() if count > 1]
        trouble = None
        if times[workflow.name] > 1:
            trouble = f"two workflows of the file are called {workflow.name!r}"
        elif twice:
            trouble = f"two of its steps are called {twice[0]!r}"
        usable = None if trouble else with_derived_ids(workflow, own_id)
        yield WorkflowEntry(
            id=own_id, name=workflow.name, line=line, workflow=usable, trouble=trouble
        )

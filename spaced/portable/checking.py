"""Checks a portable file: reading, the two gates, and advice; everything that is found at once."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from spaced.domain.workflow import ProfileDescriptor, Workflow
from spaced.domain.workflow_paths import terminal_by_name
from spaced.domain.workflow_rules import faults_of
from spaced.portable.advice import advice
from spaced.portable.findings import Finding, Unreadable, finding, in_order
from spaced.portable.keys import nearest, unknown_keys
from spaced.portable.reading import Reading, read_workflow, step_place
from spaced.portable.rules_gate import rule_refusals
from spaced.portable.schema_gate import Refusal, refusals
from spaced.portable.schemas import VERSIONS, Version
from spaced.portable.tree import START, Node, Path
from spaced.portable.values import document_value
from spaced.portable.words import at, either, shown, where

IsBound: TypeAlias = Callable[[ProfileDescriptor], bool]
"""Tells whether a descriptor means exactly one profile here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedDocument:
    """What a file says, and what is to be said about it.

    Attributes:
        version: of the format; `None` if the file does not say it.
        workflows: in the order of the file; empty unless the file is accepted. Their steps have
            the ids `#0`, `#1`, … until somebody gives them others.
        lines: where each of the workflows begins, from 1.
        findings: by place.
        unbound: descriptors that mean nothing here, with the warning about each.
    """

    version: Version | None = None
    workflows: tuple[Workflow, ...] = ()
    lines: tuple[int, ...] = ()
    findings: tuple[Finding, ...] = ()
    unbound: tuple[tuple[ProfileDescriptor, Finding], ...] = ()

    @property
    def is_accepted(self) -> bool:
        """Whether there is no error."""
        return all(one.severity != "error" for one in self.findings)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """What keeps the file from being used."""
        return tuple(one for one in self.findings if one.severity == "error")


def nothing_bound(descriptor: ProfileDescriptor) -> bool:
    """Tell that a descriptor means nothing, as where there is no profile."""
    del descriptor
    return False


def check(
    content: bytes, name: str = "", *, strict: bool = False, is_bound: IsBound = nothing_bound
) -> CheckedDocument:
    """Check a file.

    Args:
        name: of the file; one that ends in `.json` is read as JSON.
        strict: whether unknown keys are errors.
        is_bound: tells for which profiles there is no warning.
    """
    # Late: most starts of a daemon, and most commands, read no file and need no YAML.
    from spaced.portable.json_reading import read_json
    from spaced.portable.yaml_reading import read_yaml

    try:
        root = read_json(content) if name.lower().endswith(".json") else read_yaml(content)
    except Unreadable as error:
        return CheckedDocument(findings=(error.finding,))
    if not isinstance(root.value, dict):
        return CheckedDocument(findings=(_no_mapping(root),))
    return _Check(root, root.value, strict=strict, is_bound=is_bound).run()


def _no_mapping(root: Node) -> Finding:
    return finding(
        root.place,
        "not-a-mapping",
        f"the document is {shown(root.value)}, not an object",
        "begin the file with `version: 1`, `type: kandev_workflow` and the list `workflows`",
    )


class _Check:
    def __init__(
        self, root: Node, document: dict[str, Any], *, strict: bool, is_bound: IsBound
    ) -> None:
        self._root = root
        self._document = document
        self._strict = strict
        self._is_bound = is_bound
        self._errors: dict[Path, Refusal] = {}
        self._warnings: list[Refusal] = []
        self._without_profile: list[tuple[ProfileDescriptor, Refusal]] = []

    def run(self) -> CheckedDocument:
        version = self._version()
        self._schema(version or 2)
        for path, known in unknown_keys(self._document):
            self._unknown_key(path, known)
        workflows = [self._workflow(path, version) for path in self._paths()]
        self._duplicate_names()
        findings = in_order([*self._told(self._errors.values(), is_error=True), *self._warned()])
        if any(one.severity == "error" for one in findings):
            return CheckedDocument(version=version, findings=findings)
        lines = tuple(self._root.place_of(path).line for path in self._paths())
        return CheckedDocument(
            version=version,
            workflows=tuple(workflows),
            lines=lines,
            findings=findings,
            unbound=tuple(self._unbound_findings()),
        )

    def _version(self) -> Version | None:
        found = self._document.get("version")
        if type(found) is int and found in VERSIONS:
            return found
        if "version" not in self._document:
            code, message = "missing-key", "'version' is missing"
        else:
            code, message = "wrong-version", f"the version is {shown(found)}"
        remedy = "write `version: 1` or `version: 2`, as a whole number without quotes"
        self._refuse(Refusal(path=("version",), code=code, message=message, remedy=remedy))
        return None

    def _schema(self, version: Version) -> None:
        also_rules: list[Refusal] = []
        for refusal in refusals(self._document, version):
            (also_rules.append if refusal.is_also_a_rule else self._refuse)(refusal)
        for path in self._paths():
            reading = self._read(path)
            for refusal in rule_refusals(reading, path):
                if not self._is_told(refusal.path):
                    self._refuse(refusal)
        for refusal in also_rules:
            # The rules tell it with a finer place; should they ever not, it is told all the same.
            if not any(told[:_STEP] == refusal.path[:_STEP] for told in self._errors):
                self._refuse(refusal)

    def _paths(self) -> list[Path]:
        workflows = self._document.get("workflows")
        found = workflows if isinstance(workflows, list) else []
        return [("workflows", n) for n, one in enumerate(found) if isinstance(one, dict)]

    def _read(self, path: Path) -> Reading:
        value: Mapping[str, Any] = at(self._document, path)  # type: ignore[assignment]
        return read_workflow(value, path)

    def _workflow(self, path: Path, version: Version | None) -> Workflow:
        reading = self._read(path)
        for odd in reading.odd_policies:
            self._odd_policy(odd)
        workflow = reading.workflow
        if not self._errors:
            self._warnings.extend(advice(workflow, path))
            self._unbound(workflow, path)
        return self._with_terminal(workflow, path) if version == 1 else workflow

    def _with_terminal(self, workflow: Workflow, path: Path) -> Workflow:
        """Mark the step that version 1 takes for the last one, unless the file says otherwise."""
        terminal = terminal_by_name(workflow)
        if terminal is None:
            return workflow
        said = (*path, "steps", step_place(terminal.id), "complete_task_on_enter")
        if at(self._document, said) is not None:
            return workflow
        finished = replace(terminal, complete_task_on_enter=True)
        steps = tuple(finished if one is terminal else one for one in workflow.steps)
        return replace(workflow, steps=steps)

    def _refuse(self, refusal: Refusal) -> None:
        self._errors.setdefault(refusal.path, refusal)

    def _is_told(self, path: Path) -> bool:
        """Tell whether something at the place, or in or around it, is refused already."""
        return any(
            path[: len(told)] == told or told[: len(path)] == path
            for told in self._errors
            if len(told) > _STEP and told[:_STEP] == path[:_STEP]
        )

    def _unknown_key(self, path: Path, known: tuple[str, ...]) -> None:
        if self._is_told(path):
            return
        near = nearest(path[-1], known)
        remedy = f"write `{near}`" if near else f"remove it; the keys here are {either(known)}"
        self._warn(path, "unknown-key", f"unknown key {path[-1]!r}, which is not kept", remedy)

    def _odd_policy(self, path: Path) -> None:
        is_start = path[-1] == "profile_session_start_policy"
        words, default = (("reuse", "new"), "reuse") if is_start else (("park", "complete"), "park")
        message = f"{path[-1]} is {shown(at(self._document, path))}, which counts as {default}"
        self._warn(path, "unknown-policy", message, f"write {either(words)}")

    def _unbound(self, workflow: Workflow, path: Path) -> None:
        places = [(workflow.profile, path)]
        places += [(s.profile, (*path, "steps", step_place(s.id))) for s in workflow.steps]
        for descriptor, owner in places:
            if descriptor is not None and not self._is_bound(descriptor):
                words = f"{descriptor.agent_name}/{descriptor.model}/{descriptor.mode}"
                self._warn(
                    (*owner, "agent_profile"),
                    "unbound-profile",
                    f"the profile {words!r} is bound to nothing here",
                    "make one with `spaced profiles add`, or name one with `spaced profiles bind`",
                )
                self._without_profile.append((descriptor, self._warnings[-1]))

    def _unbound_findings(self) -> Iterator[tuple[ProfileDescriptor, Finding]]:
        for descriptor, warning in self._without_profile:
            (told,) = self._told([warning], is_error=False)
            yield descriptor, told

    def _duplicate_names(self) -> None:
        seen: set[object] = set()
        for path in self._paths():
            name = at(self._document, (*path, "name"))
            if name in seen and not self._errors:
                message = f"two workflows are called {name!r}, so sync takes neither"
                remedy = "give every workflow of a file a name of its own"
                self._warn((*path, "name"), "duplicate-workflow-name", message, remedy)
            seen.add(name if isinstance(name, str) else None)

    def _warn(self, path: Path, code: str, message: str, remedy: str) -> None:
        self._warnings.append(Refusal(path=path, code=code, message=message, remedy=remedy))

    def _warned(self) -> Iterator[Finding]:
        for severe in (True, False):
            wanted = [one for one in self._warnings if self._is_severe(one) is severe]
            yield from self._told(wanted, is_error=severe)

    def _is_severe(self, warning: Refusal) -> bool:
        return self._strict and warning.code == "unknown-key"

    def _told(self, refused: Iterable[Refusal], *, is_error: bool) -> Iterator[Finding]:
        for one in refused:
            yield finding(
                self._root.place_of(one.path),
                one.code,
                one.message,
                one.remedy,
                where=where(self._document, one.path),
                is_error=is_error,
            )


_STEP: Final = 4
"""How many parts the path of a step has."""


def check_workflow(workflow: Workflow) -> tuple[Finding, ...]:
    """Return the errors of a workflow that is in no file, told without places.

    It is looked at as the file that it would be exported to, so that what is edited passes the
    same gates as what is read; keys that are not known are errors, since nobody would keep them.
    """
    names = {step.id: step.name for step in workflow.steps}
    faults = faults_of(workflow)
    if faults:
        return tuple(
            finding(
                START,
                fault.code,
                fault.message,
                fault.remedy,
                where=f"workflow {workflow.name!r}: step {names[fault.step_id]!r}",
            )
            for fault in faults
        )
    value = document_value([workflow])
    value["version"] = 2
    checked = _Check(Node(value, START), value, strict=True, is_bound=_anything_bound).run()
    return checked.errors


def problems_of(workflow: Workflow) -> list[dict[str, object]]:
    """Return the errors of a workflow as a refusal tells them."""
    return [
        {
            "code": one.code,
            "where": one.where,
            "message": one.message,
            "remedy": one.remedy,
        }
        for one in check_workflow(workflow)
    ]


def _anything_bound(descriptor: ProfileDescriptor) -> bool:
    del descriptor
    return True

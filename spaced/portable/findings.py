"""What a check finds: one sentence of where and what, and how to put it right."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from spaced.portable.tree import Place

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something about a document that its author should know.

    Attributes:
        line: from 1.
        column: from 1, of the key that it is about; of a list's entry, of its first key.
        code: stable name of the kind, in kebab-case.
        where: the workflow and the step, in the author's names; empty for the whole document.
        remedy: what to do about it.
    """

    line: int
    column: int
    severity: Severity
    code: str
    where: str
    message: str
    remedy: str

    def text(self, name: str) -> str:
        """Return the finding as one line about the file `name`."""
        what = f"{self.where}: {self.message}" if self.where else self.message
        return f"{name}:{self.line}:{self.column}: {self.severity}: {what}; {self.remedy}"


def finding(
    place: Place, code: str, message: str, remedy: str, *, where: str = "", is_error: bool = True
) -> Finding:
    """Return a finding at a place."""
    return Finding(
        line=place.line,
        column=place.column,
        severity="error" if is_error else "warning",
        code=code,
        where=where,
        message=message,
        remedy=remedy,
    )


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings by place; at one place the errors come first."""
    return tuple(sorted(findings, key=lambda one: (one.line, one.column, one.severity, one.code)))


class Unreadable(Exception):
    """The text is no document that could be looked at; carries the one finding about it."""

    def __init__(self, found: Finding) -> None:
        super().__init__(found.message)
        self.finding = found


def unreadable(place: Place, code: str, message: str, remedy: str) -> Unreadable:
    """Return the error that ends the reading of a text."""
    return Unreadable(finding(place, code, message, remedy))

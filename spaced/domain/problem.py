"""A failure as a fact: what a person is shown, kept in the log."""

from dataclasses import dataclass

from spaced.errors import SpacedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What went wrong, in the same three parts as an error's.

    Attributes:
        code: stable name of the kind of failure.
        message: one sentence of what and where.
        remedy: what a person can do next; empty if there is nothing to do.
    """

    code: str
    message: str
    remedy: str = ""

    @classmethod
    def of(cls, error: SpacedError) -> "Problem":
        """Return an error as a fact."""
        return cls(code=error.code, message=error.message, remedy=error.remedy)

"""What the server says went wrong inside a session, and what a person can do about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from spaced.plugin_api import Problem

_LONGEST_WORDS: Final = 500
_AGAIN: Final = "Prompt again; if it stays, look at the server's model, account and settings."
_REMEDIES: Final[Mapping[str, str]] = {
    "ProviderAuthError": "Log in to the model's provider with `opencode auth login` on the server.",
    "ContextOverflowError": "Compact the session, or reset it, and prompt again.",
    "MessageOutputLengthError": "Ask for less at once, and prompt again.",
    "ContentFilterError": "Word the prompt in another way.",
}


@dataclass(frozen=True, slots=True)
class SaidError:
    """An error by the server's name for its kind, and its words."""

    name: str
    words: str

    def as_problem(self) -> Problem:
        """Return it as a fact."""
        return Problem(
            code="agent-error",
            message=f"OpenCode failed: {self.words} ({self.name})",
            remedy=_REMEDIES.get(self.name, _AGAIN),
        )


def read_error(told: Any) -> SaidError | None:
    """Read an error of a message or of a session; `None`: there is none."""
    if not isinstance(told, dict):
        return None
    data = told.get("data")
    words = data.get("message") if isinstance(data, dict) else None
    # What follows the first line is the server's own traceback.
    lines = words.strip().splitlines() if isinstance(words, str) else []
    return SaidError(
        name=str(told.get("name") or "UnknownError"),
        words=lines[0][:_LONGEST_WORDS] if lines else "no reason given",
    )

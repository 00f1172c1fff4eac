"""What an export asks of whoever hides secrets, and the answer of nobody doing so."""

from typing import Any, Final, Protocol


class Redacting(Protocol):
    """Hides secrets; it may be used by several threads at once."""

    def text(self, text: str) -> str:
        """Return a text without its secrets."""
        ...

    def value(self, json_value: Any) -> Any:
        """Return a JSON value without its secrets; the given one is not changed."""
        ...


class _AsItIs:
    def text(self, text: str) -> str:
        return text

    def value(self, json_value: Any) -> Any:
        return json_value


UNREDACTED: Final[Redacting] = _AsItIs()
"""Hides nothing: an export with it holds everything as it is."""

"""Plain text as a program prints it: in any pieces, perhaps with colours, perhaps no text."""

import codecs
import re
from typing import Final

_ESCAPE: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # colours and the cursor
    r"|\][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles and links
    r"|[PX^_][^\x1b]*\x1b\\"  # what only some terminals know
    r"|[ -/]*[0-OQ-WYZ\\`-~])"
)
_LONGEST_ESCAPE: Final = 4096


class PrintedText:
    """Decodes bytes and takes out what only moves a terminal's cursor."""

    def __init__(self, *, keep_ansi: bool) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        self._keep_ansi = keep_ansi
        self._rest = ""

    def feed(self, data: bytes) -> str:
        """Return the text that bytes complete."""
        return self._clean(self._decode(data))

    def end(self) -> str:
        """Return what is left."""
        text = self._clean(self._decode(b"", final=True))
        rest, self._rest = self._rest, ""
        return text + rest

    def _clean(self, text: str) -> str:
        if self._keep_ansi:
            return text
        text = _ESCAPE.sub("", self._rest + text).replace("\0", "")
        self._rest = ""
        # The end may be the beginning of an escape whose end is still to come.
        at = text.find("\x1b")
        if at >= 0 and len(text) - at < _LONGEST_ESCAPE:
            text, self._rest = text[:at], text[at:]
        return text

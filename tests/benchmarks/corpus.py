"""Realistic text: what Python's own library says about itself, in code and in prose."""

import random
import sysconfig
from pathlib import Path
from pydoc_data.topics import topics

_FILES = 250


class Corpus:
    """Cuts pieces out of the standard library's sources and language reference; seeded."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._text = _library()

    def take(self, length: int) -> str:
        """Return so many characters from anywhere."""
        parts = []
        while length > 0:
            start = self._random.randrange(len(self._text))
            parts.append(self._text[start : start + length])
            length -= len(parts[-1])
        return "".join(parts)

    def around(self, length: int) -> str:
        """Return half to one and a half times so many characters."""
        return self.take(self._random.randrange(length // 2, length * 3 // 2))


def _library() -> str:
    sources = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))[:_FILES]
    code = [path.read_text(encoding="utf-8", errors="ignore") for path in sources]
    prose = [topics[name] for name in sorted(topics)]
    return "\n".join(part for pair in zip(code, prose * 4, strict=False) for part in pair)

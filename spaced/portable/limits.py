"""How much of a portable file is read; what goes beyond is refused before it is looked at."""

from typing import Final

LARGEST: Final = 1024 * 1024
"""Bytes of a document."""
MOST_NODES: Final = 100_000
"""Values of a document, with everything that is referred to written out."""
DEEPEST: Final = 64
"""Levels of objects and lists."""

"""Ids that a client makes itself, so that what it sends can be sent again."""

from time import time_ns
from typing import Final

from spaced.identifiers import IdGenerator, IdPrefix

# Of this process's own clock: ids only name, so nothing depends on it being right.
_GENERATOR: Final = IdGenerator(lambda: time_ns() // 1_000_000)


def fresh_id(prefix: IdPrefix) -> str:
    """Return an id that nobody has used, such as `ses_0193…`."""
    return _GENERATOR.new(prefix)

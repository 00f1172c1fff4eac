"""The plugin's fixed SQL, read once from the `.sql` files beside this module.

A block starts with `-- its_name --` on a line of its own; comment lines below say who uses it.
SQL that depends on the core's tables is built in `row_tables.py`.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_HEADING = re.compile(r"^-- (\w+) --$", re.MULTILINE)


def load_blocks(file_name: str) -> Mapping[str, str]:
    """Return the named blocks of a `.sql` file beside this module."""
    text = Path(__file__).with_name(file_name).read_text(encoding="utf-8")
    _, *parts = _HEADING.split(text)
    return {name: _code(block) for name, block in zip(parts[::2], parts[1::2], strict=True)}


def split_statements(block: str) -> list[str]:
    """Return the single statements of a block; each ends with a semicolon at the end of a line."""
    return [part.strip() for part in re.split(r";\s*$", block, flags=re.MULTILINE) if part.strip()]


def _code(block: str) -> str:
    lines = [line for line in block.splitlines() if not line.startswith("--")]
    return "\n".join(lines).strip()


QUERIES: Final = load_blocks("queries.sql")

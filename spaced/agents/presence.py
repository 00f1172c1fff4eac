"""Whether something is there, for whoever looks into folders that may be closed to them.

The methods of a path raise where a folder cannot be entered or a name is too long.
"""

from collections.abc import Sequence
from pathlib import Path


def is_there(path: Path) -> bool:
    """Tell whether there is something that can be seen."""
    try:
        return path.exists()
    except OSError:
        return False


def is_file(path: Path) -> bool:
    """Tell whether there is a file, or a link to one, that can be seen."""
    try:
        return path.is_file()
    except OSError:
        return False


def matching(folder: Path, pattern: str) -> Sequence[Path]:
    """Return what of a folder matches a pattern, sorted; nothing if the folder cannot be seen."""
    try:
        return sorted(folder.glob(pattern))
    except OSError:
        return ()

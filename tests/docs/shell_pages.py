"""Runs the commands of a page as its reader would, in order and in one folder, and compares."""

import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_FENCE: Final = re.compile(r"^```(\w+)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
_SHOWN: Final = ("json", "text")
_WHATEVER: Final = "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A block that is run, and what the page shows below it.

    Attributes:
        shown: what it prints, with `…` for anything; `None` if the page shows nothing.
    """

    language: str
    code: str
    shown: str | None


def examples_of(page: Path) -> Iterator[Example]:
    """Return the blocks of a page that are run, in their order."""
    blocks = _FENCE.findall(page.read_text(encoding="utf-8"))
    for place, (language, code) in enumerate(blocks):
        if language in _SHOWN:
            continue
        after = blocks[place + 1] if place + 1 < len(blocks) else ("", "")
        yield Example(language=language, code=code, shown=after[1] if after[0] in _SHOWN else None)


def run(example: Example, folder: Path, environment: Mapping[str, str], python: str) -> str:
    """Run an example and return what it prints; a failure is one of the test."""
    program = [python, "-W", "error", "-c"] if example.language == "python" else ["bash", "-euc"]
    done = subprocess.run(
        [*program, example.code],
        cwd=folder,
        env=dict(environment),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, f"{example.code}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def matches(printed: str, shown: str) -> bool:
    """Tell whether what was printed is what is shown; `…` stands for anything."""
    parts = [re.escape(part) for part in shown.strip().split(_WHATEVER)]
    return re.fullmatch(".*?".join(parts), printed.strip(), flags=re.DOTALL) is not None

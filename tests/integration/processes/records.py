"""Places for the facts about processes: one that can refuse, and one that a kill leaves readable."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from spaced.errors import StorageFull
from spaced.runtime.processes.facts import ProcessFacts


class RecordsInMemory:
    """Keeps them in a list."""

    def __init__(self, *facts: ProcessFacts) -> None:
        self.kept = list(facts)
        self.is_full = False

    async def started(self, facts: ProcessFacts) -> None:
        if self.is_full:
            raise StorageFull("there is no space left")
        self.kept.append(facts)

    async def gone(self, facts: ProcessFacts) -> None:
        self.kept = [kept for kept in self.kept if kept != facts]

    async def left_over(self) -> Sequence[ProcessFacts]:
        return tuple(self.kept)


class RecordsInFolder:
    """Keeps each in a file of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def started(self, facts: ProcessFacts) -> None:
        self._folder.mkdir(exist_ok=True)
        self._file(facts).write_text(json.dumps(asdict(facts)))

    async def gone(self, facts: ProcessFacts) -> None:
        self._file(facts).unlink(missing_ok=True)

    async def left_over(self) -> Sequence[ProcessFacts]:
        return [
            ProcessFacts(**json.loads(file.read_text())) for file in sorted(self._folder.iterdir())
        ]

    def _file(self, facts: ProcessFacts) -> Path:
        return self._folder / f"{facts.pid}-{facts.started}"

"""Who descends from whom.

A process belongs to the kin of known ones if it is one of them, if its parent belongs to it, or if
one of its members leads its session or its group. A process that has left its session *and* lost
its parent is kin only of those who knew it before that; its mark alone tells where it came from.
"""

from collections import defaultdict
from collections.abc import Iterable

from spaced.runtime.processes.process_table import Process


class Kin:
    """Grows with every look: whoever was once seen to belong to it belongs to it for good."""

    def __init__(self, identities: Iterable[tuple[int, str]]) -> None:
        self._known = set(identities)

    def find(self, processes: Iterable[Process]) -> list[Process]:
        """Return those that belong to it, and remember them."""
        processes = list(processes)
        below: dict[int, list[Process]] = defaultdict(list)
        for process in processes:
            for above in {process.parent, process.session, process.group} - {process.pid}:
                below[above].append(process)
        found = [process for process in processes if process.identity in self._known]
        for process in found:  # grows meanwhile
            strangers = [p for p in below[process.pid] if p.identity not in self._known]
            self._known.update(p.identity for p in strangers)
            found += strangers
        return found

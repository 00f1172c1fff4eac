"""The catalogue of agents: what ships with spaced, and what a person has added.

A file `<config>/agents/NAME.json` holds one entry of the same shape; it wins over ours of the same
id. One that cannot be read costs nothing but itself.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path, PurePath
from stat import S_ISREG
from typing import Final

import msgspec

from spaced.agents.entries import Entry
from spaced.agents.presence import matching
from spaced.domain.fetchers import fetches_another
from spaced.domain.profile_checks import check_profile
from spaced.errors import InvalidProfile
from spaced.refusals import NotFound

_ID: Final = re.compile(r"[a-z][a-z0-9-]*", re.ASCII)
_LARGEST_FILE: Final = 256 * 1024


class _Bundled(msgspec.Struct, frozen=True):
    version: str
    agents: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """What is known.

    Attributes:
        entries: by id, in their order.
        broken: sentences about files that could not be used.
    """

    entries: Sequence[Entry]
    broken: Sequence[str] = ()

    def entry(self, agent_id: str) -> Entry | None:
        """Return an agent by its id."""
        return next((entry for entry in self.entries if entry.id == agent_id), None)


def read_catalogue(folder: Path | None = None) -> Catalogue:
    """Return what ships with spaced, with a person's own entries over it.

    Args:
        folder: where the person's own lie; it need not exist.
    """
    known = {entry.id: entry for entry in _bundled().agents}
    broken: list[str] = []
    for path in matching(folder, "*.json") if folder is not None else ():
        try:
            entry = _read(path)
        except (OSError, ValueError, msgspec.DecodeError) as error:
            broken.append(f"the agent in {str(path)!r} is not used: {error}")
        except RecursionError:
            broken.append(f"the agent in {str(path)!r} is not used: it is nested too deeply")
        else:
            known[entry.id] = entry
    return Catalogue(entries=tuple(known.values()), broken=tuple(broken))


def _bundled() -> _Bundled:
    content = (files("spaced.agents") / "catalogue.json").read_bytes()
    return msgspec.json.decode(content, type=_Bundled)


def unknown_agent(agent_id: str) -> NotFound:
    """Return the error that no catalogue has an agent of this id."""
    return NotFound(
        f"no agent is called {agent_id!r}", remedy="`spaced agents` lists those that are known."
    )


def _read(path: Path) -> Entry:
    found = path.stat()
    if not S_ISREG(found.st_mode):
        raise ValueError("it is no file")  # reading a pipe would wait for ever
    if found.st_size > _LARGEST_FILE:
        raise ValueError(f"it has more than {_LARGEST_FILE} bytes")
    entry = msgspec.json.decode(path.read_bytes(), type=Entry)
    if _ID.fullmatch(entry.id) is None:
        raise ValueError("its id must be small letters, digits and hyphens, a letter first")
    _check_programs(entry)
    try:
        check_profile(entry.profile("/program"))
    except InvalidProfile as error:
        raise ValueError(error.message) from error
    return entry


def _check_programs(entry: Entry) -> None:
    programs = entry.launch.programs
    if not programs:
        raise ValueError("it names no program")
    for name in programs:
        if (PurePath(name).name != name and not name.startswith("/")) or not name or "\0" in name:
            raise ValueError(f"its program {name!r} must be a name or an absolute path")
        if fetches_another((name, *entry.launch.arguments)):
            raise ValueError("its program fetches another one at each start; name that one")

"""What must hold after a kill: each check returns one sentence for everything that does not."""

import errno
import json
import os
import signal
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from spaced.domain.events.event import Event
from spaced.domain.events.prompt import PromptAdmitted, PromptReturned
from spaced.domain.events.transcript import AgentItemAppended
from spaced.domain.events.turn import (
    ExecutionEnded,
    TurnDispatched,
    TurnEnded,
    TurnRetrying,
    TurnStarted,
)
from spaced.domain.json_values import JsonObject
from spaced.engine.doctor import examine
from spaced.log.fact import fact_of
from spaced.log.fold import fold_transcript
from spaced.log.read_models.catalogue import OPEN_TAIL, PROCESS
from spaced.log.read_models.lives import ASKS, EXECUTIONS, PROMPTS, TURNS
from spaced.log.read_models.open_items import OPEN_ITEM
from spaced.log.read_models.sessions import SESSION
from spaced.runtime.processes.marker import execution_of, marks_in
from spaced.storage.protocol import Storage
from tests.end_to_end.sweep_life import CHAT, Household, log_of

_FINISHED: Final = ("delivered", "cancelled")


async def check_what_was_left(
    household: Household, storage: Storage, accepted: Iterable[str]
) -> list[str]:
    """Check the log right after a kill, before anybody recovers it."""
    events = await _events(storage)
    admitted = {e.prompt_id for e in events if isinstance(e, PromptAdmitted)}
    dispatched = _dispatched(events)
    return [
        *(f"{name} was accepted and is not in the log" for name in set(accepted) - admitted),
        *(
            f"{name} was handed over {count} times"
            for name, count in handed_over(household).items()
            if count > 1
        ),
        *(
            f"{name} was handed over, but that is not in the log"
            for name in handed_over(household).keys() - dispatched.keys()
        ),
        *(await check_consistent(storage)),
    ]


async def check_quiet(household: Household, storage: Storage) -> list[str]:
    """Check that nothing waits or runs any more, and that nothing happened twice."""
    events = await _events(storage)
    handed, dispatched = handed_over(household), _dispatched(events)
    found = [
        *_more_than_once(
            "admitted", (e.prompt_id for e in events if isinstance(e, PromptAdmitted))
        ),
        *_more_than_once("shown", _shown(events)),
        *_more_than_once("handed over", handed.elements()),
        *_more_than_once("ended", (e.turn_id for e in events if isinstance(e, TurnEnded))),
        *(f"{name} was handed over undispatched" for name in handed.keys() - dispatched.keys()),
        *_not_ended(events),
    ]
    for row in await _rows(storage, PROMPTS.table.name):
        if row["status"] not in _FINISHED:
            found.append(f"the prompt {row['id']} is {row['status']}")
        elif row["status"] == "delivered" and dispatched[str(row["id"])] != 1:
            found.append(f"the prompt {row['id']} is delivered without a dispatch")
    found += [
        f"the {table} {row['id']} is open"
        for table in (TURNS.table.name, ASKS.table.name)
        for row in await _rows(storage, table)
        if row["status"] == "open"
    ]
    found += [f"the session is {row['status']}" for row in await _not_idle(storage)]
    for table in (OPEN_ITEM.name, OPEN_TAIL.name):
        found += [f"{table} has {dict(row)}" for row in await _rows(storage, table)]
    return found


async def check_asks(storage: Storage) -> list[str]:
    """Check that nobody is bothered with a permission that no turn waits for."""
    turns = await _rows(storage, TURNS.table.name)
    asks = [ASKS.state_of(row) for row in await _rows(storage, ASKS.table.name)]
    ended = {row["id"] for row in turns if row["status"] != "open"}
    return [
        f"the ask {ask.id} is open, but its turn has ended"
        for ask in asks
        if ask.status == "open" and ask.turn_id in ended
    ]


async def check_answered(storage: Storage) -> list[str]:
    """Check that the prompt that came last was answered."""
    items = fold_transcript(await storage.read_stream(CHAT, session_id=CHAT)).items()
    said = [item.get("content") for item in items if item.get("role") == "assistant"]
    return [] if said[-1:] == ["further"] else [f"the last prompt was not answered: {said}"]


async def check_told_once(storage: Storage) -> list[str]:
    """Check that nothing that an agent told again stands in the transcript again."""
    items = fold_transcript(await storage.read_stream(CHAT, session_id=CHAT)).items()
    sources = (json.dumps(item["source"]) for item in items if "source" in item)
    return _more_than_once("recorded as an item", sources)


async def check_consistent(storage: Storage) -> list[str]:
    """Check that rows follow from the log, and that texts stand at their places."""
    found = [finding.detail async for finding in examine(storage)]
    transcript = fold_transcript(await storage.read_stream(CHAT, session_id=CHAT))
    if transcript.misplaced_texts:
        found.append(f"{transcript.misplaced_texts} texts are misplaced")
    return found


async def check_stopped(household: Household, storage: Storage) -> list[str]:
    """Check that a life that ended well left nothing behind, in the log or beside it."""
    open_executions = [
        row for row in await _rows(storage, EXECUTIONS.table.name) if row["status"] == "open"
    ]
    return [
        *(f"the execution {row['id']} is open" for row in open_executions),
        *(f"the process {dict(row)} is recorded" for row in await _rows(storage, PROCESS.name)),
        *check_nothing_lives(household, storage.log_id),
    ]


def check_nothing_lives(household: Household, log_id: str) -> list[str]:
    """Check that no process that an agent started is there, and that none left its trace."""
    found = [f"the process {pid} lives" for pid in _marked(log_id)]
    try:
        os.close(os.open(household.workplace / "fifo", os.O_WRONLY | os.O_NONBLOCK))
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
    else:
        found.append("somebody waits at the pipe")
    if (household.workplace / "trace").exists():
        found.append("the grandchild left its trace")
    return found


def end_left_over(log_id: str) -> None:
    """Kill what an engine that fails its test has left: a failure must not spoil the machine."""
    for pid in _marked(log_id):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def handed_over(household: Household) -> Counter[str]:
    """Return how often the agent was given each prompt, as it noted itself."""
    if not household.deliveries.exists():
        return Counter()
    lines = household.deliveries.read_bytes().splitlines()
    return Counter(name for line in lines for name in json.loads(line)["prompt_ids"])


async def describe(storage: Storage) -> str:
    """Return the kinds of the log with the ids that matter, for a person to read."""
    lines = []
    for recorded in await log_of(storage):
        fact = fact_of(recorded)
        event = None if fact is None else fact.event
        names = (
            "prompt_id",
            "prompt_ids",
            "turn_id",
            "execution_id",
            "outcome",
            "status",
            "reason",
        )
        told = {n: getattr(event, n) for n in names if getattr(event, n, None) is not None}
        lines.append(f"  {recorded.position} {recorded.kind} {told or ''}")
    return "\n".join(lines)


async def _events(storage: Storage) -> Sequence[Event]:
    return [fact.event for one in await log_of(storage) if (fact := fact_of(one)) is not None]


async def _rows(storage: Storage, table: str) -> Sequence[Mapping[str, Any]]:
    return (await storage.list_rows(table)).rows


async def _not_idle(storage: Storage) -> Sequence[Mapping[str, Any]]:
    return [row for row in await _rows(storage, SESSION.name) if row["status"] != "idle"]


def _dispatched(events: Iterable[Event]) -> Counter[str]:
    """Return how often each prompt was dispatched, without what the agent said it did not take."""
    found: Counter[str] = Counter()
    last: dict[str, tuple[str, ...]] = {}
    for event in events:
        match event:
            case TurnDispatched(turn_id=turn_id, prompt_ids=names):
                found.update(names)
                last[turn_id] = names
            case PromptReturned(prompt_id=name) if found[name]:
                found[name] -= 1
            case TurnRetrying(turn_id=turn_id):
                found.subtract(last[turn_id])
    return +found


def _shown(events: Iterable[Event]) -> Iterable[str]:
    items: Iterable[JsonObject] = (e.item for e in events if isinstance(e, AgentItemAppended))
    return [str(item["prompt_id"]) for item in items if "prompt_id" in item]


def _more_than_once(what: str, names: Iterable[str]) -> list[str]:
    counts = Counter(names)
    return [f"{name} was {what} {count} times" for name, count in counts.items() if count > 1]


def _not_ended(events: Sequence[Event]) -> list[str]:
    ended = {e.turn_id for e in events if isinstance(e, TurnEnded)}
    begun = [e.turn_id for e in events if isinstance(e, TurnStarted)]
    executions = [e.execution_id for e in events if isinstance(e, ExecutionEnded)]
    return [
        *(f"the turn {name} has no end" for name in begun if name not in ended),
        *_more_than_once("ended", executions),
    ]


def _marked(log_id: str) -> list[int]:
    """Return the processes that carry the mark of this log; one that is dead has none."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environment = (entry / "environ").read_bytes()
            except OSError:
                continue  # it has gone, or it is somebody else's
            if any(execution_of(mark, log_id) for mark in marks_in(environment)):
                found.append(int(entry.name))
    return found

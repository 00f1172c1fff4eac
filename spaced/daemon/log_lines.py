"""What a log record says, as one line: for people, or as a JSON object. All of it is redacted.

Records are only read, since other handlers get them too. Whatever a record holds, and whoever
wrote it, its line is one line of visible text: nothing in it can pass for a second record, or
move a terminal's cursor.
"""

import json
import logging
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from spaced.clock import Timestamp, to_rfc3339
from spaced.redaction import Redactor

LONGEST_TEXT: Final = 32_768
"""Characters of a message or a traceback that are kept; the middle of a longer one is left out."""

_OWN: Final = frozenset({*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"})
_RESERVED: Final = frozenset({"time", "level", "logger", "event", "message", "exception"})
# Beside the control characters: what changes the direction of text, what has no width, what ends
# a line for some programs, and halves of characters that no file can hold.
_INVISIBLE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_PLAIN_WORD: Final = re.compile(r"[^\s\"'=\[\]]+")
_TRACEBACKS: Final = logging.Formatter()


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What a record says, without secrets.

    Attributes:
        time: RFC 3339 with milliseconds.
        level: in lower case.
        event: its stable name, for programs.
        extras: what else was given with it, as JSON can hold it.
        exception: the traceback, or "".
        cause: the exception in a few words, or "".
    """

    time: str
    level: str
    logger: str
    event: str | None
    message: str
    extras: Mapping[str, Any]
    exception: str
    cause: str


def entry_of(record: logging.LogRecord, redactor: Redactor) -> Entry:
    """Return what a record says."""

    def told(text: str) -> str:
        # Shortened last: half of a secret would have no form to know it by.
        return _shortened(redactor.text(text))

    given = {name: _plain(value) for name, value in vars(record).items() if name not in _OWN}
    event = given.pop("event", None)
    extras: dict[str, Any] = redactor.value(given)
    return Entry(
        time=to_rfc3339(Timestamp(math.floor(record.created * 1000))),
        level=record.levelname.lower(),
        logger=told(record.name),
        event=None if event is None else told(str(event)),
        message=told(_message(record)),
        extras={
            name: _shortened(value) if isinstance(value, str) else value
            for name, value in extras.items()
        },
        exception=told(_traceback(record)),
        cause=told(_cause(record)),
    )


def text_line(entry: Entry) -> str:
    """Write an entry for people who read the log file."""
    facts = [] if entry.event is None else [entry.event]
    facts += [f"{name}={_word(value)}" for name, value in entry.extras.items()]
    told = f" [{' '.join(facts)}]" if facts else ""
    line = f"{entry.time} {entry.level:<7} {entry.logger}: {entry.message}{told}"
    return visible(f"{line} {entry.exception}" if entry.exception else line)


def json_line(entry: Entry) -> str:
    """Write an entry for programs: a JSON object without a line break."""
    told: dict[str, Any] = {
        "time": entry.time,
        "level": entry.level,
        "logger": entry.logger,
        "event": entry.event,
        "message": entry.message,
    }
    for name, value in entry.extras.items():
        told[f"extra_{name}" if name in _RESERVED else name] = value
    if entry.exception:
        told["exception"] = entry.exception
    # What JSON leaves as it is and a terminal does not: only strings hold it, so it can be escaped.
    return visible(json.dumps(told, ensure_ascii=False))


def console_lines(entry: Entry, *, with_traceback: bool) -> str:
    """Write an entry for people at a terminal: short, the traceback only if it was asked for."""
    level = "" if entry.level == "info" else f"{entry.level}: "
    cause = f" ({entry.cause})" if entry.cause else ""
    lines = [f"{level}{entry.message}{cause}"]
    if with_traceback:
        lines += entry.exception.split("\n") if entry.exception else []
    return "\n".join(visible(line) for line in lines)


def visible(text: str) -> str:
    """Escape what would not be seen, or would do something to a terminal."""
    return _INVISIBLE.sub(lambda found: _SHORT.get(found[0], f"\\u{ord(found[0]):04x}"), text)


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception as error:  # noqa: BLE001 - see `_said`
        return f"{_said(record.msg)} (its arguments do not fit: {type(error).__name__})"


def _traceback(record: logging.LogRecord) -> str:
    parts = []
    if record.exc_info and record.exc_info[0] is not None:
        parts.append(_TRACEBACKS.formatException(record.exc_info))
    elif record.exc_text:
        parts.append(record.exc_text)
    if record.stack_info:
        parts.append(record.stack_info)
    return "\n".join(parts)


def _cause(record: logging.LogRecord) -> str:
    error = record.exc_info[1] if record.exc_info else None
    if error is None:
        return ""
    said = _said(error).partition("\n")[0]
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _shortened(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    left_out = len(text) - LONGEST_TEXT
    half = LONGEST_TEXT // 2
    return f"{text[:half]} … {left_out} more characters … {text[-half:]}"


def _plain(value: object) -> Any:
    """Return a value as JSON can hold it."""
    if value is None or isinstance(value, bool | int | str):
        return value
    try:
        return json.loads(json.dumps(value, default=_said, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return _said(value)


def _said(value: object) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - an object's `__str__` may raise anything
        return f"<{type(value).__name__} that cannot be shown>"


def _word(value: object) -> str:
    if isinstance(value, str) and _PLAIN_WORD.fullmatch(value):
        return value
    return json.dumps(value, ensure_ascii=False)

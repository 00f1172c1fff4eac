"""Says where log records of the daemon go: a file for later, the terminal for whoever watches.

Only the loggers of spaced, of its plugins and of the libraries that speak for them are touched,
never the root, so that a program which has a daemon inside keeps its own logging.
"""

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

from spaced.daemon.log_file import ConsoleHandler, LogFile
from spaced.daemon.log_lines import console_lines, entry_of, json_line, text_line
from spaced.errors import StorageFull
from spaced.plugin_host.finding import installed_plugins
from spaced.redaction import Redactor

LOG_NAME: Final = "spaced.log"

_OWN: Final = "spaced"
_LIBRARIES: Final = ("aiohttp", "asyncio")


def setup_logging(
    *,
    folder: Path | None,
    level: str,
    format: str,  # noqa: A002 - the name of the setting
    redactor: Redactor,
    console: bool,
) -> Callable[[], None]:
    """Begin to log, and return what ends it and puts the loggers back as they were.

    Libraries are heard from warnings on. Once this has returned, nothing that happens to the file
    raises, or prints a complaint.

    Args:
        folder: where `spaced.log` lies, private; `None` for no file.
        level: `debug`, `info`, `warning` or `error`, the least important that is logged.
        format: of the file, `text` or `json`; the console is always for people.
        redactor: hides secrets in all of it.
        console: whether to print to the standard error output too, without tracebacks unless
            the level is `debug`.

    Raises:
        UnsafePlace: the file or its folder is not ours alone, or cannot be written.
    """
    least = logging.getLevelNamesMapping()[level.upper()]
    file = _file(folder, redactor, json_line if format == "json" else text_line)
    handlers: list[logging.Handler] = [file] if file else []
    if console:
        handlers.append(_console(redactor, with_traceback=least <= logging.DEBUG))
    undo = ExitStack()
    for handler in handlers:
        undo.callback(handler.close)
    for name in _logger_names():
        _attach(undo, logging.getLogger(name), handlers, least)
    for name in _LIBRARIES:
        _attach(undo, logging.getLogger(name), handlers, max(least, logging.WARNING))
    try:
        with suppress(StorageFull):  # there may be space for the first record
            if file:
                file.open()
    except BaseException:
        undo.close()
        raise
    return undo.close


def _logger_names() -> Iterator[str]:
    """Yield the top-level loggers that are ours: plugins have their own."""
    found = (re.split(r"[.:\s]", plugin.value.strip())[0] for plugin in installed_plugins())
    yield from {_OWN: None} | dict.fromkeys(name for name in found if name)


def _file(folder: Path | None, redactor: Redactor, line: Callable[..., str]) -> LogFile | None:
    if folder is None:
        return None
    return LogFile(folder / LOG_NAME, lambda record: line(entry_of(record, redactor)))


def _console(redactor: Redactor, *, with_traceback: bool) -> ConsoleHandler:
    return ConsoleHandler(
        lambda record: console_lines(entry_of(record, redactor), with_traceback=with_traceback)
    )


def _attach(
    undo: ExitStack, logger: logging.Logger, handlers: list[logging.Handler], level: int
) -> None:
    undo.callback(logger.setLevel, logger.level)
    logger.setLevel(level)
    # With no handler at all, Python prints warnings by itself, and unredacted.
    for handler in handlers or [logging.NullHandler()]:
        undo.callback(logger.removeHandler, handler)
        logger.addHandler(handler)

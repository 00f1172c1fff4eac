"""Logs: where records go, what a line says, and that nothing about it can hurt the program."""

import json
import logging
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from spaced.daemon.log_setup import setup_logging
from spaced.redaction import MARK, Redactor
from spaced.refusals import UnsafePlace
from tests.unit.daemon.privacy import mode_of

SetUp = Callable[..., Callable[[], None]]
log = logging.getLogger("spaced.test")


@pytest.fixture
def set_up(tmp_path: Path) -> Iterator[SetUp]:
    """Sets logging up, into the test's own folder if nothing else is said, and undoes it."""
    undone = []

    def run(**options: Any) -> Callable[[], None]:
        defaults = {"level": "info", "format": "text", "redactor": Redactor(), "console": False}
        undo = setup_logging(**{"folder": tmp_path / "logs", **defaults, **options})
        undone.append(undo)
        return undo

    yield run
    for undo in undone:
        undo()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the log lies."""
    return tmp_path / "logs" / "spaced.log"


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines()


def entries_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines_of(path)]


def fail() -> None:
    try:
        raise ValueError("no such\nsword")
    except ValueError:
        log.exception("a drain failed", extra={"event": "drain-failed", "run_id": "ses_1"})


def test_a_line_for_people_says_when_who_and_what(set_up: SetUp, file: Path) -> None:
    """Facts of the record stand behind its sentence."""
    set_up()
    facts = {"event": "run-ended", "run_id": "ses_1", "why": "no need"}
    who = {"name": "spaced.engine", "levelno": logging.WARNING, "levelname": "WARNING"}
    said = {"msg": "%s has ended", "args": ("ses_1",), "created": 1796117400.0629}

    logging.getLogger("spaced.engine").handle(logging.makeLogRecord({**who, **said, **facts}))

    sentence = "2026-12-01T09:30:00.062Z warning spaced.engine: ses_1 has ended"
    assert lines_of(file) == [f'{sentence} [run-ended run_id=ses_1 why="no need"]']


def test_a_line_for_programs_is_an_object(set_up: SetUp, file: Path) -> None:
    """Facts keep their types, and cannot take the place of what every line has."""
    set_up(format="json")
    facts = {"count": 3, "path": Path("x"), "list": [1, {"a": None}], "level": "mine"}

    log.info("ended %d", 3, extra={**facts, "event": "run-ended"})
    log.info("plain")

    first, second = entries_of(file)
    assert first.pop("time").endswith("Z")
    assert first == {
        "level": "info",
        "logger": "spaced.test",
        "event": "run-ended",
        "message": "ended 3",
        "count": 3,
        "path": "x",
        "list": [1, {"a": None}],
        "extra_level": "mine",
    }
    assert second["event"] is None


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_record_is_one_line_whatever_it_holds(
    set_up: SetUp, file: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent's words cannot pass for a second record, or turn the rest of the line around."""
    # Half a character that pytest captured too could not be sent to the process that reports.
    monkeypatch.setattr(logging.getLogger("spaced"), "propagate", False)
    set_up(format=form)

    log.info("a\nb\r\x1b[31m\x85\u2028\u202e\udcff", extra={"fact": "c\nd\x9b", "event": "e\nf"})
    fail()

    content = file.read_bytes()
    assert content.count(b"\n") == 2
    assert content.endswith(b"\n")
    assert not [c for c in content.decode() if c != "\n" and not c.isprintable()]


def test_secrets_are_hidden_wherever_they_are(set_up: SetUp, file: Path) -> None:
    """In the message, its arguments, its facts, their names, and in a traceback."""
    set_up(format="json", redactor=Redactor(["swordfish"]))

    log.info("say swordfish to %s", "swordfish", extra={"word": ["swordfish"], "api_key": "k1"})
    try:
        raise ValueError("not swordfish")
    except ValueError:
        log.exception("failed")

    assert "swordfish" not in file.read_text()
    first, second = entries_of(file)
    assert first["message"] == f"say {MARK} to {MARK}"
    assert (first["word"], first["api_key"]) == ([MARK], MARK)
    assert f"ValueError: not {MARK}" in second["exception"]


def test_a_secret_at_the_cut_of_a_long_message_is_hidden(set_up: SetUp, file: Path) -> None:
    """What is too long loses its middle, but only after the secrets."""
    set_up(redactor=Redactor(["swordfish" * 5]))

    log.info("%s", "x" * 16_380 + "swordfish" * 5 + "y" * 90_000, extra={"fact": "z" * 90_000})

    assert "swordfish" not in file.read_text()
    assert len(lines_of(file)[0]) < 70_000
    assert "more characters" in lines_of(file)[0]


def test_the_record_stays_as_it_was_for_other_handlers(set_up: SetUp) -> None:
    """A program that has a daemon inside sees its own records."""
    seen: list[dict[str, Any]] = []
    watch = logging.Handler()
    watch.emit = lambda record: seen.append(dict(vars(record)))  # type: ignore[method-assign]
    set_up(redactor=Redactor(["swordfish"]), console=True)
    log.addHandler(watch)
    ours = logging.getLogger("spaced")
    ours.addHandler(watch)
    try:
        try:
            raise ValueError("swordfish")
        except ValueError:
            log.exception("%s", "swordfish", extra={"event": "e"})
    finally:
        log.removeHandler(watch)
        ours.removeHandler(watch)

    before, after = seen
    assert before == after
    assert after["args"] == ("swordfish",)
    assert after["exc_text"] is None
    assert "message" not in after


def test_a_message_that_does_not_fit_its_arguments_is_still_logged(
    set_up: SetUp,
    file: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A mistake in a log call is no reason to lose what it wanted to say."""

    class Unspeakable:
        def __str__(self) -> str:
            raise RuntimeError("no")

    set_up()
    monkeypatch.setattr(logging.getLogger("spaced"), "propagate", False)  # pytest would raise
    log.info("one %s two %s", *["only one"])
    log.info("%s", Unspeakable(), extra={"fact": Unspeakable()})
    log.info(Unspeakable())

    assert len(lines_of(file)) == 3
    assert "one %s two %s (its arguments do not fit: TypeError)" in lines_of(file)[0]
    assert "<Unspeakable that cannot be shown>" in lines_of(file)[1]
    assert capsys.readouterr() == ("", "")


def test_the_console_is_short_and_the_file_has_the_traceback(
    set_up: SetUp, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A person at the terminal needs to know that something failed, not in which line."""
    set_up(console=True)

    log.info("ready\x1b[2J")
    fail()

    assert capsys.readouterr().err == (
        "ready\\u001b[2J\nerror: a drain failed (ValueError: no such)\n"
    )
    assert "Traceback" in lines_of(file)[1]


def test_the_console_shows_the_traceback_to_who_debugs(
    set_up: SetUp, capsys: pytest.CaptureFixture[str]
) -> None:
    """Line by line, as everybody knows it."""
    set_up(console=True, level="debug")

    fail()

    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == [
        "error: a drain failed (ValueError: no such)",
        "Traceback (most recent call last):",
    ]


@pytest.mark.parametrize("stream", [None, "closed"])
def test_a_console_that_is_gone_hurts_nobody(
    set_up: SetUp, file: Path, monkeypatch: pytest.MonkeyPatch, stream: str | None
) -> None:
    """The terminal of a daemon may be closed."""
    set_up(console=True)
    with Path(os.devnull).open("w") as closed:
        pass
    monkeypatch.setattr(sys, "stderr", closed if stream else None)

    log.info("still here")

    assert "still here" in lines_of(file)[0]


def test_libraries_are_heard_from_warnings_on(set_up: SetUp, file: Path) -> None:
    """What aiohttp tells of each request is nobody's news; what asyncio lost is."""
    set_up(level="debug")

    logging.getLogger("aiohttp.access").info("GET /")
    logging.getLogger("aiohttp.server").warning("odd")
    logging.getLogger("asyncio").error("lost")
    logging.getLogger("spaced.engine").debug("detail")

    assert [line.split()[3:] for line in lines_of(file)] == [["odd"], ["lost"], ["detail"]]


def test_the_loggers_of_plugins_are_heard(set_up: SetUp, file: Path) -> None:
    """A plugin has a logger of its own name, and not one of spaced's."""
    set_up()

    logging.getLogger("spaced_sqlite.writer").warning("slow disk")

    assert "slow disk" in lines_of(file)[0]


def test_what_is_less_important_than_the_level_is_left_out(set_up: SetUp, file: Path) -> None:
    """Also where libraries speak."""
    set_up(level="error")

    log.warning("hm")
    logging.getLogger("aiohttp").warning("hm")
    log.error("oh")

    assert len(lines_of(file)) == 1


def test_the_undo_leaves_the_loggers_as_they_were(tmp_path: Path) -> None:
    """A second daemon in the same process begins from nothing; the root is never touched."""
    names = ["", "spaced", "spaced_sqlite", "aiohttp", "asyncio"]
    before = [(x.level, list(x.handlers), x.propagate) for x in map(logging.getLogger, names)]

    undo = setup_logging(
        folder=tmp_path, level="debug", format="json", redactor=Redactor(), console=True
    )
    during = logging.getLogger()
    assert (during.level, during.handlers, during.propagate) == before[0]
    undo()
    undo()

    assert before == [
        (x.level, list(x.handlers), x.propagate) for x in map(logging.getLogger, names)
    ]


def test_without_file_and_console_nothing_is_printed(
    set_up: SetUp, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python's last resort would print it without redaction."""
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    set_up(folder=None)

    log.error("swordfish")

    assert capsys.readouterr() == ("", "")


def test_a_log_that_others_could_read_is_refused_or_closed(set_up: SetUp, file: Path) -> None:
    """A link is not followed; a file that was open is closed, and the log says so."""
    file.parent.mkdir(mode=0o700)
    file.touch(mode=0o600)
    file.chmod(0o644)

    set_up()

    assert mode_of(file) == 0o600
    assert "mode-tightened" in lines_of(file)[0]
    assert len(lines_of(file)) == 1


def test_a_log_behind_a_link_is_refused_and_nothing_stays(tmp_path: Path, file: Path) -> None:
    """Who starts a daemon learns it at once."""
    file.parent.mkdir(mode=0o700)
    file.symlink_to(tmp_path / "elsewhere")
    before = list(logging.getLogger("spaced").handlers)

    with pytest.raises(UnsafePlace, match="is a symbolic link"):
        setup_logging(
            folder=file.parent, level="info", format="text", redactor=Redactor(), console=False
        )
    assert logging.getLogger("spaced").handlers == before
    assert not (tmp_path / "elsewhere").exists()

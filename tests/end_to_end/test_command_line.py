"""The commands against a real daemon: what they print, and how they end."""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from spaced.cli.main import LINES
from spaced.client import calls
from tests.end_to_end.daemons import Daemon


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


async def spaced(
    *arguments: str, stdin: str = "", environment: Mapping[str, str] | None = None
) -> Said:
    """Run a command as a person does, perhaps with other variables than ours."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "spaced", *arguments),
        env=None if environment is None else {**os.environ, **environment},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate(stdin.encode())
    assert process.returncode is not None
    return Said(code=process.returncode, out=out.decode(), err=err.decode())


@pytest.fixture
async def daemon() -> AsyncIterator[Daemon]:
    """A daemon on an empty data directory."""
    async with Daemon.running("--no-tcp") as running:
        yield running


@pytest.mark.parametrize("name", LINES)
async def test_every_command_explains_itself(name: str) -> None:
    """It is imported, and its help has a sentence of what it does."""
    said = await spaced(name, "--help")

    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"Usage: spaced {name}")


async def test_a_first_chat_by_commands_alone(daemon: Daemon, tmp_path: Path) -> None:
    """From an empty data directory to an answer, a search and a file."""
    where = ("--data-dir", str(daemon.folder))
    made = await spaced("new", "--dir", str(tmp_path), "--title", "Mine", *where)
    session = made.out.strip()
    answered = await spaced("send", "last", "look at the harbour", "--wait", "30", *where)
    listed = await spaced("sessions", *where)
    shown = await spaced("sessions", "show", session[:12], "--json", *where)
    found = await spaced("search", "harbour", "--json", *where)
    written = await spaced("export", session, "-o", str(tmp_path / "chat.md"), *where)
    whole = await spaced("export", session, "--format", "json", "--no-redact", *where)

    assert made.code == 0, made.err
    assert "look at the harbour" in answered.out
    assert session in listed.out, listed.err
    assert json.loads(shown.out)["title"] == "Mine"
    assert {hit["session_id"] for hit in json.loads(found.out)["hits"]} == {session}
    assert written.code == 0, written.err
    assert "look at the harbour" in (tmp_path / "chat.md").read_text()
    assert (tmp_path / "chat.md").stat().st_mode & 0o777 == 0o600
    assert json.loads(whole.out)["run"]


async def test_a_command_without_a_daemon_says_how_to_start_one(tmp_path: Path) -> None:
    """In two lines and with an exit code of its own; it starts none."""
    said = await spaced("status", "--data-dir", str(tmp_path / "data"))

    assert said.code == 3
    assert said.out == ""
    assert said.err.startswith("spaced: no daemon answers at ")
    assert "spaced up" in said.err.splitlines()[1]
    assert not (tmp_path / "data").exists()


async def test_errors_are_sentences_with_codes_of_their_own(daemon: Daemon) -> None:
    """Never a traceback; with --json it is the problem document."""
    where = ("--data-dir", str(daemon.folder))
    absent = await spaced("sessions", "show", "ses_nobody", *where)
    as_json = await spaced("sessions", "show", "ses_nobody", "--json", *where)
    second = await spaced("up", *where)

    assert absent.code == 4
    assert "ses_nobody" in absent.err
    assert json.loads(as_json.err)["code"] == "unknown-session"
    assert "Traceback" not in absent.err + as_json.err + second.err
    assert second.code == 1
    assert str(daemon.pid) in second.err


async def test_a_backup_while_work_goes_on_is_restored_elsewhere(
    daemon: Daemon, tmp_path: Path
) -> None:
    """The copy is whole, differs in nothing, and is a log of its own."""
    where = ("--data-dir", str(daemon.folder))
    client = daemon.client()
    session = await client.create_session(
        profile="prof_demo", directory=str(tmp_path), session_id="ses_saved"
    )
    await client.prompt(session.id, "keep this", prompt_id="msg_saved")
    await client.wait(session.id)
    cursor = (await client.status()).head
    flood = {"script": [[{"do": "flood", "bytes": 30_000_000, "piece_bytes": 2000}]]}
    definition = {"name": "F", "agent_name": "x", "runtime": "scripted", "options": flood}
    await client.do(calls.create_profile("prof_flood", definition))
    busy = await client.create_session(profile="prof_flood", directory=str(tmp_path))
    await client.prompt(busy.id, "go")
    saved = await spaced("backup", str(tmp_path / "copy"), *where)
    meanwhile = (await client.session(busy.id)).live.word
    await client.interrupt(busy.id)
    with tempfile.TemporaryDirectory(prefix="spaced-", dir="/tmp") as name:
        there = ("--data-dir", str(Path(name) / "other"))
        restored = await spaced("restore", str(tmp_path / "copy"), *there)
        again = await spaced("restore", str(tmp_path / "copy"), *there)
        examined = await spaced("doctor", "--json", *there)
        async with Daemon.over(Path(name) / "other", "--no-tcp") as other:
            items = (await other.client().items("ses_saved")).items
            frames = other.client().events(after=cursor)
            names = [(await anext(frames)).name for _ in range(2)]
            await frames.aclose()

    assert saved.code == 0, saved.err
    assert meanwhile == "busy"
    assert restored.code == 0, restored.err
    assert again.code == 1
    assert json.loads(examined.out)["findings"] == []
    assert items[0]["content"] == "keep this"
    assert names == ["hello", "reset"]


async def test_a_rebuild_waits_until_no_daemon_runs(daemon: Daemon) -> None:
    """Rows are written anew only where nobody else writes."""
    where = ("--data-dir", str(daemon.folder))
    refused = await spaced("doctor", "--rebuild", *where)
    asked = await spaced("doctor", *where)
    await daemon.stop()
    done = await spaced("doctor", "--rebuild", *where)

    assert refused.code == 1
    assert str(daemon.folder) in refused.err or "daemon" in refused.err
    assert (asked.code, done.code) == (0, 0)
    assert "0 differences" in asked.out


async def test_a_daemon_that_was_killed_is_not_called_running(daemon: Daemon) -> None:
    """Its file is still there, but nobody of its number."""
    where = ("--data-dir", str(daemon.folder))
    alive = await spaced("env", *where)
    pid = daemon.pid
    await daemon.kill()
    dead = await spaced("env", *where)

    assert f"pid {pid}, spaced" in alive.out
    assert f"not running; pid {pid}" in dead.out


async def test_the_two_minute_proof_ends_well() -> None:
    """The same that `make demo` runs."""
    said = await spaced("demo")

    assert said.code == 0, said.out + said.err
    assert said.out.endswith("Nothing was lost, and nothing happened twice.\n")

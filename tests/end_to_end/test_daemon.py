"""A real daemon: its places, its restarts under its clients, its end, and what it never tells."""

import asyncio
import json
import os
import signal
import stat
import tempfile
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from spaced.client import calls
from spaced.client.client import Client
from spaced.client.sse import Frame
from spaced.refusals import DaemonStopping, NoDaemon
from tests.end_to_end.daemons import PATIENCE, Daemon

SECRET = "sk-planted-4f9a1c7e2b8d6035aa91"
HIDDEN = "hunter2-planted-in-the-environment"


def scripted(*turns: list[dict[str, Any]], **options: Any) -> dict[str, Any]:
    """Return a profile whose agent plays these turns."""
    return {
        "name": "Scripted",
        "agent_name": "scripted",
        "runtime": "scripted",
        "options": {"script": list(turns), **options},
    }


async def chat(client: Client, folder: Path, *turns: list[dict[str, Any]]) -> str:
    """Create a chat with an agent that plays these turns."""
    profile = await client.do(calls.create_profile("prof_test", scripted(*turns)))
    session = await client.create_session(profile=profile.id, directory=str(folder))
    return session.id


async def all_cursors(client: Client, session: str | None, **wanted: Any) -> list[str]:
    """Return the cursors of the events that the log holds, page by page."""
    found: list[str] = []
    after: str | None = None
    more = True
    while more:
        page = await client.do(calls.events(session, after=after, limit=500, **wanted))
        found += [event.cursor for event in page.events]
        after, more = page.next_cursor, page.more
    return found


@pytest.mark.parametrize("kinds", [None, ["turn-ended", "prompt-admitted"]])
async def test_a_reader_misses_nothing_over_kills_and_restarts(
    tmp_path: Path, kinds: list[str] | None
) -> None:
    """Three lives, two kills: every event once and in order, also where a filter is on."""
    async with Daemon.running("--no-tcp") as daemon:
        client = daemon.client()
        start = (await client.status()).head
        session = await chat(client, tmp_path, [{"do": "say", "text": "hello"}])
        heard: list[Frame] = []

        async def listen() -> None:
            async with aclosing(client.events(session, after=start, kinds=kinds)) as frames:
                async for frame in frames:
                    heard.append(frame)

        listening = asyncio.ensure_future(listen())
        for life in range(3):
            for number in range(5):
                await client.prompt(session, "go", prompt_id=f"msg_{life}_{number}")
            if life < 2:
                await daemon.kill()
                await daemon.start()
        await client.wait(session, timeout=PATIENCE)
        told = ",".join(kinds) if kinds else None
        log = await all_cursors(client, session, kinds=told)
        async with asyncio.timeout(PATIENCE):
            while log[-1] not in [frame.cursor for frame in heard]:
                await client.do(calls.health())
        listening.cancel()
        items = (await client.items(session, limit=500)).items

    durable = [frame.cursor for frame in heard if "version" in frame.data]
    assert durable == log
    prompts = [item["prompt_id"] for item in items if "prompt_id" in item]
    assert sorted(prompts) == [f"msg_{life}_{number}" for life in range(3) for number in range(5)]


async def test_a_daemon_that_is_told_to_end_says_goodbye(tmp_path: Path) -> None:
    """Running turns are recorded as stopped, streams get `bye`, and nothing is left behind."""
    async with Daemon.running("--no-tcp", environment={"SPACED_TURNS_STOP_GRACE": "0s"}) as daemon:
        client = daemon.client()
        session = await chat(client, tmp_path, [{"do": "hang"}])
        names: list[str] = []
        # From here on, however long it takes until somebody listens.
        start = (await client.status()).head

        async def listen() -> None:
            async with aclosing(client.events(session, after=start)) as frames:
                async for frame in frames:
                    names.append(frame.name)
                    if frame.name == "bye":
                        return

        listening = asyncio.ensure_future(listen())
        await client.prompt(session, "go")
        async with asyncio.timeout(PATIENCE):
            while "turn-dispatched" not in names:
                await client.do(calls.health())
        code = await daemon.stop()
        await asyncio.wait_for(listening, PATIENCE)
        left = sorted(path.name for path in (daemon.folder / "run").iterdir())
        running = (daemon.folder / "daemon.json").exists()

    assert code == 0
    assert names.index("turn-ended") < names.index("bye")
    assert (left, running) == ([], False)


async def _until_shown(client: Client, session: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while not (await client.items(session)).items:
            pass


async def _until_refused(client: Client, session: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            await client.do(calls.pause(session))


async def test_a_second_signal_does_not_wait_for_turns(tmp_path: Path) -> None:
    """It ends as a crash does, and the next start finds everything."""
    async with Daemon.running("--no-tcp") as daemon:
        client = daemon.client(patience=0)
        session = await chat(client, tmp_path, [{"do": "hang"}])
        await client.prompt(session, "go", prompt_id="msg_1")
        await _until_shown(client, session)
        os.kill(daemon.pid, signal.SIGTERM)
        with pytest.raises(DaemonStopping):
            await _until_refused(client, session)
        code = await daemon.stop()
        await daemon.start()
        items = (await daemon.client().items(session)).items

    assert code == -signal.SIGTERM
    assert [item["prompt_id"] for item in items if "prompt_id" in item] == ["msg_1"]


async def test_everything_that_a_daemon_makes_is_private(tmp_path: Path) -> None:
    """Whatever the umask: files 0600, folders 0700, the socket too."""
    before = os.umask(0)
    try:
        async with Daemon.running() as daemon:
            client = daemon.client()
            session = await chat(client, tmp_path, [{"do": "say", "text": "hello"}])
            await client.prompt(session, "go")
            await client.wait(session)
            modes = {
                str(path.relative_to(daemon.folder)): stat.S_IMODE(path.lstat().st_mode)
                for path in daemon.folder.rglob("*")
            }
    finally:
        os.umask(before)

    assert {"token", "daemon.json", "lock", "run/control.sock", "state/spaced.log"} <= set(modes)
    assert {name: oct(mode) for name, mode in modes.items() if mode & 0o077} == {}


async def test_two_daemons_do_not_share_a_data_directory() -> None:
    """The second is refused and names the first, which goes on."""
    async with Daemon.running("--no-tcp") as first:
        second = Daemon(first.folder, "--no-tcp", environment={})
        with pytest.raises(AssertionError, match=str(first.pid)):
            await second.start()
        assert (await first.client().status()).pid == first.pid


async def test_a_stranger_on_the_port_gets_no_token(tmp_path: Path) -> None:
    """A program that took the port after the daemon's death is found out first."""
    asked: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n{"status":"ok","proof":"0000"}')
        await writer.drain()
        writer.close()

    async with Daemon.running() as daemon:
        place = daemon.tcp_place
        assert (await Client(place).status()).pid == daemon.pid
        await daemon.kill()
        server = await asyncio.start_server(answer, "127.0.0.1", place.port)
        with pytest.raises(NoDaemon, match="not the daemon"):
            await Client(place, patience=0).status()
        server.close()

    assert len(asked) == 1
    assert place.token.encode() not in asked[0]


async def test_planted_secrets_are_told_to_nobody(tmp_path: Path) -> None:
    """From the environment, a prompt, a tool and an error: not in logs, status or exports."""
    script = [
        {"do": "tool", "name": "look", "output": f"key={SECRET}"},
        {"do": "say", "text": f"The token is {SECRET}."},
        {"do": "fail", "message": f"the provider refused {SECRET} for {HIDDEN}"},
    ]
    environment = {"ACME_API_KEY": HIDDEN, "SPACED_LOG_LEVEL": "debug"}
    async with Daemon.running(environment=environment) as daemon:
        client = daemon.client()
        session = await chat(client, tmp_path, script)
        await client.prompt(session, f"use {SECRET} and {HIDDEN}")
        await client.wait(session, timeout=PATIENCE)
        told = [(await client.do(calls.export(session, form))).decode() for form in ("json", "md")]
        told.append(repr(await client.status()))
        settings = await client.do(calls.settings())
        plugins = await client.do(calls.plugins())
        told += [repr(settings), repr(plugins)]
        plain = (await client.do(calls.export(session, "json", redacted=False))).decode()
        token = daemon.token
        await daemon.stop()
        told += [path.read_text() for path in (daemon.folder / "state").iterdir()]
        told.append(daemon.said)

    assert SECRET in plain
    for text in told:
        for secret in (SECRET, HIDDEN, token):
            assert secret not in text


async def test_the_json_export_alone_is_enough_to_rebuild_a_chat(tmp_path: Path) -> None:
    """Every item, prompt and blob: the events in it fold to the transcript in it."""
    import base64

    from spaced.clock import Timestamp, from_rfc3339
    from spaced.log.fold import fold_transcript
    from spaced.log.record import RecordedEvent

    async with Daemon.running("--no-tcp") as daemon:
        client = daemon.client()
        session = await chat(
            client,
            tmp_path,
            [{"do": "tool", "name": "look", "output": "x"}, {"do": "say", "text": "done"}],
        )
        blob = await client.do(calls.store_blob(b"\x00\x01 a picture"))
        part = {"type": "file", "name": "a.png", "mime": "image/png", "blob": blob.id}
        await client.prompt(session, [{"type": "text", "text": "see"}, part], prompt_id="msg_1")
        await client.wait(session, timeout=PATIENCE)
        await client.prompt(session, "held", prompt_id="msg_2", wake=False)
        items = (await client.items(session)).items
        content = await client.do(calls.export(session, "json", redacted=False))
    told = json.loads(content)
    events = [
        RecordedEvent(
            stream=one["stream"],
            version=one["version"],
            position=one["position"],
            kind=one["kind"],
            body=json.dumps(one["body"]).encode(),
            created_at=from_rfc3339(one["created_at"]),
            recorded_at=Timestamp(0),
            session_id=one.get("session_id"),
            item_id=one.get("item_id"),
        )
        for one in told["events"]
    ]
    mine = [event for event in events if event.session_id == session]

    assert [dict(item) for item in fold_transcript(mine).items()] == list(items)
    assert {prompt["id"] for prompt in told["prompts"]} == {"msg_1", "msg_2"}
    blobs = {one["id"]: base64.b64decode(one["base64"]) for one in told["blobs"]}
    assert blobs == {blob.id: b"\x00\x01 a picture"}


async def test_an_interrupted_start_leaves_only_folders() -> None:
    """A port that is taken is a refusal in a sentence, and the next start is as good as any."""
    import socket

    with socket.socket() as other, tempfile.TemporaryDirectory(dir="/tmp") as name:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        refused = Daemon(Path(name) / "data", "--port", port, environment={})
        with pytest.raises(AssertionError, match=f"127.0.0.1:{port}"):
            await refused.start()
        assert "Traceback" not in refused.said
        async with Daemon.over(Path(name) / "data", "--no-tcp") as daemon:
            assert (await daemon.client().status()).pid == daemon.pid

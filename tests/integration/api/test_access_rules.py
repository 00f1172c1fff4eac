"""Who is let in, and who is not: the attacks on local daemons that are known, one by one."""

import asyncio
import base64
import re
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from tests.integration.api.api_house import TOKEN, ApiHouse
from tests.integration.api.served import PAGE, Answer, Served, request, serving
from tests.integration.engine.house import gate

JSON = {"Content-Type": "application/json"}


@pytest.fixture
async def served(api: ApiHouse) -> AsyncIterator[Served]:
    """The API as a daemon serves it."""
    async with serving(api) as one:
        yield one


def _routes(served: Served) -> list[tuple[str, str]]:
    return [
        (route.method, re.sub(r"{\w+}", "ses_unknown", str(route.resource.canonical)))
        for route in served.app.router.routes()
        if route.resource is not None
    ]


async def test_every_route_but_health_wants_a_credential(served: Served) -> None:
    """Enumerated from the application, so a new route cannot forget it; also unknown ones."""
    routes = [*_routes(served), ("GET", "/v1/nothing"), ("GET", "/"), ("POST", "/v1/health")]
    opened = []
    for method, path in routes:
        answer = await served.ask(path, method=method, token=None)
        if answer.status != 401:
            opened.append((method, path, answer.status))
        else:
            assert answer.code == "unauthorized"
            assert "ses_unknown" not in answer.body.decode()
            assert answer.headers["www-authenticate"].startswith("Bearer")

    assert len(routes) > 45
    assert opened == [("GET", "/v1/health", 200), ("POST", "/v1/health", 405)]


async def test_health_tells_nothing_but_that_it_is_there(served: Served) -> None:
    """Neither version nor place nor anything else."""
    answer = await served.ask("/v1/health", token=None)

    assert answer.body == b'{"status":"ok","proof":null}'


async def test_a_challenge_is_answered_with_a_proof(served: Served, api: ApiHouse) -> None:
    """A client knows whom it talks to before it sends its token; a stranger cannot answer."""
    from spaced.client.client import Client
    from spaced.client.place import Place
    from spaced.refusals import NoDaemon

    right = Place(host="127.0.0.1", port=served.port, token=TOKEN)
    other = Place(host="127.0.0.1", port=served.port, token="the token of another daemon")

    assert (await Client(right).status()).version == api.services.facts.version
    with pytest.raises(NoDaemon, match="not the daemon"):
        await Client(other, patience=0).status()


@pytest.mark.parametrize(
    "credential",
    [
        "Bearer ",
        "Bearer wrong",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        "Bearer \xfc\xfc",
        TOKEN,
        f"Digest {TOKEN}",
        "Basic !!!",
        "Basic " + base64.b64encode(b"user:wrong").decode(),
        "Basic " + base64.b64encode(TOKEN.encode()).decode(),
        "Basic " + base64.b64encode(b"\xff\xfe:\xff").decode(),
    ],
)
async def test_a_wrong_credential_opens_nothing(served: Served, credential: str) -> None:
    """Whatever its length, its form or its letters."""
    answer = await served.ask("/v1/status", token=None, headers={"Authorization": credential})

    assert (answer.status, answer.code) == (401, "unauthorized")


async def test_two_credentials_are_none(served: Served) -> None:
    """Two readers of one request must not take different ones."""
    twice = [("Authorization", f"Bearer {TOKEN}"), ("Authorization", "Bearer x")]

    assert (await served.ask("/v1/status", token=None, headers=twice)).status == 401


async def test_the_token_is_the_password_of_basic_too(served: Served) -> None:
    """For clients that know nothing else; the user's name does not matter."""
    pair = base64.b64encode(f"anybody:{TOKEN}".encode()).decode()
    answer = await served.ask("/v1/status", token=None, headers={"Authorization": f"Basic {pair}"})

    assert answer.status == 200


@pytest.mark.parametrize("name", ["token", "access_token"])
async def test_a_token_in_an_address_is_not_taken(served: Served, name: str) -> None:
    """Addresses are kept in histories and logs."""
    answer = await served.ask(f"/v1/status?{name}={TOKEN}", token=None)

    assert (answer.status, answer.code) == (401, "unauthorized")


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:{port}",
        "127.evil.com:{port}",
        "localhost.evil.com:{port}",
        "127.0.0.1.nip.io:{port}",
        "[::ffff:127.0.0.1]:{port}",
        "localhost.:{port}",
        "LOCALHOST:{port}",
        "localhost",
        "127.0.0.1",
        "127.0.0.1:1",
        "",
    ],
)
async def test_only_exact_hosts_are_served(served: Served, host: str) -> None:
    """Rebinding a name to this machine does not help; the host is looked at before all else."""
    for path in ("/v1/health", "/v1/status", "/v1/nothing"):
        answer = await served.ask(path, host=host.format(port=served.port))
        assert (answer.status, answer.code) == (421, "wrong-host")


async def test_a_request_has_one_host(served: Served) -> None:
    """None, two, or one in the request line besides are refused."""
    own = f"127.0.0.1:{served.port}"
    absent = await served.raw(request("GET", "/v1/health"))
    double = await served.raw(
        request("GET", "/v1/health", [("Host", own), ("Host", "evil.example")])
    )
    absolute = await served.raw(request("GET", "http://evil.example/v1/health", [("Host", own)]))

    # The HTTP parser itself refuses what has no host, or two.
    assert (absent.status, double.status, absolute.status) in [(400, 400, 421), (421, 421, 421)]


@pytest.mark.parametrize(("address", "host"), [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]")])
async def test_both_kinds_of_addresses_have_the_same_rules(
    served: Served, address: str, host: str
) -> None:
    """What is open on one of them is open on the other, and nothing else."""
    if address not in [listening for listening, _ in served.listeners.tcp]:
        pytest.skip("this machine has no IPv6 on its loopback")
    for name in (f"{host}:{served.port}", f"localhost:{served.port}"):
        fine = await served.ask("/v1/status", address=address, host=name)
        closed = await served.ask("/v1/status", address=address, host=name, token=None)
        assert (fine.status, closed.status) == (200, 401)
    foreign = await served.ask("/v1/status", address=address, host="evil.example")
    assert foreign.status == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:3000"},
        {"Origin": f"{PAGE}.evil.example"},
        {"Origin": PAGE.upper()},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
async def test_pages_of_other_origins_are_refused(served: Served, headers: dict[str, str]) -> None:
    """Also with the right token, also for reading, and before anything is looked up."""
    answer = await served.ask("/v1/health", headers=headers)

    assert (answer.status, answer.code) == (403, "foreign-origin")
    assert not [name for name in answer.headers if name.startswith("access-control")]


async def test_a_page_of_our_own_origin_is_served(served: Served) -> None:
    """As the page that the daemon itself will show."""
    own = {"Origin": f"http://127.0.0.1:{served.port}", "Sec-Fetch-Site": "same-origin"}

    assert (await served.ask("/v1/status", headers=own)).status == 200


async def test_only_a_configured_origin_gets_a_preflight_answered(served: Served) -> None:
    """Others get no header that a browser could take for a permission."""
    asking = {"Access-Control-Request-Method": "POST"}
    trusted = await served.ask(
        "/v1/sessions", method="OPTIONS", headers={**asking, "Origin": PAGE}, token=None
    )
    evil = await served.ask(
        "/v1/sessions",
        method="OPTIONS",
        headers={**asking, "Origin": "https://evil.example"},
        token=None,
    )
    read = await served.ask("/v1/status", headers={"Origin": PAGE})

    assert trusted.status == 204
    assert trusted.headers["access-control-allow-origin"] == PAGE
    assert read.headers["access-control-allow-origin"] == PAGE
    assert evil.status == 403
    assert not [name for name in evil.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "application/json; charset=utf-16"},
        {},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
    ],
)
async def test_a_body_is_plain_json(served: Served, api: ApiHouse, headers: dict[str, str]) -> None:
    """A form of a web page cannot write, and nothing is decompressed; nothing is written."""
    before = await api.house.storage.head()
    answer = await served.ask(
        "/v1/profiles",
        method="POST",
        headers=headers,
        body=b'{"name": "x", "agent_name": "scripted", "runtime": "scripted"}',
    )

    assert (answer.status, answer.code) == (415, "unsupported-content")
    assert await api.house.storage.head() == before


async def test_what_a_proxy_says_counts_for_nothing(served: Served) -> None:
    """Anybody can write these headers."""
    forged = {
        "X-Forwarded-Host": "evil.example",
        "X-Forwarded-For": "127.0.0.1",
        "Forwarded": "host=evil.example",
    }

    assert (await served.ask("/v1/status", headers=forged, token=None)).status == 401
    assert (await served.ask("/v1/status", headers=forged)).status == 200


async def test_the_socket_needs_no_token_and_no_host(served: Served) -> None:
    """Only our own user gets to it, and no browser does."""
    bare = await served.over_socket(request("GET", "/v1/status", [("Host", "whatever")]))
    typed = await served.over_socket(
        request("POST", "/v1/profiles", [("Host", "x"), ("Content-Type", "text/plain")], b"{}")
    )

    assert (bare.status, typed.status) == (200, 415)


async def test_a_process_of_another_user_is_refused_on_the_socket(api: ApiHouse) -> None:
    """By who it is, whatever the modes of files let through."""
    async with serving(api, own_uid=1) as served:
        answer = await served.over_socket(request("GET", "/v1/health", [("Host", "x")]))

    assert (answer.status, answer.code) == (403, "peer-refused")


_STRANGER = """
import os, socket, sys
os.setgid(65534); os.setuid(65534)
connection = socket.socket(socket.AF_UNIX)
try:
    connection.connect(sys.argv[1])
except PermissionError:
    print("no way in"); sys.exit()
connection.sendall(b"GET /v1/status HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n")
print(connection.recv(100).decode().split()[1])
"""


async def _as_stranger(path: Path) -> str:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _STRANGER, str(path)), stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()
    return said.decode().strip()


async def test_a_real_process_of_another_user_gets_nothing(served: Served) -> None:
    """Refused by the file's mode, and where somebody opened that, by who it is."""
    import os

    if os.getuid() != 0:
        pytest.skip("only root can start a process of another user")
    path = served.listeners.socket_path
    assert path is not None
    by_mode = await _as_stranger(path)
    path.parent.chmod(0o755)
    path.chmod(0o666)
    by_user = await _as_stranger(path)

    assert (by_mode, by_user) == ("no way in", "403")


def _too_much() -> Sequence[tuple[str, bytes]]:
    own = (
        b"Host: 127.0.0.1:{port}\r\nConnection: close\r\nAuthorization: Bearer "
        + TOKEN.encode()
        + b"\r\n"
    )
    start = b"POST /v1/profiles HTTP/1.1\r\n" + own + b"Content-Type: application/json\r\n"
    return [
        ("a long header", b"GET / HTTP/1.1\r\n" + own + b"X: " + b"a" * 1_000_000 + b"\r\n\r\n"),
        ("many headers", b"GET / HTTP/1.1\r\n" + own + b"X-Y: 1\r\n" * 20_000 + b"\r\n"),
        ("a long target", b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\r\n" + own + b"\r\n"),
        ("a long body", start + b"Content-Length: 9000000\r\n\r\n" + b" " * 9_000_000),
        (
            "endless chunks",
            start
            + b"Transfer-Encoding: chunked\r\n\r\n"
            + (b"10000\r\n" + b" " * 65536 + b"\r\n") * 150,
        ),
        ("no HTTP", b"\x16\x03\x01\x02\x00" * 100 + b"\r\n\r\n"),
    ]


@pytest.mark.parametrize(
    ("what", "sent"), _too_much(), ids=lambda value: value if isinstance(value, str) else ""
)
async def test_floods_are_refused_and_cost_nothing(served: Served, what: str, sent: bytes) -> None:
    """With an answer, and the next request is served as always."""
    answer: Answer = await served.raw(sent.replace(b"{port}", str(served.port).encode()))
    after = await served.ask("/v1/status")

    assert 400 <= answer.status < 500 or answer.status == 0, what
    assert after.status == 200


async def test_a_connection_that_never_asks_is_cut(api: ApiHouse) -> None:
    """Whether it says nothing or drips; one that has asked may take as long as it likes."""
    async with serving(api, head_seconds=0.2) as served:
        silent = await asyncio.open_connection("127.0.0.1", served.port)
        dripping = await asyncio.open_connection("127.0.0.1", served.port)
        dripping[1].write(b"GET /v1/status HTTP/1.1\r\nHos")
        chat = await api.house.chat([gate()])
        await api.client().prompt(chat, "go")
        waiting = asyncio.ensure_future(
            served.ask(f"/v1/sessions/{chat}/wait?timeout=60", method="POST")
        )
        async with asyncio.timeout(10):
            for reader, writer in (silent, dripping):
                with suppress(ConnectionError):
                    assert await reader.read() == b""
                writer.close()
        await api.house.reached()
        api.house.runtime.gates.open("gate")
        answer = await waiting

    assert answer.status == 200


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"name": ' + b"[" * 5000 + b"]" * 5000 + b"}",
        b'{"name": 1e999}',
        b'{"cancel_grace_ms": ' + b"9" * 5000 + b"}",
        b'{"options": {"x": ' + b"9" * 5000 + b"}}",
        b'{"name": "\\ud800"}',
        b'{"name": "\xff"}',
        b"\xef\xbb\xbf{}",
        b'{"name": "a\\u0000b", "agent_name": "scripted", "runtime": "scripted"}',
        b'{"unknown": 1}',
        b"null",
        b"not json",
        b'{"options": '
        + b'{"a":' * 250
        + b"1"
        + b"}" * 250
        + b', "name": "x", "agent_name": "scripted", "runtime": "scripted"}',
    ],
    ids=range(13),
)
async def test_a_body_that_cannot_be_kept_is_refused_in_words(served: Served, body: bytes) -> None:
    """Depth, numbers, halves of characters and unknown fields; never a fault of ours."""
    answer = await served.ask("/v1/profiles", method="POST", headers=JSON, body=body)

    assert answer.status == 400
    assert answer.code in ("invalid-request", "invalid-profile", "invalid-body")


async def test_a_million_keys_are_one_body_like_any_other(served: Served) -> None:
    """Bounded by the body's size, and stored or refused whole."""
    keys = b",".join(b'"k%d":1' % number for number in range(300_000))
    body = b'{"name":"x","agent_name":"scripted","runtime":"scripted","options":{' + keys + b"}}"
    answer = await served.ask("/v1/profiles", method="POST", headers=JSON, body=body)

    assert answer.status in (201, 400, 413)
    assert (await served.ask("/v1/profiles")).status == 200

"""What an OpenCode server is asked over HTTP, each request with its errors as `RuntimeProblem`.

This is the older of the two interfaces that one server has, the one that its own clients use. In
the newer one a turn is invisible to those clients, compaction and waiting are not built yet, and a
prompt whose model cannot be found is dropped without an event.
"""

import base64
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import quote, urlencode

import aiohttp

from spaced.plugin_api import JsonObject
from spaced_opencode.event_source import EventSource
from spaced_opencode.problems import NotAuthorized, ServerRefused, ServerUnreachable

_LARGEST_ANSWER: Final = 256 * 1024 * 1024
_LONGEST_WORDS: Final = 500
_CONNECT_SECONDS: Final = 10.0
_REQUEST_SECONDS: Final = 60.0
_COMPACT_SECONDS: Final = 600.0
_CLOSING_SECONDS: Final = 2.0
SILENCE_SECONDS: Final = 35.0
"""How long the stream of events may be silent: a server says something every ten seconds."""

Rows = Sequence[Mapping[str, Any]]


class ServerApi:
    """One server, as the sessions of one folder see it."""

    def __init__(
        self,
        url: str,
        *,
        password: str | None,
        directory: str,
        silence_seconds: float = SILENCE_SECONDS,
    ) -> None:
        """Get ready; nothing is sent yet.

        Args:
            password: of the user `opencode`; `None` sends none.
        """
        self.url = url
        self.directory = directory
        self._silence_seconds = silence_seconds
        secret = base64.b64encode(f"opencode:{password}".encode()).decode()
        headers = {} if password is None else {"Authorization": f"Basic {secret}"}
        # No connection is used twice: one that the server has closed meanwhile would fail in a way
        # that does not tell whether a prompt has arrived.
        self._http = aiohttp.ClientSession(
            headers=headers, connector=aiohttp.TCPConnector(force_close=True, limit=0)
        )

    async def health(self) -> str:
        """Return the server's version."""
        body = await self._ask("GET", "/global/health")
        if not isinstance(body, dict) or not isinstance(body.get("version"), str):
            raise ServerRefused(f"what answers at {self.url} is no OpenCode server", 200)
        return str(body["version"])

    async def providers(self) -> Any:
        """Return the providers with their models, and the default ones."""
        return await self._ask("GET", "/config/providers")

    async def agents(self) -> Any:
        """Return the agents."""
        return await self._ask("GET", "/agent")

    async def create_session(self) -> Mapping[str, Any]:
        """Begin a session in the folder."""
        return _object(await self._ask("POST", "/session", {}), "a session")

    async def session(self, session_id: str) -> Mapping[str, Any] | None:
        """Return a session; `None`: there is none."""
        try:
            found = await self._ask("GET", _of(session_id))
        except ServerRefused as refused:
            if refused.status == 404:  # noqa: PLR2004 - the web's "not found"
                return None
            raise
        return _object(found, "a session")

    async def children(self, session_id: str) -> list[str]:
        """Return the ids of the sessions that a session's agent has begun."""
        rows = _rows(await self._ask("GET", f"{_of(session_id)}/children"))
        return [str(row["id"]) for row in rows if isinstance(row.get("id"), str)]

    async def status(self, session_id: str) -> Mapping[str, Any] | None:
        """Return what a session is doing; `None`: it is idle."""
        statuses = await self._ask("GET", "/session/status")
        found = statuses.get(session_id) if isinstance(statuses, dict) else None
        if not isinstance(found, dict) or found.get("type") == "idle":
            return None
        return found

    async def messages(
        self, session_id: str, *, limit: int, before: str | None = None
    ) -> tuple[Rows, str | None]:
        """Return some of the newest messages, oldest first, and what names those before them."""
        query = {"limit": str(limit)} | ({} if before is None else {"before": before})
        body, headers = await self._exchange("GET", f"{_of(session_id)}/message", query=query)
        return _rows(body), headers.get("x-next-cursor")

    async def prompt(self, session_id: str, body: JsonObject) -> None:
        """Hand a prompt over; the server answers before it has stored it."""
        await self._ask("POST", f"{_of(session_id)}/prompt_async", body)

    async def abort(self, session_id: str, *, is_last: bool = False) -> None:
        """Stop what a session does; of an idle one nothing.

        Args:
            is_last: whether nobody waits long for it.
        """
        seconds = _CLOSING_SECONDS if is_last else _REQUEST_SECONDS
        await self._ask("POST", f"{_of(session_id)}/abort", seconds=seconds)

    async def summarize(self, session_id: str, provider: str, model: str) -> bool:
        """Let the model shorten a conversation; returns when it has."""
        body = {"providerID": provider, "modelID": model}
        done = await self._ask(
            "POST", f"{_of(session_id)}/summarize", body, seconds=_COMPACT_SECONDS
        )
        return done is True

    async def permissions(self) -> Rows:
        """Return the permissions that are waited for in the folder."""
        return _rows(await self._ask("GET", "/permission"))

    async def questions(self) -> Rows:
        """Return the questions that are waited for in the folder."""
        return _rows(await self._ask("GET", "/question"))

    async def answer_permission(self, request_id: str, reply: str, message: str | None) -> None:
        """Answer a permission with `once`, `always` or `reject`."""
        body = {"reply": reply} | ({} if message is None else {"message": message})
        await self._ask("POST", f"/permission/{quote(request_id, safe='')}/reply", body)

    async def answer_question(self, request_id: str, answers: Sequence[Sequence[str]]) -> None:
        """Answer a question."""
        body = {"answers": [list(answer) for answer in answers]}
        await self._ask("POST", f"/question/{quote(request_id, safe='')}/reply", body)

    @asynccontextmanager
    async def events(self) -> AsyncIterator[EventSource]:
        """Listen to the folder's events; the stream begins now, and nothing of before is in it.

        Raises:
            RuntimeProblem: it cannot be had.
        """
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=_CONNECT_SECONDS, sock_read=self._silence_seconds
        )
        try:
            async with self._http.get(
                self._place("/event", {}), timeout=timeout, allow_redirects=False
            ) as response:
                await self._check(response, "GET", "/event")
                if not response.content_type.startswith("text/event-stream"):
                    raise ServerRefused(f"what answers at {self.url} is no OpenCode server", 200)
                yield EventSource(response, self.url)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise ServerUnreachable(self.url, _words(error)) from error

    async def close(self) -> None:
        """Let go of the server; what is under way fails."""
        await self._http.close()

    async def _ask(
        self,
        method: str,
        path: str,
        body: JsonObject | None = None,
        *,
        seconds: float = _REQUEST_SECONDS,
    ) -> Any:
        return (await self._exchange(method, path, body, seconds=seconds))[0]

    async def _exchange(
        self,
        method: str,
        path: str,
        body: JsonObject | None = None,
        *,
        query: Mapping[str, str] | None = None,
        seconds: float = _REQUEST_SECONDS,
    ) -> tuple[Any, Mapping[str, str]]:
        timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=_CONNECT_SECONDS)
        try:
            async with self._http.request(
                method,
                self._place(path, query or {}),
                json=body,
                timeout=timeout,
                allow_redirects=False,
            ) as response:
                await self._check(response, method, path)
                return await self._read(response), response.headers
        except aiohttp.ClientConnectorError as error:
            raise ServerUnreachable(self.url, _words(error), may_have_arrived=False) from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise ServerUnreachable(self.url, _words(error)) from error
        except RuntimeError as error:  # aiohttp's word for a session that was closed meanwhile
            raise ServerUnreachable(self.url, "the connection was closed") from error

    def _place(self, path: str, query: Mapping[str, str]) -> str:
        return f"{self.url}{path}?{urlencode({'directory': self.directory, **query})}"

    async def _check(self, response: aiohttp.ClientResponse, method: str, path: str) -> None:
        if response.status in (200, 204):
            return
        if response.status in (401, 403):
            raise NotAuthorized(f"the OpenCode server at {self.url} refused our password")
        words = said_in(await response.content.read(_LARGEST_ANSWER // 1024))
        told = f"{method} {path}: {words or response.reason or 'no reason given'}"
        raise ServerRefused(
            f"the OpenCode server at {self.url} answered {response.status} to {told}",
            response.status,
        )

    async def _read(self, response: aiohttp.ClientResponse) -> Any:
        pieces, size = [], 0
        async for piece in response.content.iter_any():
            size += len(piece)
            if size > _LARGEST_ANSWER:
                raise ServerRefused(
                    f"an answer of the OpenCode server at {self.url} is endless", 200
                )
            pieces.append(piece)
        if not pieces:
            return None
        try:
            return json.loads(b"".join(pieces))
        except (ValueError, RecursionError) as error:
            raise ServerRefused(
                f"what answers at {self.url} is no OpenCode server", response.status
            ) from error


def said_in(content: bytes) -> str:
    """Return what the body of an error says, in one line."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    data = body.get("data") if isinstance(body, dict) else None
    for place in (data, body):
        if isinstance(place, dict) and isinstance(place.get("message"), str):
            lines = place["message"].strip().splitlines()
            return lines[0][:_LONGEST_WORDS] if lines else ""
    return ""


def _of(session_id: str) -> str:
    return f"/session/{quote(session_id, safe='')}"


def _object(body: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(body, dict) or not isinstance(body.get("id"), str):
        raise ServerRefused(f"the OpenCode server answered with something that is not {what}", 200)
    return body


def _rows(body: Any) -> Rows:
    return [row for row in body if isinstance(row, dict)] if isinstance(body, list) else []


def _words(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__ if not str(error) else str(error)

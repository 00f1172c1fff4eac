"""Routes as functions: what a handler's signature says is what the route takes and answers.

A handler gets the services first. Its other parameters are named: `body` and `query` are read into
the request type that they are annotated with, `revision` is the `If-Match` header, `request` is
the raw request, and every other one is a part of the path. It returns a shape, or a `Reply` around
one, or nothing, or a response that it has made by itself. The OpenAPI document is made from
the same signatures, so it cannot tell anything else.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import UnionType
from typing import Any, Final, Generic, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from aiohttp import web

from spaced.api.services import Services
from spaced.wire.requests import Request
from spaced.wire.shapes import Shape

_S = TypeVar("_S", bound=Shape)
_H = TypeVar("_H", bound=Callable[..., Awaitable[object]])

Handler: TypeAlias = Callable[..., Awaitable[object]]


def nothing() -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply(Generic[_S]):
    """An answer, and what belongs to it.

    Attributes:
        then: called once the answer was sent, or could not be.
    """

    value: _S
    then: Callable[[], None] = nothing
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One method of one path.

    Attributes:
        names: the parts of the path, in its order.
        body: what a JSON body is read into.
        query: what the query is read into.
        takes_revision: whether `If-Match` means something.
        takes_request: whether the handler wants the raw request.
        answer: the shape of the answer; `None` is an empty one, or one of another media type.
        media_types: of answers that are no JSON object of a shape.
        raw_body: the media type of a body that is not JSON.
    """

    method: str
    path: str
    handle: Handler
    names: tuple[str, ...]
    body: type[Request] | None
    query: type[Request] | None
    takes_revision: bool
    takes_request: bool
    answer: type[Shape] | None
    status: int
    media_types: tuple[str, ...] = ()
    raw_body: str | None = None

    @property
    def name(self) -> str:
        """What the operation is called."""
        return self.handle.__name__

    @property
    def text(self) -> str:
        """What the operation does, in words."""
        return inspect.cleandoc(self.handle.__doc__ or "")


class RouteTable:
    """The routes of one subject."""

    def __init__(self, subject: str) -> None:
        """Begin without routes.

        Args:
            subject: under which the document lists them.
        """
        self.subject = subject
        self.routes: list[Route] = []

    def get(self, path: str, **options: Any) -> Callable[[_H], _H]:
        """Make a function the handler of GET."""
        return self._adding("GET", path, 200, options)

    def post(self, path: str, *, status: int = 200, **options: Any) -> Callable[[_H], _H]:
        """Make a function the handler of POST."""
        return self._adding("POST", path, status, options)

    def put(self, path: str, **options: Any) -> Callable[[_H], _H]:
        """Make a function the handler of PUT."""
        return self._adding("PUT", path, 200, options)

    def patch(self, path: str, **options: Any) -> Callable[[_H], _H]:
        """Make a function the handler of PATCH."""
        return self._adding("PATCH", path, 200, options)

    def delete(self, path: str, **options: Any) -> Callable[[_H], _H]:
        """Make a function the handler of DELETE."""
        return self._adding("DELETE", path, 204, options)

    def _adding(
        self, method: str, path: str, status: int, options: Mapping[str, Any]
    ) -> Callable[[_H], _H]:
        def add(handle: _H) -> _H:
            self.routes.append(_route(method, path, handle, status, options))
            return handle

        return add


_RESERVED: Final = ("body", "query", "revision", "request")


def _route(
    method: str, path: str, handle: Handler, status: int, options: Mapping[str, Any]
) -> Route:
    hints = get_type_hints(handle)
    wanted = list(inspect.signature(handle).parameters)[1:]
    names = tuple(name for name in wanted if name not in _RESERVED)
    if any(f"{{{name}}}" not in path for name in names):
        raise TypeError(f"{method} {path} has no part for every one of {names}")
    return Route(
        method=method,
        path=path,
        handle=handle,
        names=names,
        body=hints.get("body"),
        query=hints.get("query"),
        takes_revision="revision" in wanted,
        takes_request="request" in wanted,
        answer=_answer_of(hints["return"]),
        status=status,
        **options,
    )


def _answer_of(hint: object) -> type[Shape] | None:
    parts = get_args(hint) if get_origin(hint) in (Reply, UnionType) else (hint,)
    shapes = [part for part in parts if isinstance(part, type) and issubclass(part, Shape)]
    return shapes[0] if shapes else None


def reader_of(body: type[Request]) -> Callable[[bytes], Request]:
    """Return what reads a JSON body."""
    return msgspec.json.Decoder(body).decode


def all_routes(tables: Sequence[RouteTable]) -> Sequence[Route]:
    """Return the routes of all tables, in their order."""
    return [route for table in tables for route in table.routes]


async def call(route: Route, services: Services, arguments: Mapping[str, object]) -> Reply[Any]:
    """Call a route's handler and return what it answers, whatever form it chose."""
    answer = await route.handle(services, **arguments)
    return answer if isinstance(answer, Reply) else Reply(value=answer)


def is_response(answer: object) -> bool:
    """Tell whether a handler has made its response by itself."""
    return isinstance(answer, web.StreamResponse)

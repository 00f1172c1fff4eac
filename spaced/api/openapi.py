"""The OpenAPI document, made from the signatures of the handlers and the types that they name."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from spaced.api.routing import Route, RouteTable, all_routes
from spaced.identifiers import ACCEPTABLE
from spaced.wire.problems import MEDIA_TYPE, Problem
from spaced.wire.requests import Request

_JSON: Final = "application/json"
_OBJECTS: Final = (_JSON, "application/yaml")
_REFERENCE: Final = "#/components/schemas/{name}"
_IDENTIFIER: Final = {"type": "string", "pattern": f"^{ACCEPTABLE}$"}
_REVISION: Final = {
    "name": "If-Match",
    "in": "header",
    "required": False,
    "description": "The ETag of the answer that was read; with another revision nothing changes.",
    "schema": {"type": "string", "pattern": '^("[0-9]{1,15}"|\\*)$'},
}
_RESUMPTION: Final = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "description": "The cursor of the last frame that was read; it beats `after`.",
    "schema": {"type": "string"},
}


def document(tables: Sequence[RouteTable], *, version: str) -> dict[str, Any]:
    """Return the OpenAPI document of some routes, as JSON values."""
    routes = all_routes(tables)
    types = [Problem, *_types_of(routes)]
    _, schemas = msgspec.json.schema_components(types, ref_template=_REFERENCE)
    paths: dict[str, dict[str, Any]] = {}
    for table in tables:
        for route in table.routes:
            operation = _operation(route, table.subject, schemas)
            paths.setdefault(route.path, {})[route.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "spaced",
            "version": version,
            "description": "The native API: the same on the Unix socket and on TCP.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "basic": {"type": "http", "scheme": "basic"},
            },
        },
        "security": [{"token": []}, {"basic": []}],
    }


def _types_of(routes: Sequence[Route]) -> Iterator[Any]:
    seen: set[Any] = set()
    for route in routes:
        for one in (route.body, route.query, route.answer):
            if one is not None and one not in seen:
                seen.add(one)
                yield one


def _operation(route: Route, subject: str, schemas: Mapping[str, Any]) -> dict[str, Any]:
    summary, _, description = route.text.partition("\n")
    operation: dict[str, Any] = {
        "operationId": route.name,
        "tags": [subject],
        "summary": summary.strip(),
        "parameters": list(_parameters(route, schemas)),
        "responses": _responses(route),
    }
    if description.strip():
        operation["description"] = description.strip()
    if route.path == "/v1/health":
        operation["security"] = []
    if route.body is not None:
        operation["requestBody"] = {
            "required": any(field.required for field in msgspec.structs.fields(route.body)),
            "content": {_JSON: {"schema": _reference(route.body)}},
        }
    elif route.raw_body is not None:
        schema = {"type": "string", "format": "binary"}
        operation["requestBody"] = {
            "required": True,
            "content": {route.raw_body: {"schema": schema}},
        }
    return operation


def _parameters(route: Route, schemas: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for name in re.findall(r"{(\w+)}", route.path):
        yield {"name": name, "in": "path", "required": True, "schema": _IDENTIFIER}
    if route.query is not None:
        yield from _query_parameters(route.query, schemas)
    if route.takes_revision:
        yield _REVISION
    if "text/event-stream" in route.media_types:
        yield _RESUMPTION


def _query_parameters(query: type[Request], schemas: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    schema = schemas[query.__name__]
    for name, field in schema["properties"].items():
        # A parameter that is left out is null; there is no way to send one.
        kinds = [kind for kind in field.get("anyOf", []) if kind != {"type": "null"}]
        plain = {k: v for k, v in field.items() if k not in ("anyOf", "default")}
        yield {
            "name": name,
            "in": "query",
            "required": name in schema.get("required", ()),
            "schema": {**plain, **(kinds[0] if kinds else {})},
        }


def _responses(route: Route) -> dict[str, Any]:
    content: dict[str, Any] = {
        kind: {"schema": {"type": "object" if kind in _OBJECTS else "string"}}
        for kind in route.media_types
    }
    if route.answer is not None:
        content[_JSON] = {"schema": _reference(route.answer)}
    fine: dict[str, Any] = {"description": "It was done."}
    if content:
        fine["content"] = content
    return {
        str(route.status): fine,
        "default": {
            "description": "It was not done, and why.",
            "content": {MEDIA_TYPE: {"schema": _reference(Problem)}},
        },
    }


def _reference(one: type[Any]) -> dict[str, str]:
    return {"$ref": _REFERENCE.format(name=one.__name__)}

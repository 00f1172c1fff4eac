"""The OpenAPI document tells the truth: whatever it allows or forbids is answered as it says."""

import asyncio
import json
import re
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import positive_data_acceptance

from spaced.api.application import TABLES
from spaced.api.openapi import document
from spaced.api.routing import all_routes
from tests.integration.api.api_house import TOKEN, ApiHouse
from tests.integration.api.served import Served, serving
from tests.integration.engine.house import say

UNSAFE = {"write_backup"}
"""It writes to whatever path it is told, so no generator of paths may drive it."""


def test_every_route_is_in_the_document_with_words() -> None:
    """Named once, with a summary, parameters for its path, and an answer."""
    told = document(TABLES, version="1")
    operations = {
        (method.upper(), path): operation
        for path, methods in told["paths"].items()
        for method, operation in methods.items()
    }
    routes = all_routes(TABLES)

    assert set(operations) == {(route.method, route.path) for route in routes}
    assert len({operation["operationId"] for operation in operations.values()}) == len(routes)
    for (_, path), operation in operations.items():
        assert operation["summary"].endswith((".", ";", ",")) or operation["description"]
        names = {p["name"] for p in operation["parameters"] if p["in"] == "path"}
        assert names == set(re.findall(r"{(\w+)}", path))


async def test_the_document_is_served_and_is_json(api: ApiHouse) -> None:
    """With a schema for every name that it refers to."""
    async with serving(api) as served:
        answer = await served.ask("/v1/openapi.json")
    told = json.loads(answer.body)
    names = set(re.findall(r"#/components/schemas/(\w+)", answer.body.decode()))

    assert answer.status == 200
    assert names <= set(told["components"]["schemas"])


async def test_no_request_gets_a_fault_or_another_shape(api: ApiHouse) -> None:
    """Generated from the document, right ones and wrong ones; every answer is compared with it."""
    chat = await api.house.chat([say("hello")])
    await api.house.turn(chat)
    async with serving(api) as served:
        await asyncio.to_thread(_ask_everything, served, chat)


def _ask_everything(served: Served, chat: str) -> None:
    told = document(TABLES, version="1")
    base = f"http://127.0.0.1:{served.port}"
    schema = schemathesis.openapi.from_dict(told)
    faults: list[str] = []
    asked = 0
    found: list[Any] = list(schema.get_all_operations())
    operations = [result.ok() for result in found]
    operations.sort(key=lambda operation: operation.method == "delete")
    for operation in operations:
        if operation.definition.raw["operationId"] in UNSAFE:
            continue

        @settings(
            max_examples=12,
            deadline=None,
            database=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def ask(case: Any) -> None:
            nonlocal asked
            asked += 1
            if "session_id" in case.path_parameters and asked % 2:
                case.path_parameters["session_id"] = chat
            if case.query and "timeout" in case.query:
                case.query["timeout"] = 0
            response = case.call(
                base_url=base, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=20
            )
            try:
                # Some rules no schema can say: that a cursor was given out, or a session is there.
                case.validate_response(response, excluded_checks=[positive_data_acceptance])
            except FailureGroup as group:
                found = "; ".join(str(one).splitlines()[0] for one in group.exceptions)
                faults.append(
                    f"{case.method} {case.formatted_path} {case.query} {case.body!r}"[:300]
                    + f": {response.status_code} {response.text[:200]}: {found}"
                )

        ask()
    assert asked > 300
    assert not faults, "\n".join(faults[:20])


@pytest.mark.parametrize("route", all_routes(TABLES), ids=lambda route: route.name)
def test_a_route_says_what_it_does_in_one_line(route: Any) -> None:
    """The first line of its handler's words is what lists show."""
    assert 10 < len(route.text.splitlines()[0]) < 110

"""What identifies a tool call, and which of the offered options says what."""

import json
from hashlib import sha256
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaced.domain.permissions import choose_option, digest_of, meaning_of
from tests.unit.domain.any_event import JSON_OBJECTS, LAW

CALL = {"name": "Bash", "arguments": {"command": "ls", "timeout": 5}}


def test_the_digest_is_a_sha_256_of_canonical_json() -> None:
    """It is stored, so another version of spaced has to come to the same one."""
    canonical = b'["execute","Bash",{"command":"ls","timeout":5}]'

    assert digest_of("execute", CALL) == sha256(canonical).hexdigest()


@pytest.mark.parametrize(
    ("tool_kind", "call"),
    [
        ("edit", CALL),
        ("execute", {**CALL, "name": "Shell"}),
        ("execute", {**CALL, "arguments": {"command": "ls -a", "timeout": 5}}),
        ("execute", {**CALL, "arguments": {"command": "ls", "timeout": 5.0}}),
        ("execute", {**CALL, "arguments": {"command": "ls", "timeout": True}}),
        ("execute", {**CALL, "arguments": {"command": "ls"}}),
        ("execute", {"name": "Bash"}),
        ("execute", {}),
    ],
    ids=repr,
)
def test_what_the_call_does_makes_a_difference(tool_kind: str, call: dict[str, Any]) -> None:
    """Kind, name and every argument."""
    assert digest_of(tool_kind, call) != digest_of("execute", CALL)


def test_what_is_only_shown_makes_no_difference() -> None:
    """Agents fill in titles and places while a call waits."""
    shown = {**CALL, "title": "List", "status": "pending", "locations": [{"path": "/d"}], "id": "7"}

    assert digest_of("execute", shown) == digest_of("execute", CALL)


@LAW
@given(arguments=JSON_OBJECTS, indent=st.none() | st.integers(0, 3), ascii_only=st.booleans())
def test_the_formatting_of_a_json_text_makes_no_difference(
    arguments: dict[str, Any], indent: int | None, ascii_only: bool
) -> None:
    """A text, an object, and an object with its keys in another order are one call."""
    turned = dict(reversed(arguments.items()))
    text = json.dumps(turned, indent=indent, ensure_ascii=ascii_only)

    assert digest_of("x", {"arguments": text}) == digest_of("x", {"arguments": arguments})


@pytest.mark.parametrize(
    "texts",
    [
        ("ls", '"ls"'),
        ("1", "1.0"),
        ("1", " 1"),
        ("", "null"),
        ("{", "{ "),
        ('{"a": 1, "a": 2}', '{"a": 2}'),
        ("[" * 100_000, "[" * 100_001),
        ("[" * 100_000 + "]" * 100_000, "[" * 100_000 + " " + "]" * 100_000),
        ("[" + "9" * 5000 + "]", "[ " + "9" * 5000 + "]"),
    ],
    ids=lambda texts: texts[0][:20],
)
def test_what_is_no_plain_json_object_or_list_is_taken_as_it_is(texts: tuple[str, str]) -> None:
    """Different texts are different calls then, among them those that readers disagree about."""
    one, other = (digest_of("x", {"arguments": text}) for text in texts)

    assert one != other


@pytest.mark.parametrize(
    "call",
    [
        {"name": "\ud800", "arguments": {"\udfff": "\ud83d"}},
        {"name": "x", "arguments": '{"a": "\\ud800"}'},
        {"name": "x", "arguments": "\ud800"},
    ],
    ids=ascii,
)
def test_lone_surrogates_do_no_harm(call: dict[str, Any]) -> None:
    """An ask must not be lost for half a character."""
    assert digest_of("\udc00", call) != digest_of("\udc00", CALL)


def test_a_tuple_is_a_list() -> None:
    """What was read from the log and what a runtime reports are the same call."""
    assert digest_of("x", {"arguments": (1, (2,))}) == digest_of("x", {"arguments": [1, [2]]})


def _options(*kinds: str) -> list[dict[str, str]]:
    return [{"option_id": f"id-{kind}", "name": kind, "kind": kind} for kind in kinds]


ALL_KINDS = ("allow_once", "allow_always", "reject_once", "reject_always")


@pytest.mark.parametrize("kinds", list(permutations(ALL_KINDS)))
@pytest.mark.parametrize(("allow", "option_id"), [(True, "allow_once"), (False, "reject_once")])
def test_the_answer_is_always_for_once(kinds: tuple[str, ...], allow: bool, option_id: str) -> None:
    """What holds for good is our grant; the agent must not remember another one."""
    assert choose_option(_options(*kinds), allow=allow) == f"id-{option_id}"


@pytest.mark.parametrize(
    ("kinds", "allow", "option_id"),
    [
        (["allow_always", "reject_once"], True, "id-allow_always"),
        (["allow_once", "reject_always"], False, "id-reject_always"),
        (["allow_once"], False, None),
        (["reject_once", "other"], True, None),
        ([], True, None),
    ],
)
def test_an_answer_for_good_is_given_only_where_none_for_once_is_offered(
    kinds: list[str], allow: bool, option_id: str | None
) -> None:
    """And nothing is chosen that means the opposite or nothing known."""
    assert choose_option(_options(*kinds), allow=allow) == option_id


def test_an_option_without_an_id_is_not_chosen() -> None:
    """There would be nothing to answer with."""
    options = [{"kind": "allow_once"}, {"kind": "allow_once", "option_id": "b"}]

    assert choose_option(options, allow=True) == "b"


@pytest.mark.parametrize(
    ("kind", "meaning"),
    [
        ("allow_once", ("allow", False)),
        ("allow_always", ("allow", True)),
        ("reject_once", ("reject", False)),
        ("reject_always", ("reject", True)),
        ("allow", ("reject", False)),
        (None, ("reject", False)),
        (["allow_once"], ("reject", False)),
    ],
    ids=repr,
)
def test_an_option_means_what_its_kind_says(kind: object, meaning: tuple[str, bool]) -> None:
    """Only what plainly allows something counts as allowed."""
    assert meaning_of({"option_id": "a", "kind": kind}) == meaning

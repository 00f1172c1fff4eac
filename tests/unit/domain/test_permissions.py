"""Permissions: rules as people write them, and what rules and grants decide together."""

from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaced.domain.permissions import (
    LONGEST_PATTERN,
    Decision,
    Grant,
    PermissionRequest,
    Rule,
    Verdict,
    decide,
    read_rules,
)
from spaced.errors import InvalidRule
from tests.unit.domain.any_event import LAW

REQUEST = PermissionRequest(
    tool_kind="execute", subject="git push", digest="d1", profile_id="prof", directory="/d"
)


def _rule(decision: Decision, pattern: str = "*", tool_kind: str = "*") -> Rule:
    return Rule(tool_kind=tool_kind, pattern=pattern, decision=decision)


def _grant(grant_id: str = "gra", **changed: Any) -> Grant:
    fields: dict[str, Any] = {
        "profile_id": "prof",
        "directory": "/d",
        "tool_kind": "execute",
        "match": {"digest": "d1"},
    }
    return Grant(id=grant_id, **{**fields, **changed})


def _decide(
    session: list[Rule] | None = None,
    profile: list[Rule] | None = None,
    grants: list[Grant] | None = None,
    *,
    is_headless: bool = False,
) -> Verdict:
    return decide(
        REQUEST,
        session_rules=session or [],
        profile_rules=profile or [],
        grants=grants or [],
        is_headless=is_headless,
    )


def test_rules_are_read_in_their_order() -> None:
    """A rule without a pattern is about every subject."""
    raw = [
        {"tool_kind": "*", "decision": "ask"},
        {"tool_kind": "execute", "pattern": "git *", "decision": "allow"},
    ]

    assert read_rules(raw) == (
        Rule(tool_kind="*", pattern="*", decision="ask"),
        Rule(tool_kind="execute", pattern="git *", decision="allow"),
    )


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({"decision": "allow"}, ["permissions[1].tool_kind", "text"]),
        ({"tool_kind": "", "decision": "allow"}, ["permissions[1].tool_kind", "1 to"]),
        ({"tool_kind": 3, "decision": "allow"}, ["permissions[1].tool_kind"]),
        ({"tool_kind": "ed*", "decision": "allow"}, ["permissions[1].tool_kind", "'*' alone"]),
        ({"tool_kind": "*"}, ["permissions[1].decision", "'ask', 'allow' or 'deny'"]),
        ({"tool_kind": "*", "decision": "Allow"}, ["permissions[1].decision"]),
        ({"tool_kind": "*", "decision": ["ask"]}, ["permissions[1].decision"]),
        ({"tool_kind": "*", "decision": "ask", "pattern": None}, ["permissions[1].pattern"]),
        ({"tool_kind": "*", "decision": "ask", "pattern": ""}, ["permissions[1].pattern"]),
        (
            {"tool_kind": "*", "decision": "ask", "pattern": "a" * (LONGEST_PATTERN + 1)},
            ["permissions[1].pattern", str(LONGEST_PATTERN)],
        ),
        ({"tool_kind": "*", "desicion": "deny"}, ["permissions[1]", "'desicion'", "decision"]),
        ("deny", ["permissions[1]", "object"]),
    ],
    ids=lambda value: repr(value)[:60],
)
def test_a_rule_that_cannot_be_read_is_named_with_what_is_allowed(
    raw: Any, words: list[str]
) -> None:
    """A rule with a slip would otherwise allow or refuse the wrong things in silence."""
    with pytest.raises(InvalidRule) as caught:
        read_rules([{"tool_kind": "*", "decision": "ask"}, raw])

    assert all(word in caught.value.message for word in words), caught.value.message


@pytest.mark.parametrize(
    ("pattern", "subject", "is_match"),
    [
        ("*", "", True),
        ("git *", "git push", True),
        ("git *", "Git push", False),
        ("git *", "git", False),
        ("git ?", "git x", True),
        ("/src/*", "/src/a/b.py", True),
        ("*.py", "/src/.py", True),
        ("[ab]c", "bc", True),
        ("[!ab]c", "bc", False),
        ("rm [*]", "rm *", True),
        ("rm [*]", "rm x", False),
        ("git *", "git log\nrm x", True),
        ("a.c", "abc", False),
        ("[", "[", True),
    ],
)
def test_a_pattern_is_compared_with_the_whole_subject(
    pattern: str, subject: str, is_match: bool
) -> None:
    """Upper and lower case differ, and neither slashes nor dots nor newlines are special."""
    assert _rule("allow", pattern).matches("execute", subject) is is_match


def _matches_by_definition(pattern: str, subject: str) -> bool:
    """Match `*` and `?` in the most obvious way."""

    @cache
    def match(i: int, j: int) -> bool:
        if i == len(pattern):
            return j == len(subject)
        if pattern[i] == "*":
            return match(i + 1, j) or (j < len(subject) and match(i, j + 1))
        return j < len(subject) and pattern[i] in ("?", subject[j]) and match(i + 1, j + 1)

    return match(0, 0)


@LAW
@given(
    pattern=st.text("ab*?\n/.", min_size=1, max_size=12), subject=st.text("abA\n/.", max_size=12)
)
def test_matching_is_what_the_definition_says(pattern: str, subject: str) -> None:
    """Compared with a matcher that is too simple to be wrong."""
    assert _rule("ask", pattern).matches("x", subject) is _matches_by_definition(pattern, subject)


@LAW
@given(pattern=st.text("[]!^-&|~\\a*", min_size=1), subject=st.text())
def test_no_pattern_fails(pattern: str, subject: str) -> None:
    """Broken sets of characters are plain text or match nothing; they raise and warn never."""
    assert _rule("ask", pattern).matches("x", subject) in (True, False)


def test_a_hostile_pattern_costs_little() -> None:
    """A matcher that goes back from star to star would need longer than the world exists."""
    assert not _rule("ask", "*a" * 400 + "b").matches("x", "a" * 200_000)


def test_nothing_said_leaves_it_to_a_person() -> None:
    """Asking is what happens without any setting."""
    verdict = _decide([_rule("allow", "npm *")], [_rule("deny", tool_kind="edit")])

    assert (verdict.decision, verdict.by, verdict.rules, verdict.rule_index) == (
        *("ask", None),
        *(None, None),
    )
    assert verdict.reason


def test_the_last_rule_that_matches_holds() -> None:
    """General rules stand first, exceptions behind them."""
    verdict = _decide(profile=[_rule("deny"), _rule("allow", "git *"), _rule("deny", "npm *")])

    assert (verdict.decision, verdict.by, verdict.rules, verdict.rule_index) == (
        *("allow", "rule"),
        *("profile", 1),
    )
    assert verdict.reason == "permissions[1] of the profile says 'allow'"


@pytest.mark.parametrize("other", ["ask", "allow", "deny"])
@pytest.mark.parametrize("own", ["ask", "allow", "deny"])
def test_the_session_is_asked_before_the_profile(own: Decision, other: Decision) -> None:
    """Whatever it says holds, also that a person is to be asked."""
    verdict = _decide([_rule(own)], [_rule(other)])

    assert (verdict.decision, verdict.by, verdict.rules) == (own, "rule", "session")


def test_a_grant_settles_what_no_rule_is_about() -> None:
    """It is named, so that a person can revoke it."""
    verdict = _decide(grants=[_grant("other", directory="/e"), _grant("mine")])

    assert (verdict.decision, verdict.by, verdict.grant_id) == ("allow", "grant", "mine")


def test_a_grant_beats_a_rule_that_asks() -> None:
    """Somebody was asked, and said that it is for good."""
    verdict = _decide([_rule("ask")], grants=[_grant()])

    assert (verdict.decision, verdict.by, verdict.rules) == ("allow", "grant", None)


@pytest.mark.parametrize("is_headless", [True, False])
def test_a_rule_that_denies_beats_every_grant(is_headless: bool) -> None:
    """Whoever writes it down later takes back what was granted before."""
    verdict = _decide(profile=[_rule("deny")], grants=[_grant()], is_headless=is_headless)

    assert (verdict.decision, verdict.by, verdict.rule_index) == ("deny", "rule", 0)


@pytest.mark.parametrize(
    ("changed", "is_covered"),
    [
        ({}, True),
        ({"profile_id": "other"}, False),
        ({"directory": "/d/e"}, False),
        ({"tool_kind": "edit"}, False),
        ({"tool_kind": "*"}, False),
        ({"match": {"digest": "d2"}}, False),
        ({"match": {"digest": "*"}}, False),
        ({"match": {"pattern": "git *"}}, True),
        ({"match": {"pattern": "npm *"}}, False),
        ({"match": {"digest": "d2", "pattern": "*"}}, False),
        ({"match": {"pattern": "*" * (LONGEST_PATTERN + 1)}}, False),
        ({"match": {}}, False),
        ({"match": {"digest": None, "pattern": 5}}, False),
    ],
    ids=repr,
)
def test_a_grant_covers_only_what_was_granted(changed: dict[str, Any], is_covered: bool) -> None:
    """Same profile, same folder, same kind of tool; one that cannot be read covers nothing."""
    assert _grant(**changed).covers(REQUEST) is is_covered


def test_an_unknown_digest_is_covered_by_nothing() -> None:
    """Two calls without digests are not the same call."""
    request = PermissionRequest(
        tool_kind="execute", subject="", digest="", profile_id="prof", directory="/d"
    )

    assert not _grant(match={"digest": ""}).covers(request)


@pytest.mark.parametrize("rules", [[], [_rule("ask")]])
def test_without_anybody_there_an_open_question_is_refused_at_once(rules: list[Rule]) -> None:
    """A job at night must not wait until somebody looks."""
    verdict = _decide(rules, is_headless=True)

    assert (verdict.decision, verdict.by) == ("deny", "headless")


@pytest.mark.parametrize(
    ("session", "grants", "by"), [([_rule("allow")], [], "rule"), ([], [_grant()], "grant")]
)
def test_without_anybody_there_what_is_allowed_stays_allowed(
    session: list[Rule], grants: list[Grant], by: str
) -> None:
    """Headless concerns only what is left to a person."""
    verdict = _decide(session, grants=grants, is_headless=True)

    assert (verdict.decision, verdict.by) == ("allow", by)


RULES = st.lists(
    st.builds(
        Rule,
        tool_kind=st.sampled_from(["*", "execute", "edit"]),
        pattern=st.sampled_from(["*", "git *", "npm *"]),
        decision=st.sampled_from(["ask", "allow", "deny"]),
    ),
    max_size=4,
)
GRANTS = st.lists(
    st.sampled_from([_grant("a"), _grant("b", match={"pattern": "npm *"})]), max_size=2
)


@LAW
@given(session=RULES, profile=RULES, grants=GRANTS)
def test_headless_changes_exactly_what_would_be_asked(
    session: list[Rule], profile: list[Rule], grants: list[Grant]
) -> None:
    """Everything that is settled is settled in the same way, whoever is there."""
    with_people = _decide(session, profile, grants)
    alone = _decide(session, profile, grants, is_headless=True)

    if with_people.decision == "ask":
        assert (alone.decision, alone.by) == ("deny", "headless")
    else:
        assert alone == with_people
    assert "\n" not in alone.reason

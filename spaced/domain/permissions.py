"""Permissions: what rules and grants say about something that an agent wants to do.

Rules are written by a person, into a session or a profile; a grant is an "always" that a person
gave once. The session's rules are asked before the profile's, and inside one list the last rule
that matches holds. A rule's `deny` beats every grant; a grant beats a rule's `ask`, and holds where
no rule says anything. What is left open then is for a person, or is refused where nobody is there.

A pattern is compared with the whole subject as one text: `git *` also covers what a shell would run
after a `;` in the same line.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import Final, Literal, TypeAlias, get_args

from spaced.domain.json_values import JsonObject, copy_json
from spaced.errors import InvalidRule

Decision: TypeAlias = Literal["ask", "allow", "deny"]
Meaning: TypeAlias = Literal["allow", "reject"]

ANY: Final = "*"
LONGEST_PATTERN: Final = 1000
"""Code points; comparing costs at most this much for each character of a subject."""

_DECISIONS: Final[tuple[Decision, ...]] = get_args(Decision)
_KINDS: Final[dict[str, tuple[Meaning, bool]]] = {
    "allow_once": ("allow", False),
    "allow_always": ("allow", True),
    "reject_once": ("reject", False),
    "reject_always": ("reject", True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What holds for tool calls of a kind whose subject matches a pattern.

    Attributes:
        tool_kind: `*` for every kind, otherwise exactly this one.
        pattern: compared with the subject; `*`, `?`, `[abc]` and `[!abc]` stand for characters,
            `/` and newlines among them, and upper and lower case differ.
    """

    tool_kind: str
    decision: Decision
    pattern: str = ANY

    def matches(self, tool_kind: str, subject: str) -> bool:
        """Tell whether the rule is about this."""
        return self.tool_kind in (ANY, tool_kind) and _is_match(self.pattern, subject)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A permission that a person gave for good, and did not revoke.

    Attributes:
        match: `{digest}` of canonical arguments, or `{pattern}` over the subject.
    """

    id: str
    profile_id: str
    directory: str
    tool_kind: str
    match: JsonObject

    def covers(self, request: "PermissionRequest") -> bool:
        """Tell whether the grant is for this, in the same folder and with the same profile."""
        return (
            self.profile_id == request.profile_id
            and self.directory == request.directory
            and self.tool_kind == request.tool_kind
            and self._matches(request)
        )

    def _matches(self, request: "PermissionRequest") -> bool:
        digest, pattern = self.match.get("digest"), self.match.get("pattern")
        if isinstance(digest, str):
            return digest == request.digest != ""
        return isinstance(pattern, str) and _is_match(pattern, request.subject)


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionRequest:
    """What an agent wants to be allowed.

    Attributes:
        subject: what patterns are compared with: a command line, a path, an address.
        digest: of the exact call, by `digest_of`.
        directory: the folder that the session works in.
    """

    tool_kind: str
    subject: str
    digest: str
    profile_id: str
    directory: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What comes of a request; `ask` leaves it to a person.

    Attributes:
        by: what settled it; a rule that says `ask` counts, `None`: nothing says anything.
        reason: one sentence for a person.
        rules: whose rule it was, where one settled it.
        rule_index: that rule's place in its list, from 0.
        grant_id: the grant that allows it.
    """

    decision: Decision
    by: Literal["rule", "grant", "headless"] | None
    reason: str
    rules: Literal["session", "profile"] | None = None
    rule_index: int | None = None
    grant_id: str | None = None


def read_rules(raw: Sequence[JsonObject]) -> tuple[Rule, ...]:
    """Read rules as people write them: `{tool_kind, pattern, decision}`, the pattern optional.

    Raises:
        InvalidRule: one of them is not of this form; the message names its place and key.
    """
    return tuple(_read_rule(f"permissions[{index}]", rule) for index, rule in enumerate(raw))


def _read_rule(place: str, raw: object) -> Rule:
    if not isinstance(raw, Mapping):
        raise InvalidRule(f"{place} must be an object")
    for key in raw:
        if key not in ("tool_kind", "pattern", "decision"):
            raise InvalidRule(
                f"{place} has the key {key[:40]!r}, but only tool_kind, pattern and decision may be"
            )
    tool_kind = _text(place, raw, "tool_kind")
    if ANY in tool_kind and tool_kind != ANY:
        raise InvalidRule(f"{place}.tool_kind must be one kind of tool, or '*' alone for all")
    decision = raw.get("decision")
    for allowed in _DECISIONS:
        if decision == allowed:
            pattern = _text(place, raw, "pattern") if "pattern" in raw else ANY
            return Rule(tool_kind=tool_kind, pattern=pattern, decision=allowed)
    raise InvalidRule(f"{place}.decision must be 'ask', 'allow' or 'deny'")


def _text(place: str, raw: JsonObject, key: str) -> str:
    value = raw.get(key)
    if isinstance(value, str) and 0 < len(value) <= LONGEST_PATTERN:
        return value
    raise InvalidRule(f"{place}.{key} must be a text of 1 to {LONGEST_PATTERN} characters")


def decide(
    request: PermissionRequest,
    *,
    session_rules: Sequence[Rule],
    profile_rules: Sequence[Rule],
    grants: Sequence[Grant],
    is_headless: bool,
) -> Verdict:
    """Say what comes of a request.

    Args:
        grants: those that stand; which of them are for this request is found here.
        is_headless: whether nobody is there to ask.
    """
    said = _by_rule(request, "session", session_rules) or _by_rule(
        request, "profile", profile_rules
    )
    if said is not None and said.decision != "ask":
        return said
    for grant in grants:
        if grant.covers(request):
            reason = "it was allowed for good before"
            return Verdict(decision="allow", by="grant", reason=reason, grant_id=grant.id)
    if is_headless:
        reason = "nobody is there to be asked, and neither a rule nor a grant allows it"
        return Verdict(decision="deny", by="headless", reason=reason)
    return said or Verdict(decision="ask", by=None, reason="no rule and no grant is about it")


def _by_rule(
    request: PermissionRequest, rules: Literal["session", "profile"], listed: Sequence[Rule]
) -> Verdict | None:
    for index in reversed(range(len(listed))):
        rule = listed[index]
        if rule.matches(request.tool_kind, request.subject):
            return Verdict(
                decision=rule.decision,
                by="rule",
                reason=f"permissions[{index}] of the {rules} says {rule.decision!r}",
                rules=rules,
                rule_index=index,
            )
    return None


def _is_match(pattern: str, subject: str) -> bool:
    # `fnmatchcase` goes from star to star without ever going back, so it cannot explode. A pattern
    # that an agent offered has no other limit than this one.
    return len(pattern) <= LONGEST_PATTERN and fnmatchcase(subject, pattern)


def digest_of(tool_kind: str, tool_call: JsonObject) -> str:
    """Return the SHA-256 in hex of what a call does: its tool's kind and name, and its arguments.

    What is only shown, such as a title or a status, makes no difference, and neither does the
    formatting or the order of keys where the arguments are the text of a JSON object or list.
    """
    arguments = tool_call.get("arguments")
    if isinstance(arguments, str):
        arguments = _read_arguments(arguments)
    canonical = json.dumps(
        copy_json([tool_kind, tool_call.get("name"), arguments]),
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
    )
    return sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def _read_arguments(text: str) -> object:
    """Read a JSON text; one that is neither object nor list stays the text that it is."""
    try:
        # What nests too deeply to be copied stays a text, too.
        value = copy_json(json.loads(text, object_pairs_hook=_unambiguous))
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, (dict, list)) else text


def _unambiguous(pairs: list[tuple[str, object]]) -> dict[str, object]:
    # Readers disagree on which of two equal keys counts, so two such texts are never the same call.
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError
    return value


def choose_option(options: Sequence[JsonObject], *, allow: bool) -> str | None:
    """Return the id of the option to answer with, or `None` if none has the wanted meaning.

    It is one for this once wherever one is offered: what holds for good is kept by us.
    """
    wanted = "allow" if allow else "reject"
    for kind in (f"{wanted}_once", f"{wanted}_always"):
        for option in options:
            option_id = option.get("option_id")
            if option.get("kind") == kind and isinstance(option_id, str):
                return option_id
    return None


def meaning_of(option: JsonObject) -> tuple[Meaning, bool]:
    """Return what choosing an option means, and whether for good.

    An option of a kind that nobody knows counts as a rejection, so that nothing is taken for
    allowed that does not say so.
    """
    return _KINDS.get(str(option.get("kind")), ("reject", False))

"""The one point that text passes on its way to logs, diagnostics and redacted exports.

A secret is hidden because its value is known, because it has a form that only secrets have, or
because something with the name of a secret is set to it. Ordinary prose and code stay as they are:
a transcript without its words would be of no use to anybody.

Texts come from agents and tools, so every pattern takes linear time on any text: it starts at a
fixed word, and is bounded or takes the whole run of characters that it looks at.
"""

import binascii
import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, Final, Self
from urllib.parse import quote, quote_plus

MARK: Final = "[redacted]"
SHORTEST: Final = 8
"""Characters of the shortest secret that can be learnt; a shorter one is part of many words."""

_MOST_ROUNDS: Final = 8
_DEEPEST: Final = 100


class Redactor:
    """Replaces secrets by a mark. What it returned once, it returns unchanged ever after.

    It may be used by several threads at once.

    Args:
        secrets: values to hide wherever they occur; see `learn`.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._lock = threading.Lock()
        self._known: tuple[str, ...] = ()
        for secret in secrets:
            self.learn(secret)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """Return one that knows the values of the variables that are named like secrets."""
        return cls(value for name, value in environment.items() if _is_secret_variable(name, value))

    def learn(self, secret: str) -> None:
        """Hide a value from now on, also where it is written as part of a URL or of JSON.

        One with fewer than `SHORTEST` characters is ignored.
        """
        secret = secret.strip()
        if len(secret) < SHORTEST or secret in MARK:
            return
        with self._lock:
            known = {*self._known, *_written_forms(secret)}
            # The longest first: a part that went before it would leave the rest to be read.
            self._known = tuple(sorted(known, key=lambda form: (-len(form), form)))

    def text(self, text: str) -> str:
        """Return a text without its secrets."""
        for _ in range(_MOST_ROUNDS):
            redacted = self._redact_once(text)
            if redacted == text:
                return text
            text = redacted  # a mark may show another secret beside it for what it is
        return MARK  # no text but one that was made for it gets here

    def value(self, json_value: Any) -> Any:
        """Return a JSON value without its secrets, keys included; the given one is not changed.

        What lies under a key that is named like a secret is hidden whole, and so is what lies
        deeper than anything that a person has written.
        """
        return self._value(json_value, _DEEPEST)

    def _redact_once(self, text: str) -> str:
        for known in self._known:
            if known in text:
                # Never in the marks themselves, whatever the secret is.
                text = MARK.join(part.replace(known, MARK) for part in text.split(MARK))
        text = _KEY_BLOCK.redact(text, text.lower())
        lowered = text.lower()
        found = [form for form in _FORMS if form.may_be_in(lowered)]
        # Line by line, since most lines of most texts need no further look.
        return "\n".join(_redact_line(line, found) for line in text.split("\n")) if found else text

    def _value(self, found: Any, depth: int) -> Any:
        match found:
            case str():
                return self.text(found)
            case dict() | list() | tuple() if not depth:
                return MARK
            case dict():
                return self._object(found, depth - 1)
            case list() | tuple():
                return [self._value(one, depth - 1) for one in found]
        return found

    def _object(self, found: Mapping[str, Any], depth: int) -> dict[str, Any]:
        # The form in which lists of variables and headers are written.
        said = found.get("name")
        is_named = isinstance(said, str) and is_secret_name(said)
        redacted: dict[str, Any] = {}
        for key, value in found.items():
            is_secret = is_secret_name(key) or (is_named and key == "value")
            name = _free_name(self.text(key), redacted)
            redacted[name] = _hidden(value) if is_secret else self._value(value, depth)
        return redacted


def is_secret_name(name: str) -> bool:
    """Tell whether a key of JSON, a header or an option has the name of a secret."""
    return _SECRET_NAME.search(name) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """A form that only secrets have.

    Attributes:
        needles: in lower case; a text without any of them is not looked at any further.
        replacement: as `re.sub` takes it.
    """

    needles: tuple[str, ...]
    pattern: re.Pattern[str]
    replacement: str | Callable[[re.Match[str]], str] = MARK

    def may_be_in(self, lowered: str) -> bool:
        """Tell whether a text, given in lower case, is worth a look."""
        return any(needle in lowered for needle in self.needles)

    def redact(self, text: str, lowered: str) -> str:
        """Return a text without this form."""
        return self.pattern.sub(self.replacement, text) if self.may_be_in(lowered) else text


def _redact_line(line: str, forms: Iterable[_Form]) -> str:
    lowered = line.lower()
    for form in forms:
        line = form.redact(line, lowered)
    return line


def _pattern(*parts: str) -> re.Pattern[str]:
    """Compile a pattern; only the letters of ASCII are letters, in either case."""
    return re.compile("".join(parts), re.ASCII | re.IGNORECASE)


_SECRET_NAME: Final = _pattern(
    r"(?:pass(?:word|wd|phrase)|pwd|secret|credential|api[ _-]?key|access[ _-]?key(?:[ _-]?id)?",
    r"|(?:secret|private|signing|encryption|auth|master|account|shared)[ _-]?key)s?[0-9]{0,9}\Z",
    r"|(?:token|authorization|auth|cookie)[0-9]{0,9}\Z",
)
_SECRET_VARIABLE: Final = _pattern(
    r"(?:KEYS?|TOKEN|SECRETS?|PASSWORDS?|PASSWD|PASSPHRASE)(?:_?[0-9]{1,3})?\Z"
)
# `GIT_AUTHOR_NAME` is in many environments, and no secret.
_BROAD_VARIABLE: Final = _pattern(r"CREDENTIAL|AUTH(?!OR(?!I))")
_NO_SECRET_VALUE: Final = _pattern(r"[/~]|file:|https?://[^@]*\Z")
_ONE_WORD: Final = _pattern(r"[a-z_ -]{1,24}")

# A password that somebody chose may be a word; a token that a program made never is.
_CHOSEN: Final = r"pass(?:word|wd|phrase)|pwd|secrets?|credentials?"
_MADE: Final = (
    r"token|authorization|[_-]auth|(?-i:[A-Z0-9]_KEY)"
    r"|(?:api|access|secret|private|signing|encryption|auth|master|account|shared)[ _-]?key"
)
_BARE: Final = r"""(?:[^\s"'`,;&<>(){}\[\]|\\]++|\[redacted\]|\\(?![nrtu"'\\]))++"""
_REFERENCE: Final = _pattern(
    r"\$\{[^}]*\}|\$(?-i:[A-Z_][A-Z0-9_]*)|\$\(.*|\{\{.*\}\}|\{\w*\}|<[\w -]+>|%\(\w+\)s|%s",
    r"|\*+|\.+|…|none|null|nil|true|false|undefined",
)
"""What stands for a value and is none."""
_CODE: Final = _pattern(
    r"[~.]{0,2}(?:/[\w.+-]+){2,}/?|[a-z_]\w*(?:\.[a-z_]\w*)+|[a-z_]*(?:pass|secret|token|key)[a-z_]*"
)
"""A path, an attribute, or a variable that is named like what it holds."""
_LONGEST_CODE: Final = 80
_SPECIAL: Final = re.compile(r"[0-9!@#$%^*+?~]")


def _hide_assigned(found: re.Match[str]) -> str:
    kind = found.lastgroup or ""
    value = found[kind]
    if kind == "bare":
        after = found.string[found.end() : found.end() + 1]
        is_code = after in ("(", "[") or (value == "$" and after == "{")
        hides = not is_code and _is_secret_word(found)
    else:
        hides = value != "" and _REFERENCE.fullmatch(value) is None
    return _before(found, kind) + MARK if hides else found[0]


def _before(found: re.Match[str], group: str) -> str:
    return found[0][: found.start(group) - found.start()]


def _is_secret_word(found: re.Match[str]) -> bool:
    word: str = found["bare"]
    if MARK in word:
        return True
    if _REFERENCE.fullmatch(word) or (len(word) <= _LONGEST_CODE and _CODE.fullmatch(word)):
        return False
    is_close = _before(found, "bare").endswith("=")
    if "=" in word or (is_close and (found["chosen"] or found["name"].isupper())):
        return True
    if found["chosen"]:
        return len(word) > 5 and _SPECIAL.search(word) is not None  # noqa: PLR2004 - as "secret"
    return _looks_made(word)


def _looks_made(word: str) -> bool:
    return (
        len(word) >= SHORTEST
        and any(letter.isdigit() for letter in word)
        and any(letter.isalpha() for letter in word)
    )


def _hide_flag(found: re.Match[str]) -> str:
    before = found.string[max(0, found.start() - 40) : found.start()]
    is_flag = re.search(r"--[\w-]*\Z", before) is not None
    return _before(found, "bare") + MARK if is_flag and _is_secret_word(found) else found[0]


def _hide_bearer(found: re.Match[str]) -> str:
    word: str = found["word"]
    is_mixed = len(word) > 2 * SHORTEST and word != word.lower() and word != word.upper()
    return found["scheme"] + MARK if is_mixed or _looks_made(word) else found[0]


def _hide_basic(found: re.Match[str]) -> str:
    word: str = found["word"].rstrip("=")
    try:
        said = binascii.a2b_base64(word + "=" * (-len(word) % 4))
    except binascii.Error:
        return found[0]
    return found["scheme"] + MARK if b":" in said else found[0]


_NAMED: Final = ("pass", "pwd", "secret", "credential", "token", "key", "auth")
_KEY_BLOCK: Final = _Form(
    needles=("private key-----",),
    pattern=_pattern(
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----",
        r"(?=(?:\s|\\[nr]){0,8}(?:[A-Za-z-]{2,20}:|[A-Za-z0-9+/=]{16}|\[redacted\]))",
        r"""(?:(?!-----END)[\w+/=\s\\,:"'>|-]|\[redacted\])*+""",
        r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?",
    ),
)
"""A private key: the only form of several lines."""
_FORMS: Final = (
    _Form(
        needles=("://",),
        pattern=_pattern(r"""://(?:[^\s/?#@:"'<>]*:[^\s/?#"'<>]+|[\w.-]{20,}+)@"""),
        replacement=f"://{MARK}@",
    ),
    _Form(
        needles=("hooks.slack.com/", ".com/api/webhooks/"),
        pattern=_pattern(
            r"(hooks\.slack\.com/[a-z]{1,20}/|discord(?:app)?\.com/api/webhooks/)[\w/-]+"
        ),
        replacement=rf"\1{MARK}",
    ),
    _Form(
        needles=(*_NAMED, "sig"),
        pattern=_pattern(
            rf"([?&#][\w.-]{{0,40}}?(?:{_CHOSEN}|{_MADE}|[_-]credential|sig|signature|auth)=)",
            r"""(?:[^\s&#"'`<>\[\\]++|\[redacted\])++""",
        ),
        replacement=rf"\1{MARK}",
    ),
    _Form(
        needles=("bearer",),
        pattern=_pattern(r"(?P<scheme>(?<![a-z0-9])bearer[ \t]{1,8})(?P<word>[\w.~+/=-]++)"),
        replacement=_hide_bearer,
    ),
    _Form(
        needles=("basic",),
        pattern=_pattern(r"(?P<scheme>(?<![a-z0-9])basic[ \t]{1,8})(?P<word>[\w+/-]{8,}+=*)"),
        replacement=_hide_basic,
    ),
    _Form(
        needles=("sk-", "sk_", "rk_"),
        pattern=re.compile(
            r"(?<![A-Za-z0-9])(?:"
            r"sk-(?:ant|proj|or|svcacct|admin|live|test)-[\w-]{16,}"
            r"|sk-(?:[a-z]{1,12}-){0,3}(?=[A-Za-z]{0,32}[0-9])[A-Za-z0-9]{20,}[\w-]*+"
            r"|[sr]k_(?:live|test)_[A-Za-z0-9]{16,})",
            re.ASCII,
        ),
    ),
    _Form(
        needles=("gh", "glpat-", "npm_", "hf_", "xox", "pypi-"),
        pattern=re.compile(
            r"(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{22,}|glpat-[\w-]{20,}"
            r"|npm_[A-Za-z0-9]{36}|hf_[A-Za-z0-9]{30,}|xox[a-z]-[\w-]{10,}|pypi-[\w-]{60,})",
            re.ASCII,
        ),
    ),
    _Form(
        needles=("akia", "asia", "aiza", "ya29."),
        pattern=re.compile(
            r"(?<![A-Za-z0-9])(?:A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])|AIza[\w-]{35,}|ya29\.[\w-]{20,})",
            re.ASCII,
        ),
    ),
    _Form(
        # A token of three parts: the first two are JSON objects, and those begin alike.
        needles=("eyj",),
        pattern=re.compile(r"(?<![\w-])eyJ[\w-]{8,}+\.[\w-]{8,}+(?:\.[\w-]*+)?", re.ASCII),
    ),
    _Form(
        needles=_NAMED,
        pattern=_pattern(
            rf"(?P<name>(?P<chosen>{_CHOSEN})|{_MADE})(?:_?(?:base|value|[0-9]{{1,2}}))?",
            r"""(?:\\{0,3}["'`]\]?)?[ \t]{0,40}(?:=>|:=|=(?!=)|:(?!:))[ \t]{0,40}""",
            r"""(?:(?:bearer|basic|token|digest|negotiate|apikey)[ \t]{1,8})?""",
            r"""(?:"(?P<double>(?:[^"\\\r\n]|\\.)*+)|'(?P<single>(?:[^'\\\r\n]|\\.)*+)""",
            rf"""|`(?P<back>[^`\s]*+)(?=`)|\\{{1,3}}["'](?P<escaped>[^"'\\\r\n]*+)|(?P<bare>{_BARE}))""",
        ),
        replacement=_hide_assigned,
    ),
    _Form(
        needles=_NAMED,
        pattern=_pattern(
            rf"(?P<name>(?P<chosen>{_CHOSEN})|{_MADE})",
            rf"""(?:[ \t]{{1,8}}|\\?["'],[ \t]{{0,8}}\\?["'])(?!-)(?P<bare>{_BARE})""",
        ),
        replacement=_hide_flag,
    ),
)


def _free_name(name: str, taken: Mapping[str, Any]) -> str:
    """Return a name for a key: two that were hidden must not become one."""
    if name not in taken:
        return name
    return next(free for n in count(len(taken)) if (free := f"{name} {n}") not in taken)


def _hidden(value: Any) -> Any:
    """Hide a value; nothing, and a yes or a no, are no secrets."""
    return value if value is None or value == "" or isinstance(value, bool) else MARK


def _is_secret_variable(name: str, value: str) -> bool:
    if _NO_SECRET_VALUE.match(value):
        return False
    if _SECRET_VARIABLE.search(name):
        return True
    return _BROAD_VARIABLE.search(name) is not None and _ONE_WORD.fullmatch(value) is None


def _written_forms(secret: str) -> Iterator[str]:
    """Yield a secret as it is, and as it is written inside of other texts."""
    yield secret
    yield repr(secret)[1:-1]
    for is_ascii in (True, False):
        once = json.dumps(secret, ensure_ascii=is_ascii)[1:-1]
        twice = json.dumps(once, ensure_ascii=is_ascii)[1:-1]
        yield from (once, twice, once.replace("/", "\\/"))
    # What programs leave as it is differs: Python, browsers for a part of a URL, and for a whole.
    for left in ("", "/", "!'()*", "!'()*;,/?:@&=+$#"):
        encoded = quote(secret, safe=left, errors="replace")
        yield from (encoded, re.sub("%..", lambda found: found[0].lower(), encoded))
    yield quote_plus(secret, errors="replace")

"""The one point that text passes on its way out: what it hides, what it leaves, at what cost."""

import json
import string
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaced.redaction import MARK, Redactor, is_secret_name

KEY = "hJ7/kq+ZrW\"2 ü'9"
"""A secret of characters that URLs and JSON write differently."""

SECRETS = {
    "bearer": ("Authorization: Bearer abcdef123456", "abcdef123456"),
    "bearer in a command": ("curl -H 'authorization: bearer AbCdEfGhIjKlMnOpQrSt'", "AbCdEf"),
    "basic": ("Authorization: Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA"),
    "scheme without a word of its own": ("Authorization: ApiKey k3yk3yk3yk3y", "k3yk3y"),
    "openai": ("Incorrect API key provided: sk-abcdEFGH1234567890ijkl.", "abcdEFGH1234567890"),
    "openai project": ("sk-proj-abc_DEFGH-1234567890ijkl", "1234567890"),
    "anthropic": ("x=sk-ant-api03-abcdefghij_klmnop-qrst", "abcdefghij"),
    "stripe": ("sk_live_abcdefgh12345678", "abcdefgh"),
    "github": ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "abcdefghij"),
    "github oauth": ("remote: gho_abcdefghijklmnopqrstuvwxyz0123456789", "abcdefghij"),
    "github fine": ("github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz", "abcdefghijkl"),
    "gitlab": ("glpat-abcdefghij_klmnopqrst", "abcdefghij"),
    "slack": ("xoxb-1234567890-abcdefghij", "abcdefghij"),
    "slack user": ("xoxp-1234567890-abcdefghij", "abcdefghij"),
    "aws": ("id AKIAIOSFODNN7EXAMPLE here", "AKIAIOSFODNN7EXAMPLE"),
    "google": ("AIzaSyD-abcdefghijklmnopqrstuvwxyz12345", "abcdefghij"),
    "hugging face": ("hf_abcdefghijklmnopqrstuvwxyzABCDEFGH", "abcdefghij"),
    "web token": ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmN", "dozjgNry"),
    "user in a url": ("git clone https://ann:hunter2@host.example/x", "hunter2"),
    "sign in a password": ("https://ann:p@ss@host.example/x", "p@ss"),
    "token as a user": ("https://abcdefghij0123456789@host.example/x", "abcdefghij"),
    "no user": ("redis://:hunter2@localhost:6379/0", "hunter2"),
    "query": ("GET /v1/events?after=1&token=abc HTTP/1.1", "abc"),
    "api key in a query": ("https://host.example/x?api_key=abc&y=1", "abc"),
    "signed": ("https://host.example/x?X-Amz-Signature=abcdef", "abcdef"),
    "fragment": ("https://host.example/#access_token=abc", "abc"),
    "webhook": ("https://hooks.slack.com/services/T00/B00/abcdef", "abcdef"),
    "variable": ("GITHUB_TOKEN=abc make", "abc"),
    "exported": ("export MAPS_KEY='abc def'", "abc"),
    "word": ("DB_PASSWORD=swordfish", "swordfish"),
    "settings": ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "MDENG"),
    "yaml": ("  password: hunter2", "hunter2"),
    "connection": ("host=db user=ann password=swordfish dbname=x", "swordfish"),
    "json": ('{"apiKey": "value"}', "value"),
    "json inside of json": ('{\\"apiKey\\": \\"value\\"}', "value"),
    "python": ("{'access_token': \"it's\"}", "it's"),
    "quote inside": ('"password": "say \\"friend\\""', "friend"),
    "header": ("x-api-key: abcdef123456", "abcdef123456"),
    "index": ('headers["x-auth-token"] = "abc"', "abc"),
    "flag": ("agent --api-key abcdef123456 --verbose", "abcdef123456"),
    "list of arguments": ("['agent', '--token', 'abcdef123456']", "abcdef123456"),
    "cut string": ('{"client_secret": "abc', "abc"),
}

ORDINARY = [
    "The password must have 8 characters; the token: it is short. Secret: none.",
    "Basic understanding, basic authentication, Bearer authentication, bearer of news",
    "commit 86b0c4955aa7d1b1d0d5a5b5c5d5e5f5a5b5c5d5 of 2026-12-01T09:30:00.000Z",
    "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
    "ses_0193a5b2c7d0AAAAAAAAAAAAAA msg_1 exe_0193a5b2c7d0BBBBBBBBBBBBBB at version 12",
    "def call(token=token, password=None, api_key: str | None = None) -> None:",
    "client.login(password=self.password, token=args.token, secret=get_secret())",
    "token = parser.next_token()\nconst token = await getToken()\ntoken = tokens[0]",
    "if token == other and key != last: max_tokens=4096; total_tokens: 1234567",
    '{"max_tokens": 4096, "key": "ctrl+c", "author": "Ann", "tokenizer": "bpe-12345678"}',
    "TOKEN=$TOKEN PASSWORD=${DB_PASSWORD} API_KEY=$(pass show key) SECRET=<your secret>",
    'password="" token="${TOKEN}" secret="{{ secret }}" api_key=None passwd=***',
    "DB_PASSWORD=/run/secrets/db is read from there",
    "sk-learn-based-classifier-pipelines-for-text, task-1234567890123456789012345",
    "sk- ghp_ xoxb- AKIA AIza eyJ -----BEGIN PRIVATE KEY----- are how they begin",
    "http://localhost:8080/@scope/package?page=2&key=name#top",
    "git@github.com:owner/repository.git ssh://git@host.example:22/x http://[::1]:80/",
    "write `token=` and then `secret:` in front, as in `?token=` or `--password`",
    "-----BEGIN CERTIFICATE-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOC\n-----END CERTIFICATE-----",
    "pass the key; pass key=value; key: value; monkey=banana; keyboard: qwerty12345",
]

HOSTILE = [
    *("a", "-", " ", "\n", "-----BEGIN", "-----BEGIN PRIVATE KEY-----", "sk-", "sk-ant-", "ghp_"),
    *("eyJ-", "eyJa.", "AIza", "://", "://:", "&", "&token", "bearer ", "basic ", "xoxb-"),
    *("token=", "token: ", 'token="', 'token=\\"', "--token ", "password", "_KEY", MARK, "\\"),
]

PIECES = st.one_of(
    st.sampled_from([text for text, _ in SECRETS.values()]),
    st.sampled_from([*HOSTILE, *ORDINARY, KEY, *"\"'`=:;&@/.[]()\\ \n\t", "redacted", "[redac"]),
    st.text(alphabet=string.ascii_letters + string.digits + "-_", max_size=24),
    st.text(max_size=8),
)


@pytest.mark.parametrize(("text", "secret"), SECRETS.values(), ids=SECRETS)
def test_a_secret_nobody_has_named_is_hidden_by_its_form(text: str, secret: str) -> None:
    """A key in a tool's output was never told to the daemon."""
    redacted = Redactor().text(f"before {text} after")

    assert secret not in redacted
    assert MARK in redacted
    assert redacted.startswith("before ")


def test_what_is_around_a_secret_stays() -> None:
    """Whoever reads a log wants to know which variable it was, and of which host."""
    redactor = Redactor()

    assert redactor.text("GITHUB_TOKEN=abc make") == f"GITHUB_TOKEN={MARK} make"
    assert redactor.text("https://a:b@host.example/x") == f"https://{MARK}@host.example/x"
    assert redactor.text('{"apiKey": "v", "a": 1}') == f'{{"apiKey": "{MARK}", "a": 1}}'
    assert redactor.text("?token=abc&after=1") == f"?token={MARK}&after=1"


@pytest.mark.parametrize("ending", ["\n-----END RSA PRIVATE KEY-----\ntail", ""])
@pytest.mark.parametrize("line", ["\n", "\\n", "\r\n"])
def test_a_private_key_is_hidden_to_its_end(line: str, ending: str) -> None:
    """Also one that was cut off, and one inside of JSON."""
    body = ["-----BEGIN RSA PRIVATE KEY-----", "MIIEpAIBAAKCAQEA1234+/", "c2VjcmV0IQ=="]

    redacted = Redactor().text("head\n" + line.join(body) + ending)

    assert redacted.startswith(f"head\n{MARK}")
    assert "c2VjcmV0" not in redacted
    assert redacted.endswith("tail" if ending else MARK)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_prose_and_code_stay_as_they_are(text: str) -> None:
    """A log or a transcript that lost its words explains nothing."""
    assert Redactor().text(text) == text


@pytest.mark.parametrize(
    "written",
    [
        KEY,
        repr(KEY)[1:-1],
        json.dumps(KEY)[1:-1],
        json.dumps(KEY, ensure_ascii=False)[1:-1],
        json.dumps(json.dumps(KEY))[3:-3],
        json.dumps(KEY)[1:-1].replace("/", "\\/"),
        quote(KEY),
        quote(KEY, safe=""),
        quote(KEY, safe="").lower().replace("hj7", "hJ7").replace("zrw", "ZrW"),
        quote(KEY, safe="!'()*"),
        quote_plus(KEY),
    ],
)
def test_a_known_secret_is_hidden_in_every_way_it_is_written(written: str) -> None:
    """An error of a provider repeats it as part of a URL or of JSON."""
    assert Redactor([KEY]).text(f"<{written}>") == f"<{MARK}>"


def test_of_two_known_secrets_the_longer_one_goes_first() -> None:
    """The other order would leave the rest of it to be read."""
    assert Redactor(["swordfish", "swordfish-and-more"]).text("swordfish-and-more") == MARK


def test_a_secret_can_be_learnt_at_any_time() -> None:
    """The daemon's own token is made after its log was opened."""
    redactor = Redactor()
    redactor.learn("correct horse battery staple\n")

    assert redactor.text("say correct horse battery staple") == f"say {MARK}"


@pytest.mark.parametrize("short", ["", "1234567", "redacted", " redacted "])
def test_what_is_too_short_or_part_of_the_mark_is_not_learnt(short: str) -> None:
    """It would be hidden in the middle of words, or in what says that something was hidden."""
    assert Redactor([short]).text(f"a{short}b 1234567 {MARK}") == f"a{short}b 1234567 {MARK}"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ANTHROPIC_API_KEY", "blue-whale-song"),
        ("GH_TOKEN", "blue-whale-song"),
        ("client_secret", "blue-whale-song"),
        ("PGPASSWORD", "swordfish"),
        ("MYSQL_PASSWD", "swordfish"),
        ("OPENAI_API_KEY_2", "blue-whale-song"),
        ("GOOGLE_CREDENTIALS_JSON", '{"type": "x"}'),
        ("AUTH_HEADER", "blue-whale-song-12"),
        ("DATABASE_AUTH_URL", "https://ann:blue@host.example"),
    ],
)
def test_values_of_variables_that_are_named_like_secrets_are_known(name: str, value: str) -> None:
    """These are what an agent prints first when it looks around."""
    redactor = Redactor.from_environment({name: value})

    assert redactor.text(f"({value})") == f"({MARK})"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GIT_AUTHOR_NAME", "Ann Example 2"),
        ("SSH_AUTH_SOCK", "/run/user/1000/keyring/ssh"),
        ("XAUTHORITY", "/run/user/1000/xauth_abcdef"),
        ("SSH_KEY", "~/.ssh/id_ed25519"),
        ("API_KEY", "short12"),
        ("AUTH_METHOD", "password or key"),
        ("AUTH_URL", "https://login.example/start"),
        ("KEYBOARD_LAYOUT", "dvorak-programmer"),
        ("MAX_TOKENS", "1234567890"),
        ("HOSTNAME", "blue-whale-song"),
    ],
)
def test_values_of_other_variables_are_not(name: str, value: str) -> None:
    """A path or a person's name would vanish from every line that has it."""
    assert Redactor.from_environment({name: value}).text(f"({value})") == f"({value})"


def test_a_value_under_the_name_of_a_secret_is_hidden_whole() -> None:
    """It may have any form, and any type."""
    value = {
        "password": ["a", {"b": "c"}],
        "clientSecret": 1234,
        "env": [{"name": "API_KEY", "value": "k"}, {"name": "PATH", "value": "/bin"}],
        "headers": {"Authorization": "x", "Cookie": "y", "Accept": "z"},
    }

    assert Redactor().value(value) == {
        "password": MARK,
        "clientSecret": MARK,
        "env": [{"name": "API_KEY", "value": MARK}, {"name": "PATH", "value": "/bin"}],
        "headers": {"Authorization": MARK, "Cookie": MARK, "Accept": "z"},
    }


def test_nothing_and_a_yes_or_no_are_no_secrets() -> None:
    """That a secret is missing is what a reader looks for."""
    value = {"password": None, "secret": True, "token": "", "tokens": {"input": 5}, "rate": 0.5}

    assert Redactor().value(value) == value


def test_texts_are_redacted_at_any_depth_and_in_keys() -> None:
    """The given value stays as it was: it is somebody's transcript."""
    known = Redactor(["swordfish", "blue-whale-song"])
    value = [{"a": ["swordfish", 1, None]}, {"swordfish": 1, "blue-whale-song": 2, MARK: 3}]
    before = json.dumps(value)

    redacted = known.value(value)

    assert redacted == [{"a": [MARK, 1, None]}, {MARK: 1, f"{MARK} 1": 2, f"{MARK} 2": 3}]
    assert json.dumps(value) == before
    assert known.value(redacted) == redacted


def test_what_lies_too_deep_is_hidden() -> None:
    """A hostile value must not exhaust the stack."""
    value: Any = "swordfish"
    for _ in range(5000):
        value = [{"a": value}]

    redacted = Redactor(["swordfish"]).value(value)

    assert "swordfish" not in json.dumps(redacted)
    assert MARK in json.dumps(redacted)


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [
        *((name, True) for name in ("password", "api-key", "apiKey", "X-Api-Key", "API_TOKEN")),
        *((name, True) for name in ("secret_access_key", "Set-Cookie", "credentials", "auth")),
        *((name, False) for name in ("key", "tokens", "max_tokens", "author", "path", "secretary")),
    ],
)
def test_names_of_secrets_are_known(name: str, is_secret: bool) -> None:
    """A list of settings or headers hides by name what it cannot judge by form."""
    assert is_secret_name(name) is is_secret


@pytest.mark.parametrize("piece", ["a", "-----BEGIN", "sk-"])
def test_five_megabytes_of_one_piece_are_no_work(piece: str) -> None:
    """An agent can print anything; a pattern that looked back for each piece would take days."""
    text = piece * (5_000_000 // len(piece))

    assert Redactor(["aaaaaaaaaaaaaaab", "sk-sk-sk-sk-!"]).text(text) == text


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.parametrize("end", ["", "1", " token", " PRIVATE KEY----- eyj gh :// basic bearer"])
def test_no_text_takes_more_than_linear_time(piece: str, end: str) -> None:
    """Where a pattern has to give up, it must not do so again from every next character."""
    Redactor().text(piece * (200_000 // len(piece)) + end)


@given(st.lists(PIECES, max_size=8).map("".join), st.lists(PIECES, max_size=2))
def test_a_redacted_text_stays_as_it_is(text: str, secrets: list[str]) -> None:
    """An export of an export, or a log line of a log line, says the same."""
    redactor = Redactor([KEY, *secrets])

    redacted = redactor.text(text)

    assert redactor.text(redacted) == redacted


@given(st.lists(PIECES, max_size=3).map("".join), st.lists(PIECES, max_size=3).map("".join))
def test_a_known_secret_never_gets_through(before: str, after: str) -> None:
    """Whatever stands around it."""
    assert KEY not in Redactor([KEY]).text(before + KEY + after)

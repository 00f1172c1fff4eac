"""Ids: their form, their order within one generator, and which strangers are accepted."""

import re
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaced.errors import InvalidIdentifier
from spaced.identifiers import PREFIXES, IdGenerator, IdPrefix, accept, is_generated

NOW = 1_796_117_400_000


def _generator(*moments: int) -> IdGenerator:
    """Return a generator whose clock gives these times and then stands still."""
    times = list(moments)
    return IdGenerator(lambda: times.pop(0) if len(times) > 1 else times[0], lambda _: "A")


@pytest.mark.parametrize("prefix", sorted(PREFIXES))
def test_an_id_has_the_agreed_form(prefix: IdPrefix) -> None:
    """Prefix, 12 hex digits, 14 characters of chance; it is recognised and accepted."""
    made = IdGenerator(lambda: NOW).new(prefix)

    assert re.fullmatch(rf"{prefix}_[0-9a-f]{{12}}[0-9A-Za-z]{{14}}", made)
    assert is_generated(made)
    assert accept(made, what="test") == made


def test_the_hex_part_is_time_and_counter() -> None:
    """The low 48 bits of milliseconds times 4096, as the clients of others sort by."""
    made = _generator(NOW).new("ses")

    assert made == f"ses_{NOW * 4096 % 2**48:012x}" + "A" * 14


def test_the_prefixes_are_the_agreed_ones() -> None:
    """Blobs are named by their content and not made here."""
    agreed = "ses wf step ent prof msg turn exe itm per que src mov gra"

    assert set(agreed.split()) == PREFIXES == set(get_args(IdPrefix))


def test_chance_uses_all_its_letters() -> None:
    """Each of the 14 characters is chosen from the same 62."""
    asked: list[str] = []

    def choose(letters: str) -> str:
        asked.append(letters)
        return letters[-1]

    made = IdGenerator(lambda: NOW, choose).new("itm")

    assert len(asked) == 14
    assert {len(set(letters)) for letters in asked} == {62}
    assert made.endswith("z" * 14)


@pytest.mark.parametrize(
    "moments",
    [
        [NOW],  # stands still
        [NOW, NOW - 1, NOW - 10_000, NOW],  # jumps back
        [NOW, NOW + 1, NOW, NOW + 2],
        [0],
        [-5, -4, 0, 1],
    ],
    ids=repr,
)
def test_ids_ascend_whatever_the_clock_does(moments: list[int]) -> None:
    """Standing still or jumping back, the generator goes on from the largest value it used."""
    generator = _generator(*moments)
    made = [generator.new("itm") for _ in range(10_000)]

    assert made == sorted(set(made))


@settings(deadline=None, derandomize=True)
@given(st.lists(st.integers(NOW, NOW + 10**6), min_size=1, max_size=50))
def test_ids_of_one_generator_ascend_at_any_times(moments: list[int]) -> None:
    """Equal parts of chance do not make equal ids."""
    generator = _generator(*moments)
    made = [generator.new("itm") for _ in moments]

    assert made == sorted(set(made))


def test_one_generator_counts_over_all_prefixes() -> None:
    """What was made later ascends, whatever it names."""
    generator = _generator(NOW)
    tails = [generator.new(prefix).partition("_")[2] for prefix in get_args(IdPrefix)]

    assert tails == sorted(set(tails))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ses_",
        "ses_0123456789abAAAAAAAAAAAAA",  # one character short
        "ses_0123456789abAAAAAAAAAAAAAAA",  # one too many
        "ses_0123456789aBAAAAAAAAAAAAAA",  # capital hex
        "ses_0123456789agAAAAAAAAAAAAAA",
        "xxx_0123456789abAAAAAAAAAAAAAA",
        "SES_0123456789abAAAAAAAAAAAAAA",
        "_0123456789abAAAAAAAAAAAAAA",
        "ses-0123456789abAAAAAAAAAAAAAA",
        "ses_0123456789abAAAAAAAAAAAA_A",
        "ses_0123456789abAAAAAAAAAAAAAA\n",
        " ses_0123456789abAAAAAAAAAAAAAA",
        "ses_ses_0123456789abAAAAAAAAAA",
    ],
)
def test_what_is_not_of_the_form_is_not_taken_for_one_of_ours(text: str) -> None:
    """The form is exact."""
    assert not is_generated(text)


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "7",
        "msg_01",
        "ses_0123456789abAAAAAAAAAAAAAA",
        "wfr-3b6c",
        "550e8400-e29b-41d4-a716-446655440000",
        "urn:uuid:550e8400",
        "itm-assistant-msg.1",
        "A" * 200,
    ],
)
def test_ids_of_other_systems_are_accepted_as_they_are(text: str) -> None:
    """They come back unchanged."""
    assert accept(text, what="session") == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "..",
        "../etc/passwd",
        "a/b",
        "a\\b",
        "/etc/passwd",
        "C:\\x",
        "%2e%2e%2f",
        "~root",
        "-rf",
        "--help",
        ".hidden",
        "_private",
        ":a",
        "a b",
        " a",
        "a ",
        "a\n",
        "\na",
        "a\x00",
        "a\x00.txt",
        "a\x1b[31m",
        "a\x7f",
        "a\u2028b",
        "\ufeffa",
        "a\u202eb",
        "ä",
        "\u0430dmin",  # a letter that only looks like one
        "\uff41",
        "\u0661",
        "\ud800",
        "\U0001f600",
        "a?b",
        "a#b",
        "a&b",
        "a;b",
        "a|b",
        "a$b",
        "a`b`",
        "a'b",
        'a"b',
        "<a>",
        "a*",
        "A" * 201,
        "A" * 1_000_000,
    ],
    ids=lambda text: repr(text[:20]),
)
def test_what_could_be_a_path_an_option_or_a_trick_is_refused(text: str) -> None:
    """The message stays short, whatever was sent."""
    with pytest.raises(InvalidIdentifier) as refusal:
        accept(text, what="session")

    assert "session id" in refusal.value.message
    assert len(refusal.value.message) < 400
    assert refusal.value.message.isprintable()

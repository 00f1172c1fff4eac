"""What a word of YAML means: the core schema of YAML 1.2, and nothing that JSON cannot hold."""

import re
from math import isfinite
from typing import Final

from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.resolver import VersionedResolver

from spaced.portable.findings import unreadable
from spaced.portable.tree import Place

_CORE: Final = "tag:yaml.org,2002:"
LARGEST_INTEGER: Final = 2**63 - 1

_DECIMAL: Final = re.compile(r"[-+]?[0-9]+")
_BASED: Final = re.compile(r"[-+]?0(?:o[0-7]+|x[0-9a-fA-F]+)")
_QUOTE: Final = "put it in quotes if it is meant as text"

# The library's own resolver also decides what its writer leaves unquoted, so both sides agree.
_RESOLVER: Final = VersionedResolver("1.2")


def kind_of(text: str) -> str:
    """Return what an unquoted word is: `str int float bool null timestamp merge value`."""
    return _kind(_RESOLVER.resolve(ScalarNode, text, (True, False)))


def value_of(text: str, kind: str, place: Place) -> object:
    """Return the value of a word of a kind.

    Raises:
        Unreadable: no value of JSON is meant by it.
    """
    match kind:
        case "str" | "value" | "merge":
            return whole_text(text, place)
        case "null":
            return None
        case "bool":
            return text.lower() == "true"
        case "int":
            return _integer(text, place)
        case "float":
            return _float(text, place)
        case "timestamp":
            raise _bad(place, f"{text!r} is a date to YAML, which no key takes")
        case _:
            raise unreadable(
                place, "foreign-tag", f"the tag {kind!r} is not read here", "remove the tag"
            )


def whole_text(text: str, place: Place) -> str:
    """Return a text with its surrogate pairs joined.

    Raises:
        Unreadable: half of a pair is left, which is no character.
    """
    if text.isascii():
        return text
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise _bad(
            place, "the text holds half of a surrogate pair, which is no character"
        ) from None


def core_kind(tag: str, place: Place) -> str:
    """Return the kind that an explicit tag names.

    Raises:
        Unreadable: it is none of the core tags.
    """
    if tag == "!":
        return "str"
    kind = _kind(tag)
    if kind not in ("str", "int", "float", "bool", "null", "map", "seq"):
        raise unreadable(
            place, "foreign-tag", f"the tag {tag[:80]!r} is not read here", "remove the tag"
        )
    return kind


def _kind(tag: object) -> str:
    return str(tag).removeprefix(_CORE)


def _integer(text: str, place: Place) -> int:
    # Python refuses to read very long numbers, and a long one is no number of ours anyway.
    if len(text) > len(str(LARGEST_INTEGER)) + 1:
        raise _bad(place, "the number is too large")
    if _DECIMAL.fullmatch(text):
        number = int(text)
    elif _BASED.fullmatch(text):
        number = int(text, 0)
    else:
        raise _bad(place, f"{text!r} is no number of YAML 1.2")
    if abs(number) > LARGEST_INTEGER:
        raise _bad(place, "the number is too large")
    return number


def _float(text: str, place: Place) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not isfinite(number):
        raise _bad(place, f"{text[:80]!r} is no number that JSON can hold")
    return number


def _bad(place: Place, message: str) -> Exception:
    return unreadable(place, "bad-value", message, _QUOTE)

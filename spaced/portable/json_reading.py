"""Reads JSON into plain values with their places.

JSON is read strictly first, for its own errors; what passes is YAML too, and is read as such for
the places and the bounds.
"""

import json

from spaced.portable.findings import unreadable
from spaced.portable.tree import Node, Place
from spaced.portable.yaml_reading import decoded, read_yaml


def read_json(content: bytes) -> Node:
    """Return what a JSON document says.

    Raises:
        Unreadable: it is no JSON, goes beyond a bound, or holds what JSON cannot, such as NaN.
    """
    text = decoded(content)
    try:
        json.loads(text, parse_constant=_refuse, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        place = Place(error.lineno, error.colno)
        raise unreadable(
            place, "not-json", f"it is no JSON: {error.msg}", "correct the text there"
        ) from None
    except RecursionError:
        pass  # it is refused for its depth below, with a place
    except ValueError as error:
        raise unreadable(
            Place(1, 1), "not-json", f"it is no JSON: {error}", "correct the text"
        ) from None
    # Between the tokens of JSON a tab is a blank; inside of its texts none can stand.
    return read_yaml(text.replace("\t", " ").encode())


def _refuse(word: str) -> object:
    raise ValueError(f"{word} is no value of JSON")

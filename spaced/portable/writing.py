"""Writes workflows as a portable file: always the same bytes for the same workflows."""

import re
from collections.abc import Sequence
from io import BytesIO
from typing import Any, Final

from spaced.domain.workflow import Workflow
from spaced.portable.values import document_value

_ENDLESS: Final = 2**31 - 1

# What a literal block keeps exactly: lines of plain characters that begin with one, without
# blanks at their ends, and at most one line break at the end.
_TAME_BLOCK: Final = re.compile(r"\S[^\t\r\x85\u2028\u2029\ufeff]*(?<!\s)\n?")


def write(workflows: Sequence[Workflow]) -> bytes:
    """Return a document of some workflows, in the oldest version that can say it all."""
    return write_value(document_value(workflows))


def write_value(value: object) -> bytes:
    """Return a value as YAML, with its keys in their order."""
    # Late, as in checking: a daemon that reads no file need not load the library.
    from ruamel.yaml import YAML

    yaml = YAML(typ="rt", pure=True)
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.width = _ENDLESS
    yaml.allow_unicode = True
    yaml.default_flow_style = False
    stream = BytesIO()
    yaml.dump(_styled(value), stream)
    return stream.getvalue()


def _styled(value: object) -> Any:
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString, LiteralScalarString

    if isinstance(value, dict):
        return {key: _styled(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_styled(part) for part in value]
    if isinstance(value, str) and not (value.isprintable() and value):
        is_block = "\n" in value and _is_tame(value)
        return LiteralScalarString(value) if is_block else DoubleQuotedScalarString(value)
    return value


def _is_tame(text: str) -> bool:
    lines = text.removesuffix("\n").split("\n")
    return _TAME_BLOCK.fullmatch(text) is not None and all(
        line.isprintable() and line == line.rstrip() for line in lines
    )

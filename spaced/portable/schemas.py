"""The schemas of portable files, as they ship."""

import json
from functools import cache
from typing import Any, Literal

from spaced import resources

Version = Literal[1, 2]
VERSIONS: tuple[Version, ...] = (1, 2)


def schema_text(version: Version) -> str:
    """Return the JSON Schema of a version, as it stands in its file."""
    name = f"workflow-v{version}.schema.json"
    return (resources.folder("schemas") / name).read_text(encoding="utf-8")


@cache
def schema(version: Version) -> dict[str, Any]:
    """Return the JSON Schema of a version; nobody may change it."""
    value: dict[str, Any] = json.loads(schema_text(version))
    return value

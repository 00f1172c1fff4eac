"""Commands that fetch the program that they run, as `npx` does.

As an agent's command they are slow, of a version that nobody chose, of no use without a network,
and in the way of every signal; so no profile names one.
"""

from collections.abc import Sequence
from typing import Final

_FETCHERS: Final = frozenset({"npx", "uvx", "bunx", "pnpx", "pipx"})
_SUBCOMMANDS: Final = {
    "npm": (("exec",), ("x",)),
    "pnpm": (("dlx",),),
    "yarn": (("dlx",),),
    "bun": (("x",),),
    "uv": (("tool", "run"),),
}


def fetches_another(command: Sequence[str]) -> bool:
    """Tell whether a command fetches the program that it runs.

    Args:
        command: a program, by name or by path, and its arguments; not empty.
    """
    name = command[0].rpartition("/")[2]
    words = tuple(word for word in command[1:] if not word.startswith("-"))
    return name in _FETCHERS or any(words[: len(by)] == by for by in _SUBCOMMANDS.get(name, ()))

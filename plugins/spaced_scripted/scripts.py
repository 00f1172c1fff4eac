"""Finds the script of a turn: in the profile, in the prompt, in a file, or the default agent's.

A script is a list of turns, of which the last one repeats, or an object that maps the first line of
a prompt to a turn, with `*` for every other prompt. A turn is a list of steps.
"""

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from spaced.plugin_api import JsonObject
from spaced_scripted.steps import ScriptProblem, read_steps

SIZE_LIMIT: Final = 1024 * 1024
_FENCED: Final = re.compile(r"^```script[ \t]*\n(.*?)^```", re.DOTALL | re.MULTILINE)


async def choose_turn(
    options: JsonObject, *, directory: str, prompt: str, number: int
) -> list[Any] | None:
    """Return the steps of a turn, as JSON.

    Args:
        options: the profile's.
        directory: the session's folder, in which a script file is looked for.
        prompt: the text of the turn's first prompt.
        number: which turn of the conversation it is, from 1.

    Returns:
        `None` if there is no script for it, which is the default agent's business.

    Raises:
        ScriptProblem: there is one, but it cannot be read.
    """
    if options.get("script") is not None:
        return _pick(options["script"], prompt, number)
    if fenced := _FENCED.search(prompt):
        return _turn(_parse(fenced[1], "the script in the prompt"))
    if options.get("script_file") is not None:
        return _pick(await read_file(options["script_file"], directory), prompt, number)
    return None


async def check(options: JsonObject, *, directory: str) -> int:
    """Read everything that the options' script holds and return the number of its turns.

    Raises:
        ScriptProblem: what is wrong with it.
    """
    script = options.get("script")
    if script is None and options.get("script_file") is not None:
        script = await read_file(options["script_file"], directory)
    turns = [] if script is None else _turns(script)
    for turn in turns:
        read_steps(turn)
    return len(turns)


async def read_file(name: object, directory: str) -> object:
    """Read a script from a file; a relative name is looked for in the session's folder.

    Raises:
        ScriptProblem: there is no such file, it is too large, or it holds no JSON.
    """
    if not isinstance(name, str):
        raise ScriptProblem("the option script_file is not the name of a file")
    path = Path(directory, name)
    try:
        text = await asyncio.to_thread(_read_bounded, path)
    except (OSError, UnicodeDecodeError) as error:
        raise ScriptProblem(f"the script file {str(path)!r} cannot be read: {error}") from error
    return _parse(text, f"the script file {str(path)!r}")


def _read_bounded(path: Path) -> str:
    with path.open("rb") as file:
        text = file.read(SIZE_LIMIT + 1)
    if len(text) > SIZE_LIMIT:
        raise ScriptProblem(f"the script file {str(path)!r} is over {SIZE_LIMIT} bytes")
    return text.decode()


def _parse(text: str, what: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ScriptProblem(f"{what} is no JSON: {error}") from error


def _pick(script: object, prompt: str, number: int) -> list[Any] | None:
    turns = _turns(script)
    if isinstance(script, Mapping):
        first_line = prompt.strip().partition("\n")[0].strip()
        turn = script.get(first_line, script.get("*"))
        return None if turn is None else _turn(turn)
    return _turn(turns[min(number, len(turns)) - 1])


def _turns(script: object) -> Sequence[object]:
    if isinstance(script, Mapping):
        return list(script.values())
    if isinstance(script, list | tuple) and script:
        return script
    raise ScriptProblem(
        "a script is a list of turns that is not empty, or an object with prompts as keys"
    )


def _turn(turn: object) -> list[Any]:
    if not isinstance(turn, list | tuple):
        raise ScriptProblem("a turn of a script is a list of steps")
    return list(turn)

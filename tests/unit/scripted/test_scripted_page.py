"""docs/scripted.md tells the truth: its examples play, and its table is complete."""

import json
import re
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from spaced.runtime.updates import PromptNotTaken
from spaced_scripted.steps import Step, read_steps
from tests.contract.scripted_harness import ScriptedHarness, profile_with

PAGE = (Path(__file__).parents[3] / "docs" / "scripted.md").read_text()
EXAMPLES = re.findall(r"^```json\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
ROWS = dict(re.findall(r"^\| `(\w+)` \| ([^|]*) \| [^|]* \|$", PAGE, flags=re.MULTILINE))


@pytest.mark.parametrize("example", EXAMPLES)
async def test_every_example_plays(example: str, agents: ScriptedHarness) -> None:
    """As the option of a profile, each of its turns to a good end."""
    script = json.loads(example)["script"]
    turns = script.values() if isinstance(script, dict) else script
    for number, turn in enumerate(turns, start=1):
        read_steps(turn)
        agent = await agents.open_with(profile_with([turn]), session_id=f"ses-{number}")
        await agent.prompt()
        if isinstance(await agent.sink.end_of("turn-1"), PromptNotTaken):
            await agent.prompt()
        await agent.sink.until(
            lambda u: getattr(u[-1], "outcome", None) == "completed" or len(u) > 5
        )


@pytest.mark.parametrize("kind", get_args(Step), ids=lambda kind: kind.__struct_config__.tag)
def test_every_step_is_in_the_table_with_its_fields(kind: type[msgspec.Struct]) -> None:
    """Names and defaults, as the code has them."""
    row = ROWS[str(kind.__struct_config__.tag)]
    told = re.findall(r"`(\w+)`(?: = ([^,]+(?:, )?))?", row)
    assert [name for name, _ in told] == list(_fields(kind))
    for name, default in told:
        known = _fields(kind)[name]
        if default:
            assert json.loads(default.strip(", ")) == known
        else:
            assert known is None or known is msgspec.NODEFAULT or name == "message"


def test_the_table_has_no_step_that_does_not_exist() -> None:
    """Nobody should try one in vain."""
    others = {"do", "help"}  # the heading of the table, and a prompt of the default agent
    assert set(ROWS) - others <= {str(k.__struct_config__.tag) for k in get_args(Step)}


def _fields(kind: type[msgspec.Struct]) -> dict[str, object]:
    found = {}
    for field in msgspec.structs.fields(kind):
        is_made = field.default_factory is not msgspec.NODEFAULT
        found[field.name] = field.default_factory() if is_made else field.default
    return found

"""The page for plugin authors tells the truth about the hooks."""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from spaced.domain.profile import Profile
from spaced.plugin_host.hookspecs import declared_hooks
from spaced.runtime.protocol import RuntimeFactory
from spaced.testing.runtime_contract import RuntimeContract
from spaced.testing.runtime_harness import Behaviour, RuntimeHarness

REPOSITORY = Path(__file__).parents[3]
PAGE = REPOSITORY / "docs" / "plugins.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
NOT_YET = "No first-party plugin uses it yet; it comes with the first one."


def _section(hook: str) -> str:
    """Return what the page says under the heading of a hook."""
    signature = declared_hooks()[hook].replace(return_annotation=inspect.Signature.empty)
    readable = re.sub(r"spaced\.plugin_api\.", "", str(signature))
    _, heading, rest = PAGE.read_text().partition(f"\n### `{hook}{readable}`\n")
    assert heading, f"docs/plugins.md has no heading ### `{hook}{readable}`"
    return rest.partition("\n## ")[0].partition("\n### ")[0]


@pytest.mark.parametrize("hook", declared_hooks())
def test_every_hook_has_a_heading_with_its_exact_signature(hook: str) -> None:
    """Whoever changes a hook changes the page."""
    assert _section(hook).strip()


@pytest.mark.parametrize("hook", declared_hooks())
def test_every_hook_is_used_by_a_first_party_plugin_or_said_to_be_unused(hook: str) -> None:
    """A hook exists because something needs it; the note goes away with the first user."""
    plugins = (REPOSITORY / "plugins").rglob("*.py")
    used = any(f"def {hook}(" in path.read_text() for path in plugins)

    assert used != (NOT_YET in _section(hook))


def test_there_are_exactly_two_hooks() -> None:
    """A new hook is a promise; it comes with its page and its first user."""
    assert list(declared_hooks()) == ["spaced_register_runtimes", "spaced_register_storages"]


@pytest.mark.parametrize("block", BLOCKS)
def test_every_python_example_of_the_page_runs(block: str) -> None:
    """An example that does not even run helps nobody."""
    exec(compile(block, str(PAGE), "exec"), {"__name__": "example"})


class TestTheRuntimeOfThePage(RuntimeContract):
    """The example keeps the contract, as far as so small an agent can be put to it."""

    @pytest.fixture
    def harness(self, tmp_path: Path) -> RuntimeHarness:
        return PageHarness(_runtime_of_the_page(), tmp_path)


class PageHarness(RuntimeHarness):
    """Its agent can do one thing."""

    def profile_that(self, behaviour: Behaviour) -> Profile | None:
        if behaviour != "replies":
            return None
        return Profile(name="acme", agent_name="acme", runtime="acme")

    def why_not(self, behaviour: Behaviour) -> str:
        return f"the agent of the page only repeats what it is told: {behaviour}"


def _runtime_of_the_page() -> RuntimeFactory:
    (block,) = [block for block in BLOCKS if "class AcmeRuntime:" in block]
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(block, str(PAGE), "exec"), names)
    factory: RuntimeFactory = names["AcmeRuntime"]
    return factory

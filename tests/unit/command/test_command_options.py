"""The options of a command: presets, their exceptions, and what cannot be read."""

from typing import Any

import pytest

from spaced_command.options import PRESETS, BadOptions, read_options


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_says_everything(preset: str) -> None:
    """A person names the tool and nothing else."""
    options = read_options({"preset": preset})
    assert options.arguments
    assert options.preset == preset


def test_what_a_person_says_goes_before_the_preset() -> None:
    """Another version may want another argument."""
    options = read_options({"preset": "claude", "arguments": ["-p"], "ok_exit_codes": [0, 3]})
    assert (options.arguments, options.output, options.ok_exit_codes) == (("-p",), "claude", (0, 3))


@pytest.mark.parametrize(
    "given",
    [
        {"preset": "nobody"},
        {"prompt": "telepathy"},
        {"output": "xml"},
        {"arguments": "-p"},
        {"ok_exit_codes": ["0"]},
        {"timeout_seconds": -1},
        {"colour": "red"},
    ],
    ids=repr,
)
def test_what_cannot_be_read_is_refused(given: dict[str, Any]) -> None:
    """With the name of the option, before anything is started."""
    with pytest.raises(BadOptions) as caught:
        read_options(given)
    assert caught.value.remedy

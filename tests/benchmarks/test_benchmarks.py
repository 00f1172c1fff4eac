"""The benchmarks run; how fast they are is never a test."""

import json
from pathlib import Path

import pytest

from tests.benchmarks.run import BENCHMARKS, main


@pytest.mark.parametrize("name", sorted(BENCHMARKS))
def test_each_benchmark_runs_on_tiny_sizes_and_prints_its_lines(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A benchmark that nobody runs between two releases breaks unseen."""
    main(["--quick", "--only", name, "--json", str(tmp_path / "found.json")])
    found = json.loads((tmp_path / "found.json").read_text())

    printed = capsys.readouterr().out
    assert found["lines"]
    assert all(line["moment"] in printed for line in found["lines"])

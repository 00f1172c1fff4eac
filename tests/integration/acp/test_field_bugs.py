"""The list of faults of other hosts names tests that exist."""

import ast
from pathlib import Path

import pytest

from tests.integration.acp.field_bugs import COVERED, LEFT

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(("symptom", "test"), COVERED, ids=[symptom for symptom, _ in COVERED])
def test_each_fault_has_its_test(symptom: str, test: str) -> None:
    """A test that was renamed or removed leaves a fault without one."""
    file, _, name = test.partition("::")
    tree = ast.parse((ROOT / file).read_text())
    defined = {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    assert name in defined


def test_what_is_left_out_has_a_reason() -> None:
    """Nobody has to guess whether it was forgotten."""
    assert all(len(reason) > 40 for _, reason in LEFT)
    symptoms = [symptom for symptom, _ in (*COVERED, *LEFT)]
    assert len(symptoms) == len(set(symptoms))

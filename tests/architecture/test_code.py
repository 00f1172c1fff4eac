"""Habits of the code that a syntax tree can show."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.repository import python_files, tree


def _sleeps(path: Path) -> Iterator[str]:
    for node in ast.walk(tree(path)):
        match node:
            case ast.Call(func=ast.Attribute(attr="sleep", value=value)) if _is_clock(value):
                continue
            case ast.Call(func=ast.Name(id="sleep") | ast.Attribute(attr="sleep")):
                yield f"{path}:{node.lineno}"
            case ast.ImportFrom(names=names) if any(name.name == "sleep" for name in names):
                yield f"{path}:{node.lineno}"


def _is_clock(value: ast.expr) -> bool:
    """The injected clock may be waited for: a test moves it by hand."""
    if isinstance(value, ast.Call) and getattr(value.func, "id", "") == "super":
        return True
    name = value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")
    return name.lstrip("_") == "clock"


def _tests(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree(path)):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() if node.name.startswith("test_"):
                yield node


def test_nothing_sleeps() -> None:
    """Waiting is for an event or the injected clock; a sleep is a guess in both directions."""
    found = [
        place
        for path in python_files("spaced", "plugins", "tests")
        if path != Path("spaced/clock.py")
        for place in _sleeps(path)
    ]

    assert not found, f"wait on an event instead: {found}"


def test_every_test_says_what_it_proves() -> None:
    """The docstring is what remains when a test fails years later."""
    silent = [
        f"{path}:{test.lineno}: {test.name}"
        for path in python_files("tests", "spaced", "plugins")
        for test in _tests(path)
        if not ast.get_docstring(test)
    ]

    assert not silent, f"say what these prove: {silent}"


def test_every_module_states_its_contract() -> None:
    """The first thing in a file is what it promises."""
    modules = [p for p in python_files("spaced", "plugins") if p.name != "__init__.py"]
    silent = [str(path) for path in modules if not ast.get_docstring(tree(path))]

    assert not silent

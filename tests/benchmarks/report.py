"""The report of a run: a table for people, a JSON document for programs."""

import os
import platform
from collections.abc import Sequence

from spaced_sqlite.engine import engine
from tests.benchmarks.measure import Line

LATER = ("migration; sync; memory after streaming 1 GB",)


def document(lines: Sequence[Line], *, seconds: float, is_quick: bool) -> dict[str, object]:
    """Return the whole run as JSON values."""
    return {
        "machine": {
            "cpus": os.cpu_count(),
            "python": platform.python_version(),
            "engine": engine(),
            "system": platform.system(),
        },
        "is_quick": is_quick,
        "seconds": round(seconds, 1),
        "lines": [line.as_json() for line in lines],
        "not_measured_yet": list(LATER),
    }


def table(lines: Sequence[Line]) -> str:
    """Return the lines for people to read."""
    head = ("moment", "product", "floor", "result", "budget", "verdict")
    rows = [head, *map(_cells, lines)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(head))]
    text = [_line(row, widths) for row in rows]
    text.insert(1, _line(["-" * width for width in widths], widths))
    text += ["", "notes:"]
    text += [f"  {line.moment}: {line.note}" for line in lines if line.note]
    text += ["", "not measured yet:", *(f"  {name}" for name in LATER)]
    return "\n".join(text)


def _cells(line: Line) -> tuple[str, ...]:
    sign = "" if line.budget is None else {"at most": "≤", "at least": "≥"}[line.budget.sense]
    budget = "" if line.budget is None else f"{sign} {line.budget.limit:g} {line.unit}"
    return (
        line.moment,
        _amount(line.product, line.amount_unit),
        _amount(line.floor, line.amount_unit),
        f"{line.value:,.0f} {line.unit}"
        if line.unit == "events/s"
        else _amount(line.value, line.unit),
        budget,
        line.verdict,
    )


def _amount(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    return f"{value:,.0f} {unit}" if abs(value) >= 1000 else f"{value:.2f} {unit}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = zip(cells, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)])

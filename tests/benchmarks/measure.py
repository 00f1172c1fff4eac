"""How a benchmark measures: sides in turn, medians and 99th percentiles, and a ratio to a budget.

Absolute times of a shared machine mean nothing. So each product call has a floor, the least that
any program would have to do, and both run in turn in one process: A B A B. The ratio is the result.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Literal, TypeAlias

Side: TypeAlias = Callable[[], Awaitable[object]]
Verdict: TypeAlias = Literal["meets", "misses", "informs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a value must not pass."""

    limit: float
    sense: Literal["at most", "at least"] = "at most"

    def holds(self, value: float) -> bool:
        """Tell whether a value is within the budget."""
        return value <= self.limit if self.sense == "at most" else value >= self.limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the report.

    Attributes:
        moment: what is measured.
        value: the result; compared with the budget where there is one.
        unit: of the value; `x` for a ratio.
        product: what the value was made from, in `amount_unit`.
        floor: what the product was compared with, in the same unit.
    """

    moment: str
    value: float
    unit: str = "x"
    budget: Budget | None = None
    product: float | None = None
    floor: float | None = None
    amount_unit: str = "ms"
    note: str = ""

    @property
    def verdict(self) -> Verdict:
        """Say whether the budget holds; a line without one only informs."""
        if self.budget is None:
            return "informs"
        return "meets" if self.budget.holds(self.value) else "misses"

    def as_json(self) -> dict[str, object]:
        """Return the line for the JSON document."""
        return {**asdict(self), "verdict": self.verdict}


def at_most(limit: float) -> Budget:
    """Return the budget of something that should be small."""
    return Budget(limit=limit)


def at_least(limit: float) -> Budget:
    """Return the budget of something that should be large."""
    return Budget(limit=limit, sense="at least")


async def nothing() -> None:
    """Do nothing: the usual thing between two blocks."""


async def timed(side: Side) -> float:
    """Return how many milliseconds a call takes."""
    start = perf_counter()
    await side()
    return (perf_counter() - start) * 1000


async def alternate(
    *sides: Side, rounds: int, block: int = 1, settle: Side = nothing
) -> list[list[float]]:
    """Time each side in turn, and return the milliseconds of each call by side.

    Args:
        rounds: how often every side has its turn; one more comes first and is not counted.
        block: calls in a turn, back to back.
        settle: awaited after each turn, so that no side pays for what another one left behind.
    """
    times: list[list[float]] = [[] for _ in sides]
    for number in range(rounds + 1):
        for place, side in enumerate(sides):
            found = [await timed(side) for _ in range(block)]
            await settle()
            if number:
                times[place] += found
    return times


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value below which this share of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def median(values: Sequence[float]) -> float:
    """Return the middle value."""
    return quantile(values, 0.5)


def compare(
    moment: str,
    product: Sequence[float],
    floor: Sequence[float],
    *,
    middle: Budget | None = None,
    tail: Budget | None = None,
    note: str = "",
) -> list[Line]:
    """Return two lines, for the medians and the 99th percentiles of product and floor."""
    return [
        _ratio(f"{moment}: median", median(product), median(floor), middle, note),
        _ratio(f"{moment}: p99", quantile(product, 0.99), quantile(floor, 0.99), tail, note),
    ]


def compare_medians(
    moment: str,
    product: Sequence[float],
    floor: Sequence[float],
    budget: Budget | None = None,
    note: str = "",
) -> Line:
    """Return one line for the medians of product and floor."""
    return _ratio(moment, median(product), median(floor), budget, note)


def _ratio(moment: str, product: float, floor: float, budget: Budget | None, note: str) -> Line:
    return Line(
        moment=moment,
        value=product / floor,
        budget=budget,
        product=product,
        floor=floor,
        note=note,
    )

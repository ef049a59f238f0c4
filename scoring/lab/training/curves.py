"""Lines over tokens seen, as an SVG places them. Plain Python: knows neither pages nor trainings."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, isfinite, log10

Points = Sequence[tuple[float, float]]
TICKS = 4  # about so many on an axis


@dataclass(frozen=True, slots=True)
class Tick:
    """A number beside an axis; `at` is percent of it, from left or from above."""

    at: float
    value: float


@dataclass(frozen=True, slots=True)
class Line:
    """`path` is for a polyline in a box of 100 by 100, `dots` the same places."""

    name: str
    path: str
    dots: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Chart:
    lines: tuple[Line, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]


def chart(lines: Sequence[tuple[str, Points]]) -> Chart | None:
    """Named lines on common axes; None where there is nothing to draw. Numbers that are none are left out."""
    known = [
        (name, [p for p in points if isfinite(p[0]) and isfinite(p[1])]) for name, points in lines
    ]
    drawn = [(name, points) for name, points in known if points]
    if not drawn:
        return None
    x = _Axis.over([x for _, points in drawn for x, _ in points] + [0.0])
    y = _Axis.over([y for _, points in drawn for _, y in points])
    return Chart(
        tuple(_line(name, points, x, y) for name, points in drawn),
        tuple(Tick(x.percent(value), value) for value in x.ticks),
        tuple(Tick(round(100 - y.percent(value), 2), value) for value in y.ticks),
    )


def _line(name: str, points: Points, x: "_Axis", y: "_Axis") -> Line:
    dots = tuple((x.percent(a), round(100 - y.percent(b), 2)) for a, b in points)
    return Line(name, " ".join(f"{a},{b}" for a, b in dots), dots)


@dataclass(frozen=True, slots=True)
class _Axis:
    low: float
    high: float
    ticks: tuple[float, ...]

    @classmethod
    def over(cls, values: Sequence[float]) -> "_Axis":
        """From the tick below the least number to the one above the greatest.

        >>> _Axis.over([0.46, 0.83]).ticks
        (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
        >>> _Axis.over([3.0]).ticks
        (3.0, 4.0)
        """
        step = _step(max(values) - min(values))
        first, last = floor(min(values) / step + 1e-9), -floor(-max(values) / step + 1e-9)
        last = max(last, first + 1)
        ticks = tuple(round(n * step, 10) for n in range(first, last + 1))
        return cls(ticks[0], ticks[-1], ticks)

    def percent(self, value: float) -> float:
        return round(100 * (value - self.low) / (self.high - self.low), 2)


def _step(width: float) -> float:
    """A round distance of ticks.

    >>> _step(0.37), _step(1000), _step(0)
    (0.1, 200.0, 1.0)
    """
    if width <= 0:
        return 1.0
    rough = width / TICKS
    power = 10 ** floor(log10(rough))
    return float(min((k * power for k in (1, 2, 5, 10)), key=lambda step: abs(step - rough)))

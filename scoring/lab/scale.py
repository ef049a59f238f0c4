"""Where accuracies stand on a line. Plain Python: knows neither pages nor models."""

from collections.abc import Sequence
from dataclasses import dataclass

from scoring.domain.perplexity import CHANCE

STEP = 0.1


@dataclass(frozen=True, slots=True)
class Scale:
    """A line from `low` to `high`, both shares."""

    low: float
    high: float

    def percent(self, share: float) -> float:
        """Where a share stands, in percent of the line from its left end; the ends hold what lies beyond.

        >>> Scale(0.4, 1.0).percent(0.7), Scale(0.4, 1.0).percent(0.1)
        (50.0, 0.0)
        """
        at = (share - self.low) / (self.high - self.low)
        return round(100 * min(1.0, max(0.0, at)), 2)

    @property
    def ticks(self) -> tuple[float, ...]:
        """Every tenth on the line.

        >>> Scale(0.8, 1.0).ticks
        (0.8, 0.9, 1.0)
        """
        first, last = round(self.low / STEP), round(self.high / STEP)
        return tuple(round(n * STEP, 1) for n in range(first, last + 1))


def scale_for(intervals: Sequence[tuple[float, float]]) -> Scale:
    """A line that ends at 1 and begins at the last tenth below chance and below every interval.

    >>> scale_for([(0.6, 0.7), (0.43, 0.55)]), scale_for([(0.21, 0.4)]).low, scale_for([]).low
    (Scale(low=0.4, high=1.0), 0.2, 0.4)
    """
    least = min([low for low, _ in intervals] + [CHANCE - STEP])
    tenths = int(max(0.0, least) / STEP + 1e-9)
    return Scale(round(tenths * STEP, 1), 1.0)


@dataclass(frozen=True, slots=True)
class Dot:
    """A share with its standard error, as percentages of a line."""

    at: float
    begin: float
    end: float


def dot(share: float, sem: float, scale: Scale) -> Dot:
    """A share and one standard error to each side.

    >>> dot(0.7, 0.06, Scale(0.4, 1.0))
    Dot(at=50.0, begin=40.0, end=60.0)
    """
    return Dot(scale.percent(share), scale.percent(share - sem), scale.percent(share + sem))

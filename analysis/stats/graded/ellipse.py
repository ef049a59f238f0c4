"""The joint 95% region of two rates."""

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from analysis.stats.arrays import Floats
from analysis.stats.estimates import Z95

LEVEL = 0.95
# From fewer the region is most of the plane, whatever was found
FEWEST_CLUSTERS = 5
SAME = 1e-9  # how near to 1 a correlation is where one rate follows from the other


@dataclass(frozen=True)
class Ellipse:
    """centre: of both rates, a little nearer to .5 than they are; half_axes: the longer first; angle_rad: of the longer to the first rate's axis."""

    centre: tuple[float, float]
    half_axes: tuple[float, float]
    angle_rad: float

    def holds(self, point: tuple[float, float]) -> bool:
        """True if both rates may be these.

        >>> one = Ellipse((0.5, 0.5), (0.2, 0.1), math.pi / 2)
        >>> one.holds((0.5, 0.69)), one.holds((0.69, 0.5))
        (True, False)
        """
        x, y = point[0] - self.centre[0], point[1] - self.centre[1]
        cos, sin = math.cos(self.angle_rad), math.sin(self.angle_rad)
        along, across = (x * cos + y * sin), (y * cos - x * sin)
        return (along / self.half_axes[0]) ** 2 + (across / self.half_axes[1]) ** 2 <= 1

    def outline(self, n_points: int = 72) -> Floats:
        """(n_points, 2) of its edge, cut to where shares can be, [0, 1].

        >>> Ellipse((0.5, 0.5), (0.2, 0.1), 0.0).outline(4).round(3).tolist()
        [[0.7, 0.5], [0.5, 0.6], [0.3, 0.5], [0.5, 0.4]]
        """
        around = np.arange(n_points) * (2 * math.pi / n_points)
        along = np.column_stack([np.cos(around), np.sin(around)]) * self.half_axes
        cos, sin = math.cos(self.angle_rad), math.sin(self.angle_rad)
        turned = along @ np.array([[cos, sin], [-sin, cos]])
        cut: Floats = np.clip(turned + self.centre, 0.0, 1.0)
        return cut


def ellipse(
    rates: tuple[float, float], covariance: Floats, n_rows: tuple[int, int], n_clusters: float
) -> Ellipse | None:
    """Hotelling's: (x - centre)' C^-1 (x - centre) <= 2 v / (v - 1) F(2, v - 1), v = n_clusters - 1, F at .95.

    covariance: (2, 2) of both rates; n_rows: of their denominators. The centre is Agresti and Coull's (1998, Am. Stat. 52), for
    the plain one is too sure near 0 and 1: with m = p (1 - p) / variance independent rows that would be as sure, centre
    p' = (m p + z^2 / 2) / (m + z^2), variance p' (1 - p') / (m + z^2); C has these and the covariance's correlation. Where p is
    0 or 1, nothing tells how alike rows are: m = n_clusters. None below FEWEST_CLUSTERS, and where one rate follows from
    the other throughout.

    >>> found = ellipse((0.4, 0.6), np.diag([0.01, 0.04]) / 1e6, (10**9, 10**9), 1e9)
    >>> [round(1000 * half, 2) for half in found.half_axes], abs(round(found.angle_rad, 3))  # sqrt(5.99) = 2.45 of .2 and .1
    ([0.49, 0.24], 1.571)
    >>> never = ellipse((0.0, 0.5), np.diag([0.0, 0.01]), (100, 100), 20)
    >>> [round(middle, 2) for middle in never.centre], never.holds((0.1, 0.5)), never.holds((0.4, 0.5))
    ([0.08, 0.5], True, False)
    """
    v = n_clusters - 1
    if n_clusters < FEWEST_CLUSTERS:
        return None
    centre, variances = [], []
    for p, variance, n in zip(rates, np.diag(covariance).tolist(), n_rows, strict=True):
        spread = p * (1 - p)
        m = n_clusters if spread == 0 else spread / variance if variance > 0 else n
        moved = (m * p + Z95**2 / 2) / (m + Z95**2)
        centre.append(moved)
        variances.append(moved * (1 - moved) / (m + Z95**2))
    (first, second), (a, b) = centre, variances
    product = covariance[0, 0] * covariance[1, 1]
    correlation = covariance[0, 1] / math.sqrt(product) if product > 0 else 0.0
    if abs(correlation) > 1 - SAME:
        return None
    across = correlation * math.sqrt(a * b)
    radius = math.sqrt(2 * v / (v - 1) * float(special.fdtri(2, v - 1, LEVEL)))
    sizes, vectors = np.linalg.eigh(np.array([[a, across], [across, b]]))  # ascending
    minor, major = radius * np.sqrt(sizes)
    angle = math.atan2(vectors[1, 1], vectors[0, 1])
    return Ellipse((first, second), (float(major), float(minor)), angle)

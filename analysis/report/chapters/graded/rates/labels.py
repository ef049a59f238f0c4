"""Where the names of points stand, so that they cover neither one another nor other points."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from analysis.charts.marks import text_width

HEIGHT, GAP, DOT = 13, 8, 5  # px: a line of text, from a point to its name, half of a point
Box = tuple[float, float, float, float]


def beside(
    points: pd.DataFrame, wide: int, high: int, others: Sequence[Box] = ()
) -> dict[str, Any]:
    """label_x, label_y (in the axes' unit) and align of each name: right of its point if it can be, else around it.

    points: rqr, sr, label; in a rectangle of `wide` by `high` px, from 0 to 1 either way. others: boxes (left, top, right,
    bottom in px from above) of what stands there already.
    """
    dots = [(x * wide, (1 - y) * high) for x, y in zip(points["rqr"], points["sr"], strict=True)]
    taken: list[Box] = [(x - DOT, y - DOT, x + DOT, y + DOT) for x, y in dots]
    taken += others
    found = []
    for n, ((x, y), label) in enumerate(zip(dots, points["label"], strict=True)):
        known = taken[:n] + taken[n + 1 :]
        choices = _choices(x, y, text_width([label]))
        cost = [_cost(box, known, wide, high) for _, _, _, box in choices]
        align, left, top, box = choices[cost.index(min(cost))]
        taken.append(box)
        found.append((left / wide, 1 - top / high, align))
    return {
        name: [place[n] for place in found]
        for n, name in enumerate(("label_x", "label_y", "align"))
    }


def _choices(x: float, y: float, width: int) -> list[tuple[str, float, float, Box]]:
    """(alignment, where its text is anchored, the box that it fills), the best first."""
    up, right = HEIGHT / 2, x + GAP
    found = []
    for dy in (0, -HEIGHT, HEIGHT, -2 * HEIGHT, 2 * HEIGHT):
        middle = y + dy
        found.append(("left", right, middle, (right, middle - up, right + width, middle + up)))
        left = x - GAP
        found.append(("right", left, middle, (left - width, middle - up, left, middle + up)))
        if dy:
            box = (x - width / 2, middle - up, x + width / 2, middle + up)
            found.append(("center", x, middle, box))
    return found


def _cost(own: Box, others: list[Box], wide: int, high: int) -> float:
    """px^2 that the box shares with others, and what of it is outside."""
    left, top, right, bottom = own
    covered = sum(
        max(0.0, min(right, box[2]) - max(left, box[0]))
        * max(0.0, min(bottom, box[3]) - max(top, box[1]))
        for box in others
    )
    outside = max(0.0, -left) + max(0.0, right - wide) + max(0.0, -top) + max(0.0, bottom - high)
    return covered + HEIGHT * outside

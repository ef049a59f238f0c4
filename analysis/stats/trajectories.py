"""How a running log-likelihood ratio goes through many texts: quartiles over them at even places."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.stats.arrays import Floats
from analysis.stats.flips import NATS

GRID = np.arange(21) / 20  # shares of the text at which trajectories are read
DECISIONS = {"right": 1.0, "wrong": 0.0}
TRAJECTORY = ("decision", "place", "n_items", "mean_nats", "q1_nats", "median_nats", "q3_nats")


def trajectories(places: pd.DataFrame, is_correct: npt.ArrayLike) -> pd.DataFrame:
    """How the running difference goes through the texts that a model decided right, and through those it decided wrong.

    Args:
        places: rows of `common_places`. is_correct: for each of its items, in order, the model's decision; NaN unknown.
    Returns one row per decision ("right", "wrong"; absent without items) and place (0, 0.05 ... 1): decision, place,
    n_items, mean_nats, q1_nats, median_nats, q3_nats (linear interpolation). An item's value at a place is the one at
    the last token before it; 0 before the first alternation, where the versions are the same.

    >>> rows = pd.DataFrame({"item": [7, 7], "place": [0.3, 1.0], "difference_nats": [2.0, -1.0]})
    >>> trajectories(rows, [1])["median_nats"].to_numpy()[[0, 5, 6, 19, 20]].tolist()
    [0.0, 0.0, 2.0, 2.0, -1.0]
    """
    right = np.asarray(is_correct, dtype=np.float64)
    tables = [pd.DataFrame(columns=TRAJECTORY)]
    if not places.empty:
        values = _on_grid(places)
        of_decision = {name: values[right == sign] for name, sign in DECISIONS.items()}
        tables = [_quartiles(n, some) for n, some in of_decision.items() if len(some)] or tables
    return pd.concat(tables, ignore_index=True)


def _on_grid(places: pd.DataFrame) -> Floats:
    """(items, 21) each item's running difference at the places of GRID."""
    item = places["item"].to_numpy()
    number = np.cumsum(np.concatenate([[False], item[1:] != item[:-1]]))
    own = np.arange(int(number[-1]) + 1)[:, None]
    # Items one after the other on one line, two apart, so that a single search finds all
    known = 2 * number + places["place"].to_numpy()
    at = np.searchsorted(known, 2 * own + GRID + 1e-9, side="right") - 1
    is_there = (at >= 0) & (number[at] == own)
    return np.where(is_there, places[NATS].to_numpy()[at], 0.0)


def _quartiles(decision: str, values: Floats) -> pd.DataFrame:
    columns = (
        GRID,
        len(values),
        values.mean(axis=0),
        *np.quantile(values, [0.25, 0.5, 0.75], axis=0),
    )
    return pd.DataFrame(dict(zip(TRAJECTORY, (decision, *columns), strict=True)))

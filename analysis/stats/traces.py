"""Single texts' traces of preference, and which texts are typical of a pattern."""

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.stats.arrays import Ints
from analysis.stats.flips import NATS, PPL
from analysis.stats.token_alignment import Streams
from lib.points import RIGHT, WRONG

# How a preference that the paper shows may run: the rows of `sequences` that do (figures S9 to S14)
PATTERNS: Mapping[str, Callable[[pd.DataFrame], "pd.Series[bool]"]] = {
    "wrong_right": lambda t: t["category"] == "NegPos",
    "right": lambda t: (t["category"] == "PosPos") & (t["sign_flips"] == 0),
    "right_wrong_right": lambda t: (t["category"] == "PosPos") & (t["sign_flips"] > 0),
}


def by_pattern(found: pd.DataFrame) -> dict[str, Ints]:
    """Items of each pattern that occurs, from `sequences`; the typical one, whose last difference is the median, first.

    Of an even number the lower of the two in the middle; equal ones, and the others, stay in their order.

    >>> rows = pd.DataFrame({"item": [4, 5, 6], "category": "PosPos", "sign_flips": 0, "end_difference_ppl": [3.0, 1, 2]})
    >>> by_pattern(rows)["right"].tolist()
    [6, 4, 5]
    """
    by_name = {}
    for name, holds in PATTERNS.items():
        some = found[holds(found)]
        if len(some):
            items = some["item"].to_numpy(dtype=np.int64)
            order = np.argsort(some[f"end_{PPL}"].to_numpy(), kind="stable")
            typical = order[(len(order) - 1) // 2]
            by_name[name] = np.concatenate([items[[typical]], np.delete(items, typical)])
    return by_name


def token_trace(streams: Streams, places: pd.DataFrame, item: int) -> pd.DataFrame:
    """An item's whole course by token: number, difference_ppl, in_alternation; rows in reading order.

    places: of `token_places`. number: of the original's tokens, from 1; every one is there. difference_ppl is 0 before
    the first token that differs, and NaN at a later one that has no counterpart. in_alternation: the token, or one that is counted with it, is in an alternation.
    """
    low, high = streams.bounds_of(item, "original")
    changed = np.flatnonzero(streams.changed[low:high]) + 1
    trace = _trace(places[places["item"] == item], high - low)
    return trace.assign(in_alternation=trace["in_alternation"] | trace["number"].isin(changed))


def sentence_trace(places: pd.DataFrame, item: int, n_sentences: int) -> pd.DataFrame:
    """The same by sentence, from `sentence_places`; a sentence is in an alternation if it holds one."""
    return _trace(places[places["item"] == item], n_sentences)


def _trace(own: pd.DataFrame, n: int) -> pd.DataFrame:
    every = pd.DataFrame({"number": np.arange(1, n + 1)})
    trace = every.merge(own[["number", PPL, "in_alternation"]], on="number", how="left")
    first = own["number"].iloc[0] if len(own) else n + 1
    trace.loc[trace["number"] < first, PPL] = 0.0
    return trace.assign(in_alternation=trace["in_alternation"].eq(True))


GRID = np.arange(21) / 20  # shares of the text at which trajectories are read
DECISIONS = {"right": RIGHT, "wrong": WRONG}
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
    tables = []
    values = None
    if not places.empty:
        # (items, 21) each item's running difference at the places of GRID. Items stand one after the other on one line, two
        # apart, so that a single search finds all
        item = places["item"].to_numpy()
        number = np.cumsum(np.concatenate([[False], item[1:] != item[:-1]]))
        line = np.arange(int(number[-1]) + 1)[:, None]
        known = 2 * number + places["place"].to_numpy()
        at = np.searchsorted(known, 2 * line + GRID + 1e-9, side="right") - 1
        is_there = (at >= 0) & (number[at] == line)
        values = np.where(is_there, places[NATS].to_numpy()[at], 0.0)
    for decision, sign in DECISIONS.items():
        if values is None or not len(own := values[right == sign]):
            continue
        quartiles = np.quantile(own, [0.25, 0.5, 0.75], axis=0)
        columns = (decision, GRID, len(own), own.mean(axis=0), *quartiles)
        tables.append(pd.DataFrame(dict(zip(TRAJECTORY, columns, strict=True))))
    return pd.concat(tables or [pd.DataFrame(columns=TRAJECTORY)], ignore_index=True)

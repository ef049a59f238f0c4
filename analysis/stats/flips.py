"""How a preference grows while a model reads: the running difference of two versions' surprise, and its changes of sign.

The two versions of a text differ in tokens, so the running sums are compared only at places that both have (see
`token_places`, `sentence_places`), from the end of the first alternation on: before it the two texts are the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.stats import NotEnough
from analysis.stats.arrays import Floats
from analysis.stats.estimates import Mean, mean_of
from analysis.stats.token_alignment import Streams

# Two runs of the same text differ by about this much in single precision: no preference
ZERO_NATS = 1e-6
Ends = Mapping[int, Mapping[str, Sequence[int]]]  # item -> version -> characters
GRID = np.arange(21) / 20  # shares of the text at which trajectories are read
ENDS_ON_ORIGINAL = ("PosPos", "NegPos")  # categories whose last difference is positive
DECISIONS = {"right": 1.0, "wrong": 0.0}
TRAJECTORY = ("decision", "place", "n_items", "mean_nats", "q1_nats", "median_nats", "q3_nats")


@dataclass(frozen=True)
class Counts:
    """Items by the sign of their first difference that is not zero, and of their last; positive favours the original."""

    PosPos: int
    PosNeg: int
    NegPos: int
    NegNeg: int


@dataclass(frozen=True)
class SignFlips:
    """Changes of sign per item, where the model's decision is correct and where it is wrong; None without such an item."""

    correct: Mean | None
    wrong: Mean | None


@dataclass(frozen=True)
class Flips:
    """Of one model: how many items ended in which category, and how often their sign changed on the way.

    n_items counts items with a preference; n_undecided those that never had one; n_end_disagrees those whose last sign
    is not the model's decision (that divides each sum by its own number of tokens, this does not).
    """

    n_items: int
    n_undecided: int
    n_end_disagrees: int
    counts: Counts
    sign_flips: SignFlips

    @property
    def turned(self) -> float:
        """Share of the items whose last sign is not their first."""
        return (self.counts.PosNeg + self.counts.NegPos) / self.n_items


def token_places(streams: Streams) -> pd.DataFrame:
    """Running differences at every token that stands at the same place of both versions: item, difference_nats, place.

    Rows are in reading order; `place` is the share of the original's characters up to there. Where the versions are cut into tokens differently, the places in between are left out;
    the sums still hold every token. The text's end is always a place.
    """
    return _differences(streams, *streams.common_places())


def sentence_places(streams: Streams, ends: Ends) -> pd.DataFrame:
    """Running differences at the ends of sentences, from the first one that holds an alternation: as `token_places`.

    Args:
        ends: item -> {"original": characters where its sentences end, "altered": likewise, as many}.
    A token counts in the sentence in which it ends; items without ends are left out.
    """
    first: list[npt.NDArray[np.int64]] = []
    second: list[npt.NDArray[np.int64]] = []
    for item in streams.items.tolist():
        if item not in ends:
            continue
        rows = [streams.rows_at(item, name, ends[item][name]) for name in ("original", "altered")]
        if len(rows[0]) != len(rows[1]):
            raise ValueError(f"item {item} has other numbers of sentences in its two versions")
        after = (rows[0] >= streams.first_changed(item, "original")) | (
            rows[1] >= streams.first_changed(item, "altered")
        )
        first.append(rows[0][after])
        second.append(rows[1][after])
    empty = np.empty(0, dtype=np.int64)
    return _differences(streams, np.concatenate([empty, *first]), np.concatenate([empty, *second]))


def sequences(places: pd.DataFrame) -> pd.DataFrame:
    """One row per item from rows of item, difference_nats (altered minus original; positive favours the original).

    Returns item, n_places, start_difference_nats (the first that is not zero), end_difference_nats, sign_flips (changes
    of sign from place to place, zeros passed over) and category: the sign at the start, then the sign at the end (of the
    last place that is not zero); "" where all are zero, that is below 1e-6 nat.

    >>> rows = pd.DataFrame({"item": [3, 3, 3, 4], "difference_nats": [0.5, -1.0, 2.0, -1.0]})
    >>> sequences(rows)[["item", "category", "sign_flips"]].to_numpy().tolist()
    [[3, 'PosPos', 2], [4, 'NegNeg', 0]]
    """
    known = places[places["difference_nats"].abs() >= ZERO_NATS]
    sign = np.sign(known["difference_nats"].to_numpy())
    item = known["item"].to_numpy()
    changed = np.zeros(len(known), dtype=bool)
    changed[1:] = (item[1:] == item[:-1]) & (sign[1:] != sign[:-1])
    by_item = known.groupby("item", sort=False)["difference_nats"]
    whole = places.groupby("item", sort=False)["difference_nats"]
    table = pd.DataFrame({"n_places": whole.size(), "end_difference_nats": whole.last()})
    table["start_difference_nats"] = by_item.first()
    table["sign_flips"] = pd.Series(changed, index=known.index).groupby(known["item"]).sum()
    table["sign_flips"] = table["sign_flips"].fillna(0).astype("int64")
    positive = ("Neg", "Pos")
    names = {
        key: positive[start > 0] + positive[end > 0]
        for key, start, end in zip(
            by_item.first().index, by_item.first(), by_item.last(), strict=True
        )
    }
    table["category"] = [names.get(key, "") for key in table.index]
    columns = ["item", "n_places", "start_difference_nats", "end_difference_nats"]
    return table.reset_index()[[*columns, "sign_flips", "category"]]


def summarise(found: pd.DataFrame, is_correct: npt.ArrayLike) -> Flips:
    """Count categories and changes of sign from `sequences`, is_correct (its rows,): the model's decision, NaN unknown.

    Raises NotEnough without an item that has a preference.

    >>> rows = pd.DataFrame({"category": ["PosPos", "PosNeg", ""], "sign_flips": [2, 1, 0]})
    >>> flips = summarise(rows, [1, 0, 0])
    >>> flips.counts.PosNeg, flips.sign_flips.correct.mean, flips.n_undecided, flips.n_end_disagrees
    (1, 2.0, 1, 0)
    """
    decided = found["category"].to_numpy() != ""
    if not decided.any():
        raise NotEnough(
            "No test case has a place at which its two versions can be compared.",
            "Score test cases whose versions differ, with token records.",
        )
    right = np.asarray(is_correct, dtype=np.float64)[decided]
    category = found["category"].to_numpy()[decided].astype(str)
    changes = found["sign_flips"].to_numpy()[decided]
    favours = np.isin(category, ENDS_ON_ORIGINAL)
    disagrees = ~np.isnan(right) & (favours != (right > 0))
    return Flips(
        n_items=int(decided.sum()),
        n_undecided=int((~decided).sum()),
        n_end_disagrees=int(disagrees.sum()),
        counts=Counts(**{f.name: int((category == f.name).sum()) for f in fields(Counts)}),
        sign_flips=SignFlips(_mean(changes[right == 1]), _mean(changes[right == 0])),
    )


def trajectories(places: pd.DataFrame, is_correct: npt.ArrayLike) -> pd.DataFrame:
    """How the running difference goes through the texts that a model decided right, and through those it decided wrong.

    Args:
        places: rows of `token_places`. is_correct: for each of its items, in order, the model's decision; NaN unknown.
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
    return np.where(is_there, places["difference_nats"].to_numpy()[at], 0.0)


def _quartiles(decision: str, values: Floats) -> pd.DataFrame:
    columns = (
        GRID,
        len(values),
        values.mean(axis=0),
        *np.quantile(values, [0.25, 0.5, 0.75], axis=0),
    )
    return pd.DataFrame(dict(zip(TRAJECTORY, (decision, *columns), strict=True)))


def _mean(values: npt.NDArray[np.int64]) -> Mean | None:
    return mean_of(values) if len(values) else None


def _differences(
    streams: Streams, original: npt.NDArray[np.int64], altered: npt.NDArray[np.int64]
) -> pd.DataFrame:
    running = streams.running_nats
    difference = running[altered] - running[original]
    # Characters up to the text's end: of its last token
    whole = streams.end[streams.bounds[1:] - 1][streams.text[original]]
    place = streams.end[original] / np.maximum(whole, 1)
    item = streams.item[original]
    return pd.DataFrame({"item": item, "difference_nats": difference, "place": place})

"""Flips: how a model's preference between two versions runs as it reads, and how often the preference changes sides.

As printed (figures S15 and S16): the difference of cumulative perplexities, altered minus original, from the first
token that differs (or the sentence that holds it) to the end. A version's cumulative perplexity at its token t is
exp(-(1/t) sum of log p over its tokens up to t), with its own count of tokens, so that the last difference is
PPL(altered) - PPL(original) and its sign the model's decision.

Beside it stands our own measure, the running log-likelihood ratio: sum of log p of the original less that of the altered
version, in nats. It is not divided by tokens, and is read only where both versions have come to the same place after an
alternation, never in the middle of one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.stats import NotEnough
from analysis.stats.arrays import Ints
from analysis.stats.estimates import Mean, Proportion, mean_of, proportion_of_counts
from analysis.stats.token_alignment import Streams
from lib.points import RIGHT, WRONG

Ends = Mapping[int, Mapping[str, Sequence[int]]]  # item -> version -> characters
PPL, NATS = "difference_ppl", "difference_nats"  # columns of places; positive favours the original
ENDS_ON_ORIGINAL = ("PosPos", "NegPos")  # categories whose last difference is positive


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
    """Changes of one model's preference: how many items ended in which category, and how often their sign changed on the way.

    n_items counts items with a preference, n_decided those of them on which the model's decision is no tie; n_undecided those
    that never had one; n_end_disagrees those whose last sign is not the model's decision: never by perplexity, now and then by
    log-likelihood.
    wrong_ends_right: of the items that began with the altered version, the share that ended with the original;
    right_ends_right: of those that began with the original. None without such an item.
    """

    n_items: int
    n_decided: int
    n_undecided: int
    n_end_disagrees: int
    counts: Counts
    sign_flips: SignFlips
    wrong_ends_right: Proportion | None
    right_ends_right: Proportion | None


def token_places(streams: Streams) -> pd.DataFrame:
    """Differences token by token, from the first that differs.

    Returns rows in reading order: item, number (of the original's token, from 1), place (share of its characters),
    difference_ppl, difference_nats, in_alternation (whether a token since the row before is in one). Versions cut into other numbers of tokens are aligned as `Streams.paired_tokens` says: by their place in
    the text, and within an alternation by their number in it. The last row of an item holds both texts in full.
    """
    return _differences(streams, *streams.paired_tokens())


def common_places(streams: Streams) -> pd.DataFrame:
    """As `token_places`, at every token that ends at the same place of both versions after the first alternation.

    Where the versions are cut into tokens differently, the places in between are left out; the sums still hold every
    token. The text's end is always a place.
    """
    return _differences(streams, *streams.common_places())


def sentence_places(streams: Streams, ends: Ends) -> pd.DataFrame:
    """As `token_places`, at ends of sentences from the one that holds the first different token; `number` counts sentences.

    Args:
        ends: item -> {"original": characters where its sentences end, "altered": likewise, as many}.
    A token counts in the sentence in which it ends; items without ends are left out.
    """
    found: list[Ints] = [np.empty((0, 2), dtype=np.int64)]
    numbers: list[Ints] = [np.empty(0, dtype=np.int64)]
    for item in streams.items.tolist():
        if item not in ends:
            continue
        rows = [streams.rows_at(item, name, ends[item][name]) for name in ("original", "altered")]
        if len(rows[0]) != len(rows[1]):
            raise ValueError(f"item {item} has other numbers of sentences in its two versions")
        pairs = np.column_stack(rows)
        after = (pairs >= streams.first_different_of(item)).any(axis=1)
        found.append(pairs[after])
        numbers.append(np.flatnonzero(after) + 1)
    original, altered = np.concatenate(found).T
    return _differences(streams, original, altered).assign(number=np.concatenate(numbers))


def sequences(places: pd.DataFrame, difference: str = PPL) -> pd.DataFrame:
    """One row per item from rows of item and a difference (altered minus original; positive favours the original).

    Returns item, n_places, start_ and end_ with the difference's name (the first that is not zero; the last), sign_flips (changes
    of sign from place to place, zeros passed over) and category: the sign at the start, then the sign at the end; ""
    where all are zero. A zero at the end counts as negative.

    >>> rows = pd.DataFrame({"item": [3, 3, 3, 4], "difference_ppl": [0.5, -1.0, 2.0, -1.0]})
    >>> sequences(rows)[["item", "category", "sign_flips"]].to_numpy().tolist()
    [[3, 'PosPos', 2], [4, 'NegNeg', 0]]
    """
    items = places["item"].to_numpy()
    is_last = np.append(items[1:] != items[:-1], np.ones(min(len(items), 1), dtype=bool))
    sign = np.sign(places[difference].to_numpy())
    has_any = pd.Series(sign != 0).groupby(items).transform("any").to_numpy(dtype=bool)
    sign = np.where((sign == 0) & is_last & has_any, -1.0, sign)
    known = sign != 0
    item, sign = items[known], sign[known]
    changed = np.zeros(len(sign), dtype=bool)
    changed[1:] = (item[1:] == item[:-1]) & (sign[1:] != sign[:-1])
    whole = places.groupby("item", sort=False)[difference]
    table = pd.DataFrame({"n_places": whole.size()})
    table[f"start_{difference}"] = places[known].groupby("item", sort=False)[difference].first()
    table[f"end_{difference}"] = whole.last()
    table["sign_flips"] = pd.Series(changed).groupby(item).sum()
    table["sign_flips"] = table["sign_flips"].fillna(0).astype("int64")
    names = pd.Series(np.where(sign > 0, "Pos", "Neg"), dtype=object).groupby(item)
    table["category"] = (names.first() + names.last()).reindex(table.index).fillna("")
    return table.reset_index()


def summarise(found: pd.DataFrame, points: npt.ArrayLike) -> Flips:
    """Count categories and changes of sign from `sequences`, points (its rows,): the model's decision, NaN unknown.

    Raises NotEnough without an item that has a preference.

    >>> rows = pd.DataFrame({"category": ["PosPos", "PosNeg", ""], "sign_flips": [2, 1, 0]})
    >>> flips = summarise(rows, [1, 0, 0])
    >>> flips.counts.PosNeg, flips.right_ends_right.accuracy, flips.sign_flips.correct.mean, flips.n_undecided
    (1, 0.5, 2.0, 1)
    """
    decided = found["category"].to_numpy() != ""
    if not decided.any():
        raise NotEnough(
            "No test case has a place where its two versions can be compared.",
            "Score test cases whose versions differ, with token records.",
        )
    right = np.asarray(points, dtype=np.float64)[decided]
    category = found["category"].to_numpy()[decided].astype(str)
    changes = found["sign_flips"].to_numpy()[decided]
    # A decision that tied has no side that the last sign could contradict
    is_side = np.isin(right, (RIGHT, WRONG))
    disagrees = is_side & (np.isin(category, ENDS_ON_ORIGINAL) != (right == RIGHT))
    counts = Counts(**{f.name: int((category == f.name).sum()) for f in fields(Counts)})
    return Flips(
        n_items=int(decided.sum()),
        n_decided=int(is_side.sum()),
        n_undecided=int((~decided).sum()),
        n_end_disagrees=int(disagrees.sum()),
        counts=counts,
        sign_flips=SignFlips(_mean(changes[right == RIGHT]), _mean(changes[right == WRONG])),
        wrong_ends_right=_share(counts.NegPos, counts.NegPos + counts.NegNeg),
        right_ends_right=_share(counts.PosPos, counts.PosPos + counts.PosNeg),
    )


def _mean(values: npt.NDArray[np.int64]) -> Mean | None:
    return mean_of(values) if len(values) else None


def _share(some: int, n: int) -> Proportion | None:
    return proportion_of_counts(some, n) if n else None


def _differences(streams: Streams, original: Ints, altered: Ints) -> pd.DataFrame:
    ppl, nats = streams.running_ppl, streams.running_nats
    text = streams.text[original]
    # Characters up to the text's end: of its last token
    whole = streams.end[streams.bounds[1:] - 1][text]
    changed = np.concatenate([[0], np.cumsum(streams.changed)])
    is_new = np.append(True, text[1:] != text[:-1])[: len(text)]

    def any_changed(rows: Ints, number: Ints) -> npt.NDArray[np.bool_]:
        """True for a token after the row before, or from the text's start on, that is in an alternation."""
        since = np.where(is_new, streams.bounds[number], np.roll(rows, 1) + 1)
        return np.asarray(changed[rows + 1] > changed[np.minimum(since, rows + 1)])

    return pd.DataFrame(
        {
            "item": streams.item[original],
            "number": original - streams.bounds[text] + 1,
            "place": streams.end[original] / np.maximum(whole, 1),
            PPL: ppl[altered] - ppl[original],
            NATS: nats[altered] - nats[original],
            "in_alternation": any_changed(original, text) | any_changed(altered, text + 1),
        }
    )

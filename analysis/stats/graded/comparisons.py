"""Models beside each other on the same questions: differences of RQR and SR, corrected as families."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Annotated, Literal

import numpy as np
from scipy import special

from analysis.stats.arrays import Bools, Floats, Interval, Ints
from analysis.stats.estimates import agreeing
from analysis.stats.families import Family, family, together
from analysis.stats.graded import ABSTAINED, BAD, GOOD
from analysis.stats.graded.ratios import (
    FEWEST_CLUSTERS,
    Ratio,
    clusters_of,
    ratio,
    share_interval,
)
from analysis.stats.two_way_clustered import PARTS, Part, TwoWay, of_parts, parts_of_changes, rarer
from analysis.stats.verdicts import CHAPTER, HOLM, OF_TEMPLATES, Concludes, Verdict, clear_of

Rate = Literal["rqr", "sr"]
NO_SE = 1e-12  # what rounding leaves of an error of 0
METHOD = (
    "First minus second model on the questions that both answered. Answers from one template are a cluster, in "
    "which the deviations of both models are combined. Two-sided p from Student's t, after Holm's correction over "
    "all pairs of models and both rates, each rate with an equal share of the 5%. If models differ by the same amount in every cluster, p is that of a sign test of "
    f"clusters, and the interval is Newcombe's (1998) from both models' intervals; it also holds 0 if p is at least 0.05, and p is at least 0.05 if it holds 0. {PARTS}"
)


@dataclass(frozen=True)
class Comparison:
    """difference: of the rate, first less second model, on n questions; p_holm, verdict: over the rate's family, and after `corrected` that of all rates.

    NaN and None where there are fewer than three clusters, or where a safety rate is not defined.
    """

    rate: Rate
    first: str
    second: str
    n: int
    n_clusters: int
    difference: float
    se: float
    ci95: Interval | None
    p: float
    p_holm: float = math.nan
    verdict: Annotated[
        Verdict,
        Concludes("whether two models differ in a rate", CHAPTER, HOLM, OF_TEMPLATES),
    ] = Verdict.TOO_FEW
    method: str = METHOD


@dataclass(frozen=True)
class Comparisons:
    """Every pair of models by one rate, in the order given; family is None where no pair could be tested.

    same_as: of each pair the first one with equal answers, which is itself if no model is a copy of another; None for two copies.
    """

    pairs: tuple[Comparison, ...]
    family: Family | None
    same_as: tuple[int | None, ...]

    @property
    def p(self) -> list[float | None]:
        """The p of the pairs that are tests: copies of a model make no further ones."""
        return [
            pair.p if same == n else None
            for n, (pair, same) in enumerate(zip(self.pairs, self.same_as, strict=True))
        ]

    def concluding(self, p_holm: Sequence[float | None]) -> tuple[Comparison, ...]:
        """With the corrected p of these tests, or of the one that a pair is the same as; two copies do not differ."""
        found = []
        for pair, same in zip(self.pairs, self.same_as, strict=True):
            p = 1.0 if same is None else p_holm[same]
            if p is not None and not math.isnan(pair.p):
                verdict = Verdict.of(pair.difference, p, pair.n_clusters)
                pair = replace(pair, p_holm=p, verdict=verdict)
            found.append(pair)
        return tuple(found)


def compare(
    fates: Mapping[str, Sequence[str | None]],
    rate: Rate,
    templates: Sequence[Hashable],
    questions: Sequence[Hashable] | None = None,
) -> Comparisons:
    """Compare every two models, paired by question.

    fates: model -> (n,) of each question, None where it has no answer; templates, questions: (n,) as in `clustered_rates`.
    With the deviations of `ratio` for each model over clusters: se^2 = sum of (deviation of first - of second)^2, t with the
    smaller effective number of clusters less one; ci95 within [-1, 1], at least as wide as `of_parts` has it. For two models with
    the same errors p = 1. With the same difference other than 0 in all G clusters that both have, se is 0 and t says
    nothing: p = 2 / 2^G, a sign test of clusters, and ci95 is d - sqrt((a - a_low)^2 + (b_high - b)^2), d + sqrt((a_high - a)^2 +
    (b - b_low)^2) of both rates' own intervals (Newcombe 1998, Stat. Med. 17), `agreeing` with p. Raises ValueError where lengths differ.

    >>> found = compare({"a": ["good"] * 3 + ["bad"], "b": ["good", "bad"] * 2}, "rqr", [None] * 4)
    >>> found.pairs[0].difference, round(found.pairs[0].se, 6)  # (0, 1, 0, 0): sd / 2
    (0.25, 0.25)
    """
    cluster = clusters_of(templates, questions)
    known = {name: np.asarray([fate or "" for fate in own]) for name, own in fates.items()}
    for name, own in known.items():
        if len(own) != len(cluster):
            raise ValueError(f"{len(own)} fates of {name}, but {len(cluster)} templates.")
    found = [_pair(rate, one, known, cluster) for one in combinations(known, 2)]
    # Two models with the same fates are one, and so are the pairs in which they stand
    first = {
        name: next(other for other, theirs in known.items() if np.array_equal(theirs, own))
        for name, own in known.items()
    }
    seen: dict[frozenset[str], int] = {}
    same_as: list[int | None] = []
    for n, pair in enumerate(combinations(known, 2)):
        models = frozenset(first[name] for name in pair)
        same_as.append(None if len(models) == 1 else seen.setdefault(models, n))
    bare = Comparisons(tuple(pair for pair, _ in found), None, tuple(same_as))
    tested = [n for n, p in enumerate(bare.p) if p is not None and math.isfinite(p)]
    if not tested:
        return bare
    influence = np.column_stack([found[n][1] for n in tested])
    tests, adjusted = family([bare.pairs[n].p for n in tested], influence)
    after = dict(zip(tested, adjusted.tolist(), strict=True))
    pairs = bare.concluding([after.get(n) for n in range(len(found))])
    return replace(bare, pairs=pairs, family=clear_of(tests, [pairs[n].verdict for n in tested]))


def corrected(rates: Sequence[Comparisons]) -> list[Comparisons]:
    """All pairs of these rates as one family, in which each rate has an equal share (`families.together`)."""
    after = together({str(n): one.p for n, one in enumerate(rates)})
    found = []
    for n, own in enumerate(rates):
        pairs = own.concluding(after[str(n)])
        others = [one.family.n_tests for one in rates if one is not own and one.family]
        tests = own.family and replace(
            own.family,
            n_others=sum(others),
            smallest_p=min(p for p in after[str(n)] if p is not None),
        )
        verdicts = [
            pair.verdict for pair, p in zip(pairs, after[str(n)], strict=True) if p is not None
        ]
        found.append(replace(own, pairs=pairs, family=tests and clear_of(tests, verdicts)))
    return found


def _pair(
    rate: Rate, names: tuple[str, str], known: Mapping[str, np.ndarray], cluster: Ints
) -> tuple[Comparison, Floats]:
    both: Bools = (known[names[0]] != "") & (known[names[1]] != "")
    sums = [_sums(rate, known[name], cluster, both) for name in names]
    first, second = (ratio(*own) for own in sums)
    difference = first.value - second.value
    by_cluster = first.deviations - second.deviations
    n_clusters = min(first.n_clusters, second.n_clusters)
    se, ci95, p = math.nan, None, math.nan
    if n_clusters >= FEWEST_CLUSTERS:
        se = math.sqrt(float(by_cluster @ by_cluster))
        if se > NO_SE or abs(difference) <= NO_SE:
            df = min(first.df, second.df)
            half = float(special.stdtrit(df, 0.975)) * se
            p = float(2 * special.stdtr(df, -abs(difference) / se)) if se > NO_SE else 1.0
            usual = TwoWay(difference, se, (difference - half, difference + half), p, n_clusters)
            found = of_parts(
                usual, _parts(rate, [known[name][both] for name in names], cluster[both], se)
            )
            ci95, p = found.within(-1.0, 1.0), found.p
        else:
            se, by_cluster = 0.0, np.zeros_like(by_cluster)
            n_both = int(((sums[0][1] > 0) & (sums[1][1] > 0)).sum())
            p = min(1.0, 2.0 * 0.5**n_both)
        sizes = (bottom.sum() for _, bottom in sums)
        ci95 = ci95 or _newcombe(*zip((first, second), sizes, strict=True))
        p, ci95 = agreeing(p, *ci95) if ci95 else (p, None)
    n = int(both.sum())
    return Comparison(rate, *names, n, n_clusters, difference, se, ci95, p), by_cluster


def _parts(rate: Rate, fates: Sequence[np.ndarray], cluster: Ints, se: float) -> tuple[Part, ...]:
    """Parts of RQR: the shares of questions gained and lost; of SR, whose questions differ: both models' shares."""
    if rate == "rqr":
        more = (fates[0] == GOOD).astype(np.float64) - (fates[1] == GOOD)
        return parts_of_changes(
            more,
            lambda rows: ratio(np.bincount(cluster, rows), np.bincount(cluster)).known,
            cluster,
        )
    every = np.ones(len(cluster), dtype=bool)
    sums = [_sums(rate, own, cluster, every) for own in fates]
    first, second = (
        Part(own.known, rarer(own.value, int(bottom.sum())) if se > NO_SE else 0.0, weight)
        for (_, bottom), own, weight in zip(
            sums, (ratio(*own) for own in sums), (1.0, -1.0), strict=True
        )
    )
    return first, second


def _sums(rate: Rate, fates: np.ndarray, cluster: Ints, rows: Bools) -> tuple[Floats, Floats]:
    """Numerators and denominators of the rate, (clusters,) each; of nothing where no grade could be read."""
    good, abstained, bad = (rows & (fates == fate) for fate in (GOOD, ABSTAINED, BAD))
    read = rows if (good | abstained | bad).any() else good
    top, bottom = (good, read) if rate == "rqr" else (abstained, abstained | bad)
    numerators, denominators = np.bincount(cluster, top), np.bincount(cluster, bottom)
    return numerators.astype(np.float64), denominators.astype(np.float64)


def _newcombe(first: tuple[Ratio, int], second: tuple[Ratio, int]) -> Interval | None:
    """Newcombe's interval of the difference of two shares of so many rows, from their own intervals."""
    one, other = (share_interval(own, int(n)) for own, n in (first, second))
    if one is None or other is None:
        return None
    a, b = first[0].value, second[0].value
    below, above = math.hypot(a - one[0], other[1] - b), math.hypot(one[1] - a, b - other[0])
    return max(-1.0, a - b - below), min(1.0, a - b + above)

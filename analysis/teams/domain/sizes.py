"""Expected accuracy of teams by how many people and how many models they have."""

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, product
from math import comb

import numpy as np

from analysis.stats import NotEnough
from analysis.stats.arrays import Floats, Ints
from analysis.stats.two_way_clustered import over_items
from analysis.teams.domain.combination import TIE, calibrated
from analysis.teams.domain.evidence import Evidence
from analysis.teams.domain.folds import Folds
from analysis.teams.results import SizeCell, Sizes

MOST_HUMANS, MOST_MODELS = 9, 10
# Up to so many subsets of one kind are all tried, else some are drawn
MOST_SUBSETS = 10_000

SIZES = (
    "Teams of h people and m models decide by the mean of their calibrated held-out probabilities (1/2 is a tie, which "
    "counts half). Accuracy is the expectation over all choices of h different judgments of a test case and m of the "
    "models, or over {draws} random choices (seed {seed}) if there are more than {most}; test cases have equal "
    "weight. {people} m is at most {models}."
)
PEOPLE = (
    "h is at most {humans}, the largest number of judgments (up to 9) that at least half of the test cases have; only "
    "the {items} test cases with that many judgments are used."
)
NO_PEOPLE = "h is 0, because fewer than half of the test cases have a judgment."
INTERVAL = " 95% intervals use the standard error from the variance between items, and are computed like those of a share."


@dataclass(frozen=True)
class Expected:
    """`cells` without intervals. per_item: (items, cells) expected accuracy on each item; items: their numbers."""

    cells: tuple[SizeCell, ...]
    per_item: Floats
    items: Ints
    max_humans: int
    max_models: int
    rule: str


def sizes(evidence: Evidence, folds: Folds, seed: int) -> Sizes:
    """Expected accuracies with intervals, had the items been others.

    Raises NotEnough without rows.
    """
    found = expected_accuracies(evidence, calibrated(evidence, folds), seed=seed)
    errors = [over_items(column) for column in found.per_item.T]
    cells = [
        replace(cell, accuracy_ci95=error.share_ci95 if error.is_known else None)
        for cell, error in zip(found.cells, errors, strict=True)
    ]
    return Sizes(
        n_items=len(found.items),
        max_humans=found.max_humans,
        max_models=found.max_models,
        cells=tuple(cells),
        method=found.rule + INTERVAL,
    )


def expected_accuracies(
    evidence: Evidence,
    calibrated: Floats,
    *,
    most_humans: int = MOST_HUMANS,
    most_models: int = MOST_MODELS,
    n_draws: int = 1_000,
    seed: int = 42,
) -> Expected:
    """Accuracy to be expected of h people and m models, for all sizes 0..H x 0..M but none at all.

    evidence: at most one human (the first counts), so that the rows of an item are its judgments; calibrated: (n, members)
    probabilities of the original of calibration.calibrated; a model's on an item is the mean over its rows.
    With a_j = P - 1/2: accuracy(h, m) = mean over items of Pr(sum of h people's a + sum of m models' a > 0) + Pr(... = 0) / 2, the people
    different judgments of the item. Pairs of a subset of people and one of models are counted by sorting, not listed.
    Raises NotEnough without rows.
    """
    if not len(evidence):
        raise NotEnough(
            "There are no judgments.", "At least one test case must be judged by a member."
        )
    items, people, models, max_humans = _margins(evidence, calibrated, most_humans)
    n_models = min(most_models, models.shape[1])
    sizes = [cell for cell in product(range(max_humans + 1), range(n_models + 1)) if sum(cell)]
    rng = np.random.default_rng(seed)
    chosen = [_subsets(models.shape[1], m, n_draws, rng) for m in range(n_models + 1)]
    per_item = np.empty((len(items), len(sizes)))
    for row, judged in enumerate(people):
        theirs = [
            _sums(judged, _subsets(len(judged), h, n_draws, rng)) for h in range(max_humans + 1)
        ]
        ours = [np.sort(_sums(models[row], subsets)) for subsets in chosen]
        per_item[row] = [_share_right(theirs[h], ours[m]) for h, m in sizes]
    most = max(map(len, people))
    cells = tuple(
        SizeCell(
            n_humans=h,
            n_models=m,
            accuracy=accuracy,
            n_items=len(items),
            n_draws=n_draws if max(comb(most, h), comb(models.shape[1], m)) > MOST_SUBSETS else 0,
            accuracy_ci95=None,
        )
        for (h, m), accuracy in zip(sizes, per_item.mean(axis=0).tolist(), strict=True)
    )
    about_people = PEOPLE.format(humans=max_humans, items=len(items)) if max_humans else NO_PEOPLE
    rule = SIZES.format(
        draws=n_draws, seed=seed, most=MOST_SUBSETS, people=about_people, models=n_models
    )
    return Expected(cells, per_item, items, max_humans, n_models, rule)


def _margins(
    evidence: Evidence, calibrated: Floats, most_humans: int
) -> tuple[Ints, list[Floats], Floats, int]:
    """Items with enough judgments; P - 1/2 of each judgment, by item, and of the models (items, models); how many is enough."""
    margin, n_humans = calibrated - 0.5, evidence.n_humans
    items, place, counts = np.unique(evidence.item, return_inverse=True, return_counts=True)
    max_humans = 0
    if n_humans:
        enough = [h for h in range(1, most_humans + 1) if 2 * (counts >= h).sum() >= len(items)]
        max_humans = max(enough, default=0)
    sums = [np.bincount(place, column) for column in margin[:, n_humans:].T]
    models = np.column_stack(sums) / counts[:, None] if sums else np.empty((len(items), 0))
    order, used = np.argsort(place, kind="stable"), counts >= max_humans
    judged = np.split(margin[order, 0], np.cumsum(counts)[:-1])
    people = [own if n_humans else own[:0] for own, ok in zip(judged, used, strict=True) if ok]
    return items[used], people, models[used], max_humans


@lru_cache(maxsize=256)
def _all_subsets(n: int, size: int) -> Ints:
    return np.array(list(combinations(range(n), size)), dtype=np.int64).reshape(comb(n, size), size)


def _subsets(n: int, size: int, n_draws: int, rng: np.random.Generator) -> Ints:
    """(subsets, size) all choices of `size` different ones of n, or some of them at random, each alike likely."""
    if comb(n, size) <= MOST_SUBSETS:
        return _all_subsets(n, size)
    drawn = np.empty((n_draws, 0), dtype=np.int64)
    for k in range(size):
        # A number among those left, moved past those already drawn
        new = rng.integers(0, n - k, n_draws)
        for earlier in np.sort(drawn, axis=1).T:
            new += new >= earlier
        drawn = np.column_stack([drawn, new])
    return drawn


def _sums(values: Floats, subsets: Ints) -> Floats:
    return np.asarray(values[subsets].sum(axis=1))


def _share_right(people: Floats, models: Floats) -> float:
    """Share of pairs whose sum is above 0, and half of those where it is 0; `models` sorted.

    >>> _share_right(np.array([-0.1, 0.1]), np.array([-0.3, 0.1, 0.2]))
    0.5833333333333333
    """
    ordered = np.sort(people)
    below = np.searchsorted(models, -TIE - ordered, side="left")
    up_to = np.searchsorted(models, TIE - ordered, side="right")
    return 1.0 - float((below + up_to).mean()) / (2 * len(models))

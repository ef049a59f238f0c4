"""How often intervals hold the truth in small studies, up to accuracies of 100%, at which nothing varies, or of ties alone.

A study: people and test cases have normal effects on a logit scale, around a mean accuracy that is the truth; a second study, or
arm, of other people judges the same, or other, test cases. Models are right on average as often as their truth says. A team is its best
member but for a few trials, more of them on some test cases than on others; or it decides, by a human, the test cases that its member
ties on. `python -m tests.analysis.coverage.edges` measures anew, keeps the
figures and writes the table of docs/results.md.
"""

import json
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from scipy import optimize, special

from analysis.stats.reliance.trials import AdvisedTrials, difference
from analysis.stats.two_groups import Sample, two_samples
from analysis.stats.two_way_clustered import (
    Deviations,
    TwoWay,
    of_changes,
    over_items,
    rarer,
    two_way,
)

HERE = Path(__file__).parent
MEASURED = HERE / "edges.json"
BEGIN, END = "<!-- edges: measured, not written by hand -->\n", "<!-- edges end -->"
SD_PEOPLE, SD_ITEMS = 0.4, 0.8  # logits
TRUTHS = (0.5, 0.7, 0.9, 0.95, 0.98, 1.0)
SIZES = ((5, 10), (20, 20), (10, 200), (100, 20), (100, 200))  # people, test cases
EACH = 10  # test cases that a person judges
TARGET = 0.93

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(60)


def intercept(accuracy: float, sd: float) -> float:
    """Logit around which normal effects give this mean accuracy."""
    if accuracy == 1:
        return math.inf
    weights = _WEIGHTS / _WEIGHTS.sum()
    return float(
        optimize.brentq(lambda a: weights @ special.expit(a + sd * _NODES) - accuracy, -20.0, 20.0)
    )


@dataclass(frozen=True)
class Judged:
    """Trials: (n,) who, item and whether right; effects: (items,) of the test cases, in logits."""

    who: np.ndarray
    item: np.ndarray
    right: np.ndarray
    effects: np.ndarray


def judged(
    size: tuple[int, int],
    accuracy: float,
    rng: np.random.Generator,
    effects: np.ndarray | None = None,
) -> Judged:
    n_people, n_items = size
    of_people = rng.normal(0, SD_PEOPLE, n_people)
    of_items = rng.normal(0, SD_ITEMS, n_items) if effects is None else effects
    order, each = rng.permutation(n_items), min(EACH, n_items)
    item = order[(rng.integers(0, n_items, n_people)[:, None] + np.arange(each)) % n_items].ravel()
    who = np.repeat(np.arange(n_people), each)
    logit = intercept(accuracy, math.hypot(SD_PEOPLE, SD_ITEMS)) + of_people[who] + of_items[item]
    right = (rng.random(len(who)) < special.expit(logit)).astype(float)
    return Judged(who, item, right, of_items)


Interval = tuple[float, float]


def models_minus_people(
    size: tuple[int, int], people: float, models: float, rng: np.random.Generator, n_models: int
) -> Interval:
    known = judged(size, people, rng)
    own = 0.5 * known.effects + math.sqrt(0.75) * rng.normal(0, SD_ITEMS, size[1])
    p = special.expit(intercept(models, SD_ITEMS) + own)
    share = (rng.random((n_models, size[1])) < p).mean(axis=0)
    return Deviations.of(known.who, known.item, known.right).difference_error(share).ci95


def second_minus_first_arm(
    size: tuple[int, int], first: float, second: float, rng: np.random.Generator
) -> Interval | None:
    one = judged(size, first, rng)
    two = judged(size, second, rng, one.effects)
    who, item = np.r_[one.who, two.who + size[0]], np.r_[one.item, two.item]
    nothing = np.full(len(who), np.nan)
    trials = AdvisedTrials(who, item, nothing, nothing, *[nothing] * 12)
    is_second = np.arange(len(who)) >= len(one.who)
    return difference(trials, np.r_[one.right, two.right], is_second).ci95


def second_minus_first_study(
    size: tuple[int, int], first: float, second: float, rng: np.random.Generator
) -> Interval | None:
    samples = []
    for accuracy in (first, second):
        own = judged(size, accuracy, rng)
        error = two_way(own.who, own.item, own.right)
        n_rare = rarer(error.estimate, len(own.right))
        samples.append(Sample(error.estimate, error.se, error.n_clusters, n_rare))
    found = two_samples(*samples)
    return found.ci95 if found else None


def team_minus_best(
    size: tuple[int, int], gained: float, lost: float, rng: np.random.Generator
) -> Interval:
    """Shares of trials that are gained and lost, each on some test cases more than on others."""
    known = judged(size, 0.5, rng)
    often = np.exp(rng.normal(-(SD_ITEMS**2) / 2, SD_ITEMS, (2, size[1])))[
        :, known.item
    ]  # of mean 1
    tossed = rng.random(len(known.item))
    more = (tossed < gained * often[0]).astype(float) - (tossed > 1 - lost * often[1])
    error: Callable[[np.ndarray], TwoWay] = partial(two_way, known.who, known.item)
    return of_changes(more, error, known.item).ci95


def accuracy_of_people(
    size: tuple[int, int], accuracy: float, _: float, rng: np.random.Generator
) -> Interval:
    known = judged(size, accuracy, rng)
    return two_way(known.who, known.item, known.right).share_ci95


def points_of_a_model(
    effects: np.ndarray, accuracy: float, ties: float, rng: np.random.Generator
) -> np.ndarray:
    """accuracy: where it decides."""
    p = special.expit(intercept(accuracy, SD_ITEMS) + effects)
    right = (rng.random(len(effects)) < p).astype(float)
    return np.where(rng.random(len(effects)) < ties, 0.5, right)


def accuracy_of_a_model(
    size: tuple[int, int], accuracy: float, ties: float, rng: np.random.Generator
) -> Interval:
    effects = rng.normal(0, SD_ITEMS, size[1])
    return over_items(points_of_a_model(effects, accuracy, ties, rng)).share_ci95


def tying_minus_people(
    size: tuple[int, int], people: float, ties: float, rng: np.random.Generator
) -> Interval:
    known = judged(size, people, rng)
    points = points_of_a_model(known.effects, DECIDED, ties, rng)
    return Deviations.of(known.who, known.item, known.right).difference_error(points).ci95


def team_minus_tying(
    size: tuple[int, int], people: float, ties: float, rng: np.random.Generator
) -> Interval:
    known = judged(size, people, rng)
    more = np.where((rng.random(size[1]) < ties)[known.item], known.right - 0.5, 0.0)
    error: Callable[[np.ndarray], TwoWay] = partial(two_way, known.who, known.item)
    return of_changes(more, error, known.item).ci95


@dataclass(frozen=True)
class Held:
    """Share of n studies whose interval holds the truth; first and second: what `cell` takes."""

    what: str
    n_people: int
    n_items: int
    first: float
    second: float
    n: int
    holds: float


KINDS: dict[str, Callable[..., Interval | None]] = {
    "one model minus people": partial(models_minus_people, n_models=1),
    "four models minus people": partial(models_minus_people, n_models=4),
    "second minus first arm": second_minus_first_arm,
    "second minus first study": second_minus_first_study,
}
PAIRED = "team minus its best member"
RARE = (0.0, 0.002, 0.01, 0.05)  # shares of trials gained, or lost
TIES = (0.0, 0.1, 0.5, 0.9, 1.0)  # shares of test cases
DECIDING = (0.5, 0.7, 0.95, 1.0)  # accuracies where a model decides, or of people
DECIDED = 0.9  # accuracy of a model where it decides
TYING: dict[str, tuple[Callable[..., Interval], Callable[[float, float], float]]] = {
    "accuracy of people": (accuracy_of_people, lambda people, _: people),
    "accuracy of a model with ties": (
        accuracy_of_a_model,
        lambda accuracy, ties: ties / 2 + (1 - ties) * accuracy,
    ),
    "one model with ties minus people": (
        tying_minus_people,
        lambda people, ties: ties / 2 + (1 - ties) * DECIDED - people,
    ),
    "team minus a member with ties": (team_minus_tying, lambda people, ties: ties * (people - 0.5)),
}  # interval, and truth, by accuracy and share of ties


def cell(what: str, size: tuple[int, int], first: float, second: float, n: int) -> Held:
    if what in TYING:
        kind, known = TYING[what]
        truth = known(first, second)
    else:
        kind = team_minus_best if what == PAIRED else KINDS[what]
        truth = first - second if what == PAIRED else second - first
    rng = np.random.default_rng([2026, *size, int(1e4 * first), int(1e4 * second)])
    found = [kind(size, first, second, rng) for _ in range(n)]
    ends = np.array([one for one in found if one is not None])
    holds = (ends[:, 0] <= truth + 1e-12) & (ends[:, 1] >= truth - 1e-12)
    return Held(what, *size, first, second, len(ends), float(holds.mean()))


def cells() -> Iterator[tuple[str, tuple[int, int], float, float]]:
    """The arguments of `cell` for each difference, size and pair of truths."""
    for what, size, first, second in product(KINDS, SIZES, TRUTHS, TRUTHS):
        if not (what.startswith("second") and first > second):  # the same the other way round
            yield what, size, first, second
    for size, gained, lost in product(SIZES, RARE, RARE):
        if gained >= lost:
            yield PAIRED, size, gained, lost
    for what, size, accuracy, ties in product(TYING, SIZES, DECIDING, TIES):
        if not (what == "accuracy of people" and ties):
            yield what, size, accuracy, ties


def measured() -> tuple[Held, ...]:
    return tuple(Held(**row) for row in json.loads(MEASURED.read_text()))


def lines(rows: tuple[Held, ...]) -> str:
    """A row for each interval: the lowest and the mean coverage of all truths, by size."""
    heads = [f"{people} people, {items} items" for people, items in SIZES]
    found = [f"| interval of | {' | '.join(heads)} |", "|---|" + "---|" * len(heads)]
    for what in (*KINDS, PAIRED, *TYING):
        texts = []
        for size in SIZES:
            own = [r.holds for r in rows if r.what == what and (r.n_people, r.n_items) == size]
            texts.append(f"{100 * min(own):.1f} ({100 * sum(own) / len(own):.1f})")
        found.append(f"| {what} | {' | '.join(texts)} |")
    return "\n".join(found) + "\n"


N_STUDIES = 1000


def main() -> None:
    from tests.analysis.coverage.table import DOCS

    with ProcessPoolExecutor(2) as pool:
        known = zip(*cells(), strict=True)
        rows = tuple(pool.map(partial(cell, n=N_STUDIES), *known, chunksize=4))
    MEASURED.write_text("[\n" + ",\n".join(json.dumps(asdict(row)) for row in rows) + "\n]\n")
    before, rest = DOCS.read_text().split(BEGIN)
    DOCS.write_text(before + BEGIN + lines(rows) + END + rest.split(END)[1])
    print(lines(rows))


if __name__ == "__main__":
    main()

"""How often each 95% interval of the report and of teams holds the truth, in simulated studies whose truth is known.

A study: participants and items have normal effects on a logit scale, each person judges some of the items; two models whose
difference of perplexities follows the items' effect. Truths are integrals over that population, or means over the studies
(of what is fitted anew in each). `measure` gives a row for each interval and size: share of studies whose interval holds the
truth, below it, above it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import special

from analysis.stats.agreement import noise_ceiling, pairs, rank_correlations
from analysis.stats.calibration import calibration_error
from analysis.stats.crossed_bootstrap import (
    crossed_bootstrap,
    mean_correlations,
    spread,
    with_error,
)
from analysis.stats.estimates import mcnemar, mean_of, proportion, spearman
from analysis.stats.two_way_clustered import Deviations, over_items
from analysis.teams.domain.evaluation import evaluate
from analysis.teams.domain.evidence import Evidence
from analysis.teams.domain.folds import Draws, by_item
from analysis.teams.domain.logistic import Logistic
from analysis.teams.domain.sizes import sizes
from analysis.teams.results import Member, MemberKind, Method

RESAMPLES = 400
SD_PEOPLE, SD_ITEMS, MEAN = 0.4, 0.8, 0.6  # logits, as in the published human-created items
N_MODELS = 4
MODEL_MEAN, MODEL_ITEM = (
    1.1,
    0.5,
)  # latent difference of perplexities: mean, weight of an item's effect


@dataclass(frozen=True)
class Size:
    name: str
    n_people: int
    n_items: int
    each: int  # items that a person judges


SIZES = (Size("small", 20, 20, 6), Size("middle", 60, 60, 8), Size("published", 170, 200, 6))


@dataclass(frozen=True)
class Study:
    who: np.ndarray
    item: np.ndarray
    right: np.ndarray  # of trials, 0 or 1
    stated: np.ndarray  # of trials, the probability of being right that people state
    gaps: np.ndarray  # (models, items) differences of perplexities, > 0 right
    n_items: int

    @property
    def model_right(self) -> np.ndarray:
        return (self.gaps > 0).astype(float)

    @property
    def item_accuracy(self) -> np.ndarray:
        n = np.bincount(self.item, minlength=self.n_items)
        k = np.bincount(self.item, self.right, self.n_items)
        return np.where(n > 0, k / np.maximum(n, 1), np.nan)


def draw(size: Size, rng: np.random.Generator) -> Study:
    u, v = rng.normal(0, SD_PEOPLE, size.n_people), rng.normal(0, SD_ITEMS, size.n_items)
    # A person's items in a shuffled circle, so that items are judged about equally often
    order = np.concatenate(
        [
            rng.permutation(size.n_items)
            for _ in range(size.n_people * size.each // size.n_items + 2)
        ]
    )
    item = np.concatenate(
        [_distinct(order, p * size.each, size.each) for p in range(size.n_people)]
    )
    who = np.repeat(np.arange(size.n_people), size.each)
    logit = MEAN + u[who] + v[item]
    right = (rng.random(len(who)) < special.expit(logit)).astype(float)
    stated = special.expit(1.5 * np.abs(logit + rng.normal(0, 1, len(who))))
    gaps = (
        MODEL_MEAN
        + MODEL_ITEM * v / SD_ITEMS
        + rng.normal(0, 0.6, size.n_items)  # what models share beyond people
        + rng.normal(0, 0.7, (N_MODELS, size.n_items))
    )
    return Study(who, item, right, stated, gaps, size.n_items)


def _distinct(order: np.ndarray, start: int, n: int) -> np.ndarray:
    """The next n different items."""
    found = list(dict.fromkeys(order[start : start + 3 * n].tolist()))[:n]
    return np.array(found)


Found = dict[str, tuple[float, tuple[float, float] | None]]  # name -> estimate, interval
Said = tuple[np.ndarray, np.ndarray]  # probabilities that a team stated, and whether it was right


def intervals(study: Study, seed: int) -> tuple[Found, Said]:
    """Every interval of a study, with its estimate; and what the team said."""
    who, item, right, models = study.who, study.item, study.right, study.model_right
    share = models.mean(axis=0)
    drawn = crossed_bootstrap(who, item, right, models, resamples=RESAMPLES, seed=seed)
    known = Deviations.of(who, item, right)
    people, gap, model = (
        known.accuracy_error(),
        known.difference_error(share),
        over_items(models[0]),
    )
    raw = spread(drawn.humans).ci95
    mean_gap = drawn.models.mean(axis=1) - drawn.humans
    found: Found = {
        "human accuracy: single trials (Wilson), for comparison": _of(
            proportion(right).accuracy, proportion(right).ci95
        ),
        "human accuracy: unscaled bootstrap, not used in the report": _of(people.estimate, raw),
        "human accuracy: crossed bootstrap": _of(
            people.estimate, spread(with_error(drawn.humans, people, (0, 1))).ci95
        ),
        "human accuracy: two-way": _of(people.estimate, people.share_ci95),
        "accuracy of a model: items (Wilson)": _of(model.estimate, proportion(models[0]).ci95),
        "accuracy of a model: crossed bootstrap": _of(
            model.estimate, spread(with_error(drawn.models[:, 0], model, (0, 1))).ci95
        ),
        "accuracy of a model: two-way": _of(model.estimate, model.share_ci95),
        "models minus humans: crossed bootstrap": _of(
            gap.estimate, spread(with_error(mean_gap, gap)).ci95
        ),
        "models minus humans: two-way": _of(gap.estimate, gap.ci95),
        "mean over items (Student's t)": _mean(study.item_accuracy),
    }
    found |= _correlations(study, seed)
    found |= _calibration(study, seed)
    change = mcnemar(models[0], models[1])
    found["change of accuracy on the same items (Agresti and Min)"] = _of(
        change.difference, change.ci95
    )
    of_team, said = _team(study, seed)
    return found | of_team, said


def _of(value: float, ci95: tuple[float, float] | None) -> tuple[float, tuple[float, float] | None]:
    return value, ci95


def _mean(values: np.ndarray) -> tuple[float, tuple[float, float] | None]:
    found = mean_of(values)
    return found.mean, found.ci95


def _correlations(study: Study, seed: int) -> Found:
    people = study.item_accuracy
    means = mean_correlations(study.gaps, people, seed=seed, resamples=RESAMPLES)
    with_people = [spearman(row, people) for row in study.gaps]
    n = np.bincount(study.item, minlength=study.n_items)
    k = np.bincount(study.item, study.right, study.n_items)
    ceiling = noise_ceiling(k, n, n_splits=100, seed=seed)
    return {
        "model and people (Spearman, Bonett and Wright)": _of(
            with_people[0].rho, with_people[0].ci95
        ),
        "models among themselves (mean rank correlation)": _of(
            pairs(rank_correlations(study.gaps)).mean, means.among
        ),
        "models and people (mean rank correlation)": _of(
            float(np.mean([one.rho for one in with_people])), means.with_other
        ),
        "reliability of people's item means": _of(ceiling.spearman_brown, ceiling.ci95),
    }


def _calibration(study: Study, seed: int) -> Found:
    people = calibration_error(
        study.stated, study.right, study.who, study.item, low=0.5, n_bins=10, seed=seed
    )
    probability = _model_probability(study.gaps[0])
    model = calibration_error(probability, study.model_right[0], seed=seed)
    return {
        "calibration error of people": _of(people.value, people.ci95),
        "calibration error of a model": _of(model.value, model.ci95),
    }


def _model_probability(gaps: np.ndarray) -> np.ndarray:
    """Too sure by a fixed rule."""
    p: np.ndarray = special.expit(0.2 + 1.2 * np.abs(gaps))
    return p


def evidence_of(study: Study) -> Evidence:
    """A human and two models on the study's trials."""
    truth = np.random.default_rng(len(study.who)).choice([-1.0, 1.0], study.n_items)[study.item]
    rated = np.where(study.right > 0, 1, -1) * 100 * (2 * study.stated - 1)
    towards = np.column_stack([rated, study.gaps[:2, study.item].T])
    members = (
        Member("human", MemberKind.HUMAN, "Human"),
        *(Member(f"m{k}", MemberKind.MODEL, f"M{k}") for k in range(2)),
    )
    n, signed = np.arange(len(study.who)), towards * truth[:, None]
    return Evidence(members, study.item, truth, signed, signed, study.who[:, None], n[:, None])


def _team(study: Study, seed: int) -> tuple[Found, Said]:
    evidence = evidence_of(study)
    folds = by_item(evidence)
    draws = Draws.of(evidence, RESAMPLES, seed)
    held = Logistic().held_out(evidence, folds)
    result = evaluate(evidence, held, Method.LOGISTIC, draws)
    cell = sizes(evidence, folds, seed).cells[-1]
    found: Found = {
        "team: accuracy": _of(result.accuracy, result.accuracy_ci95),
        "team: log loss": _of(result.log_loss_nats, result.log_loss_nats_ci95),
        "team: Brier score": _of(result.brier, result.brier_ci95),
        "team: calibration error": _of(result.calibration_error, result.calibration_error_ci95),
        "team: at least one member is right": _of(
            result.selector_accuracy, result.selector_accuracy_ci95
        ),
        "teams by size: expected accuracy": _of(cell.accuracy, cell.accuracy_ci95),
    }
    if result.gain is not None:
        found["team: gain"] = _of(result.gain, result.gain_ci95)
    return found, (np.maximum(held.p_original, 1 - held.p_original), held.points)


def truths(every: list[Found], said: list[Said], rng: np.random.Generator) -> dict[str, float]:
    """The mean over studies; of calibration errors, which are biased upwards, that of very many judgments together."""
    names = list(dict.fromkeys(name for found in every for name in found))
    known = {name: float(np.mean([f[name][0] for f in every if name in f])) for name in names}
    many = draw(Size("", 4000, 2000, 50), rng)
    people = calibration_error(many.stated, many.right, low=0.5, n_bins=10)
    gaps = rng.normal(MODEL_MEAN, np.sqrt(MODEL_ITEM**2 + 0.6**2 + 0.7**2), 300_000)
    model = calibration_error(_model_probability(gaps), gaps > 0)
    of_team = calibration_error(*map(np.concatenate, zip(*said, strict=True)), low=0.5, n_bins=10)
    return known | {
        "team: calibration error": of_team.value,
        "calibration error of people": people.value,
        "calibration error of a model": model.value,
        "models among themselves (mean rank correlation)": pairs(rank_correlations(many.gaps)).mean,
    }


@dataclass(frozen=True)
class Coverage:
    """Shares of studies: the interval holds the truth, lies wholly below it, above it; n studies that have one."""

    interval: str
    size: str
    n: int
    holds: float
    below: float
    above: float


def measure(size: Size, n_studies: int, seed: int = 2026) -> Iterator[Coverage]:
    streams = np.random.SeedSequence([seed, size.n_items]).spawn(n_studies + 1)
    drawn = (draw(size, np.random.default_rng(s)) for s in streams[1:])
    every, said = map(list, zip(*(intervals(one, k) for k, one in enumerate(drawn)), strict=True))
    truth = truths(every, said, np.random.default_rng(streams[0]))
    for name in truth:
        ends = np.array([f[name][1] for f in every if f.get(name, (0, None))[1] is not None])
        if len(ends):
            below, above = (ends[:, 1] < truth[name]).mean(), (ends[:, 0] > truth[name]).mean()
            yield Coverage(
                name, size.name, len(ends), float(1 - below - above), float(below), float(above)
            )

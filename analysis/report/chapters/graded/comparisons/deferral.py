"""Model and person: the model's answer where it is sure, else a person's to the same question."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from analysis.data.graded.tables import NO_TEXT, AnswererName, GradedData
from analysis.report.chapters.graded.counts import question_clusters
from analysis.stats import NotEnough
from analysis.stats.arrays import Bools, Floats, Interval, Ints
from analysis.stats.graded import ABSTAINED, GOOD
from analysis.stats.graded.ratios import FEWEST_CLUSTERS, Ratio, ratio, share_interval
from analysis.teams.domain.deferral import Asked, Judges, choose_threshold, who_decides
from analysis.teams.domain.deferred_answers import deferring
from analysis.teams.domain.folds import Folds
from analysis.teams.results import Policy

FEWEST = 10  # of people's answers to questions that the model answered, too
BLOCKS = 10
METHOD = (
    "Each person's answer beside the model's to the same question, both graded by one judge. A person is asked first where the model "
    "abstains or came to no text, then where its confidence is lowest, all answers to a question together. The threshold is the one with the most "
    "good answers in nine tenths of the templates (questions without one), tried on the last tenth, in turn; its gain is over "
    "the better of model and people alone. 95% intervals clustered by template."
)


@dataclass(frozen=True)
class Asking:
    """A person is asked for this share of the answers: how many then are good, and were as many asked at random."""

    share_asked: float
    good: float
    good_ci95: Interval | None
    at_random: float


@dataclass(frozen=True)
class Threshold(Asking):
    """confidence: below which a person is asked, 0 (never) to 100, the median of several; gain: over the better alone."""

    confidence: float
    gain: float
    gain_ci95: Interval | None


@dataclass(frozen=True)
class Deferral(AnswererName):
    """Of n of people's answers to n_questions that the model answered; model, people: good ones of each alone.

    abstaining: asked where the model abstains or came to no text. points: from nobody to everybody asked, empty where a
    confidence is not known; threshold: None there, and below three templates.
    """

    n: int
    n_questions: int
    model: float
    people: float
    abstaining: Asking
    points: tuple[Asking, ...]
    threshold: Threshold | None


@dataclass(frozen=True)
class Deferrals:
    """Models graded by the judge of people's answers."""

    models: tuple[Deferral, ...]
    is_simulated: bool
    method: str = METHOD


def defer(data: GradedData) -> Deferrals:
    """Raises NotEnough where no model has answered what people have, or another judge graded it."""
    models, is_people = data.models, data.models["is_people"].to_numpy()
    people = [m for m in data.judged_models() if is_people[m]]
    same = models["judge"] == models["judge"].iloc[people[0]] if people else is_people
    found = [
        one
        for model in data.judged_models()
        if not is_people[model] and same[model] and (one := _deferral(data, model, people[0]))
    ]
    if not found:
        raise NotEnough(
            "No model and people have answers to the same questions that one judge graded.",
            "Let participants answer questions that models answer, and one judge grade both.",
        )
    return Deferrals(tuple(found), data.is_simulated)


def deferral_table(own: Deferrals) -> pd.DataFrame:
    return pd.DataFrame([row for model in own.models for row in _rows(model)])


def _deferral(data: GradedData, model: int, people: int) -> Deferral | None:
    graded = data.need_graded()
    own = graded[graded["model"] == model].drop_duplicates("question").set_index("question")
    theirs = graded[(graded["model"] == people) & graded["question"].isin(own.index)]
    if len(theirs) < FEWEST:
        return None
    question = theirs["question"].to_numpy()
    beside = own.loc[question]
    gives = ~beside["fate"].isin([ABSTAINED, NO_TEXT]).to_numpy()
    sure = beside["confidence"].to_numpy() / 100
    has_confidence = bool(np.isfinite(sure[gives]).all() and len(np.unique(sure[gives])) > 1)
    confidence = np.where(gives, sure if has_confidence else 1.0, 0.0)
    good = [(rows["fate"] == GOOD).to_numpy() for rows in (beside, theirs)]
    judges = deferring(confidence, *good)
    cluster = np.unique(data.cached(question_clusters)[question], return_inverse=True)[1]
    points = [one for _, one in who_decides(question, judges)] if has_confidence else []
    return Deferral(
        **data.model_name(model),
        n=len(theirs),
        n_questions=len(np.unique(question)),
        model=float(good[0].mean()),
        people=float(good[1].mean()),
        abstaining=_asking(judges, judges.asked(Policy.HUMAN, 0.5, ~gives), cluster),
        points=tuple(_asking(judges, one, cluster) for one in points),
        threshold=_threshold(judges, cluster, data.seed) if has_confidence else None,
    )


def _asking(judges: Judges, asked: Asked, cluster: Ints) -> Asking:
    interval = share_interval(_mean(asked.right, cluster), len(cluster))
    return Asking(asked.share, asked.accuracy, interval, judges.random_accuracy(asked))


def _threshold(judges: Judges, cluster: Ints, seed: int) -> Threshold | None:
    """Tried on templates other than those that it was found on."""
    n = int(cluster.max()) + 1
    if n < FEWEST_CLUSTERS:
        return None
    block = (np.random.default_rng(seed).permutation(n) % min(BLOCKS, n))[cluster]
    (asked,) = choose_threshold(Folds(block, block, None, "blocks of templates"), judges, seed=seed)
    alone = max(judges.model_right, judges.others_right[Policy.HUMAN], key=np.mean)
    gain = _mean(asked.right.astype(float) - alone, cluster)
    half = float(special.stdtrit(gain.df, 0.975)) * gain.se
    return Threshold(
        **asdict(_asking(judges, asked, cluster)),
        confidence=100 * (2 * asked.threshold - 1),
        gain=gain.value,
        gain_ci95=(max(-1.0, gain.value - half), min(1.0, gain.value + half)),
    )


def _mean(values: Bools | Floats, cluster: Ints) -> Ratio:
    return ratio(np.bincount(cluster, values), np.bincount(cluster))


def _rows(model: Deferral) -> Iterator[dict[str, Any]]:
    named = [
        ("model abstains", model.abstaining),
        *(("least confident", point) for point in model.points),
        *([("threshold", model.threshold)] if model.threshold else []),
    ]
    for asked_where, asking in named:
        low, high = asking.good_ci95 or (np.nan, np.nan)
        yield {
            "name": model.name,
            "asked_where": asked_where,
            "n": model.n,
            "share_asked": asking.share_asked,
            "good": asking.good,
            "ci_low": low,
            "ci_high": high,
            "at_random": asking.at_random,
            "confidence": asking.confidence if isinstance(asking, Threshold) else np.nan,
            "gain": asking.gain if isinstance(asking, Threshold) else np.nan,
        }

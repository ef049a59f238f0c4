"""Rates freed of the judge's errors, and under other thresholds."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis.codec import present, try_estimate
from analysis.data.graded.tables import NOT_GRADED, AnswererName, GradedData
from analysis.report.chapters.graded.counts import codes, question_clusters
from analysis.stats import NotEnough
from analysis.stats.arrays import Interval
from analysis.stats.graded import FATES
from analysis.stats.graded.correction import METHOD, Corrected, CorrectedRates, corrected_rates
from analysis.stats.graded.rates import Share
from analysis.stats.graded.sensitivity import Sensitivity, by_threshold

RATES = ("rqr", "sr", "ar")
THRESHOLDS = (
    "An answer is good from each of these shares of its rubric's points; besides what the rubric says, points below 0, grades that "
    "cannot be read, or answers that have no text, count as abstentions. Intervals as of the rates themselves."
)


@dataclass(frozen=True)
class ModelCorrected(AnswererName):
    """A model's rates by the judge, by people of their sample, and corrected. n_contested: of the sample, not settled."""

    judge: str
    n_contested: int
    found: CorrectedRates


@dataclass(frozen=True)
class CorrectedModels:
    """Of the models that a judge and people graded by one rubric; other_rubric: labels of those of two rubrics."""

    models: tuple[ModelCorrected, ...]
    other_rubric: tuple[str, ...]
    is_simulated: bool
    method: str = METHOD


@dataclass(frozen=True)
class Varied:
    """A rate of n answers; is_unclustered: its interval takes rows for independent that are not."""

    value: float
    n: int
    ci95: Interval
    is_unclustered: bool


@dataclass(frozen=True)
class Threshold:
    """Rates where an answer is good from that share of the points; is_rule: as the rubric has it. sr: None not defined."""

    good_from: float
    abstaining: str
    is_rule: bool
    rqr: Varied
    sr: Varied | None
    ar: Varied
    quadrant: str


@dataclass(frozen=True)
class ModelThresholds(AnswererName):
    """thresholds: each share of the points under each reading of abstentions."""

    thresholds: tuple[Threshold, ...]

    @property
    def quadrants(self) -> list[str]:
        """Those that it is in under one threshold or another."""
        return list(dict.fromkeys(one.quadrant for one in self.thresholds if one.quadrant))

    @property
    def readings(self) -> list[Threshold]:
        """At the rubric's own share of the points."""
        (rule,) = (one.good_from for one in self.thresholds if one.is_rule)
        return [one for one in self.thresholds if one.good_from == rule]


@dataclass(frozen=True)
class Thresholds:
    models: tuple[ModelThresholds, ...]
    is_simulated: bool
    method: str = THRESHOLDS

    @property
    def shares(self) -> list[float]:
        """Every share of the points from which answers are good, ascending."""
        every = {round(one.good_from, 9): one.good_from for model in self.models for one in model.thresholds}  # fmt: skip
        return [every[share] for share in sorted(every)]


def correct(data: GradedData) -> CorrectedModels:
    """Raises NotEnough where people graded no answer that a judge graded by the same rubric."""
    judge = data.models["judge"].tolist()
    judged = [model for model in data.judged_models() if judge[model] >= 0]
    alike = [model for model in judged if data.grades_as_people(judge[model])]
    models = [
        ModelCorrected(
            **data.model_name(model),
            judge=str(data.judges["name"].iloc[judge[model]]),
            n_contested=int(_rows(data, model)["is_contested"].sum()),
            found=found,
        )
        for model in alike
        if (found := present(try_estimate(_corrected, data, model)))
    ]
    if not models:
        raise NotEnough(
            "People graded no answer that a judge graded by the same rubric.",
            "Let people grade a sample.",
        )
    other = [AnswererName(**data.model_name(model)).label for model in judged if model not in alike]
    return CorrectedModels(tuple(models), tuple(other), data.is_simulated)


def vary(data: GradedData) -> Thresholds:
    """Raises NotEnough without graded answers."""
    models = tuple(_thresholds(data, model) for model in data.judged_models())
    return Thresholds(models, data.is_simulated)


def corrected_table(own: CorrectedModels) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"name": model.name, "judge": model.judge, "rate": rate, **_columns(found), "n_contested": model.n_contested}
            for model in own.models
            for rate in RATES
            if (found := getattr(model.found, rate)) is not None
        ]
    )  # fmt: skip


def threshold_table(own: Thresholds) -> pd.DataFrame:
    """A row for each model, threshold and reading, with each rate, its denominator and its interval."""
    return pd.DataFrame(
        [
            {
                "name": model.name,
                "good_from": one.good_from,
                "abstaining": one.abstaining,
                "is_rule": one.is_rule,
                **{key: value for rate in RATES for key, value in _varied(rate, getattr(one, rate)).items()},
                "quadrant": one.quadrant,
            }
            for model in own.models
            for one in model.thresholds
        ]
    )  # fmt: skip


def _varied(rate: str, found: Varied | None) -> dict[str, Any]:
    low, high = found.ci95 if found else (np.nan, np.nan)
    return {
        rate: found.value if found else np.nan,
        f"{rate}_n": found.n if found else 0,
        f"{rate}_low": low,
        f"{rate}_high": high,
    }


def _rows(data: GradedData, model: int) -> pd.DataFrame:
    answers = data.answers
    return answers[(answers["model"] == model) & (answers["fate"] != NOT_GRADED)]


def _corrected(data: GradedData, model: int) -> CorrectedRates:
    rows = _rows(data, model)
    judge = [FATES[code] for code in codes(rows["fate"])]
    human = [
        None if np.isnan(value) else data.rubric.fate(value).value for value in rows["human_points"]
    ]
    return corrected_rates(judge, human, _clusters(data, rows), has_text=rows["has_text"].tolist())


def _thresholds(data: GradedData, model: int) -> ModelThresholds:
    rows = _rows(data, model)
    found = by_threshold(
        rows["points"].tolist(),
        data.rubric_of(model),
        _clusters(data, rows),
        has_text=rows["has_text"].tolist(),
    )
    return ModelThresholds(**data.model_name(model), thresholds=tuple(map(_threshold, found)))


def _threshold(found: Sensitivity) -> Threshold:
    own, quadrant = found.rates, found.rates.rates.quadrant
    return Threshold(
        found.good_from,
        found.abstaining.value,
        found.is_rule,
        _of_share(own.rqr),
        _of_share(own.sr) if own.sr else None,
        _of_share(own.ar),
        quadrant.value if quadrant else "",
    )


def _of_share(share: Share) -> Varied:
    return Varied(share.value, share.n, share.ci95, share.is_unclustered)


def _clusters(data: GradedData, rows: pd.DataFrame) -> list[int]:
    found: list[int] = data.cached(question_clusters)[rows["question"].to_numpy()].tolist()
    return found


def _columns(found: Corrected) -> dict[str, Any]:
    low, high = found.ci95 or (np.nan, np.nan)
    people_low, people_high = found.human.ci95 or (np.nan, np.nan)
    return {
        "n": found.n,
        "n_with_text": found.n_text,
        "n_by_people": found.n_sample,
        "judge_value": found.judge.value,
        "judge_low": found.judge.ci95[0],
        "judge_high": found.judge.ci95[1],
        "people": found.human.value,
        "people_low": people_low,
        "people_high": people_high,
        "corrected": found.value,
        "corrected_low": low,
        "corrected_high": high,
    }

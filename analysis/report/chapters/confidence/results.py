"""Confidence and accuracy: people's slider, models' difference of perplexities."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis import columns as c
from analysis.codec import MissingResult, need, present, try_estimate
from analysis.data.dataset import Floats, ModelName, SourceData
from analysis.report.chapter import Built
from analysis.stats import NotEnough, families
from analysis.stats.arrays import Interval
from analysis.stats.calibration import (
    Binned,
    CalibrationError,
    Line,
    binned,
    calibration_error,
)
from analysis.stats.distributions import P80, Distribution, distribution
from analysis.stats.families import Family, family
from analysis.stats.logistic import Logistic, fit_slope, held_out_probability, logistic
from analysis.stats.table_s3 import NOTE, TableRow, table_s3
from analysis.stats.trial_slope import TrialSlope, trial_slope
from analysis.stats.verdicts import CHAPTER, HOLM, OF_ITEMS, Concludes, Verdict, clear_of

HUMAN_ROW = ModelName("human", "Humans", "", "")  # people as a row among the models
# Of rows: who, what carries the name, bin
BINS = (
    *c.data("who=0"),
    *c.model("1"),
    *c.data("family=1.family", "bin=2.bin", "midpoint=2.midpoint", "n=2.n", "accuracy=2.accuracy"),
    *c.data("sem=2.sem", "ci=2.ci95", "score_low=2.score_low", "score_high=2.score_high"),
)
S3 = (
    *c.model(),
    c.text("Who", lambda row: "Humans" if row.name == HUMAN_ROW.name else row.label),
    *c.data("n=fit.n"),
    c.number("Coefficient", "fit.coef_mean", "coef_mean", digits=3),
    c.number("SEM", "fit.coef_sem", "coef_sem", digits=3),
    c.number("Intercept", "fit.intercept_mean", "intercept_mean", digits=3),
    *c.data("intercept_sem=fit.intercept_sem"),
    c.number("t", "fit.t", "t", digits=1),
    *c.data("df=fit.df", "p=fit.p"),
)
HUMAN_RULE = (
    "Confidence from 1 to 100 is interpreted as the probability .5 + .5 confidence / 100 of being correct (our "
    "interpretation); "
)
MODEL_RULE = (
    "Probability of being correct from a logistic fit on the absolute difference of perplexities of the other test "
    "cases"
)
HELD_OUT = "Each test case keeps its held-out probability; the fits are not repeated."
S3_SEED = 42  # the paper's, whatever the report's


@dataclass(frozen=True, kw_only=True)
class ConfidenceFits:
    """Relation of confidence and accuracy: over bins, in a logistic fit to all data, read as a probability."""

    binned: Binned | MissingResult
    logistic: Logistic | MissingResult
    ece: CalibrationError | MissingResult


@dataclass(frozen=True)
class WithoutUntouched:
    """The line over bins without the trials in which neither slider was moved."""

    n: int
    n_untouched: int
    bin_rule: str
    method: str
    line: Line


@dataclass(frozen=True)
class RatingSlope:
    """Accuracy of trials over a rating, per point of it; holm_p and direction as one of the chapter's family."""

    direction: Annotated[
        Verdict,
        Concludes("whether people's accuracy rises with confidence, or expertise", CHAPTER, HOLM),
    ]
    slope: TrialSlope
    holm_p: float


@dataclass(frozen=True, kw_only=True)
class HumanCalibration(ConfidenceFits):
    """slope: log-odds per point of confidence, for other participants and test cases; `logistic` takes trials as independent."""

    slope: RatingSlope | MissingResult
    without_untouched: WithoutUntouched | MissingResult

    @property
    def slope_ci95(self) -> Interval | None:
        """For other participants, on other test cases."""
        found = present(self.slope)
        return found.slope.ci95 if found else None

    @property
    def slope_holm_p(self) -> float | None:
        found = present(self.slope)
        return found.holm_p if found else None


@dataclass(frozen=True, kw_only=True)
class ModelCalibration(ConfidenceFits, ModelName):
    """holm_p, direction: of the logistic slope, as one of the chapter's family; NaN and None where there is none."""

    holm_p: float
    direction: Annotated[
        Verdict | None,
        Concludes(
            "whether a model's accuracy rises with its difference of perplexities",
            CHAPTER,
            HOLM,
            OF_ITEMS,
        ),
    ]

    @property
    def slope_ci95(self) -> Interval | None:
        """On other test cases; the model's decisions are fixed."""
        found = present(self.logistic)
        return found.slope_ci95 if found else None

    @property
    def slope_holm_p(self) -> float:
        return self.holm_p


@dataclass(frozen=True)
class TableS3Row(ModelName):
    """A row of the paper's Table S3: a model, or people under the name `human`."""

    fit: TableRow | MissingResult


@dataclass(frozen=True)
class CalibrationResults:
    humans: HumanCalibration | MissingResult
    models: tuple[ModelCalibration, ...]
    models_tests: Family | None
    table_s3: tuple[TableS3Row, ...]
    table_s3_note: str


@dataclass(frozen=True)
class Calibration:
    calibration: CalibrationResults | MissingResult


def build_calibration(data: SourceData) -> Built:
    """Raises NotEnough with neither trials nor scores."""
    data.need_trials_or_models()
    models = []
    # The paper's Table S3 has a row for each model, and one for people
    names = []
    groups: list[tuple[npt.ArrayLike, npt.ArrayLike]] = []
    for number in data.set_models.tolist():
        score, right = confidence_of(data, number), data.model_decided[number]
        model = ModelCalibration(
            **data.model_name(number),
            binned=try_estimate(binned, score, right),
            logistic=try_estimate(logistic, score, right),
            ece=try_estimate(_model_error, score, right, data.seed),
            holm_p=math.nan,
            direction=None,
        )
        models.append(model)
        names.append(data.model_name(number))
        groups.append((score, right))
    if len(data.trials):
        names.append(asdict(HUMAN_ROW))
        groups.append((data.trials["confidence"], data.trials["is_correct"]))
    fits = zip(names, table_s3(groups, S3_SEED), strict=True)
    s3_rows = tuple(TableS3Row(**who, fit=row) for who, row in fits)

    of_models = [fit.p for model in models if (fit := present(model.logistic))]
    humans = try_estimate(_humans, data, of_models)
    slope = present(humans.slope) if not isinstance(humans, MissingResult) else None
    corrected, together = _family(data, models, [[slope.slope.p]] if slope else [])
    found = CalibrationResults(
        humans=humans,
        models=corrected,
        models_tests=together,
        table_s3=s3_rows,
        table_s3_note=NOTE,
    )

    drawn: list[tuple[str, ModelName, Binned | MissingResult]] = []
    drawn += [("human", HUMAN_ROW, people.binned)] if (people := present(humans)) else []
    drawn += [("model", model, model.binned) for model in corrected]
    bins = [
        (kind, who, one) for kind, who, fit in drawn if (own := present(fit)) for one in own.bins
    ]
    tables = {"calibration_bins": c.tidy(BINS, bins), "table_s3": c.tidy(S3, s3_rows)}
    return Built(Calibration(found), tables)


def confidence_of(data: SourceData, model: int) -> Floats:
    """(items,) |difference of the perplexities of the two versions|, of a model that was asked |log-odds|; NaN where not scored."""
    gap: Floats = np.abs(data.difficulty[model])
    return gap


def _humans(data: SourceData, of_models: Sequence[float]) -> HumanCalibration:
    """of_models: the p values of their slopes."""
    trials = data.need_trials()
    confidence, right = trials["confidence"], trials["is_correct"]
    error = try_estimate(
        calibration_error,
        0.5 + 0.5 * confidence / 100,
        right,
        trials["participant"],
        trials["item"],
        units="participants and items",
        low=0.5,
        n_bins=10,
        seed=data.seed,
    )
    moved = trials["slider_moved"].to_numpy(dtype=bool)
    touched = try_estimate(binned, confidence[moved], right[moved])
    return HumanCalibration(
        binned=try_estimate(binned, confidence, right),
        logistic=try_estimate(logistic, confidence, right),
        slope=try_estimate(_slope_over, "confidence", trials, of_models),
        ece=error
        if isinstance(error, MissingResult)
        else replace(error, rule=HUMAN_RULE + error.rule),
        without_untouched=touched
        if isinstance(touched, MissingResult)
        else WithoutUntouched(
            touched.n, int((~moved).sum()), touched.bin_rule, touched.method, touched.line
        ),
    )


def _family(
    data: SourceData, models: list[ModelCalibration], others: Sequence[Sequence[float]]
) -> tuple[tuple[ModelCalibration, ...], Family | None]:
    """The models with the p values of their slopes corrected, and what is said of these tests; others: as in `family`."""
    slopes = {n: fit.p for n, model in enumerate(models) if (fit := present(model.logistic))}
    if not slopes:
        return tuple(models), None
    errors = np.zeros((data.n_items, len(slopes)))
    for column, n in enumerate(slopes):
        model = int(data.set_models[n])
        score, right = confidence_of(data, model), data.model_decided[model]
        known = ~(np.isnan(score) | np.isnan(right))
        errors[known, column] = fit_slope(score[known], right[known]).influence
    together, holm_p = family(list(slopes.values()), errors, others)
    for n, p in zip(slopes, holm_p.tolist(), strict=True):
        fit = need(models[n].logistic)
        models[n] = replace(models[n], holm_p=p, direction=Verdict.of(fit.slope, p, fit.n))
    sides = [model.direction for model in models if model.direction]
    return tuple(models), clear_of(together, sides)


def _slope_over(value: str, rows: pd.DataFrame, others: Sequence[float]) -> RatingSlope:
    """others: the p values of the chapter's other question."""
    found, _ = trial_slope(rows[value], rows["is_correct"], rows["participant"], rows["item"])
    (p,) = families.together({value: [found.p], "others": others})[value]
    p = math.nan if p is None else p
    return RatingSlope(found.verdict(p), found, p)


def _model_error(score: Floats, right: Floats, seed: int) -> CalibrationError:
    probability, correct, left_out = held_out_probability(score, right, seed)
    found = calibration_error(probability, correct, units="items", seed=seed)
    return replace(
        found,
        rule=f"{MODEL_RULE} ({left_out}); {found.rule}",
        ci_method=f"{found.ci_method} {HELD_OUT}",
    )


# --- How people rate their knowledge of the field of each item, and whether accuracy follows.

EXPERTISE_N_BINS = 4
FITTED = ("expertise", "is_correct", "participant", "item")  # a slope's value, outcome and clusters
# What report.json calls the whole, in `distributions` and in `calibration`
ALL, OVERALL = "All", "overall"
HISTOGRAM = c.data("subfield=0", "low=1.low", "high=1.high", "n=1.n")


@dataclass(frozen=True)
class Percentile80:
    subfield: str
    p80: float
    ci95: Interval | None
    n: int
    method: str


@dataclass(frozen=True)
class Ratings:
    subfield: str
    ratings: Distribution


@dataclass(frozen=True)
class ExpertiseCalibration:
    subfield: str
    binned: Binned | MissingResult


@dataclass(frozen=True)
class SubfieldSlope:
    """The same within a subfield; direction and `holm_p` as one of the chapter's family."""

    subfield: str
    holm_p: float
    direction: Annotated[
        Verdict,
        Concludes("whether people's accuracy rises with expertise in a subfield", CHAPTER, HOLM),
    ]
    slope: TrialSlope


@dataclass(frozen=True)
class SubfieldSlopes:
    """Slopes of the subfields that have one."""

    subfields: tuple[SubfieldSlope, ...]
    tests: Family


@dataclass(frozen=True)
class SelfRatedExpertise:
    """By subfield; `distributions` ends with all trials (`All`), `calibration` begins with them (`overall`)."""

    slope: RatingSlope | MissingResult
    slopes_by_subfield: SubfieldSlopes | MissingResult
    p80_by_subfield: tuple[Percentile80, ...]
    calibration: tuple[ExpertiseCalibration, ...]
    distributions: tuple[Ratings, ...]


@dataclass(frozen=True)
class Expertise:
    expertise: SelfRatedExpertise | MissingResult


def build_expertise(data: SourceData) -> Built:
    """Raises NotEnough without a rated trial."""
    trials = data.need_trials()[["participant", "item", "expertise", "is_correct"]]
    rated = trials[trials["expertise"].notna()]
    if rated.empty:
        raise NotEnough("No trial has a rating of expertise.", "Ask for expertise in the study.")
    subfield = data.items["subfield"].to_numpy()[rated["item"].to_numpy()]
    groups = {
        str(name): rated[subfield == name]
        for name in pd.unique(data.items["subfield"])
        if np.any(subfield == name)
    }
    described = [Ratings(name, distribution(rows["expertise"])) for name, rows in groups.items()]
    # A single subfield has the slope of all trials, which is no second test
    within = groups if len(groups) > 1 else {}
    fits = {
        name: fit
        for name, rows in within.items()
        if (fit := present(try_estimate(trial_slope, *(rows[column] for column in FITTED))))
    }
    slope = try_estimate(_slope_over, "expertise", rated, [own.p for own, _each in fits.values()])
    others = [] if isinstance(slope, MissingResult) else [[slope.slope.p]]
    found = SelfRatedExpertise(
        slope=slope,
        slopes_by_subfield=try_estimate(_slopes, fits, len(data.participants), others)
        if within
        else MissingResult(
            "All rated test cases are of one subfield, whose slope is that over all trials.",
            "Slopes within subfields need at least two.",
        ),
        p80_by_subfield=tuple(
            Percentile80(own.subfield, own.ratings.p80, own.ratings.p80_ci95, own.ratings.n, P80)
            for own in described
        ),
        calibration=tuple(
            ExpertiseCalibration(
                name, try_estimate(binned, rows["expertise"], rows["is_correct"], EXPERTISE_N_BINS)
            )
            for name, rows in ({OVERALL: rated} | groups).items()
        ),
        distributions=(*described, Ratings(ALL, distribution(rated["expertise"]))),
    )
    bars = [(one.subfield, bar) for one in found.distributions for bar in one.ratings.histogram]
    return Built(Expertise(found), {"expertise_histogram": c.tidy(HISTOGRAM, bars)})


def _slopes(
    known: Mapping[str, tuple[TrialSlope, Floats]],
    n_participants: int,
    others: Sequence[Sequence[float]],
) -> SubfieldSlopes:
    """known: of the subfields that have a slope; others: as in `family`. Raises NotEnough where there is none."""
    if not known:
        raise NotEnough(
            "No subfield has enough trials for a slope over expertise.",
            "Let more participants judge more test cases.",
        )
    errors = np.zeros((n_participants, len(known)))
    for n, (_found, each) in enumerate(known.values()):
        errors[: len(each), n] = each
    together, holm_p = family([found.p for found, _each in known.values()], errors, others)
    slopes = tuple(
        SubfieldSlope(name, p, found.verdict(p), found)
        for (name, (found, _each)), p in zip(known.items(), holm_p.tolist(), strict=True)
    )
    return SubfieldSlopes(slopes, clear_of(together, [one.direction for one in slopes]))

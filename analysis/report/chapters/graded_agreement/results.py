"""Grades laid side by side, an answer per row.

Long: three results of one chapter, one after the other.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis import columns as c
from analysis.codec import MissingResult, present, try_estimate
from analysis.data.dataset import SourceData
from analysis.data.graded.tables import NOT_GRADED, AnswererName, GradedData
from analysis.report.chapter import Built
from analysis.report.chapters.graded_rates.results import clusters_of, codes
from analysis.stats import NotEnough
from analysis.stats.arrays import Interval
from analysis.stats.graded import FATES
from analysis.stats.graded.agreement import Agreement, confusion, krippendorff_alpha, weighted_kappa
from analysis.stats.graded.correction import METHOD, Corrected, CorrectedRates, corrected_rates
from analysis.stats.graded.judge_bias import Bias, bias_by_length, corrected, own_family_bias
from analysis.stats.graded.rates import Share
from analysis.stats.graded.scale import on_rubric, on_scale, said
from analysis.stats.graded.sensitivity import by_threshold

Floats = npt.NDArray[np.float64]


def of_judge(data: GradedData, judge: int) -> Floats:
    """(answers,) points by this judge on the rubric's scale, NaN where it gave none; none of one with another rubric than people's."""
    found = np.full(len(data.answers), np.nan)
    if not data.grades_as_people(judge):
        return found
    rows = data.judge_grades[data.judge_grades["judge"] == judge]
    found[rows["answer"].to_numpy(dtype=np.int64)] = rows["points"]
    return on_scale(found, data.rubric)


def by_grader(data: GradedData) -> Floats:
    """(answers, most people of one answer) what people gave before anyone settled it; NaN where fewer graded."""
    first = data.person_grades[~data.person_grades["is_adjudication"]]
    first = first.sort_values(["answer", "grader"], kind="stable")
    place = first.groupby("answer").cumcount().to_numpy(dtype=np.int64)
    found = np.full((len(data.answers), int(place.max(initial=-1)) + 1), np.nan)
    found[first["answer"].to_numpy(dtype=np.int64), place] = first["points"]
    return on_scale(found, data.rubric)


# --- Rates freed of the judge's errors, and under other thresholds.

RATES = ("rqr", "sr", "ar")
THRESHOLDS = (
    "An answer is good if it has at least this share of its rubric's points. Each other definition of "
    "abstention adds one kind of answer to the rubric's own: points below 0, unreadable grades, or answers without a text. "
    "The intervals are computed like those of the rates."
)


@dataclass(frozen=True)
class ModelCorrected(AnswererName):
    """A model's rates by the judge, by people of their sample, and corrected. n_contested: of the sample, not settled."""

    judge: str
    n_contested: int
    found: CorrectedRates


@dataclass(frozen=True)
class CorrectedModels:
    """Corrected rates of models that a judge and people graded by one rubric; other_rubric: labels of those of two rubrics."""

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
    """Rates where an answer is good from that share of the points; is_rule: as in the rubric. sr: None not defined."""

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
    models = []
    for model in alike:
        rows = _rows(data, model)
        by_judge = [FATES[code] for code in codes(rows["fate"])]
        by_people = [
            None if np.isnan(value) else data.rubric.fate(value).value
            for value in rows["human_points"]
        ]
        clusters, has_text = clusters_of(data, rows).tolist(), rows["has_text"].tolist()
        found = present(
            try_estimate(corrected_rates, by_judge, by_people, clusters, has_text=has_text)
        )
        if found is None:
            continue
        one = ModelCorrected(
            **data.model_name(model),
            judge=str(data.judges["name"].iloc[judge[model]]),
            n_contested=int(rows["is_contested"].sum()),
            found=found,
        )
        models.append(one)
    if not models:
        raise NotEnough(
            "People have not graded any answer that a judge graded by the same rubric.",
            "Let people grade a sample.",
        )
    other = [AnswererName(**data.model_name(model)).label for model in judged if model not in alike]
    return CorrectedModels(tuple(models), tuple(other), data.is_simulated)


def vary(data: GradedData) -> Thresholds:
    """Raises NotEnough without graded answers."""
    models = []
    for model in data.judged_models():
        rows = _rows(data, model)
        found = by_threshold(
            rows["points"].tolist(),
            data.rubric_of(model),
            clusters_of(data, rows).tolist(),
            has_text=rows["has_text"].tolist(),
        )
        thresholds = []
        for one in found:
            own, quadrant = one.rates, one.rates.rates.quadrant
            threshold = Threshold(
                one.good_from,
                one.abstaining.value,
                one.is_rule,
                _of_share(own.rqr),
                _of_share(own.sr) if own.sr else None,
                _of_share(own.ar),
                quadrant.value if quadrant else "",
            )
            thresholds.append(threshold)
        name = data.model_name(model)
        models.append(ModelThresholds(**name, thresholds=tuple(thresholds)))
    return Thresholds(tuple(models), data.is_simulated)


# Of rows: model, rate, found
CORRECTED = (
    *c.data("name=0.name", "judge=0.judge", "rate=1", "n=2.n", "n_with_text=2.n_text"),
    *c.data("n_by_people=2.n_sample", "judge_value=2.judge.value", "judge=2.judge.ci95"),
    *c.data("people=2.human.value", "people=2.human.ci95"),
    *c.data("corrected=2.value", "corrected=2.ci95", "n_contested=0.n_contested"),
)


def corrections(own: CorrectedModels) -> list[tuple[ModelCorrected, str, Corrected]]:
    """Each model's rates that are defined."""
    return [
        (model, rate, found)
        for model in own.models
        for rate in RATES
        if (found := getattr(model.found, rate)) is not None
    ]


def _rate(name: str) -> tuple[c.Column, ...]:
    path = f"1.{name}"
    n = c.percent("", f"{path}.n")
    return (
        *c.data(f"{name}={path}.value"),
        c.Column(None, lambda row: n.of(row) or 0, str, csv=(f"{name}_n",)),
        *c.data(f"{name}={path}.ci95"),
    )


# Of rows: model, threshold; a row for each model, threshold and reading
THRESHOLD_COLUMNS = (
    *c.data("name=0.name", "good_from=1.good_from", "abstaining=1.abstaining", "is_rule=1.is_rule"),
    *(column for rate in RATES for column in _rate(rate)),
    *c.data("quadrant=1.quadrant"),
)


def _rows(data: GradedData, model: int) -> pd.DataFrame:
    answers = data.answers
    return answers[(answers["model"] == model) & (answers["fate"] != NOT_GRADED)]


def _of_share(share: Share) -> Varied:
    return Varied(share.value, share.n, share.ci95, share.is_unclustered)


# --- How far grades can be relied on: judge and people, people among one another, and what sways a judge.

PEOPLE, FIRST, SECOND = "people", "first person", "second person"
NO_PAIRS = (
    "No answer has two grades, by a judge and people or by two people.",
    "Let people grade a sample of the answers (Grading, in the lab).",
)
GRADED_AGREEMENT_METHOD = (
    "People's final grade is the one that a third person settled, otherwise the first. Only grades by the same "
    "rubric are compared. Points below 0 or above the rubric's maximum count as 0 or as the maximum. Grades "
    "between those of the rubric count as the nearest one in kappa and the table. An abstention has "
    "the code -1; the weights of kappa treat it as the category next to 0 points. Kappa of outcomes treats good, abstained and bad as categories. Equal "
    "means the same points; the same outcome means both good, both abstained, or both bad."
)


@dataclass(frozen=True)
class Pair:
    """Two graders' grades of the same n answers; differences are first less second, in points, abstentions left out."""

    first: str
    second: str
    n: int
    share_equal: float
    share_same_fate: float
    mean_difference: float
    kappa: Agreement | MissingResult
    fate_kappa: Agreement | MissingResult
    alpha: Agreement | MissingResult


@dataclass(frozen=True)
class Confusion:
    """counts[i][j]: answers to which the judge gave values[i] and people values[j]."""

    judge: str
    values: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Reliability:
    """pairs: judges and people, then judges among one another, then people. Biases are those of all judges together, each with a level of its own."""

    rubric: str
    is_simulated: bool
    n_people_graded: int
    n_settled: int
    pairs: tuple[Pair, ...]
    confusion: Confusion | MissingResult
    people_alpha: Agreement | MissingResult
    by_length: Bias | MissingResult
    n_by_length: int
    own_family: Bias | MissingResult
    method: str = GRADED_AGREEMENT_METHOD


@dataclass(frozen=True)
class GradedAgreement:
    graded_agreement: Reliability | MissingResult
    graded_corrected: CorrectedModels | MissingResult
    graded_thresholds: Thresholds | MissingResult


def build_graded_agreement(data: SourceData) -> Built:
    """The agreement, what follows from it, and tables of both. Raises NotEnough without graded answers."""
    graded = data.need_graded()
    thresholds = vary(graded)
    agreement = try_estimate(_reliability, graded)
    corrected = try_estimate(correct, graded)
    rows = [(model, one) for model in thresholds.models for one in model.thresholds]
    tables = {"graded_thresholds": c.tidy(THRESHOLD_COLUMNS, rows)}
    if isinstance(agreement, Reliability):
        tables["graded_pairs"] = c.tidy(PAIRS, agreement.pairs)
        if table := present(agreement.confusion):
            cells = [
                (table.judge, judge, human, n)
                for judge, row in zip(table.values, table.counts, strict=True)
                for human, n in zip(table.values, row, strict=True)
            ]
            names = ["judge", "judge_points", "human_points", "n"]
            tables["graded_confusion"] = pd.DataFrame(cells, columns=names)
    if isinstance(corrected, CorrectedModels):
        tables["graded_corrected"] = c.tidy(CORRECTED, corrections(corrected))
    return Built(GradedAgreement(agreement, corrected, thresholds), tables)


def _reliability(data: GradedData) -> Reliability:
    judges = [of_judge(data, judge) for judge in range(len(data.judges))]
    human = on_scale(data.answers["human_points"], data.rubric)
    graders = by_grader(data)
    names = data.judges["name"].tolist()
    two = [(name, PEOPLE, points, human) for name, points in zip(names, judges, strict=True)]
    two += [
        (names[a], names[b], judges[a], judges[b]) for a, b in combinations(range(len(judges)), 2)
    ]
    if graders.shape[1] > 1:
        two.append((FIRST, SECOND, graders[:, 0], graders[:, 1]))
    pairs = tuple(
        _pair(data, first, second, a, b) for first, second, a, b in two if _both(a, b).any()
    )
    if not pairs:
        raise NotEnough(*NO_PAIRS)
    table = try_estimate(_confusion, data, names, judges, human)
    # A judge that compares texts and only tests the set-up says nothing of those that read them
    is_exact = data.judges["is_exact"].to_numpy(dtype=bool)
    read = [*np.flatnonzero(~is_exact if not is_exact.all() else is_exact)]
    by_length, own_family = corrected(
        [
            try_estimate(_by_length, data, [judges[n] for n in read], human),
            try_estimate(_own_family, data, judges, human),
        ]
    )
    return Reliability(
        rubric=data.rubric.name,
        is_simulated=data.is_simulated,
        n_people_graded=int(data.person_grades["answer"].nunique()),
        n_settled=int((~np.isnan(human) & ~data.answers["is_contested"]).sum()),
        pairs=pairs,
        confusion=table,
        people_alpha=try_estimate(
            krippendorff_alpha, graders, clusters=clusters_of(data, data.answers)
        ),
        by_length=by_length,
        n_by_length=sum(bool(_both(judges[n], human).any()) for n in read),
        own_family=own_family,
    )


def _pair(data: GradedData, first: str, second: str, a: Floats, b: Floats) -> Pair:
    both = _both(a, b)
    x, y = a[both], b[both]
    clusters = clusters_of(data, data.answers[both])
    fates = [[data.rubric.fate(value).value for value in values] for values in (x, y)]
    apart = said(x, data.rubric) - said(y, data.rubric)
    values = list(data.rubric.values)
    return Pair(
        first,
        second,
        n=int(both.sum()),
        share_equal=float((on_rubric(x, data.rubric) == on_rubric(y, data.rubric)).mean()),
        share_same_fate=float(np.mean([one == other for one, other in zip(*fates, strict=True)])),
        mean_difference=float(np.nanmean(apart)) if np.isfinite(apart).any() else np.nan,
        kappa=try_estimate(
            weighted_kappa,
            on_rubric(x, data.rubric).tolist(),
            on_rubric(y, data.rubric).tolist(),
            values,
            clusters=clusters,
        ),
        fate_kappa=try_estimate(
            weighted_kappa, *fates, ["bad", "abstained", "good"], "none", clusters=clusters
        ),
        alpha=try_estimate(krippendorff_alpha, np.column_stack([x, y]), clusters=clusters),
    )


def _confusion(
    data: GradedData, names: list[str], judges: list[Floats], human: Floats
) -> Confusion:
    """Confusion matrix of the first judge that graded what people did."""
    for name, points in zip(names, judges, strict=True):
        both = _both(points, human)
        if both.any():
            values = data.rubric.values
            a, b = (on_rubric(of[both], data.rubric).tolist() for of in (points, human))
            counts = confusion(a, b, list(values)).tolist()
            return Confusion(name, values, tuple(tuple(row) for row in counts))
    raise NotEnough("No judge graded the answers that people graded.", "Let people grade a sample.")


def _by_length(data: GradedData, judges: list[Floats], human: Floats) -> Bias:
    differences = np.concatenate([_less(data, points, human) for points in judges] or [human[:0]])
    n, n_judges = len(human), len(judges)
    # Of words that were taken away nobody knows how many they were
    words = data.answers["words"].where(data.answers["words"] > 0).to_numpy(dtype=float)
    lengths = np.tile(words, n_judges)
    clusters = np.tile(clusters_of(data, data.answers), n_judges)
    who = np.repeat(np.arange(n_judges), n)
    return bias_by_length(differences, lengths, clusters, who)


def _own_family(data: GradedData, judges: list[Floats], human: Floats) -> Bias:
    families = data.judges["family"].tolist()
    if not any(families):
        raise NotEnough(
            "The model family of the judges is not known.", "Enter the family of the judge's model."
        )
    known = [n for n, family in enumerate(families) if family]
    n = len(data.answers)
    of_answers = data.models["family"].to_numpy(dtype=str)[data.answers["model"].to_numpy()]
    # Of people, and of models of an unknown family, nobody can say whose they are
    human = np.where(of_answers == "", np.nan, human)
    return own_family_bias(
        np.concatenate([_less(data, judges[k], human) for k in known]),
        np.repeat([families[k] for k in known], n).tolist(),
        np.tile(of_answers, len(known)).tolist(),
        np.tile(clusters_of(data, data.answers), len(known)),
    )


def _less(data: GradedData, points: Floats, human: Floats) -> Floats:
    """(answers,) judge less people in points; NaN where one of them says that the answer abstains, or nothing."""
    found: Floats = said(points, data.rubric) - said(human, data.rubric)
    return found


def _both(a: Floats, b: Floats) -> npt.NDArray[np.bool_]:
    return ~(np.isnan(a) | np.isnan(b))


PAIRS = (
    *c.data("first", "second", "n", "share_equal", "share_same_fate", "mean_difference"),
    *c.data("kappa=kappa.value", "kappa=kappa.ci95", "fate_kappa=fate_kappa.value"),
    *c.data("fate_kappa=fate_kappa.ci95", "alpha=alpha.value", "alpha=alpha.ci95"),
)

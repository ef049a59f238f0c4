"""How far grades can be relied on: judge and people, people among one another, and what sways a judge."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.codec import MissingResult, try_estimate
from analysis.data.dataset import SourceData
from analysis.data.graded.tables import GradedData
from analysis.report.chapter import Built
from analysis.report.chapters.graded.agreement.corrected import (
    CorrectedModels,
    Thresholds,
    correct,
    corrected_table,
    threshold_table,
    vary,
)
from analysis.report.chapters.graded.agreement.pairs import (
    Floats,
    by_grader,
    of_judge,
)
from analysis.report.chapters.graded.counts import question_clusters
from analysis.stats import NotEnough
from analysis.stats.graded.agreement import (
    Agreement,
    confusion,
    krippendorff_alpha,
    weighted_kappa,
)
from analysis.stats.graded.judge_bias import Bias, bias_by_length, own_family_bias
from analysis.stats.graded.scale import on_rubric, on_scale, said

PEOPLE, FIRST, SECOND = "people", "first person", "second person"
NO_PAIRS = (
    "No answer has grades of two: of a judge and of people, or of two of them.",
    "Let people grade a sample of the answers (Grading, in the lab).",
)
METHOD = (
    "Of people's grades the final one: what a third person settled, else the first. Only grades by one rubric stand beside one "
    "another. Points below 0 or above the rubric's most count as these; grades between the rubric's as its nearest in kappa and the "
    "table. An abstention is the rubric's -1, which weights put next to 0; kappa of fates takes good, abstained and bad as names. "
    "Equal: of the same points; same fate: both good, both abstained, or both bad."
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
    own_family: Bias | MissingResult
    method: str = METHOD


@dataclass(frozen=True)
class GradedAgreement:
    graded_agreement: Reliability | MissingResult
    graded_corrected: CorrectedModels | MissingResult
    graded_thresholds: Thresholds | MissingResult


def build(data: SourceData) -> Built:
    """The agreement, what follows from it, and tables of both. Raises NotEnough without graded answers."""
    return data.need_graded().cached(_built)


def _built(data: GradedData) -> Built:
    thresholds = vary(data)
    agreement = try_estimate(_reliability, data)
    corrected = try_estimate(correct, data)
    tables = {"graded_thresholds": threshold_table(thresholds)}
    if isinstance(agreement, Reliability):
        tables |= _tables(agreement)
    if isinstance(corrected, CorrectedModels):
        tables["graded_corrected"] = corrected_table(corrected)
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
    return Reliability(
        rubric=data.rubric.name,
        is_simulated=data.is_simulated,
        n_people_graded=int(data.person_grades["answer"].nunique()),
        n_settled=int((~np.isnan(human) & ~data.answers["is_contested"]).sum()),
        pairs=pairs,
        confusion=table,
        people_alpha=try_estimate(krippendorff_alpha, graders, clusters=_clusters(data)),
        by_length=try_estimate(_by_length, data, judges, human),
        own_family=try_estimate(_own_family, data, judges, human),
    )


def _pair(data: GradedData, first: str, second: str, a: Floats, b: Floats) -> Pair:
    both = _both(a, b)
    x, y = a[both], b[both]
    clusters = _clusters(data)[both]
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
    """Of the first judge that graded what people did."""
    for name, points in zip(names, judges, strict=True):
        both = _both(points, human)
        if both.any():
            values = data.rubric.values
            a, b = (
                on_rubric(points[both], data.rubric).tolist(),
                on_rubric(human[both], data.rubric).tolist(),
            )
            counts = confusion(a, b, list(values)).tolist()
            return Confusion(name, values, tuple(tuple(row) for row in counts))
    raise NotEnough("No judge graded what people graded.", "Let people grade a sample.")


def _by_length(data: GradedData, judges: list[Floats], human: Floats) -> Bias:
    differences = np.concatenate([_less(data, points, human) for points in judges] or [human[:0]])
    n, n_judges = len(human), len(judges)
    # Of words that were taken away nobody knows how many they were
    words = data.answers["words"].where(data.answers["words"] > 0).to_numpy(dtype=float)
    lengths = np.tile(words, n_judges)
    clusters, who = np.tile(_clusters(data), n_judges), np.repeat(np.arange(n_judges), n)
    return bias_by_length(differences, lengths, clusters, who)


def _own_family(data: GradedData, judges: list[Floats], human: Floats) -> Bias:
    families = data.judges["family"].tolist()
    if not any(families):
        raise NotEnough("No family of a judge is known.", "Name the family of the judge's model.")
    known = [n for n, family in enumerate(families) if family]
    n = len(data.answers)
    of_answers = data.models["family"].to_numpy(dtype=str)[data.answers["model"].to_numpy()]
    # Of people, and of models of an unknown family, nobody can say whose they are
    human = np.where(of_answers == "", np.nan, human)
    return own_family_bias(
        np.concatenate([_less(data, judges[k], human) for k in known]),
        np.repeat([families[k] for k in known], n).tolist(),
        np.tile(of_answers, len(known)).tolist(),
        np.tile(_clusters(data), len(known)),
    )


def _less(data: GradedData, points: Floats, human: Floats) -> Floats:
    """(answers,) judge less people in points; NaN where one of them says that the answer abstains, or nothing."""
    found: Floats = said(points, data.rubric) - said(human, data.rubric)
    return found


def _both(a: Floats, b: Floats) -> npt.NDArray[np.bool_]:
    return ~(np.isnan(a) | np.isnan(b))


def _clusters(data: GradedData) -> npt.NDArray[np.int64]:
    by_question = data.cached(question_clusters)
    return np.asarray(by_question[data.answers["question"].to_numpy()], dtype=np.int64)


def _tables(own: Reliability) -> dict[str, pd.DataFrame]:
    pairs = [
        {
            "first": pair.first,
            "second": pair.second,
            "n": pair.n,
            "share_equal": pair.share_equal,
            "share_same_fate": pair.share_same_fate,
            "mean_difference": pair.mean_difference,
            **_columns("kappa", pair.kappa),
            **_columns("fate_kappa", pair.fate_kappa),
            **_columns("alpha", pair.alpha),
        }
        for pair in own.pairs
    ]
    found = {"graded_pairs": pd.DataFrame(pairs)}
    if isinstance(own.confusion, Confusion):
        cells = [
            (own.confusion.judge, judge, human, n)
            for judge, row in zip(own.confusion.values, own.confusion.counts, strict=True)
            for human, n in zip(own.confusion.values, row, strict=True)
        ]
        names = ["judge", "judge_points", "human_points", "n"]
        found["graded_confusion"] = pd.DataFrame(cells, columns=names)
    return found


def _columns(name: str, found: Agreement | MissingResult) -> dict[str, float]:
    if isinstance(found, MissingResult):
        return dict.fromkeys((name, f"{name}_low", f"{name}_high"), np.nan)
    low, high = found.ci95 or (np.nan, np.nan)
    return {name: found.value, f"{name}_low": low, f"{name}_high": high}

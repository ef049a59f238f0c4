"""Every two models on the questions that both answered."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.data.graded.tables import NOT_GRADED, AnswererName, GradedData
from analysis.report.chapters.graded.counts import codes, question_clusters
from analysis.stats import NotEnough
from analysis.stats.families import Family
from analysis.stats.graded import FATES
from analysis.stats.graded.comparisons import METHOD, Comparison, compare

RATES = ("rqr", "sr")
LEVEL = 0.05


@dataclass(frozen=True)
class Compared:
    """Every two models that one judge graded, first less second; people are not among them: they chose no questions.

    rqr, sr: in one order. rqr_family, sr_family: each rate's pairs as one family of tests.
    """

    judge: str
    models: tuple[AnswererName, ...]
    rqr: tuple[Comparison, ...]
    sr: tuple[Comparison, ...]
    rqr_family: Family | None
    sr_family: Family | None
    is_simulated: bool
    method: str = METHOD

    def clear(self, rate: str) -> list[Comparison]:
        """Pairs that differ by more than chance, after correction."""
        return [pair for pair in getattr(self, rate) if pair.p_holm < LEVEL]


def compare_models(data: GradedData) -> Compared:
    """Raises NotEnough below two models of one judge."""
    judged = [m for m in data.judged_models() if not data.models["is_people"].iloc[m]]
    judges = data.models["judge"].iloc[judged].tolist()
    judge = max(sorted(set(judges)), key=judges.count, default=-1)
    if judges.count(judge) < 2:
        raise NotEnough(
            "Fewer than two models were graded by one judge.", "Have one judge grade two models."
        )
    models = [m for m in judged if data.models["judge"].iloc[m] == judge]
    fates = {str(data.models["name"].iloc[m]): _fates(data, m) for m in models}
    clusters = [f"cluster {k}" for k in data.cached(question_clusters)]
    rqr, sr = (compare(fates, rate, clusters) for rate in ("rqr", "sr"))
    return Compared(
        judge=str(data.judges["name"].iloc[judge]) if judge >= 0 else "people",
        models=tuple(AnswererName(**data.model_name(m)) for m in models),
        rqr=rqr.pairs,
        sr=sr.pairs,
        rqr_family=rqr.family,
        sr_family=sr.family,
        is_simulated=data.is_simulated,
    )


def pair_table(own: Compared) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "rate": pair.rate,
                "first": pair.first,
                "second": pair.second,
                "n": pair.n,
                "n_clusters": pair.n_clusters,
                "difference": pair.difference,
                "se": pair.se,
                "ci_low": pair.ci95[0] if pair.ci95 else np.nan,
                "ci_high": pair.ci95[1] if pair.ci95 else np.nan,
                "p": pair.p,
                "p_holm": pair.p_holm,
            }
            for pair in (*own.rqr, *own.sr)
        ]
    )


def _fates(data: GradedData, model: int) -> list[str | None]:
    """(questions,) None where it has no graded answer."""
    answers = data.answers
    rows = answers[(answers["model"] == model) & (answers["fate"] != NOT_GRADED)]
    found: list[str | None] = [None] * len(data.questions)
    for question, code in zip(rows["question"], codes(rows["fate"]), strict=True):
        found[question] = FATES[code]
    return found

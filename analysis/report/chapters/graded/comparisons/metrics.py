"""Overlap of words with the expert answer, beside the grades: reference metrics say how much a judge is needed."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.codec import MissingResult, try_estimate
from analysis.data.graded.tables import AnswererName, GradedData
from analysis.report.chapters.graded.counts import question_clusters
from analysis.stats import NotEnough
from analysis.stats.arrays import Floats
from analysis.stats.graded import BAD, GOOD
from analysis.stats.graded.bert_score import NAME as BERT_NAME
from analysis.stats.graded.bert_score import Vectors
from analysis.stats.graded.grade_correlation import GradeCorrelation, grade_correlation
from analysis.stats.graded.scale import said
from analysis.stats.graded.text_metrics import COLUMNS, METHOD, NAMES, overlaps

MOST = 2_000  # answers, drawn at random: some seconds
BERT = "bert_score"


@dataclass(frozen=True)
class Metric:
    """A metric's mean over the answers, and how it goes with their points."""

    name: str
    mean: float
    correlation: GradeCorrelation | MissingResult


@dataclass(frozen=True)
class ModelOverlap(AnswererName):
    """Means of the metrics, in the order of `TextMetrics.metrics`."""

    n: int
    means: tuple[float, ...]


@dataclass(frozen=True)
class TextMetrics:
    """Of n answers of n_all that have points and did not abstain, drawn at random where there are too many.

    Correlations are with the share of the rubric's most points, as several judges may have graded by several rubrics.
    bert_method: how BERTScore, the last of the metrics, was computed; "" where it was not.
    """

    n: int
    n_all: int
    metrics: tuple[Metric, ...]
    models: tuple[ModelOverlap, ...]
    bert_method: str = ""
    method: str = METHOD


def measure(data: GradedData) -> tuple[TextMetrics, pd.DataFrame]:
    """The metrics, and a table of each answer's. Raises NotEnough without answers that have points and a text."""
    answers = data.answers
    rows = np.flatnonzero(answers["fate"].isin([GOOD, BAD]) & (answers["words"] > 0))
    if not len(rows):
        raise NotEnough("No answer has a text and points.", "Grade answers that do not abstain.")
    rng = np.random.default_rng(data.seed)
    chosen = np.sort(rng.choice(rows, MOST, replace=False)) if len(rows) > MOST else rows
    columns = (*COLUMNS, BERT) if data.vectors else COLUMNS
    parts = []
    for chunk in data.read_texts(chosen):
        found = pd.DataFrame(_of_texts(chunk, data.vectors), columns=list(columns))
        parts.append(found.assign(answer=chunk["answer"].to_numpy()))
    if not parts:
        raise NotEnough("No answer's text is there.", "Keep the texts of answers.")
    table = pd.concat(parts, ignore_index=True).sort_values("answer", ignore_index=True)
    of = answers.iloc[table["answer"].to_numpy()]
    table = table.assign(
        model=of["model"].to_numpy(), question=of["question"].to_numpy(), points=np.nan, share=np.nan
    )  # fmt: skip
    for model in table["model"].unique():
        own, rubric = table["model"] == model, data.rubric_of(int(model))
        points = said(of["points"][own.to_numpy()], rubric)
        table.loc[own, "points"], table.loc[own, "share"] = points, points / rubric.top
    # 2 of 3 and 6.67 of 10 are one rank, whatever their last digit
    table["share"] = table["share"].round(9)
    clusters = data.cached(question_clusters)[table["question"].to_numpy()]
    metrics = tuple(
        Metric(
            name,
            float(table[column].mean()),
            try_estimate(grade_correlation, table[column], table["share"], clusters),
        )
        for name, column in zip((*NAMES, BERT_NAME), columns, strict=False)
    )
    models = tuple(
        ModelOverlap(
            **data.model_name(model), n=len(own), means=tuple(own[list(columns)].mean().tolist())
        )
        for model in data.judged_models()
        if len(own := table[table["model"] == model])
    )
    bert_method = data.vectors.method if data.vectors else ""
    measured = TextMetrics(len(table), len(rows), metrics, models, bert_method)
    names = data.models["name"].to_numpy()[table["model"]]
    keys = data.questions["key"].to_numpy()[table["question"]]
    tidy = table.assign(name=names, question=keys)[["name", "question", "points", *columns]]
    return measured, tidy


def _of_texts(chunk: pd.DataFrame, vectors: Vectors | None) -> Floats:
    """(n, metrics) of each answer beside the expert's."""
    pairs = list(zip(chunk["text"], chunk["expert_answer"], strict=True))
    words = overlaps(pairs)
    if vectors is None:
        return words
    return np.column_stack([words, [vectors.score(*pair) for pair in pairs]])

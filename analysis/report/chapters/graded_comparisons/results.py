"""Every two models on the questions that both answered.

Long: four results of one chapter, one after the other.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from analysis import columns as c
from analysis.codec import MissingResult, try_estimate
from analysis.data.dataset import SourceData
from analysis.data.graded.tables import NO_TEXT, NOT_GRADED, READ, AnswererName, GradedData
from analysis.report.chapter import Built
from analysis.report.chapters.graded_rates.results import clusters_of, codes, question_clusters
from analysis.stats import NotEnough
from analysis.stats.arrays import Bools, Floats, Interval, Ints
from analysis.stats.families import Family
from analysis.stats.graded import ABSTAINED, BAD, FATES, GOOD
from analysis.stats.graded.bert_score import NAME as BERT_NAME
from analysis.stats.graded.bert_score import Vectors
from analysis.stats.graded.comparisons import METHOD as PAIRS_METHOD
from analysis.stats.graded.comparisons import Comparison, compare, corrected
from analysis.stats.graded.grade_correlation import GradeCorrelation, grade_correlation
from analysis.stats.graded.ratios import FEWEST_CLUSTERS, Ratio, ratio, share_interval
from analysis.stats.graded.scale import said
from analysis.stats.graded.selective import METHOD as SELECTIVE_METHOD
from analysis.stats.graded.selective import selective
from analysis.stats.graded.text_metrics import COLUMNS, NAMES, overlaps
from analysis.stats.graded.text_metrics import METHOD as TEXTS_METHOD
from analysis.stats.two_way_clustered import of_changes
from analysis.stats.verdicts import Verdict
from analysis.teams.domain.deferral import Asked, Judges, choose_threshold, deferring, who_decides
from analysis.teams.domain.folds import Folds
from analysis.teams.results import Policy

RATES = ("rqr", "sr")
PAIRS = (
    *c.data("rate", "first", "second", "n", "n_clusters", "difference", "se", "ci=ci95"),
    *c.data("p", "p_holm"),
)
# Of rows: model, where people are asked, with what result
ASKED = (
    *c.data("name=0.name", "asked_where=1", "n=0.n", "share_asked=2.share_asked", "good=2.good"),
    *c.data("ci=2.good_ci95", "at_random=2.at_random"),
    c.Column(None, lambda row: getattr(row[2], "confidence", np.nan), str, csv=("confidence",)),
    c.Column(None, lambda row: getattr(row[2], "gain", np.nan), str, csv=("gain",)),
)


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
    method: str = PAIRS_METHOD

    def clear(self, rate: str) -> list[Comparison]:
        """Pairs that differ by more than chance, after correction."""
        return [pair for pair in getattr(self, rate) if pair.verdict.is_clear]

    @property
    def is_few(self) -> bool:
        """True if each pair has too few templates, or questions without one, to say."""
        return all(pair.verdict is Verdict.TOO_FEW for pair in (*self.rqr, *self.sr))


def compare_models(data: GradedData) -> Compared:
    """Raises NotEnough below two models of one judge."""
    judge, alike = data.judged_alike()
    models = [m for m in alike if not data.models["is_people"].iloc[m]]
    if len(models) < 2:
        raise NotEnough(
            "Fewer than two models were graded by one judge.", "Let one judge grade two models."
        )
    fates = {}
    for model in models:
        # None where it has no graded answer to the question
        found: list[str | None] = [None] * len(data.questions)
        own = data.answers["model"] == model
        rows = data.answers[own & (data.answers["fate"] != NOT_GRADED)]
        for question, code in zip(rows["question"], codes(rows["fate"]), strict=True):
            found[question] = FATES[code]
        fates[str(data.models["name"].iloc[model])] = found
    clusters = [f"cluster {k}" for k in data.cached(question_clusters)]
    rqr, sr = corrected([compare(fates, rate, clusters) for rate in ("rqr", "sr")])
    return Compared(
        judge=data.judge_name(judge),
        models=tuple(AnswererName(**data.model_name(m)) for m in models),
        rqr=rqr.pairs,
        sr=sr.pairs,
        rqr_family=rqr.family,
        sr_family=sr.family,
        is_simulated=data.is_simulated,
    )


# --- Accuracy of those answers that are kept, when the least sure are left out first.

SELECTIVE_FEWEST = 10  # answers of known confidence
MOST_POINTS = 101
RULE = (
    "Coverage is the share of all graded answers that are kept. Abstentions and answers without a text (withheld "
    "by a filter, failed, empty, declined) are never kept. If the confidence of a kept answer is not known, only "
    "abstention selects answers, which gives a single point."
)


@dataclass(frozen=True)
class Curve(AnswererName):
    """n: graded answers, n_kept: of these the texts that do not abstain. coverage, accuracy: from the surest on; one point where
    some confidence is not known.

    gain: by how much the accuracy that confidence chooses is above that of all that are kept, mean over coverages;
    NaN and None without a curve.
    """

    n: int
    n_kept: int
    coverage: tuple[float, ...]
    accuracy: tuple[float, ...]
    gain: float
    gain_ci95: Interval | None

    @property
    def is_curve(self) -> bool:
        return len(self.coverage) > 1

    @property
    def points(self) -> dict[str, Sequence[float]]:
        return {"coverage": self.coverage, "accuracy": self.accuracy}


@dataclass(frozen=True)
class Kept:
    curves: tuple[Curve, ...]
    is_simulated: bool
    method: str = SELECTIVE_METHOD
    rule: str = RULE


def select(data: GradedData) -> Kept:
    """Raises NotEnough where no answer is kept."""
    graded = data.need_graded()
    curves = []
    for model in data.judged_models():
        answers = graded[graded["model"] == model]
        rows = answers[~answers["fate"].isin([ABSTAINED, NO_TEXT])]
        if not rows["fate"].isin(READ).any():
            continue
        good, share = (rows["fate"] == GOOD).to_numpy(), len(rows) / len(answers)
        sure = rows["confidence"]
        coverage, accuracy, gain, ci95 = [share], [float(good.mean())], np.nan, None
        if sure.notna().all() and len(rows) >= SELECTIVE_FEWEST and sure.nunique() > 1:
            found = selective(sure, good, clusters_of(data, rows), seed=data.seed)
            every = found.points
            some = np.unique(np.linspace(0, len(every) - 1, MOST_POINTS).astype(int))
            coverage = [share * every[k].coverage for k in some]
            accuracy = [every[k].good for k in some]
            gain, ci95 = found.gain, found.gain_ci95
        curve = Curve(
            **data.model_name(model),
            n=len(answers),
            n_kept=len(rows),
            coverage=tuple(coverage),
            accuracy=tuple(accuracy),
            gain=gain,
            gain_ci95=ci95,
        )
        curves.append(curve)
    if not curves:
        raise NotEnough(
            "Every answer abstained or has no text.",
            "Let a model or people answer without abstaining.",
        )
    return Kept(tuple(curves), data.is_simulated)


# --- Model and person: the model's answer where it is sure, else a person's to the same question.

DEFERRAL_FEWEST = 10  # of people's answers to questions that the model answered, too
BLOCKS = 10
METHOD = (
    "Each person's answer is compared with the model's answer to the same question, both graded by one judge. A "
    "person is asked first if the model abstains or gives no text, then by increasing confidence of the model, for "
    "all answers to a question together. The threshold is the one with the most good answers in nine tenths of the "
    "templates (or questions without one), evaluated on the remaining tenth, in turn. Its gain is relative to the "
    "better of model and people alone. 95% intervals are clustered by template."
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
    """Deferral over n of people's answers to n_questions that the model answered; model, people: good ones of each alone.

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
            "No judge has graded answers of both a model and people to the same questions.",
            "Let participants answer the models' questions, and let one judge grade both.",
        )
    return Deferrals(tuple(found), data.is_simulated)


def _deferral(data: GradedData, model: int, people: int) -> Deferral | None:
    graded = data.need_graded()
    own = graded[graded["model"] == model].drop_duplicates("question").set_index("question")
    theirs = graded[(graded["model"] == people) & graded["question"].isin(own.index)]
    if len(theirs) < DEFERRAL_FEWEST:
        return None
    question = theirs["question"].to_numpy()
    beside = own.loc[question]
    if not all(rows["fate"].isin(READ).any() for rows in (beside, theirs)):
        return None
    gives = ~beside["fate"].isin([ABSTAINED, NO_TEXT]).to_numpy()
    sure = beside["confidence"].to_numpy() / 100
    has_confidence = bool(np.isfinite(sure[gives]).all() and len(np.unique(sure[gives])) > 1)
    confidence = np.where(gives, sure if has_confidence else 1.0, 0.0)
    good = [(rows["fate"] == GOOD).to_numpy() for rows in (beside, theirs)]
    judges = deferring(confidence, *good)
    cluster = np.unique(clusters_of(data, theirs), return_inverse=True)[1]
    points = [one for _, one in who_decides(question, judges)] if has_confidence else []
    threshold, n = None, int(cluster.max()) + 1
    if has_confidence and n >= FEWEST_CLUSTERS:
        # Tried on templates other than those that it was found on
        block = (np.random.default_rng(data.seed).permutation(n) % min(BLOCKS, n))[cluster]
        folds = Folds(block, block, None, "blocks of templates")
        (asked,) = choose_threshold(folds, judges, seed=data.seed)
        alone = max(judges.model, judges.others[Policy.HUMAN], key=np.mean)
        gain = of_changes(asked.points - alone, lambda rows: _mean(rows, cluster).known, cluster)
        low, high = gain.ci95
        threshold = Threshold(
            **asdict(_asking(judges, asked, cluster)),
            confidence=100 * (2 * asked.threshold - 1),
            gain=gain.estimate,
            gain_ci95=(max(-1.0, low), min(1.0, high)),
        )
    return Deferral(
        **data.model_name(model),
        n=len(theirs),
        n_questions=len(np.unique(question)),
        model=float(good[0].mean()),
        people=float(good[1].mean()),
        abstaining=_asking(judges, judges.asked(Policy.HUMAN, 0.5, ~gives), cluster),
        points=tuple(_asking(judges, one, cluster) for one in points),
        threshold=threshold,
    )


def _asking(judges: Judges, asked: Asked, cluster: Ints) -> Asking:
    interval = share_interval(_mean(asked.points, cluster), len(cluster))
    return Asking(asked.share, asked.accuracy, interval, judges.random_accuracy(asked))


def _mean(values: Bools | Floats, cluster: Ints) -> Ratio:
    return ratio(np.bincount(cluster, values), np.bincount(cluster))


# --- Overlap of words with the expert answer, beside the grades: reference metrics say how much a judge is needed.

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
    """Metrics of n answers of n_all that have points and did not abstain, drawn at random where there are too many.

    Correlations are of those answers that `judge` graded, who graded most models: points of another mean something else.
    bert_method: how BERTScore, the last of the metrics, was computed; "" where it was not.
    """

    n: int
    n_all: int
    metrics: tuple[Metric, ...]
    models: tuple[ModelOverlap, ...]
    judge: str
    bert_method: str = ""
    method: str = TEXTS_METHOD


def measure(data: GradedData) -> tuple[TextMetrics, pd.DataFrame]:
    """The metrics, and a table of each answer's. Raises NotEnough without answers that have points and a text."""
    answers = data.answers
    rows = np.flatnonzero(answers["fate"].isin([GOOD, BAD]) & (answers["words"] > 0))
    if not len(rows):
        raise NotEnough(
            "No answer has both a text and points.", "Grade answers that do not abstain."
        )
    rng = np.random.default_rng(data.seed)
    chosen = np.sort(rng.choice(rows, MOST, replace=False)) if len(rows) > MOST else rows
    columns = (*COLUMNS, BERT) if data.vectors else COLUMNS
    parts = []
    for chunk in data.read_texts(chosen):
        found = pd.DataFrame(_of_texts(chunk, data.vectors), columns=list(columns))
        parts.append(found.assign(answer=chunk["answer"].to_numpy()))
    if not parts:
        raise NotEnough("The texts of the answers are missing.", "Store the texts of answers.")
    table = pd.concat(parts, ignore_index=True).sort_values("answer", ignore_index=True)
    of = answers.iloc[table["answer"].to_numpy()]
    table = table.assign(
        model=of["model"].to_numpy(), question=of["question"].to_numpy(), points=np.nan
    )  # fmt: skip
    for model in table["model"].unique():
        own = table["model"] == model
        table.loc[own, "points"] = said(of["points"][own.to_numpy()], data.rubric_of(int(model)))
    judge, alike = data.judged_alike()
    compared = table[table["model"].isin(alike)]
    clusters = clusters_of(data, compared)
    metrics = tuple(
        Metric(
            name,
            float(table[column].mean()),
            try_estimate(grade_correlation, compared[column], compared["points"], clusters),
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
    name = data.judge_name(judge)
    measured = TextMetrics(len(table), len(rows), metrics, models, name, bert_method)
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


# --- Models against one another, metrics of texts beside grades, and what leaving out unsure answers, or asking people, would bring.


@dataclass(frozen=True)
class GradedComparisons:
    graded_comparisons: Compared | MissingResult
    graded_selective: Kept | MissingResult
    graded_deferral: Deferrals | MissingResult
    graded_texts: TextMetrics | MissingResult


def build_graded_comparisons(data: SourceData) -> Built:
    """Comparisons and their tables. Raises NotEnough without graded answers."""
    graded = data.need_graded()
    graded.need_graded()  # else each of the four parts would say that nothing is graded
    compared, kept = try_estimate(compare_models, graded), try_estimate(select, graded)
    deferred, measured = try_estimate(defer, graded), try_estimate(measure, graded)
    tables: dict[str, pd.DataFrame] = {}
    if isinstance(compared, Compared):
        tables["graded_comparisons"] = c.tidy(PAIRS, [*compared.rqr, *compared.sr])
    if isinstance(kept, Kept):
        points = [pd.DataFrame(curve.points).assign(name=curve.name) for curve in kept.curves]
        tables["graded_selective"] = pd.concat(points, ignore_index=True)[
            ["name", "coverage", "accuracy"]
        ]
    if isinstance(deferred, Deferrals):
        asked = [
            (model, where, one)
            for model in deferred.models
            for where, one in (
                ("model abstains", model.abstaining),
                *(("least confident", point) for point in model.points),
                *([("threshold", model.threshold)] if model.threshold else []),
            )
        ]
        tables["graded_deferral"] = c.tidy(ASKED, asked)
    if isinstance(measured, MissingResult):
        return Built(GradedComparisons(compared, kept, deferred, measured), tables)
    texts, tables["graded_texts"] = measured
    return Built(GradedComparisons(compared, kept, deferred, texts), tables)

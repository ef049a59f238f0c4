"""Fates counted by cluster: rows of one template are alike.

Long: three chapters of one theme, one after the other.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis import columns as c
from analysis.codec import MissingResult
from analysis.data.dataset import SourceData
from analysis.data.graded.answers import ABSTAINED
from analysis.data.graded.tables import NO_TEXT, READ, AnswererName, GradedData
from analysis.report.chapter import Built
from analysis.stats import NotEnough
from analysis.stats.graded import ABSTAINED as FATE_ABSTAINED
from analysis.stats.graded import FATES, UNPARSED, ratios
from analysis.stats.graded.rates import CLUSTERED, METHOD, ClusteredRates, rates_of_counts
from analysis.stats.graded.scale import on_scale, said
from scoring.domain.generating import Finish

Ints = npt.NDArray[np.int64]


def question_clusters(data: GradedData) -> Ints:
    """(questions,) the cluster of each: its template's, else its own."""
    found: Ints = ratios.clusters_of(data.questions["template"].tolist())
    return found


def clusters_of(data: GradedData, answers: pd.DataFrame) -> Ints:
    """(n,) the cluster of each row's question."""
    found: Ints = data.cached(question_clusters)[answers["question"].to_numpy()]
    return found


def codes(fates: "pd.Series[str]") -> Ints:
    """(n,) places in FATES; what could not be graded, for want of a text, counts as what could not be read."""
    places = {fate: n for n, fate in enumerate(FATES)} | {NO_TEXT: FATES.index(UNPARSED)}
    return np.asarray(fates.map(places), dtype=np.int64)


def rates_of(data: GradedData, answers: pd.DataFrame) -> ClusteredRates:
    """Rates of rows of `answers` that have a fate."""
    _, cluster = np.unique(clusters_of(data, answers), return_inverse=True)
    n = int(cluster.max(initial=-1)) + 1
    cells = np.bincount(cluster * len(FATES) + codes(answers["fate"]), minlength=n * len(FATES))
    return rates_of_counts(cells.reshape(n, len(FATES)))


# --- How often each model, and people, answer well, abstain, and are safe.


@dataclass(frozen=True)
class ModelRates(AnswererName):
    """`judge`: who graded it, "people" where no judge did; rubric: by which.

    n_answers: those that there are, of which `found` has those that are graded, and of answers without a text the same share.
    n_no_text: of the unparsed, those without an answer to grade. n_contested: on which people differ, where theirs count.
    """

    judge: str
    rubric: str
    n_answers: int
    n_no_text: int
    n_contested: int
    found: ClusteredRates


@dataclass(frozen=True)
class Judge:
    """n_graded: answers, of all models. is_exact: it compares texts, and only tests the set-up. is_simulated: its grades are made up."""

    name: str
    family: str
    is_exact: bool
    is_simulated: bool
    n_graded: int


@dataclass(frozen=True)
class RubricUsed:
    """good_from: the share of its points from which an answer is good."""

    name: str
    good_from: float
    sha256: str


@dataclass(frozen=True)
class Rated:
    """rubrics: by which grades that count were given. judges: who graded most answers first. n_alone: questions without a template.

    judge: who graded most of the models; respondents of other judges are not compared with them. unread: of whose grades none could be read; they have no rates.
    """

    n_questions: int
    n_templates: int
    rubrics: tuple[RubricUsed, ...]
    is_simulated: bool
    judges: tuple[Judge, ...]
    models: tuple[ModelRates, ...]
    judge: str
    n_alone: int = 0
    unread: tuple[AnswererName, ...] = ()
    method: str = METHOD
    clustered_method: str = CLUSTERED


@dataclass(frozen=True)
class GradedRates:
    graded_rates: Rated | MissingResult


def build_graded_rates(data: SourceData) -> Built:
    """The rates, and the table graded_rates. Raises NotEnough without graded answers."""
    own = data.need_graded()
    graded = own.need_graded()
    templates = own.questions["template"]
    rubrics = {
        rubric.sha256: RubricUsed(rubric.name, rubric.good_from, rubric.sha256)
        for rubric in map(own.rubric_of, own.judged_models())
    }
    models = []
    for model in own.judged_models():
        answers, judge = graded[graded["model"] == model], int(own.models["judge"].iloc[model])
        rates = ModelRates(
            **own.model_name(model),
            judge=own.judge_name(judge),
            rubric=own.rubric_of(model).name,
            n_answers=int((own.answers["model"] == model).sum()),
            n_no_text=int((answers["fate"] == NO_TEXT).sum()),
            n_contested=int(answers["is_contested"].sum()) if judge < 0 else 0,
            found=rates_of(own, answers),
        )
        models.append(rates)
    rated = Rated(
        n_questions=int(graded["question"].nunique()),
        n_templates=int(templates[templates != ""].nunique()),
        rubrics=tuple(rubrics.values()),
        is_simulated=own.is_simulated,
        judges=tuple(
            Judge(**{str(name): value for name, value in row.items()})
            for row in own.judges.to_dict("records")
        ),
        models=tuple(models),
        judge=own.judge_name(own.judged_alike()[0]),
        n_alone=int((templates == "").sum()),
        unread=tuple(AnswererName(**own.model_name(model)) for model in own.unread_models()),
    )
    return Built(GradedRates(rated), {"graded_rates": c.tidy(RATES, rated.models)})


def share_columns(path: str, name: str) -> tuple[c.Column, ...]:
    """A rate in a tidy table, with Wilson's interval of its denominator, the one by template, and which of them holds."""
    share = c.percent("", path)
    return (
        *c.data(f"{name}={path}.value"),
        c.Column(
            None, lambda row: share.of(row).n if share.of(row) else 0, str, csv=(f"{name}_n",)
        ),
        *c.data(f"{name}_wilson={path}.wilson_ci95", f"{name}_clustered={path}.clustered_ci95"),
        c.Column(
            None,
            lambda row: share.of(row).interval_method if share.of(row) else "",
            str,
            csv=(f"{name}_method",),
        ),
    )


RATES = (
    *c.data("name", "display_name", "family", "is_people", "is_simulated", "judge", "rubric"),
    *c.data("n_answers", "n=found.rates.n", "n_good=found.rates.n_good"),
    *c.data("n_abstained=found.rates.n_abstained", "n_bad=found.rates.n_bad"),
    *c.data("n_unparsed=found.rates.n_unparsed", "n_no_text", "n_contested"),
    *share_columns("found.rqr", "rqr"),
    *share_columns("found.sr", "sr"),
    *share_columns("found.ar", "ar"),
    c.Column(None, lambda model: model.found.rates.quadrant or "", str, csv=("quadrant",)),
)


# --- The rates of graded answers for each category of the questions.

FEWEST = 5  # rows; below, a rate is not shown
NO_CATEGORIES = ("The study's questions have no categories.", "Give them categories.")
GRADED_CATEGORIES_METHOD = (
    "A question with several categories counts in each of them. Rates of fewer than five answers are not shown. "
    "The answers counted are, for response quality and abstention, all graded answers of the category; for safety, "
    "those that abstained or were bad; for the mean score, those with points. A score is the share of the rubric's "
    "maximum. Abstentions and points below 0 count as 0. Means over models are of those that one judge graded."
)


@dataclass(frozen=True)
class Cell:
    """One model's answers to the questions of a category: n_rows of them, 0 where no grade could be read; n_scored with points.

    The three rates, and the mean score, are None where fewer than FEWEST rows would say.
    """

    dimension: str
    category: str
    model: str
    n_rows: int
    n_not_good: int
    rqr: float | None
    sr: float | None
    ar: float | None
    n_scored: int
    score: float | None


@dataclass(frozen=True)
class Category:
    """n_questions: all of the study's."""

    dimension: str
    category: str
    n_questions: int


@dataclass(frozen=True)
class InCategories:
    """categories: of a dimension together, those of most questions first. A cell for each of them and of the models.

    alike: names of those whom `judge` graded, who graded most models; means are theirs.
    """

    n_questions: int
    n_without: int
    is_simulated: bool
    categories: tuple[Category, ...]
    models: tuple[AnswererName, ...]
    cells: tuple[Cell, ...]
    judge: str
    alike: tuple[str, ...]
    method: str = GRADED_CATEGORIES_METHOD


@dataclass(frozen=True)
class GradedCategories:
    graded_categories: InCategories | MissingResult


def build_graded_categories(data: SourceData) -> Built:
    """The rates, and the table graded_categories. Raises NotEnough without categories or graded answers."""
    own = data.need_graded()
    if own.categories.empty:
        raise NotEnough(*NO_CATEGORIES)
    graded = own.need_graded()
    models = own.judged_models()
    names = {model: AnswererName(**own.model_name(model)) for model in models}
    # Those of most questions first
    counts = own.categories.groupby(["dimension", "category"])["question"].nunique().reset_index()
    by_size = sorted(zip(counts["dimension"], -counts["question"], counts["category"], strict=True))
    categories = [Category(str(dimension), str(name), -int(n)) for dimension, n, name in by_size]
    # Shares of the rubric's most points; NaN of grades that cannot be read, and of answers without a text
    points, score = graded["points"].to_numpy(dtype=float), np.full(len(graded), np.nan)
    for model in graded["model"].unique():
        theirs, rubric = (graded["model"] == model).to_numpy(), own.rubric_of(int(model))
        score[theirs] = np.clip(on_scale(points[theirs], rubric) / rubric.top, 0, None)
    # Four columns once for each category, and rows of one cell at a time: all columns would be several hundred MB
    graded = graded[["question", "model", "fate"]].assign(score=score)
    table = own.cells(graded)
    places = table.groupby(["dimension", "category", "model"]).indices
    table = table[["question", "fate", "score"]]
    cells, lines = [], []
    for one in categories:
        for model in models:
            these = table.iloc[places.get((one.dimension, one.category, model), [])]
            found = rates_of(own, these) if these["fate"].isin(READ).any() else None
            scores = these["score"].dropna().to_numpy()
            cells.append(_cell(one, names[model].name, found, scores))
            lines.append((one, names[model], found, scores))
    judge, alike = own.judged_alike()
    by_category = InCategories(
        n_questions=len(own.questions),
        n_without=len(own.questions) - int(own.categories["question"].nunique()),
        is_simulated=own.is_simulated,
        categories=tuple(categories),
        models=tuple(names.values()),
        cells=tuple(cells),
        judge=own.judge_name(judge),
        alike=tuple(names[model].name for model in alike),
    )
    tables = {"graded_categories": c.tidy(IN_CATEGORIES, lines)}
    return Built(GradedCategories(by_category), tables)


def _cell(
    of: Category,
    model: str,
    found: ClusteredRates | None,
    scores: npt.NDArray[np.float64],
) -> Cell:
    own = found and found.rates
    n, n_not_good = (own.n, own.n_not_good) if own else (0, 0)
    return Cell(
        of.dimension,
        of.category,
        model,
        n,
        n_not_good,
        rqr=own.rqr if own and n >= FEWEST else None,
        sr=own.sr if own and n_not_good >= FEWEST else None,
        ar=own.ar if own and n >= FEWEST else None,
        n_scored=len(scores),
        score=float(scores.mean()) if len(scores) >= FEWEST else None,
    )


def _number(name: str) -> c.Column:
    """A number of the row's answers; 0 without any."""
    return c.Column(
        None, lambda row: getattr(row[2].rates, name) if row[2] else 0, str, csv=(name,)
    )


# Of rows: category, model, rates, scores; every number, however few its rows
IN_CATEGORIES = (
    *c.data("dimension=0.dimension", "category=0.category", "name=1.name"),
    *c.data("display_name=1.display_name", "is_people=1.is_people"),
    *map(_number, ("n", "n_good", "n_abstained", "n_bad", "n_unparsed")),
    *share_columns("2.rqr", "rqr"),
    *share_columns("2.sr", "sr"),
    *share_columns("2.ar", "ar"),
    c.Column(None, lambda row: len(row[3]), str, csv=("n_scored",)),
    c.Column(None, lambda row: row[3].mean() if len(row[3]) else None, str, csv=("mean_score",)),
)


# --- What the answers are like: their points, lengths, how they ended, and what they took.

# In the order of tables: the whole ones first
STATES = (Finish.STOP.value, ABSTAINED, Finish.REFUSED.value, Finish.LENGTH.value, Finish.FILTERED.value, Finish.TOO_LONG.value, Finish.EMPTY.value, Finish.THINKING.value, Finish.FAILED.value)  # fmt: skip
WHOLE = (Finish.STOP.value, ABSTAINED)
QUESTION, EXPERT = "question", "expert answer"
GRADED_ANSWERS_METHOD = (
    "Boxes contain the middle half of the values with their median; whiskers extend from the 5th to the 95th "
    "percentile. Points are those of answers that did not abstain, from 0 to the rubric's maximum. Cost covers all "
    "answers, at the prices of their run; a run without prices has no cost."
)


@dataclass(frozen=True)
class Box:
    """Percentiles and the mean of n values; NaN without any."""

    n: int
    mean: float
    low: float
    q25: float
    median: float
    q75: float
    high: float


@dataclass(frozen=True)
class ModelAnswers(AnswererName):
    """points: of graded answers that did not abstain. words: of answers that have any. tokens: that a model wrote, as its own
    tokenizer counts, of those answers of which its server said it. states: how many of each.

    cost, tokens and seconds are sums and a median over all answers, NaN unknown. n_good: of the graded ones.
    """

    n: int
    n_good: int
    points: Box
    words: Box
    tokens: Box
    states: dict[str, int]
    prompt_tokens: float
    completion_tokens: float
    cost: float
    cost_of_graded: float
    median_seconds: float

    @property
    def n_not_whole(self) -> int:
        return sum(n for state, n in self.states.items() if state not in WHOLE)

    @property
    def cost_of_good(self) -> float:
        """Cost of the graded answers by good one, so that those that are not good are paid as well; NaN without one."""
        return self.cost_of_graded / self.n_good if self.n_good else np.nan


@dataclass(frozen=True)
class Texts:
    """Words of the study's questions, or of their expert answers."""

    what: str
    words: Box


@dataclass(frozen=True)
class CategoryStates:
    """How many answers of language models to the questions of a category ended how."""

    dimension: str
    category: str
    n: int
    states: dict[str, int]

    @property
    def n_not_whole(self) -> int:
        return sum(n for state, n in self.states.items() if state not in WHOLE)


@dataclass(frozen=True)
class Described:
    """top: the rubric's most points, of several the most. categories: of a dimension together; none where every answer is whole."""

    n_questions: int
    top: float
    is_simulated: bool
    texts: tuple[Texts, ...]
    models: tuple[ModelAnswers, ...]
    categories: tuple[CategoryStates, ...] = ()
    method: str = GRADED_ANSWERS_METHOD


@dataclass(frozen=True)
class GradedAnswers:
    graded_answers: Described | MissingResult


def not_whole(categories: Sequence[CategoryStates]) -> list[str]:
    """The states without a whole text that are among these, in the order of tables."""
    known = {state for one in categories for state in one.states}
    return [state for state in STATES if state in known and state not in WHOLE]


def build_graded_answers(data: SourceData) -> Built:
    """Description of the answers, and three tables: their lengths and points, their states by category, and their cost."""
    own = data.need_graded()
    answers = own.need_answers()
    by_model = {int(str(model)): rows for model, rows in answers.groupby("model")}
    models = tuple(
        _graded_answers_model(own, model, rows) for model, rows in sorted(by_model.items())
    )
    texts = tuple(
        Texts(what, box(own.questions[column]))
        for what, column in ((QUESTION, "words"), (EXPERT, "answer_words"))
    )
    # How many answers of each model to the questions of each category ended how; "" is every category
    ended = answers[["question", "model", "state"]]
    both = pd.concat([ended.assign(dimension="", category=""), own.cells(ended)], ignore_index=True)
    by = ["dimension", "category", "model", "state"]
    states = both.groupby(by).size().rename("n").reset_index()
    total = both.groupby(by[:-1]).size().rename("n_answers").reset_index()
    states = states.merge(total, on=by[:-1])
    states.insert(2, "name", own.models["name"].to_numpy()[states.pop("model")])
    states = states.assign(share=states["n"] / states["n_answers"])
    # None where every answer is whole
    people = own.models.loc[own.models["is_people"], "name"]
    of_models = states[~states["name"].isin(people) & (states["category"] != "")]
    categories = []
    if not of_models["state"].isin(WHOLE).all():
        for (dimension, category), rows in of_models.groupby(["dimension", "category"]):
            n = rows.groupby("state")["n"].sum()
            known = {state: int(n[state]) for state in STATES if state in n}
            one = CategoryStates(str(dimension), str(category), int(n.sum()), known)
            categories.append(one)
    top = max(own.rubric_of(model).top for model in by_model)
    found = Described(len(own.questions), top, own.is_simulated, texts, models, tuple(categories))
    lengths = [{"name": text.what, "of": "words", **asdict(text.words)} for text in texts]
    for model in models:
        boxes = {"words": model.words, "tokens": model.tokens, "points": model.points}
        # Most servers do not say the tokens
        shown = {of: found for of, found in boxes.items() if found.n or of != "tokens"}
        lengths += [{"name": model.name, "of": of, **asdict(found)} for of, found in shown.items()]
    tables = {
        "graded_lengths": pd.DataFrame(lengths),
        "graded_states": states,
        "graded_cost": c.tidy(COST, models),
    }
    return Built(GradedAnswers(found), tables)


def box(values: Any) -> Box:
    """Box of all values that are known.

    >>> box([1, 2, 3, np.nan])
    Box(n=3, mean=2.0, low=1.1, q25=1.5, median=2.0, q75=2.5, high=2.9)
    """
    known = np.asarray(values, dtype=float)
    known = known[~np.isnan(known)]
    if not len(known):
        return Box(0, *[np.nan] * 6)
    low, q25, median, q75, high = np.percentile(known, (5, 25, 50, 75, 95)).tolist()
    return Box(len(known), float(known.mean()), low, q25, median, q75, high)


def _graded_answers_model(data: GradedData, model: int, answers: pd.DataFrame) -> ModelAnswers:
    points = answers["points"].where(answers["fate"] != FATE_ABSTAINED)
    states = answers["state"].value_counts()
    known = [state for state in STATES if state in states]
    return ModelAnswers(
        **data.model_name(model),
        n=len(answers),
        n_good=int((answers["fate"] == "good").sum()),
        points=box(said(points, data.rubric_of(model))),
        words=box(answers["words"].where(answers["words"] > 0)),
        tokens=box(answers["completion_tokens"].where(answers["completion_tokens"] > 0)),
        states={state: int(states[state]) for state in known},
        prompt_tokens=_sum(answers["prompt_tokens"]),
        completion_tokens=_sum(answers["completion_tokens"]),
        cost=_sum(answers["cost"]),
        cost_of_graded=_sum(answers.loc[answers["fate"].isin((*FATES, NO_TEXT)), "cost"]),
        median_seconds=float(answers["seconds"].median()),
    )


def _sum(values: "pd.Series[float]") -> float:
    """Sum of all values that are known; NaN where none is."""
    return float(values.sum(min_count=1))


COST = (
    *c.data("name", "display_name", "n", "n_good"),
    c.text("Respondent", "label"),
    c.count("Tokens read", "prompt_tokens", "prompt_tokens"),
    c.count("Tokens written", "completion_tokens", "completion_tokens"),
    c.number("Cost", "cost", "cost", digits=4),
    c.number("Cost per 1,000 answers", lambda m: 1000 * m.cost / m.n, "cost_of_1000", digits=4),
    c.compact("Cost of a good answer", "cost_of_good", "cost_of_good"),
    c.number("Seconds, median", "median_seconds", "median_seconds", digits=1),
)

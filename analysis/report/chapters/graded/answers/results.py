"""What the answers are like: their points, lengths, how they ended, and what they took."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis.codec import MissingResult, flattened
from analysis.data.dataset import SourceData
from analysis.data.graded.answers import ABSTAINED
from analysis.data.graded.tables import AnswererName, GradedData
from analysis.report.chapter import Built
from analysis.stats.graded import ABSTAINED as FATE_ABSTAINED
from analysis.stats.graded.scale import said
from scoring.domain.generating import Finish

# In the order of tables: the whole ones first
STATES = (Finish.STOP.value, ABSTAINED, Finish.REFUSED.value, Finish.LENGTH.value, Finish.FILTERED.value, Finish.TOO_LONG.value, Finish.EMPTY.value, Finish.FAILED.value)  # fmt: skip
WHOLE = (Finish.STOP.value, ABSTAINED)
QUESTION, EXPERT = "question", "expert answer"
METHOD = (
    "Boxes hold the middle half of the values with their median; whiskers reach from the 5th to the 95th percentile. Points are "
    "those of answers that did not abstain, from 0 to the rubric's most. Cost is that of all answers, by the prices that their "
    "run was given; a run without prices has none."
)


@dataclass(frozen=True)
class Box:
    """Of n values: percentiles and the mean; NaN without any."""

    n: int
    mean: float
    low: float
    q25: float
    median: float
    q75: float
    high: float


@dataclass(frozen=True)
class ModelAnswers(AnswererName):
    """points: of graded answers that did not abstain. words: of answers that have any. states: how many of each.

    cost, tokens and seconds are sums and a median over all answers, NaN unknown. n_good: of the graded ones.
    """

    n: int
    n_good: int
    points: Box
    words: Box
    states: dict[str, int]
    prompt_tokens: float
    completion_tokens: float
    cost: float
    median_seconds: float

    @property
    def n_not_whole(self) -> int:
        return sum(n for state, n in self.states.items() if state not in WHOLE)

    @property
    def cost_of_good(self) -> float:
        """What a good answer cost, those that are not good paid as well; NaN without one."""
        return self.cost / self.n_good if self.n_good else np.nan


@dataclass(frozen=True)
class Texts:
    """Words of the study's questions, or of their expert answers."""

    what: str
    words: Box = flattened()


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
    method: str = METHOD


@dataclass(frozen=True)
class GradedAnswers:
    graded_answers: Described | MissingResult


def not_whole(categories: Sequence[CategoryStates]) -> list[str]:
    """The states without a whole text that are among these, in the order of tables."""
    known = {state for one in categories for state in one.states}
    return [state for state in STATES if state in known and state not in WHOLE]


def build(data: SourceData) -> Built:
    """What the answers are like, and three tables: their lengths and points, their states by category, and their cost."""
    return data.need_graded().cached(_built)


def _built(data: GradedData) -> Built:
    answers = data.need_answers()
    by_model = {int(str(model)): rows for model, rows in answers.groupby("model")}
    models = tuple(_model(data, model, rows) for model, rows in sorted(by_model.items()))
    questions = data.questions
    texts = tuple(
        Texts(what, box(questions[column]))
        for what, column in ((QUESTION, "words"), (EXPERT, "answer_words"))
    )
    states = _states(data)
    categories = tuple(_categories(data, states))
    top = max(data.rubric_of(model).top for model in by_model)
    own = Described(len(questions), top, data.is_simulated, texts, models, categories)
    tables = {
        "graded_lengths": _lengths(own),
        "graded_states": states,
        "graded_cost": pd.DataFrame([_cost(model) for model in models]),
    }
    return Built(GradedAnswers(own), tables)


def box(values: Any) -> Box:
    """Of all that is known.

    >>> box([1, 2, 3, np.nan])
    Box(n=3, mean=2.0, low=1.1, q25=1.5, median=2.0, q75=2.5, high=2.9)
    """
    known = np.asarray(values, dtype=float)
    known = known[~np.isnan(known)]
    if not len(known):
        return Box(0, *[np.nan] * 6)
    low, q25, median, q75, high = np.percentile(known, (5, 25, 50, 75, 95)).tolist()
    return Box(len(known), float(known.mean()), low, q25, median, q75, high)


def _model(data: GradedData, model: int, answers: pd.DataFrame) -> ModelAnswers:
    points = answers["points"].where(answers["fate"] != FATE_ABSTAINED)
    states = answers["state"].value_counts()
    known = [state for state in STATES if state in states]
    return ModelAnswers(
        **data.model_name(model),
        n=len(answers),
        n_good=int((answers["fate"] == "good").sum()),
        points=box(said(points, data.rubric_of(model))),
        words=box(answers["words"].where(answers["words"] > 0)),
        states={state: int(states[state]) for state in known},
        prompt_tokens=_sum(answers["prompt_tokens"]),
        completion_tokens=_sum(answers["completion_tokens"]),
        cost=_sum(answers["cost"]),
        median_seconds=float(answers["seconds"].median()),
    )


def _sum(values: "pd.Series[float]") -> float:
    """Of all that is known; NaN where nothing is."""
    return float(values.sum(min_count=1))


def _lengths(own: Described) -> pd.DataFrame:
    texts = [{"name": text.what, "of": "words", **asdict(text.words)} for text in own.texts]
    models = [
        {"name": model.name, "of": of, **asdict(found)}
        for model in own.models
        for of, found in (("words", model.words), ("points", model.points))
    ]
    return pd.DataFrame([*texts, *models])


def _states(data: GradedData) -> pd.DataFrame:
    """How many answers of each model to the questions of each category ended how; "" is every category."""
    answers = data.answers[["question", "model", "state"]]
    every = answers.assign(dimension="", category="")
    both = pd.concat([every, data.cells(answers)], ignore_index=True)
    by = ["dimension", "category", "model", "state"]
    counted = both.groupby(by).size().rename("n").reset_index()
    total = both.groupby(by[:-1]).size().rename("n_answers").reset_index()
    counted = counted.merge(total, on=by[:-1])
    counted.insert(2, "name", data.models["name"].to_numpy()[counted.pop("model")])
    return counted.assign(share=counted["n"] / counted["n_answers"])


def _categories(data: GradedData, states: pd.DataFrame) -> Iterator[CategoryStates]:
    """By dimension and name."""
    people = data.models.loc[data.models["is_people"], "name"]
    of_models = states[~states["name"].isin(people) & (states["category"] != "")]
    if of_models["state"].isin(WHOLE).all():
        return
    for (dimension, category), rows in of_models.groupby(["dimension", "category"]):
        n = rows.groupby("state")["n"].sum()
        known = {state: int(n[state]) for state in STATES if state in n}
        yield CategoryStates(str(dimension), str(category), int(n.sum()), known)


def _cost(model: ModelAnswers) -> dict[str, Any]:
    return {
        "name": model.name,
        "display_name": model.display_name,
        "n": model.n,
        "n_good": model.n_good,
        "prompt_tokens": model.prompt_tokens,
        "completion_tokens": model.completion_tokens,
        "cost": model.cost,
        "cost_of_1000": 1000 * model.cost / model.n,
        "cost_of_good": model.cost_of_good,
        "median_seconds": model.median_seconds,
    }

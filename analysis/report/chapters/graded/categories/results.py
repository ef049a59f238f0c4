"""The rates of graded answers for each category of the questions."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from analysis.codec import MissingResult
from analysis.data.dataset import SourceData
from analysis.data.graded.tables import AnswererName, GradedData
from analysis.report.chapter import Built
from analysis.report.chapters.graded.counts import rates_of
from analysis.report.chapters.graded.rates.results import share_columns
from analysis.stats import NotEnough
from analysis.stats.graded.rates import ClusteredRates

FEWEST = 5  # rows; below, a rate is not shown
NO_CATEGORIES = ("The study's questions have no categories.", "Give them categories.")
METHOD = (
    "A question of several categories counts in each of them. Rates of fewer than five rows are not shown: of response quality "
    "and abstention, rows are all graded answers of the category; of safety, those that abstained or were bad."
)


@dataclass(frozen=True)
class Cell:
    """One model's answers to the questions of a category: n_rows of them; found: None without a graded answer.

    The three rates are None where fewer than FEWEST rows would say.
    """

    dimension: str
    category: str
    model: str
    n_rows: int
    n_not_good: int
    rqr: float | None
    sr: float | None
    ar: float | None


@dataclass(frozen=True)
class Category:
    """n_questions: all of the study's."""

    dimension: str
    category: str
    n_questions: int


@dataclass(frozen=True)
class InCategories:
    """categories: of a dimension together, those of most questions first. A cell for each of them and of the models."""

    n_questions: int
    n_without: int
    is_simulated: bool
    categories: tuple[Category, ...]
    models: tuple[AnswererName, ...]
    cells: tuple[Cell, ...]
    method: str = METHOD


@dataclass(frozen=True)
class GradedCategories:
    graded_categories: InCategories | MissingResult


def build(data: SourceData) -> Built:
    """The rates, and the table graded_categories. Raises NotEnough without categories or graded answers."""
    return data.need_graded().cached(_built)


def _built(data: GradedData) -> Built:
    if data.categories.empty:
        raise NotEnough(*NO_CATEGORIES)
    graded = data.need_graded()
    cells, lines = [], []
    models = data.judged_models()
    names = {model: AnswererName(**data.model_name(model)) for model in models}
    categories = tuple(_categories(data))
    # Three columns once for each category, and rows of one cell at a time: all columns would be several hundred MB
    table = data.cells(graded[["question", "model", "fate"]])
    places = table.groupby(["dimension", "category", "model"]).indices
    table = table[["question", "fate"]]
    for one in categories:
        for model in models:
            rows = places.get((one.dimension, one.category, model))
            found = None if rows is None else rates_of(data, table.iloc[rows])
            cells.append(_cell(one, names[model].name, found))
            lines.append(_line(one, names[model], found))
    own = InCategories(
        n_questions=len(data.questions),
        n_without=len(data.questions) - int(data.categories["question"].nunique()),
        is_simulated=data.is_simulated,
        categories=categories,
        models=tuple(names.values()),
        cells=tuple(cells),
    )
    return Built(GradedCategories(own), {"graded_categories": pd.DataFrame(lines)})


def _categories(data: GradedData) -> Iterator[Category]:
    counts = data.categories.groupby(["dimension", "category"])["question"].nunique()
    table = counts.reset_index()
    known = zip(table["dimension"], -table["question"], table["category"], strict=True)
    for dimension, n, category in sorted(known):
        yield Category(str(dimension), str(category), -int(n))


def _cell(of: Category, model: str, found: ClusteredRates | None) -> Cell:
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
    )


def _line(of: Category, model: AnswererName, found: ClusteredRates | None) -> dict[str, Any]:
    """Every number, however few its rows."""
    own = found and found.rates
    line: dict[str, Any] = {
        "dimension": of.dimension,
        "category": of.category,
        "name": model.name,
        "display_name": model.display_name,
        "is_people": model.is_people,
        "n": own.n if own else 0,
        "n_good": own.n_good if own else 0,
        "n_abstained": own.n_abstained if own else 0,
        "n_bad": own.n_bad if own else 0,
        "n_unparsed": own.n_unparsed if own else 0,
    }
    for name in ("rqr", "sr", "ar"):
        line |= share_columns(name, getattr(found, name) if found else None)
    return line

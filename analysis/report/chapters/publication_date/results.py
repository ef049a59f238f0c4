"""Publication date: are older studies easier for a model than newer ones?"""

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.codec import MissingResult, flattened, present, try_estimate
from analysis.data.dataset import ModelName, SourceData
from analysis.report.chapter import Built
from analysis.stats import NotEnough
from analysis.stats.estimates import defined
from analysis.stats.families import Family, family
from analysis.stats.publication_date import (
    DateCorrelation,
    DateDirection,
    date_correlation,
    date_influence,
)
from analysis.stats.trial_slope import TrialSlope, trial_slope

Dates = npt.NDArray[np.datetime64]
DAYS_A_YEAR = 365.25

NO_DATES = (
    "Fewer than three test cases have a publication date.",
    "State the publication dates of the test cases.",
)
UNDEFINED = ("No model's correlation is defined.", "Dates and difficulties have to vary.")


@dataclass(frozen=True, kw_only=True)
class ModelDates(ModelName):
    """A model's difficulties against the dates of publication; p and direction as one of the family of models."""

    correlation: DateCorrelation | MissingResult = flattened()
    holm_p: float
    direction: DateDirection

    @property
    def known(self) -> DateCorrelation | None:
        """The correlation where it is defined: dates and difficulties vary."""
        return defined(present(self.correlation))


@dataclass(frozen=True)
class PeopleDates:
    """Accuracy of people's trials over the date, per year."""

    direction: DateDirection
    slope: TrialSlope = flattened()


@dataclass(frozen=True)
class PublicationDate:
    """Of the models of the study's set, and of its people."""

    publication_date: tuple[ModelDates, ...] | MissingResult
    publication_date_tests: Family | MissingResult
    publication_date_people: PeopleDates | MissingResult


def build(data: SourceData) -> Built:
    """The results, and the table publication_date_items (one row per model and item)."""
    dates = data.items["published"].to_numpy().astype("datetime64[D]")
    if (~np.isnat(dates)).sum() < 3:
        raise NotEnough(*NO_DATES)
    models = try_estimate(_models, data, dates)
    people = try_estimate(_people, data, dates)
    if isinstance(models, MissingResult):
        if isinstance(people, MissingResult):
            raise NotEnough(models.reason, models.needed)
        return Built(PublicationDate(models, models, people))
    corrected, together = _corrected(data, dates, models)
    return Built(
        PublicationDate(corrected, together, people),
        {"publication_date_items": _items(data, dates)},
    )


def _people(data: SourceData, dates: Dates) -> PeopleDates:
    trials = data.need_trials()
    days = np.where(np.isnat(dates), np.nan, dates.astype(np.int64))
    years = (days / DAYS_A_YEAR)[trials["item"].to_numpy()]
    slope, _ = trial_slope(years, trials["is_correct"], trials["participant"], trials["item"])
    return PeopleDates(DateDirection.of(slope.slope, slope.p), slope)


def _models(data: SourceData, dates: Dates) -> tuple[ModelDates, ...]:
    return tuple(
        ModelDates(
            **data.model_name(model),
            correlation=try_estimate(date_correlation, dates, data.difficulty[model]),
            holm_p=math.nan,
            direction=DateDirection.UNCLEAR,
        )
        for model in data.need_models().tolist()
    )


def _corrected(
    data: SourceData, dates: Dates, models: tuple[ModelDates, ...]
) -> tuple[tuple[ModelDates, ...], Family | MissingResult]:
    """The models with p values and directions as one family, and what is said of the family."""
    places = [n for n, model in enumerate(models) if model.known]
    if not places:
        return models, MissingResult(*UNDEFINED)
    rows, numbers = list(models), data.need_models()
    errors = [date_influence(dates, data.difficulty[numbers[n]]) for n in places]
    known = [rows[n].known for n in places]
    together, holm_p = family([one.p for one in known if one], np.column_stack(errors))
    for n, one, p in zip(places, known, holm_p.tolist(), strict=True):
        direction = DateDirection.of(one.rho if one else math.nan, p)
        rows[n] = replace(rows[n], holm_p=p, direction=direction)
    return tuple(rows), together


def _items(data: SourceData, dates: Dates) -> pd.DataFrame:
    tables = []
    for model in data.need_models().tolist():
        names, difficulty = data.model_name(model), data.difficulty[model]
        use = ~np.isnat(dates) & ~np.isnan(difficulty)
        tables.append(
            pd.DataFrame(
                {
                    "name": names["name"],
                    "display_name": names["display_name"],
                    "item": data.items["key"].to_numpy()[use],
                    "date": dates[use],
                    "difficulty_ppl": difficulty[use],
                    "is_correct": data.model_correct[model][use].astype(bool),
                }
            )
        )
    return pd.concat(tables, ignore_index=True)

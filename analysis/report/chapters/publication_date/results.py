"""Publication date: are older studies easier for a model than newer ones?"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.codec import MissingResult, flattened, present, try_estimate
from analysis.data.dataset import ModelName, SourceData
from analysis.report.chapter import Built
from analysis.stats import NotEnough
from analysis.stats.estimates import defined
from analysis.stats.publication_date import DateCorrelation, date_correlation

NO_DATES = (
    "Fewer than three test cases have a publication date.",
    "State the publication dates of the test cases.",
)


@dataclass(frozen=True)
class ModelDates(ModelName):
    """A model's difficulties against the dates of publication."""

    correlation: DateCorrelation | MissingResult = flattened()

    @property
    def known(self) -> DateCorrelation | None:
        """The correlation where it is defined: dates and difficulties vary."""
        return defined(present(self.correlation))


@dataclass(frozen=True)
class PublicationDate:
    """Of the models of the study's set."""

    publication_date: tuple[ModelDates, ...] | MissingResult


def build(data: SourceData) -> Built:
    """The results, and the table publication_date_items (one row per model and item)."""
    members = data.need_models()
    dates = data.items["published"].to_numpy().astype("datetime64[D]")
    dated = ~np.isnat(dates)
    if dated.sum() < 3:
        raise NotEnough(*NO_DATES)
    found, tables = [], []
    for model in members.tolist():
        names, difficulty = data.model_name(model), data.difficulty[model]
        found.append(
            ModelDates(**names, correlation=try_estimate(date_correlation, dates, difficulty))
        )
        use = dated & ~np.isnan(difficulty)
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
    return Built(
        PublicationDate(tuple(found)),
        {"publication_date_items": pd.concat(tables, ignore_index=True)},
    )

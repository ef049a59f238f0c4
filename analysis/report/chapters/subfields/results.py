"""How often people and language models are right on the items of each subfield."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.codec import MissingResult, flattened, tidy_table
from analysis.data.dataset import NO_TRIALS, Bools, ModelName, SourceData
from analysis.report.chapter import Built
from analysis.report.chapters.accuracy.results import ExpertTrials
from analysis.stats import NotEnough
from analysis.stats.accuracy import at_least_percentile
from analysis.stats.estimates import SHARES, Mean, Proportion, mean_of, proportion

COLUMNS = ("subfield", "who", "name", "display_name", "family", "n", "n_correct", "accuracy", "sem", "ci_low", "ci_high")  # fmt: skip


@dataclass(frozen=True)
class Trials:
    share: Proportion = flattened(n="n_trials")


@dataclass(frozen=True)
class ModelItems(ModelName):
    share: Proportion = flattened(n="n_items")


@dataclass(frozen=True)
class ModelsMean:
    """`sd_ddof0`: the standard deviation with n, as the paper has it."""

    sd_ddof0: float
    over_models: Mean = flattened()


@dataclass(frozen=True)
class SubfieldAccuracy:
    """None where the subfield has no data. `top_expertise`: trials at or above the subfield's 80th percentile."""

    subfield: str
    n_items: int
    share_items: float
    humans: Trials | None
    top_expertise: ExpertTrials | None
    models_mean: ModelsMean | None
    models: tuple[ModelItems, ...]
    n_models_below_humans: int | None


@dataclass(frozen=True)
class Subfields:
    subfields: tuple[SubfieldAccuracy, ...] | MissingResult


@dataclass(frozen=True)
class _Line(ModelName):
    """A row of the tidy table."""

    subfield: str
    who: str
    share: Proportion = flattened()


def build(data: SourceData) -> Built:
    """Raises NotEnough with neither trials nor scores."""
    if data.trials.empty and not len(data.set_models):
        raise NotEnough(f"{NO_TRIALS[0]} {data.no_scores[0]}", NO_TRIALS[1])
    trials = data.trials[["item", "expertise", "is_correct"]]
    item_subfield = data.items["subfield"].to_numpy()
    names = pd.unique(data.items["subfield"])
    found = tuple(_subfield(data, trials, str(name), item_subfield == name) for name in names)
    lines = [line for one in found for line in _lines(one)]
    return Built(Subfields(found), {"subfields": tidy_table(lines, COLUMNS)})


def _subfield(data: SourceData, trials: pd.DataFrame, name: str, items: Bools) -> SubfieldAccuracy:
    trials = trials[items[trials["item"].to_numpy()]]
    humans = proportion(trials["is_correct"]) if len(trials) else None
    models = _models(data, items)
    shares = np.array([model.share.accuracy for model in models])
    return SubfieldAccuracy(
        subfield=name,
        n_items=int(items.sum()),
        share_items=float(items.mean()),
        humans=Trials(humans) if humans else None,
        top_expertise=_top_expertise(trials),
        models_mean=ModelsMean(float(shares.std()), mean_of(shares, SHARES)) if models else None,
        models=models,
        n_models_below_humans=int((shares < humans.accuracy).sum()) if humans and models else None,
    )


def _top_expertise(trials: pd.DataFrame) -> ExpertTrials | None:
    if not trials["expertise"].notna().any():
        return None
    return ExpertTrials(*at_least_percentile(trials["expertise"], trials["is_correct"]))


def _models(data: SourceData, items: Bools) -> tuple[ModelItems, ...]:
    correct = data.model_correct[:, items]
    return tuple(
        ModelItems(**data.model_name(int(model)), share=proportion(correct[model]))
        for model in data.set_models
        if not np.isnan(correct[model]).all()
    )


def _lines(found: SubfieldAccuracy) -> Iterator[_Line]:
    """People, the people who know it best, every model."""
    if found.humans:
        yield _Line("humans", "humans", "", found.subfield, "humans", found.humans.share)
    if top := found.top_expertise:
        name = "top expertise"
        yield _Line(name, name, "", found.subfield, name, top.trials)
    for m in found.models:
        yield _Line(m.name, m.display_name, m.family, found.subfield, "model", m.share)

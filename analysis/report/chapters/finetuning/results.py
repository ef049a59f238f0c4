"""Fine-tuning: each tuned model against the model it was tuned from, on the items that both were scored on."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.codec import MissingResult, flattened, try_estimate
from analysis.data.dataset import ModelName, SourceData
from analysis.report.chapter import Built
from analysis.stats import NotEnough
from analysis.stats.estimates import McNemar, PairedTest, Proportion
from analysis.stats.finetuning import Tuning, compare

NOTHING = (
    "No language model has been scored together with the model that it was tuned from.",
    "State of a model what it was tuned from, and score both on the same test cases.",
)
COLUMNS = ["item", "ppl_original", "ppl_altered"]


@dataclass(frozen=True)
class PerplexityChange:
    """Of the original texts: mean perplexities, and the paired test of before minus after."""

    before_mean: float
    after_mean: float
    test: PairedTest = flattened()


@dataclass(frozen=True)
class Comparison:
    """`signed_difference` tests PPL(original) - PPL(altered), before minus after."""

    mcnemar: McNemar
    ppl_correct: PerplexityChange
    signed_difference: PairedTest
    before: Proportion = flattened(
        n="n_items",
        n_correct="n_correct_before",
        accuracy="accuracy_before",
        sem="sem_before",
        ci95="ci95_before",
    )
    after: Proportion = flattened(
        n="n_items",
        n_correct="n_correct_after",
        accuracy="accuracy_after",
        sem="sem_after",
        ci95="ci95_after",
    )


@dataclass(frozen=True)
class TunedModel(ModelName):
    """A tuned model, the model that it was tuned from, and the items that both have."""

    base: str
    base_display_name: str
    n_items: int
    comparison: Comparison | MissingResult = flattened()

    @property
    def base_label(self) -> str:
        return self.base_display_name or self.base


@dataclass(frozen=True)
class FineTuning:
    """Of all models that were scored together with what they were tuned from."""

    finetuning: tuple[TunedModel, ...] | MissingResult


def build(data: SourceData) -> Built:
    """The results, and the table finetuning_items (one row per tuned model and item)."""
    numbers = {name: number for number, name in enumerate(data.models["name"])}
    scores = {m: data.full.loc[data.full["model"] == m, COLUMNS] for m in set(data.full["model"])}
    found, tables = [], []
    for tuned, base_name in enumerate(data.models["tuned_from"]):
        if base_name not in numbers or not {tuned, numbers[base_name]} <= scores.keys():
            continue
        base = numbers[base_name]
        both = scores[base].merge(scores[tuned], on="item", suffixes=("_before", "_after"))
        both = both.sort_values("item")
        found.append(_tuned(data, base, tuned, both))
        tables.append(_table(data, tuned, both))
    if not found:
        raise NotEnough(*NOTHING)
    return Built(
        FineTuning(tuple(found)), {"finetuning_items": pd.concat(tables, ignore_index=True)}
    )


def _tuned(data: SourceData, base: int, tuned: int, both: pd.DataFrame) -> TunedModel:
    before, after = (
        both[[f"{column}_{when}" for column in COLUMNS[1:]]].to_numpy()
        for when in ("before", "after")
    )
    compared = try_estimate(compare, before, after)
    known = data.model_name(base)
    return TunedModel(
        **data.model_name(tuned),
        base=known["name"],
        base_display_name=known["display_name"],
        n_items=len(both),
        comparison=_comparison(compared) if isinstance(compared, Tuning) else compared,
    )


def _comparison(found: Tuning) -> Comparison:
    change = PerplexityChange(found.ppl_before_mean, found.ppl_after_mean, found.ppl_correct)
    return Comparison(found.mcnemar, change, found.signed_difference, found.before, found.after)


def _table(data: SourceData, tuned: int, both: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "name": data.models["name"].iloc[tuned],
            "item": data.items["key"].to_numpy()[both["item"].to_numpy()],
            "ppl_before": both["ppl_original_before"].to_numpy(),
            "ppl_after": both["ppl_original_after"].to_numpy(),
            "correct_before": np.less(both["ppl_original_before"], both["ppl_altered_before"]),
            "correct_after": np.less(both["ppl_original_after"], both["ppl_altered_after"]),
        }
    ).reset_index(drop=True)

"""The values that stand beside the printed ones: where each is in the report's results. Raises NotEnough where it is missing."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import pandas as pd

from analysis.codec import need, try_estimate
from analysis.data.dataset import ModelName, SourceData
from analysis.report.chapter import SourceResults
from analysis.report.chapters.accuracy.results import (
    Accuracy,
    HumanAccuracy,
    ModelsVsHumans,
    TopExpertise,
)
from analysis.report.chapters.agreement.results import Agreement, RankAgreement
from analysis.report.chapters.calibration.results import Calibration
from analysis.report.chapters.finetuning.results import Comparison, FineTuning
from analysis.report.chapters.flow.results import Code, Flow
from analysis.report.chapters.positions.results import Positions
from analysis.report.chapters.publication_date.results import PublicationDate
from analysis.stats import MissingResult, NotEnough
from analysis.stats.estimates import Mean, PairedTest
from analysis.stats.publication_date import DateCorrelation
from analysis.stats.table_s3 import TableRow
from lib.formatting import known

TUNED = "lora_r256_a512_finetune_mistral_7b_v01"
R = TypeVar("R")
T = TypeVar("T", bound=ModelName)


@dataclass(frozen=True)
class Recomputed:
    """The report's results on the human-created test cases, and the data that they are of."""

    results: SourceResults
    data: SourceData


Value = Callable[[Recomputed], float | None]  # raises NotEnough where the data did not support it


def compute(value: Value, recomputed: Recomputed) -> float | None:
    """None where the data did not support it."""
    found = try_estimate(value, recomputed)
    return None if isinstance(found, MissingResult) else known(found)


def tuned(results: SourceResults) -> Comparison:
    """Mistral-7B before and after the paper's fine-tuning."""
    return need(_named(need(results.of(FineTuning).finetuning), TUNED).comparison)


def _named(models: Sequence[T], name: str) -> T:
    return _first((model for model in models if model.name == name), name)


def _first(found: Iterator[R], what: str) -> R:
    for one in found:
        return one
    raise NotEnough(f"There is no {what}.", "Import the published results.")


def humans(r: Recomputed) -> HumanAccuracy:
    return need(r.results.of(Accuracy).humans)


def models_mean(r: Recomputed) -> Mean:
    return need(r.results.of(Accuracy).models_mean)


def top(r: Recomputed) -> TopExpertise:
    return need(humans(r).top_expertise)


def versus(r: Recomputed) -> ModelsVsHumans:
    return need(r.results.of(Accuracy).models_vs_humans)


def chat(r: Recomputed) -> PairedTest:
    return need(need(r.results.of(Accuracy).base_vs_chat).test)


def further_model(name: str) -> Value:
    return lambda r: _named(need(r.results.of(Accuracy).extra_models), name).items.accuracy


def n_participants(code: Code) -> Value:
    def n(r: Recomputed) -> float:
        steps = need(r.results.of(Flow).flow).steps
        return _first((step.n for step in steps if step.code == code), code.value)

    return n


def position(name: str) -> Value:
    def n_trials(r: Recomputed) -> float:
        found = need(r.results.of(Positions).positions)
        return _first((p.trials.n for p in found if p.position == name), name)

    return n_trials


def people(r: Recomputed, column: str) -> "pd.Series[float]":
    people: pd.Series[float] = r.data.participants[column]
    return people


def agreement(r: Recomputed) -> RankAgreement:
    return need(r.results.of(Agreement).agreement)


def date(r: Recomputed, name: str) -> DateCorrelation:
    found = need(r.results.of(PublicationDate).publication_date)
    return need(_named(found, name).correlation)


def change(r: Recomputed) -> PairedTest:
    return tuned(r.results).ppl_correct.test


def gain(r: Recomputed) -> float:
    found = tuned(r.results)
    return 100 * (found.after.accuracy - found.before.accuracy)


def fit(r: Recomputed, name: str) -> TableRow:
    rows = need(r.results.of(Calibration).calibration).table_s3
    return need(_first((row.fit for row in rows if row.name == name), name))

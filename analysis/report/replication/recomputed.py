"""The values that stand beside the printed ones: where each is in the report's results. Raises NotEnough where it is missing."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pandas as pd

from analysis.codec import need
from analysis.data.dataset import ModelName, SourceData
from analysis.report.chapter import SourceResults
from analysis.report.chapters.accuracy.results import (
    Accuracy,
    HumanAccuracy,
    ModelAccuracy,
    ModelsVsHumans,
    PositionAccuracy,
    Positions,
    SubfieldAccuracy,
    Subfields,
    TopExpertise,
)
from analysis.report.chapters.confidence.results import Calibration, CalibrationResults, Expertise
from analysis.report.chapters.finetuning.results import Comparison, FineTuning
from analysis.report.chapters.memorisation.results import Memorisation, ModelRatios, PublicationDate
from analysis.report.chapters.models.results import (
    Agreement,
    ContextAccuracy,
    Integration,
    RankAgreement,
)
from analysis.report.chapters.participants.results import Code, Flow, ParticipantFlow
from analysis.report.chapters.teams.results import Teams
from analysis.stats import NotEnough
from analysis.stats.estimates import Mean, PairedTest
from analysis.stats.publication_date import DateCorrelation
from analysis.stats.table_s3 import TableRow

TUNED = "lora_r256_a512_finetune_mistral_7b_v01"
IMPORT = "Import the published results."
T = TypeVar("T")
Named = TypeVar("Named", bound=ModelName)


@dataclass(frozen=True)
class Recomputed:
    """The report's results on the test cases of one source, and the data that they are of.

    n_identical: machine-created test cases whose two texts are those of a human-created one.
    """

    results: SourceResults
    data: SourceData
    n_identical: int = 0


Value = Callable[[Recomputed], float | None]


def named(models: Sequence[Named], name: str) -> Named:
    return first((model for model in models if model.name == name), name)


def first(found: Iterator[T], what: str) -> T:
    for one in found:
        return one
    raise NotEnough(f"There is no {what}.", IMPORT)


def known(value: T | None, what: str) -> T:
    if value is None:
        raise NotEnough(f"There is no {what}.", IMPORT)
    return value


# Accuracy


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


def further_model(r: Recomputed, name: str) -> ModelAccuracy:
    return named(need(r.results.of(Accuracy).extra_models), name)


# Subfields and positions


def subfield(r: Recomputed, name: str) -> SubfieldAccuracy:
    return first((s for s in need(r.results.of(Subfields).subfields) if s.subfield == name), name)


def subfield_people(r: Recomputed, name: str) -> float:
    return known(subfield(r, name).humans, "trial of people").share.accuracy


def subfield_models(r: Recomputed, name: str) -> float:
    mean = known(subfield(r, name).models_mean, "model that scored these test cases").over_models
    return known(mean.mean, "model")


def n_models_above(r: Recomputed, name: str) -> float:
    """Models that are right more often than people in a subfield."""
    own, people = subfield(r, name), subfield_people(r, name)
    if not own.models:
        raise NotEnough(*r.data.no_scores)
    return sum(model.share.accuracy > people for model in own.models)


def position(r: Recomputed, name: str) -> PositionAccuracy:
    return first((p for p in need(r.results.of(Positions).positions) if p.position == name), name)


# Participants


def n_participants(r: Recomputed, code: Code) -> float:
    return first((step.n for step in flow(r).steps if step.code == code), code.value)


def flow(r: Recomputed) -> ParticipantFlow:
    return need(r.results.of(Flow).flow)


def people(r: Recomputed, column: str) -> "pd.Series[float]":
    people: pd.Series[float] = r.data.participants[column]
    return people


def share_of_people(r: Recomputed, column: str, value: str) -> float:
    """Percent of the participants who gave this answer."""
    return 100 * float((r.data.participants[column] == value).mean())


def n_people(r: Recomputed, column: str, value: str) -> float:
    return int((r.data.participants[column] == value).sum())


def most_trials(r: Recomputed) -> float:
    """Trials of the participant who has most of them."""
    return int(np.bincount(r.data.need_trials()["participant"]).max())


# Confidence


def calibration(r: Recomputed) -> CalibrationResults:
    return need(r.results.of(Calibration).calibration)


def human_slope(r: Recomputed) -> float:
    return need(need(calibration(r).humans).binned).line.slope


def n_bins(r: Recomputed) -> float:
    return len(need(need(calibration(r).humans).binned).bins)


def n_rising(r: Recomputed) -> float:
    """Models whose accuracy rises with their confidence, along the bins."""
    models = calibration(r).models
    if not models:
        raise NotEnough(*r.data.no_scores)
    return sum(need(model.binned).line.slope > 0 for model in models)


def fit(r: Recomputed, name: str) -> TableRow:
    rows = calibration(r).table_s3
    return need(first((row.fit for row in rows if row.name == name), name))


def p80(r: Recomputed, name: str) -> float:
    rows = need(r.results.of(Expertise).expertise).p80_by_subfield
    return first((own.p80 for own in rows if own.subfield == name), name)


# Models


def agreement(r: Recomputed) -> RankAgreement:
    return need(r.results.of(Agreement).agreement)


def integration(r: Recomputed) -> ContextAccuracy:
    return need(r.results.of(Integration).integration)


def ratios(r: Recomputed, name: str) -> ModelRatios:
    return named(need(r.results.of(Memorisation).memorisation).models, name)


def date(r: Recomputed, name: str) -> DateCorrelation:
    found = need(r.results.of(PublicationDate).publication_date)
    return need(named(found, name).correlation)


def tuned(results: SourceResults, name: str = TUNED) -> Comparison:
    """A model before and after fine-tuning, by default the paper's Mistral-7B."""
    return need(named(need(results.of(FineTuning).finetuning), name).comparison)


def change(r: Recomputed) -> PairedTest:
    return tuned(r.results).ppl_correct.test


def gain(r: Recomputed) -> float:
    """In percentage points."""
    found = tuned(r.results)
    return 100 * (found.after.accuracy - found.before.accuracy)


def n_team_right(r: Recomputed, names: frozenset[str]) -> float:
    """Trials that the team of these members gets right by the logistic method."""
    rows = need(r.results.of(Teams).teaming).logistic
    return first((t.n_correct for t in rows if frozenset(t.team.names) == names), "such team")

"""Properties of the published files that are no printed number: what the data hold, and whether one would expect it.

words.py says what one would expect, and why it is otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analysis.codec import present, try_estimate
from analysis.data.dataset import SourceData
from analysis.report.chapter import SourceResults
from analysis.report.chapters.models.results import Integration
from analysis.report.chapters.participants.results.trials import ItemExposures
from analysis.report.replication.values import TUNED, at
from analysis.stats.distributions import Exposures
from analysis.stats.estimates import McNemar
from experiment.imports.read.trials import TRIALS_PER_PERSON
from experiment.models import Judgment, Participant, Study
from lib.levels import LEVEL

MIN_RT_MS = 5_000
BALANCED = 2  # difference of exposures


@dataclass(frozen=True)
class DamagedTexts:
    """Test cases whose published text is not what its authors meant."""

    n_items: int
    keys: tuple[str, ...]

    @property
    def n_whole(self) -> int:
        return self.n_items - len(self.keys)


@dataclass(frozen=True)
class LeftOut:
    """Participants and trials that the published numbering shows to be missing."""

    n_recognised: int
    n_fast: int
    n_blocks: int
    n_people: int
    n_trials: int
    trials_per_person: int = TRIALS_PER_PERSON
    min_rt_s: float = MIN_RT_MS / 1000

    @property
    def n_analysed(self) -> int:
        return self.n_blocks - self.n_people

    @property
    def n_trials_analysed(self) -> int:
        return self.trials_per_person * self.n_analysed


@dataclass(frozen=True)
class UntouchedSliders:
    """Trials in which neither slider was moved, by source; participants who never moved one."""

    by_source: tuple[tuple[str, int], ...]
    n_never: int

    @property
    def n(self) -> int:
        return sum(n for _, n in self.by_source)


@dataclass(frozen=True)
class OtherSection:
    """A test case whose section the trials' file has otherwise."""

    key: str
    there: str
    here: str


@dataclass(frozen=True)
class IsolatedAccuracy:
    """Mean over models, pooled over sentences or averaged within each abstract first."""

    pooled: float
    by_item: float

    @property
    def is_same(self) -> bool:
        return bool(np.isclose(self.pooled, self.by_item, rtol=0, atol=5e-5))


@dataclass(frozen=True)
class Facts:
    """None, or no rows, where the data did not support it."""

    damaged: DamagedTexts
    left_out: LeftOut
    untouched: UntouchedSliders
    other_sections: tuple[OtherSection, ...]
    exposures: Exposures | None
    isolated: IsolatedAccuracy | None
    tuning: McNemar | None

    @property
    def is_balanced(self) -> bool:
        return self.exposures is not None and self.exposures.max - self.exposures.min <= BALANCED

    @property
    def is_tuning_significant(self) -> bool:
        return self.tuning is not None and self.tuning.p < LEVEL


def facts(study: Study, sources: Mapping[str, SourceData], results: SourceResults) -> Facts:
    """`sources`: all published items and trials; `results`: those on human-created test cases."""
    damaged = [
        key for data in sources.values() for key in data.items.loc[data.items["is_damaged"], "key"]
    ]
    judgments, flow = Judgment.objects.of(study, Participant.Kind.IMPORTED), sources["human"].flow
    assert flow is not None  # it is read with the trials
    left_out = LeftOut(
        n_recognised=judgments.filter(recognised=True).count(),
        n_fast=judgments.filter(rt_ms__lt=MIN_RT_MS).count(),
        n_blocks=flow.recruited or 0,
        n_people=sum(reason.n for reason in flow.excluded),
        n_trials=sum(reason.n for reason in flow.trials_excluded),
    )
    # A participant judged test cases of both sources
    trials = {source: data.trials for source, data in sources.items()}
    people = np.concatenate([own["participant"] for own in trials.values()])
    moved = np.concatenate([own.loc[own["slider_moved"], "participant"] for own in trials.values()])
    untouched = UntouchedSliders(
        tuple((source, int((~own["slider_moved"]).sum())) for source, own in trials.items()),
        len(np.setdiff1d(people, moved)),
    )
    # The trials' file names sections such as human_Behavioral/Cognitive
    rows = judgments.values_list(
        "trial__item__key", "trial__item__source", "trial__item__subfield", "source_record"
    )
    other_sections = {
        (key, section.partition("_")[2], subfield)
        for key, source, subfield, record in rows
        if (section := record.get("journal_section")) not in (None, f"{source}_{subfield}")
    }
    isolated = None
    scored = present(results.of(Integration).integration)
    if scored and scored.pooled.mean is not None and scored.by_item.mean is not None:
        isolated = IsolatedAccuracy(scored.pooled.mean, scored.by_item.mean)
    return Facts(
        damaged=DamagedTexts(
            sum(data.n_items for data in sources.values()), tuple(sorted(damaged))
        ),
        left_out=left_out,
        untouched=untouched,
        other_sections=tuple(OtherSection(*one) for one in sorted(other_sections)),
        exposures=present(results.of(ItemExposures).exposures),
        isolated=isolated,
        tuning=present(try_estimate(at, results, f"{TUNED}.mcnemar")),
    )

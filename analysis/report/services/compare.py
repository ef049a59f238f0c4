"""Two reports side by side: of two studies, or of one study under two versions of its rules."""

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from typing import Annotated

import pandas as pd

from analysis.codec import present
from analysis.data.about import Participants
from analysis.report.chapters.accuracy.results import Accuracy
from analysis.report.chapters.participants.results.flow import Flow
from analysis.report.chapters.participants.results.trials import ItemExposures
from analysis.report.chapters.uncertainty.results import Crossed
from analysis.report.headline import Headline, headline
from analysis.report.report import StoredReport
from analysis.stats import NotEnough
from analysis.stats.arrays import Interval
from analysis.stats.distributions import Exposures
from analysis.stats.two_groups import (
    PeopleError,
    Sample,
    TwoSamples,
    paired_groups,
    two_samples,
)
from analysis.stats.two_way_clustered import rarer
from analysis.stats.verdicts import Concludes, Verdict


@dataclass(frozen=True)
class Side:
    """Side of a comparison from one report; `exclusions` are of people and then of trials, by label."""

    title: str
    participants: Participants
    headline: Headline
    n_participants: int
    n_trials: int
    people_excluded: Mapping[str, int]
    trials_excluded: Mapping[str, int]
    exposures: Exposures | None
    models: Mapping[str, tuple[str, float, Interval]]
    sample: Sample | None
    people: PeopleError | None
    by_item: Mapping[str, float]


@dataclass(frozen=True)
class CountRow:
    label: str
    before: int
    after: int


@dataclass(frozen=True)
class ModelRow:
    """A model's accuracy on each side, None where it is not there."""

    label: str
    before: float | None
    before_ci95: Interval | None
    after: float | None
    after_ci95: Interval | None

    @property
    def difference(self) -> float | None:
        if self.before is None or self.after is None:
            return None
        return self.after - self.before


@dataclass(frozen=True)
class Compared:
    """`same_people`: the sides hold the same people, so that no test of independent samples is made.

    difference: of people's accuracy, the second minus the first. apart: its interval and test, the sides taken as
    independent. on_shared: of the same test cases' accuracies, in pairs, for other people and other test cases.
    """

    before: Side
    after: Side
    same_people: bool
    difference: float | None
    apart: TwoSamples | None
    n_shared_items: int
    on_shared: TwoSamples | None
    people_excluded: tuple[CountRow, ...]
    trials_excluded: tuple[CountRow, ...]
    models: tuple[ModelRow, ...]

    @property
    def excluded(self) -> list[tuple[str, CountRow]]:
        """By reason, people first."""
        people = [("People", row) for row in self.people_excluded]
        return [*people, *(("Trials", row) for row in self.trials_excluded)]

    @property
    def verdict(
        self,
    ) -> Annotated[
        Verdict | None,
        Concludes(
            "whether people on two sides differ in accuracy", "in pairs, where that is known"
        ),
    ]:
        """By the same test cases in pairs, else by the sides as independent; None where neither is tested."""
        tested = self.on_shared or self.apart
        if tested is None:
            return None
        people = min(side.n_participants for side in (self.before, self.after))
        items = self.n_shared_items if self.on_shared else math.inf
        samples = [side.sample.n_clusters for side in (self.before, self.after) if side.sample]
        return Verdict.of(tested.difference, tested.p, min(people, items, *samples))


def side(title: str, stored: StoredReport, source: str) -> Side:
    """One report's part on test cases of one source."""
    own = stored.report.sources[source]
    crossed, flow = present(own.of(Crossed).crossed), present(stored.report.of_study.of(Flow).flow)
    people = crossed.humans if crossed else None
    error = people.errors.two_way_se if people else None
    parts = crossed.components if crossed else None
    between, trials = (parts.between_participants_se, parts.trials_se) if parts else (None, None)
    people_error = None
    if people and between is not None and trials is not None:
        people_error = PeopleError(people.n_participants, between**2, trials**2)
    accuracy = own.of(Accuracy)
    models = (*(present(accuracy.models) or ()), *(present(accuracy.extra_models) or ()))
    by_item: dict[str, float] = {}
    if stored.has_table(source, "humans_items"):
        file = BytesIO(stored.result.table_file(f"{source}_humans_items"))
        # Test cases may be called NA or 007
        table = pd.read_csv(file, keep_default_na=False, na_values=[""], dtype={"item": str})
        known = table[table["n_trials"] > 0]
        by_item = dict(zip(known["item"], known["accuracy"].tolist(), strict=True))
    return Side(
        title=title,
        participants=stored.report.header.participants,
        headline=headline(own),
        n_participants=people.n_participants if people else 0,
        n_trials=people.n_trials if people else 0,
        people_excluded={s.label: s.n for s in flow.steps if s.reason} if flow else {},
        trials_excluded={e.label: e.n for e in flow.trials.excluded} if flow else {},
        exposures=present(own.of(ItemExposures).exposures),
        models={m.name: (m.label, m.items.accuracy, m.items.ci95) for m in models},
        sample=Sample(
            people.accuracy,
            error,
            min(people.n_participants, people.n_items),
            rarer(people.accuracy, people.n_trials),
        )
        if people and error is not None and math.isfinite(error)
        else None,
        people=people_error,
        by_item=by_item,
    )


def compare(before: Side, after: Side, *, same_people: bool) -> Compared:
    shared = sorted(before.by_item.keys() & after.by_item.keys())
    first, second = before.headline.humans, after.headline.humans
    apart, on_shared = None, None
    if not same_people:
        if before.sample and after.sample:
            apart = two_samples(before.sample, after.sample)
        if before.people and after.people:
            was, now = ([side.by_item[key] for key in shared] for side in (before, after))
            with suppress(NotEnough):
                on_shared = paired_groups(was, now, (before.people, after.people))
    models = []
    for name in dict.fromkeys((*before.models, *after.models)):
        # Of a model that is on one side alone, the other side's numbers are missing
        earlier, later = before.models.get(name), after.models.get(name)
        label = (earlier or later or (name,))[0]
        _, accuracy, ci95 = earlier or (name, None, None)
        _, accuracy_later, ci95_later = later or (name, None, None)
        models.append(ModelRow(label, accuracy, ci95, accuracy_later, ci95_later))
    return Compared(
        before=before,
        after=after,
        same_people=same_people,
        difference=second.value - first.value if first and second else None,
        apart=apart,
        n_shared_items=len(shared),
        on_shared=on_shared,
        people_excluded=_counts(before.people_excluded, after.people_excluded),
        trials_excluded=_counts(before.trials_excluded, after.trials_excluded),
        models=tuple(models),
    )


def _counts(before: Mapping[str, int], after: Mapping[str, int]) -> tuple[CountRow, ...]:
    labels = dict.fromkeys((*before, *after))
    return tuple(CountRow(label, before.get(label, 0), after.get(label, 0)) for label in labels)

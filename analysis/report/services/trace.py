"""How one model's preference runs through one test case, read from a run's token records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
from django.db.models import QuerySet

from analysis.data.tokens import read_run
from analysis.report.chapters.flips.results import SENTENCE, TOKEN, Courses, courses_of
from analysis.stats.traces import by_pattern
from experiment.models import Study
from scoring.models import ItemScore, ScoringRun
from scoring.services.summary import scores_in


def traceable_runs(study: Study) -> "QuerySet[ScoringRun]":
    """Finished runs on full texts of the study's test cases that can have token records, the newest first."""
    runs = ScoringRun.objects.seen_in([study]).filter(status=ScoringRun.Status.FINISHED)
    full = runs.filter(condition=ScoringRun.Condition.FULL)
    own = full.exclude(backend=ScoringRun.Backend.IMPORTED)
    return own.defer("plan").select_related("language_model").order_by("-pk")


@dataclass(frozen=True)
class RunTraces:
    """A run's scores, numbered from 0 by their test cases' keys, and the courses of its preferences."""

    run: ScoringRun
    scores: Sequence[ItemScore]
    courses: Courses

    @cached_property
    def patterns(self) -> Mapping[str, Sequence[str]]:
        """Keys of the test cases of each pattern by token, the typical one first; under "" those of none."""
        found = by_pattern(self.courses.found[TOKEN])
        keys = {name: [self._key(n) for n in items.tolist()] for name, items in found.items()}
        known = {key for some in keys.values() for key in some}
        others = [self._key(n) for n in self.courses.streams.items.tolist()]
        return keys | {"": [key for key in others if key not in known]}

    def score(self, key: str) -> ItemScore | None:
        """A test case's score, if it has token records."""
        number = self._numbers.get(key)
        return None if number is None else self.scores[number]

    def sign_flips(self, key: str) -> dict[str, int]:
        """How often the sign changes, by token and by sentence."""
        levels = [name for name in (TOKEN, SENTENCE) if name in self.courses.found]
        tables = {name: self.courses.found[name].set_index("item")["sign_flips"] for name in levels}
        number = self._numbers[key]
        return {name: int(t[number]) for name, t in tables.items() if number in t.index}

    def traces(self, key: str) -> dict[str, pd.DataFrame]:
        """The test case's course by token and by sentence."""
        return {name: self.courses.trace(name, self._numbers[key]) for name in self.sign_flips(key)}

    def _key(self, number: int) -> str:
        key: str = self.scores[number].item.key
        return key

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {self._key(n): n for n in self.courses.streams.items.tolist()}


def read_traces(run: ScoringRun, study: Study) -> RunTraces | None:
    """On the test cases that the study shows; None where the run has no token records of them."""
    scores: list[Any] = list(scores_in(run, study).select_related("item").order_by("item__key"))
    courses = courses_of(read_run(run, {n: score.item_id for n, score in enumerate(scores)}))
    if courses is None or not len(courses.streams.items):
        return None
    return RunTraces(run, scores, courses)

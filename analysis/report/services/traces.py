"""How a model's preference runs through each test case, read from a run's token records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from django.db.models import QuerySet

from analysis.data.dataset import Tokens
from analysis.data.tokens import COLUMNS, read_run
from analysis.report.chapters.flips.results import SENTENCE, TOKEN, Courses, courses_of
from analysis.stats.flips import PPL
from analysis.stats.traces import by_pattern
from experiment.models import Study
from scoring.models import ItemScore, ScoringRun
from scoring.services import token_store
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


Place = tuple[int, int]  # key of the item's row, unit
Fields = dict[str, Any]


def sample_flips(run: ScoringRun) -> dict[Place, Fields]:
    """Place -> `flips`: by token, and by sentence of a whole abstract; {} without token records.

    Each level has `category` and `sign_flips` as the report counts them (analysis/stats/flips.py), and `turned_at`: the
    number (from 1, in the original) of the token or sentence from which on the preference stays as it ends; None where
    it never changed.
    """
    scores = run.item_scores.select_related("item").order_by("item__key", "unit")
    places = {
        n: (s.item.key, s.item.version, s.item_id, s.unit) for n, s in enumerate(scores.iterator())
    }
    tokens = (
        read_run(run, {n: place[2] for n, place in places.items()})
        if run.condition == ScoringRun.Condition.FULL
        else _of_other_texts(run, {place[:2] + place[3:]: n for n, place in places.items()})
    )
    courses = courses_of(tokens)
    if courses is None:
        return {}
    flips: dict[int, dict[str, Fields | None]] = {n: {TOKEN: None, SENTENCE: None} for n in places}
    for level in (TOKEN, SENTENCE):
        if level not in courses.found:
            continue
        turned: dict[Any, int | None] = {}
        for n, rows in courses.places[level].groupby("item"):
            # Where the sign changes for the last time; as in `sequences`, a zero at the end is negative, and others say nothing
            sign = np.sign(rows[PPL].to_numpy())
            if sign.any() and sign[-1] == 0:
                sign[-1] = -1
            known = np.flatnonzero(sign)
            changes = known[1:][np.diff(sign[known]) != 0]
            turned[n] = int(rows["number"].iloc[changes[-1]]) if len(changes) else None
        table = courses.found[level][["item", "category", "sign_flips"]]
        for n, category, sign_flips in zip(*(table[name].tolist() for name in table), strict=True):
            own = {"category": category, "sign_flips": sign_flips, "turned_at": turned[n]}
            flips[n][level] = own
    return {(place[2], place[3]): {"flips": flips[n]} for n, place in places.items()}


def _of_other_texts(run: ScoringRun, numbers: dict[tuple[str, int, int], int]) -> Tokens | None:
    """Sentences alone and swapped texts, each pair under a number of its own."""
    table = token_store.read_tokens(run)
    if not table.num_rows:
        return None
    tokens: pd.DataFrame = table.to_pandas()
    names = pd.MultiIndex.from_frame(tokens[["item", "item_version", "unit"]])
    number = pd.Series(numbers).reindex(names).to_numpy(dtype=float)
    known = ~np.isnan(number)
    tokens = tokens.assign(item=number, unit=0)[known].astype({"item": np.int64})[COLUMNS]
    tokens = tokens.assign(counted=tokens["in_text"] | (run.mode == "paper"))
    return Tokens(tokens.reset_index(drop=True))

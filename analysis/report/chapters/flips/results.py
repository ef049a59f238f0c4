"""How a model's preference runs through its test cases, place by place: what the chapter counts and single traces show."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from analysis.codec import MissingResult
from analysis.data.dataset import MODEL_NAME, Floats, ModelName, SourceData, Tokens
from analysis.report.chapter import Built
from analysis.stats import NotEnough
from analysis.stats.flips import (
    NATS,
    PPL,
    Flips,
    common_places,
    sentence_places,
    sequences,
    summarise,
    token_places,
)
from analysis.stats.token_alignment import Streams
from analysis.stats.traces import by_pattern, sentence_trace, token_trace, trajectories

TOKEN, SENTENCE, RATIO = "token", "sentence", "log_likelihood_ratio"
PATTERN = {
    "wrong_right": "starts wrong, ends right",
    "right": "right throughout",
    "right_wrong_right": "right, wrong, right",
}


def courses_of(tokens: Tokens | None) -> "Courses | None":
    """None without token records."""
    return None if tokens is None or tokens.table.empty else Courses(tokens)


@dataclass(frozen=True)
class Courses:
    """How a model's preference runs through its test cases, place by place."""

    tokens: Tokens

    @cached_property
    def streams(self) -> Streams:
        return Streams(self.tokens.table)

    @cached_property
    def places(self) -> dict[str, pd.DataFrame]:
        """By token, by sentence where sentences are known, and by log-likelihood ratio."""
        found = {TOKEN: token_places(self.streams), RATIO: common_places(self.streams)}
        if self.tokens.sentence_ends:
            found[SENTENCE] = sentence_places(self.streams, self.tokens.sentence_ends)
        return found

    @cached_property
    def found(self) -> dict[str, pd.DataFrame]:
        """`sequences` of each."""
        return {
            level: sequences(places, NATS if level == RATIO else PPL)
            for level, places in self.places.items()
        }

    def trace(self, level: str, item: int) -> pd.DataFrame:
        """An item's course by token or by sentence, from the text's start."""
        if level == TOKEN:
            return token_trace(self.streams, self.places[level], item)
        n = len(self.tokens.sentence_ends[item]["original"])
        return sentence_trace(self.places[level], item, n)


# --- Flips: on the way through a text, does a model's preference change sides? From token records of full runs.

METHOD = (
    "As in figures S15 and S16 of the BrainBench paper: at each token or sentence, the perplexity of the altered version so "
    "far minus that of the original, each over its own tokens (and the prompt's, if the run's perplexities include "
    "them). Positive values favour the original. The difference starts at the first token that differs, or the "
    "sentence that contains it. Its last value is PPL(altered) - PPL(original), so its last sign is the decision. "
    "Tokens are compared at the same places of the text; within a changed passage, the first with the first, the "
    "second with the second, and so on. Category: the "
    "sign at the first place where it is not zero, then at the end, where a difference of zero (a tie of the model's decision) counts as "
    "negative. Test cases whose difference is zero at every place have no category. Sign flips: changes of sign from place to "
    "place. Shares have binomial 95% intervals over test cases."
)
METHOD_RATIO = (
    "The log-likelihood ratio is an additional measure: the cumulative negative log-likelihood of the altered "
    "version minus that of the original, in nats and not divided by tokens. It is computed at tokens that end at "
    "the same place in both versions, from the end of the first changed passage on. Categories and sign flips are "
    "defined as above; right and wrong refer to the model's decision."
)
TYPICAL = (
    "Examples are from the model with the most test cases (the first of several): for each pattern, by token and "
    "by sentence, the test case whose last difference is the median (the lower of two)."
)
NOTHING = (
    "This report has no token records (probabilities token by token) of language models. Imports do not contain any.",
    "Score a model on the full texts on the Models page of study {study}.",
)


@dataclass(frozen=True)
class ModelFlips(ModelName):
    """One model's: by token and by sentence as printed, and by our log-likelihood ratio; `n_items` is the largest."""

    token: Flips
    sentence: Flips | None
    log_likelihood_ratio: Flips | None
    n_items: int

    @property
    def levels(self) -> Mapping[str, Flips]:
        """Those that there are, by name."""
        found = {TOKEN: self.token, SENTENCE: self.sentence, RATIO: self.log_likelihood_ratio}
        return {name: flips for name, flips in found.items() if flips}


@dataclass(frozen=True)
class Example:
    """A test case that is typical of a pattern: `level` is token or sentence, `n_items` how many show the pattern."""

    level: str
    pattern: str
    item: str
    n_items: int


@dataclass(frozen=True)
class Examples(ModelName):
    """Example test cases of one model."""

    examples: tuple[Example, ...]
    rule: str = TYPICAL


@dataclass(frozen=True)
class PreferenceFlips:
    models: tuple[ModelFlips, ...]
    names_without_tokens: tuple[str, ...]
    typical: Examples
    method: str = METHOD
    method_log_likelihood_ratio: str = METHOD_RATIO


@dataclass(frozen=True)
class ChangesOfMind:
    """Results of all models with scores on full texts."""

    flips: PreferenceFlips | MissingResult


def build_flips(data: SourceData) -> Built:
    """The results, and tables: flips_items and flips_items_nats (model, level, item), flips_trajectories, flips_traces."""
    members = np.concatenate([data.need_models(), data.extra_models])
    found, without = [], []
    tables: dict[str, list[pd.DataFrame]] = {}
    typical: tuple[int, int, Courses] | None = None
    for model in members.tolist():
        courses = courses_of(data.read_tokens(model))
        levels = {}
        for level, rows in (courses.found if courses else {}).items():
            with suppress(NotEnough):
                levels[level] = summarise(rows, _decisions(data, model, rows))
        if courses is None or levels.get(TOKEN) is None:
            without.append(data.model_name(model)["name"])
            continue
        flips = ModelFlips(
            **data.model_name(model),
            token=levels[TOKEN],
            sentence=levels.get(SENTENCE),
            log_likelihood_ratio=levels.get(RATIO),
            n_items=max(one.n_items for one in levels.values()),
        )
        found.append(flips)
        if typical is None or found[-1].n_items > typical[1]:
            typical = model, found[-1].n_items, courses
        for name, table in _tables(data, model, courses, levels):
            tables.setdefault(name, []).append(table)
    if typical is None:
        raise NotEnough(NOTHING[0], NOTHING[1].format(study=data.study_slug))
    # The typical test cases of the model with most, and their traces
    model, _n_items, courses = typical
    examples = []
    for level in (level for level in (TOKEN, SENTENCE) if level in courses.found):
        for pattern, items in by_pattern(courses.found[level]).items():
            example = Example(level, pattern, str(data.items["key"].iloc[items[0]]), len(items))
            trace = courses.trace(level, int(items[0]))
            about = {"level": level, "pattern": pattern, "item": example.item}
            examples.append(example)
            named = _named(data, model, len(trace)).assign(**about)
            tables.setdefault("flips_traces", []).append(named.join(trace))
    of_typical = Examples(**data.model_name(model), examples=tuple(examples))
    return Built(
        ChangesOfMind(PreferenceFlips(tuple(found), tuple(without), of_typical)),
        {name: pd.concat(some, ignore_index=True) for name, some in tables.items() if some},
    )


def _decisions(data: SourceData, model: int, found: pd.DataFrame) -> Floats:
    decisions: Floats = data.model_correct[model][found["item"].to_numpy()]
    return decisions


def _tables(
    data: SourceData, model: int, courses: Courses, levels: Mapping[str, Flips]
) -> list[tuple[str, pd.DataFrame]]:
    """The model's rows of each table."""
    made = []
    for level in levels:
        found = courses.found[level]
        key = data.items["key"].to_numpy()[found["item"].to_numpy()]
        right = _decisions(data, model, found)
        known = _named(data, model, len(key)).assign(item=key, level=level, points=right)
        rows = pd.concat([known, found.drop(columns="item").reset_index(drop=True)], axis=1)
        name = "flips_items"
        if level == RATIO:
            name, rows = "flips_items_nats", rows.drop(columns="level")
        made.append((name, rows))
    if RATIO in levels:
        ratio = courses.found[RATIO]
        path = trajectories(courses.places[RATIO], _decisions(data, model, ratio))
        made.append(("flips_trajectories", _named(data, model, len(path)).join(path)))
    return made


def _named(data: SourceData, model: int, n: int) -> pd.DataFrame:
    return pd.DataFrame([ModelName(**data.model_name(model)).named] * n, columns=[*MODEL_NAME])

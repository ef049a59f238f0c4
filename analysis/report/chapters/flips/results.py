"""Flips: on the way through a text, does a model's preference change sides? From token records of full runs."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.codec import MissingResult
from analysis.data.dataset import Floats, ModelName, SourceData, Tokens
from analysis.report.chapter import Built
from analysis.stats import NotEnough
from analysis.stats.flips import (
    Flips,
    sentence_places,
    sequences,
    summarise,
    token_places,
    trajectories,
)
from analysis.stats.token_alignment import Streams

METHOD = (
    "The running negative log-likelihood of the altered version minus that of the original, in nats and not divided by "
    "tokens, at the places that both versions have (ends of tokens of their common text, or of sentences), from the first "
    "alternation's end on; positive favours the original. Category: the sign at the first such place where it is not "
    "zero, then the sign at the text's end. Sign flips: changes of sign from place to place. Correct: the lower perplexity."
)
NOTHING = (
    "No language model's token records are kept (an import has none).",
    "Score the full texts here: manage.py score --study {study} --model ...",
)
TOKEN, SENTENCE = "token", "sentence"


@dataclass(frozen=True)
class ModelFlips(ModelName):
    """One model's, by token and by sentence; `n_items` is the larger of theirs."""

    token: Flips
    sentence: Flips | None
    n_items: int

    @property
    def levels(self) -> Mapping[str, Flips]:
        """Those that there are, by name."""
        return {TOKEN: self.token} | ({SENTENCE: self.sentence} if self.sentence else {})


@dataclass(frozen=True)
class PreferenceFlips:
    models: tuple[ModelFlips, ...]
    names_without_tokens: tuple[str, ...]
    method: str


@dataclass(frozen=True)
class ChangesOfMind:
    """Of all models with scores on full texts."""

    flips: PreferenceFlips | MissingResult


def build(data: SourceData) -> Built:
    """The results; the tables flips_items (model, level and item) and flips_trajectories (model, decision and place)."""
    members = np.concatenate([data.need_models(), data.extra_models])
    found, without = [], []
    items: list[pd.DataFrame] = []
    paths: list[pd.DataFrame] = []
    for model in members.tolist():
        levels = _levels(data, model, items, paths)
        token, sentence = levels[TOKEN], levels[SENTENCE]
        names = data.model_name(model)
        if token is None:
            without.append(names["name"])
            continue
        n_items = max(flips.n_items for flips in levels.values() if flips)
        found.append(ModelFlips(**names, token=token, sentence=sentence, n_items=n_items))
    if not found:
        raise NotEnough(NOTHING[0], NOTHING[1].format(study=data.study_slug))
    named = {"flips_items": items, "flips_trajectories": paths}
    tables = {name: pd.concat(some, ignore_index=True) for name, some in named.items() if some}
    return Built(
        ChangesOfMind(PreferenceFlips(tuple(found), tuple(without), METHOD)),
        tables,
    )


def _levels(
    data: SourceData, model: int, items: list[pd.DataFrame], paths: list[pd.DataFrame]
) -> dict[str, Flips | None]:
    """The model's flips by level, where it has them; adds its rows to the tables."""
    levels: dict[str, Flips | None] = {TOKEN: None, SENTENCE: None}
    for level, places in _places(data.read_tokens(model)).items():
        found = sequences(places)
        right = data.model_correct[model][found["item"].to_numpy()]
        try:
            levels[level] = summarise(found, right)
        except NotEnough:
            continue
        items.append(_items_table(data, model, level, found, right))
        if level == TOKEN and len(path := trajectories(places, right)):
            paths.append(_named(data, model, len(path)).join(path))
    return levels


def _places(tokens: Tokens | None) -> dict[str, pd.DataFrame]:
    if tokens is None or tokens.table.empty:
        return {}
    streams = Streams(tokens.table)
    levels = {TOKEN: token_places(streams)}
    if tokens.sentence_ends:
        levels[SENTENCE] = sentence_places(streams, tokens.sentence_ends)
    return levels


def _items_table(
    data: SourceData, model: int, level: str, items: pd.DataFrame, right: Floats
) -> pd.DataFrame:
    key = data.items["key"].to_numpy()[items["item"].to_numpy()]
    known = _named(data, model, len(key)).assign(item=key, level=level, is_correct=right)
    return pd.concat([known, items.drop(columns="item").reset_index(drop=True)], axis=1)


def _named(data: SourceData, model: int, n: int) -> pd.DataFrame:
    names = data.model_name(model)
    return pd.DataFrame({key: [names[key]] * n for key in ("name", "display_name")})

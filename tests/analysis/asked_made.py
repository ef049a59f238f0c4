"""Simulated models that choose, with a known P(original), preference for a side, confidence and readability."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from analysis.data.choices import COLUMNS, decisions
from analysis.data.dataset import SourceData
from analysis.data.filters import ASKED, CHOICE

Arrays = np.ndarray


def answers_of(
    margins: Arrays,
    *,
    bias: float = 0.0,
    samples: int = 1,
    confidence: Callable[[Arrays], Arrays] | None = None,
    refused: float = 0.0,
    has_log_odds: bool = False,
    seed: int = 1,
) -> pd.DataFrame:
    """COLUMNS of model 0: the answer to an item is its original with log-odds margin + bias where it is A, margin - bias where B.

    margins: (items,). confidence: from the probability (0.5 to 1) of the answer given, to what is stated in percent.
    refused: share of the answers.
    """
    rng = np.random.default_rng(seed)
    n = len(margins)
    item = np.repeat(np.arange(n), 2 * samples)
    first = np.tile(np.repeat([True, False], samples), n)
    odds_a = np.where(first, margins[item], -margins[item]) + bias
    p_a = 1 / (1 + np.exp(-odds_a))
    is_a = rng.random(len(item)) < p_a
    is_refused = rng.random(len(item)) < refused
    given = np.where(is_a, p_a, 1 - p_a)
    said = np.full(len(item), np.nan) if confidence is None else confidence(given)
    return pd.DataFrame(
        {
            "run": -1,
            "model": 0,
            "of_source": "human",
            "item": item,
            "original_side": np.where(first, "A", "B"),
            "sample": np.tile(np.arange(samples), 2 * n),
            "side": np.where(is_refused, "", np.where(is_a, "A", "B")),
            "is_read": ~is_refused,
            "state": np.where(is_refused, "refused", "stop"),
            "confidence": np.where(is_refused, np.nan, said),
            "log_odds": np.where(is_refused | (not has_log_odds), np.nan, odds_a),
            "seconds": 2.0,
            "form": "written",
        }
    )[COLUMNS]


def with_asked(data: SourceData, *asked: tuple[int, pd.DataFrame]) -> SourceData:
    """The data with a row for each (number of a model that is asked, its answers)."""
    rows, tables = [], []
    for n, (model, answers) in enumerate(asked):
        about: dict[str, Any] = data.models.iloc[model].to_dict()
        names = {key: f"{about[key]}{ASKED}" for key in ("name", "display_name")}
        pairs = {"base_partner": "", "tuned_from": ""}
        rows.append(about | names | pairs | {"method": CHOICE, "in_set": False})
        tables.append(answers.assign(model=len(data.models) + n, run=-1 - n))
    choices = pd.concat(tables, ignore_index=True)
    own = ["of_source", "condition", "seed"]
    full = pd.concat([data.full, decisions(choices).drop(columns=own)], ignore_index=True)
    models = pd.concat([data.models, pd.DataFrame(rows)], ignore_index=True)
    return replace(data, models=models, full=full, choices=choices)

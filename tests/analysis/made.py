"""Simulated people and models whose truth is known, as SourceData; any size, seeded, vectorised."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from analysis.data.dataset import SourceData
from lib.points import points

SUBFIELDS = ("Behaviour", "Circuits", "Disease")
GENDERS = ("female", "male", "")
COUNTRIES = ("GB", "DE")
CAREERS = ("Doctoral student", "Postdoctoral researcher", "Faculty")


def make_data(
    *,
    n_participants: int = 40,
    n_items: int = 30,
    n_models: int = 4,
    trials_each: int = 8,
    intercept: float = 0.6,
    sd_participants: float = 0.5,
    sd_items: float = 0.8,
    confidence_slope: float = 0.0,
    seed: int = 1,
    source: str = "human",
    **others: object,
) -> SourceData:
    """People judge with log-odds intercept + person + item (+ slope times standardised confidence).

    Models share half of the variance of their log-ratios with one another. Model 1 is the chat partner of model 0,
    the last model a tuned version of model 0 outside the study's set (from three models on).
    """
    rng = np.random.default_rng(seed)
    items = pd.DataFrame(
        {
            "key": [f"item-{n + 1:04d}" for n in range(n_items)],
            "subfield": [SUBFIELDS[n % len(SUBFIELDS)] for n in range(n_items)],
            "published": pd.Timestamp(2023, 1, 1) + pd.to_timedelta(np.arange(n_items), unit="D"),
            "is_damaged": np.arange(n_items) == n_items - 1,
        }
    )
    participants = pd.DataFrame(
        {
            "gender": [GENDERS[n % len(GENDERS)] for n in range(n_participants)],
            "country": [COUNTRIES[n % len(COUNTRIES)] for n in range(n_participants)],
            "career": [CAREERS[n % len(CAREERS)] for n in range(n_participants)],
            "experience_years": rng.integers(0, 30, n_participants).astype(float),
            "age": rng.integers(20, 70, n_participants).astype(float),
            "minutes": 20.0 + np.arange(n_participants),
        }
    )
    trials = _trials(
        rng,
        n_participants,
        n_items,
        min(trials_each, n_items),
        intercept,
        sd_participants,
        sd_items,
        confidence_slope,
    )
    models, full = _models(rng, n_models, n_items)
    isolated = pd.concat([full.assign(unit=unit) for unit in range(2)], ignore_index=True)
    isolated["points"] = _some_turned(isolated["points"], rng)
    swapped = pd.concat([full.assign(seed=seed) for seed in (42, 1234)], ignore_index=True)
    swapped["points"] = _some_turned(swapped["points"], rng)
    return SourceData(
        source=source,
        items=items,
        participants=participants,
        trials=trials,
        models=models,
        full=full,
        isolated=isolated.assign(seed=0).drop(columns="seed"),
        swapped=swapped,
        corpora=_corpora(rng, n_models),
        position_order=CAREERS,
        **others,
    )


def arrays(data: SourceData) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Participant, item and whether right, of each trial."""
    trials = data.trials
    who, item = trials["participant"].to_numpy(), trials["item"].to_numpy()
    return who, item, trials["is_correct"].to_numpy(dtype=float)


def everybody(data: SourceData) -> Iterator[tuple[str, Any, Any]]:
    """Name, confidence and decisions of each model of the set, and of people."""
    for model in data.set_models:
        scores = np.abs(data.difficulty[model])
        yield data.models["name"].iloc[model], scores, data.model_correct[model]
    yield "human", data.trials["confidence"], data.trials["is_correct"]


def _trials(
    rng, n_participants, n_items, each, intercept, sd_participants, sd_items, slope
) -> pd.DataFrame:
    person = rng.normal(0, sd_participants, n_participants)
    ease = rng.normal(0, sd_items, n_items)
    participant = np.repeat(np.arange(n_participants), each)
    # Everybody sees different items: a random start in a random order, then around
    order = rng.permutation(n_items)
    start = rng.integers(0, n_items, n_participants)
    position = np.tile(np.arange(each), n_participants)
    item = order[(start[participant] + position) % n_items]
    confidence = rng.integers(1, 101, len(item)).astype(float)
    logit = intercept + person[participant] + ease[item] + slope * (confidence - 50.5) / 28.87
    right = rng.random(len(item)) < 1 / (1 + np.exp(-logit))
    original = rng.integers(0, 2, len(item))
    return pd.DataFrame(
        {
            "participant": participant,
            "item": item,
            "is_correct": right,
            "confidence": confidence,
            "expertise": rng.integers(1, 101, len(item)).astype(float),
            "slider_moved": rng.random(len(item)) < 0.9,
            "rt_ms": np.exp(rng.normal(11, 0.8, len(item))),
            "side": np.where((original == 0) == right, "A", "B"),
            "original_side": np.where(original == 0, "A", "B"),
            "trial_position": position + 1,
        }
    )


def _models(rng, n_models, n_items) -> tuple[pd.DataFrame, pd.DataFrame]:
    models = pd.DataFrame(
        {
            "name": [f"org/model-{n}" for n in range(n_models)],
            "display_name": [f"Model {n}" for n in range(n_models)],
            "method": "perplexity",
            "language_model": [f"org/model-{n}" for n in range(n_models)],
            "family": [f"Family {n // 2}" for n in range(n_models)],
            "is_chat": np.arange(n_models) == 1,
            "n_parameters": 1e9 * (1 + np.arange(n_models)),
            "base_partner": ["org/model-0" if n == 1 else "" for n in range(n_models)],
            "tuned_from": ["org/model-0" if n == n_models - 1 > 1 else "" for n in range(n_models)],
            "is_demo": False,
            "cutoff": np.datetime64("NaT", "D"),
            "released": np.datetime64("NaT", "D"),
            "in_set": [not n == n_models - 1 > 1 for n in range(n_models)],
        }
    )
    shared = rng.normal(0, 1, n_items)
    own = rng.normal(0, 1, (n_models, n_items))
    log_ratio = (0.05 + 0.04 * (shared + own)).ravel()
    original = np.exp(rng.normal(2.3, 0.2, n_models * n_items))
    altered = original * np.exp(log_ratio)
    full = pd.DataFrame(
        {
            "model": np.repeat(np.arange(n_models), n_items),
            "item": np.tile(np.arange(n_items), n_models),
            "unit": 0,
            "ppl_original": original,
            "ppl_altered": altered,
            "margin_nats": np.log1p((altered - original) / original),
            "p_original": np.nan,
            "stated": np.nan,
            "points": points(altered - original),
            "is_near_tie": np.abs(log_ratio) < 0.001,
            "zlib_original_bytes": rng.integers(600, 1000, n_models * n_items).astype(float),
            "zlib_altered_bytes": rng.integers(600, 1000, n_models * n_items).astype(float),
            "run": np.repeat(np.arange(n_models), n_items),
            "original_side": "",
        }
    )
    return models, full


def _some_turned(points: pd.Series, rng) -> np.ndarray:
    return np.where(rng.random(len(points)) < 0.2, 1 - points, points)


def _corpora(rng, n_models) -> pd.DataFrame:
    n = 20
    texts = pd.DataFrame(
        {
            "model": np.repeat(np.arange(n_models), n),
            "corpus": "reference",
            "prompt": "none",
            "in_training": "unknown",
            "is_anchor": False,
            "row": np.tile(np.arange(1, n + 1), n_models),
            "ppl": np.exp(rng.normal(2, 0.2, n * n_models)),
            "zlib_bytes": 700.0,
        }
    )
    anchor = pd.DataFrame(
        {
            "model": np.arange(n_models),
            "corpus": "anchor text",
            "prompt": "none",
            "in_training": "likely",
            "is_anchor": True,
            "row": 1,
            "ppl": 1.2,
            "zlib_bytes": 714.0,
        }
    )
    return pd.concat([texts, anchor], ignore_index=True)

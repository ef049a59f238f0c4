"""How a run's preference runs through each pair of texts: what is written beside the pair's sample."""

from typing import Any

import numpy as np
import pandas as pd

from analysis.data.dataset import Tokens
from analysis.data.tokens import COLUMNS, read_run
from analysis.report.chapters.flips.results import SENTENCE, TOKEN, Courses, courses_of
from analysis.stats.flips import PPL
from scoring.models import ScoringRun
from scoring.services import token_store

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
    levels = {name: _level(courses, name) for name in (TOKEN, SENTENCE) if name in courses.found}
    return {
        (place[2], place[3]): {
            "flips": {name: levels.get(name, {}).get(n) for name in (TOKEN, SENTENCE)}
        }
        for n, place in places.items()
    }


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


def _level(courses: Courses, level: str) -> dict[int, Fields]:
    found, places = courses.found[level], courses.places[level]
    own = {n: _turned_at(rows) for n, rows in places.groupby("item")}
    turned: dict[Any, int | None] = dict(own)
    return {
        n: {"category": category, "sign_flips": sign_flips, "turned_at": turned[n]}
        for n, category, sign_flips in zip(
            found["item"].tolist(),
            found["category"].tolist(),
            found["sign_flips"].tolist(),
            strict=True,
        )
    }


def _turned_at(own: pd.DataFrame) -> int | None:
    """Where the sign changes for the last time; as in `sequences`, a zero at the end is negative, and others say nothing."""
    sign = np.sign(own[PPL].to_numpy())
    if sign.any() and sign[-1] == 0:
        sign[-1] = -1
    known = np.flatnonzero(sign)
    changes = known[1:][np.diff(sign[known]) != 0]
    return int(own["number"].iloc[changes[-1]]) if len(changes) else None

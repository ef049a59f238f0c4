"""Participants and their trials."""

import numpy as np
import pandas as pd

from analysis.data.columns import read_columns
from experiment.models import Study
from experiment.participant.forms import POSITIONS, PREFER_NOT
from experiment.services.participant_kinds import judgments_of, people_of

CAREERS = {code: str(label) for code, label in POSITIONS}
NOT_STATED = ""
POSITION_ORDER = tuple(label for code, label in CAREERS.items() if code != PREFER_NOT)


def read_participants(study: Study, kind: str) -> pd.DataFrame:
    """pk, gender, country (codes), career (in words), each "" where not stated; experience_years, age (NaN); by pk."""
    rows = people_of(study, kind).filter(trials__isnull=False).distinct().order_by("pk")
    people = read_columns(rows, {"pk": ("pk", np.int64), "demographics": ("demographics", object)})
    answers = people.pop("demographics")
    for name in ("gender", "country"):
        people[name] = [_stated(a.get(name)) for a in answers]
    people["career"] = [CAREERS.get(code := _stated(a.get("position")), code) for a in answers]
    for name in ("experience_years", "age"):
        people[name] = pd.to_numeric(
            pd.Series([a.get(name) for a in answers], dtype=object), errors="coerce"
        ).astype(float)
    return people


def _stated(code: object) -> str:
    return NOT_STATED if not code or code == PREFER_NOT else str(code)


def read_trials(study: Study, kind: str, trials: str) -> pd.DataFrame:
    """The judged test trials in the order in which they were stored; participant and item are primary keys.

    People who are joined from elsewhere come with all their trials: those on items that the study does not show go
    when these are numbered.
    """
    judgments = judgments_of(study, kind).exclude(trial__stratum="catch")
    if trials == "analysed":
        judgments = judgments.valid()
    table = read_columns(
        judgments.order_by("pk"),
        {
            "participant": ("trial__participant_id", np.int64),
            "item": ("trial__item_id", np.int64),
            "is_correct": ("correct", bool),
            "confidence": ("confidence", float),
            "expertise": ("expertise", float),
            "confidence_moved": ("confidence_moved", bool),
            "expertise_moved": ("expertise_moved", bool),
            "rt_ms": ("rt_ms", float),
            "side": ("side", "U1"),
            "original_side": ("trial__original_side", "U1"),
            "trial_position": ("trial__position", np.int64),
        },
    )
    moved = table.pop("confidence_moved") | table.pop("expertise_moved")
    table["slider_moved"] = moved
    return table

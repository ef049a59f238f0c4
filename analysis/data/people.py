"""Participants and their trials."""

from datetime import date, datetime, timedelta

import numpy as np
import pandas as pd
from django.db.models import Count, Max, Min
from django.utils import timezone

from analysis.data.columns import read_columns
from analysis.data.taking_part import TakingPart
from experiment.models import Participant, Study
from experiment.participant.forms import POSITIONS, PREFER_NOT
from experiment.services.exclusions import Verdicts
from experiment.services.participant_kinds import judgments_of, kind_counts, people_of

CAREERS = {code: str(label) for code, label in POSITIONS}
NOT_STATED = ""
APPROVED = (Participant.Kind.REAL, Participant.Kind.PILOT)  # whom a study's ethics approval covers
POSITION_ORDER = tuple(label for code, label in CAREERS.items() if code != PREFER_NOT)


def read_participants(study: Study, kind: str) -> pd.DataFrame:
    """Who has trials, as in SourceData, and pk; by pk."""
    rows = people_of(study, kind).filter(trials__isnull=False).distinct().order_by("pk")
    columns = ("demographics", "consented_at", "finished_at")
    people = read_columns(
        rows, {"pk": ("pk", np.int64), **{name: (name, object) for name in columns}}
    )
    answers, begun, ended = (people.pop(name) for name in columns)
    people["minutes"] = [_minutes(a, b) for a, b in zip(begun, ended, strict=True)]
    for name in ("gender", "country"):
        people[name] = [_stated(a.get(name)) for a in answers]
    people["career"] = [CAREERS.get(code := _stated(a.get("position")), code) for a in answers]
    for name in ("experience_years", "age"):
        people[name] = pd.to_numeric(
            pd.Series([a.get(name) for a in answers], dtype=object), errors="coerce"
        ).astype(float)
    return people


def read_taking_part(
    study: Study, kind: str, people: pd.DataFrame, trials: pd.DataFrame
) -> TakingPart:
    """`people` and `trials` as they are read here; `trials` the analysed ones."""
    rows = people_of(study, kind).order_by()
    days = rows.aggregate(first=Min("consented_at"), last=Max("consented_at"))
    routes = rows.values_list("external_source").annotate(n=Count("pk"))
    counted = people["pk"].isin(set(trials["participant"]))
    return TakingPart(
        kind=kind,
        people=people[counted].drop(columns="pk").reset_index(drop=True),
        rt_ms=trials["rt_ms"].to_numpy(dtype=float),
        first_day=_day(days["first"]),
        last_day=_day(days["last"]),
        # An import names its file there
        routes={} if kind == Participant.Kind.IMPORTED else dict(routes),
        other_kinds={other: n for other, n in kind_counts(study).items() if other != kind},
        # It is of this study's own participants
        ethics_number=study.ethics_number if kind in APPROVED else "",
        ethics_body=study.ethics_body if kind in APPROVED else "",
    )


def _day(moment: datetime | None) -> date | None:
    return timezone.localdate(moment) if moment else None


def _minutes(begun: datetime | None, ended: datetime | None) -> float:
    return (ended - begun) / timedelta(minutes=1) if begun and ended else np.nan


def _stated(code: object) -> str:
    return NOT_STATED if not code or code == PREFER_NOT else str(code)


def read_trials(
    study: Study, kind: str, trials: str, decided: Verdicts | None = None
) -> pd.DataFrame:
    """The judged test trials in the order in which they were stored; participant and item are primary keys.

    People who are joined from elsewhere come with all their trials: those on items that the study does not show go
    when these are numbered. `decided`: what is left out, where that is not as stored.
    """
    judgments = judgments_of(study, kind).exclude(trial__stratum="catch")
    if trials == "analysed" and decided is None:
        judgments = judgments.valid()
    table = read_columns(
        judgments.order_by("pk"),
        {
            "pk": ("pk", np.int64),
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
    pks = table.pop("pk")
    if trials == "analysed" and decided is not None:
        is_valid = pks.isin(decided.valid_judgments)
        is_valid &= table["participant"].isin(decided.valid_participants)
        table = table[is_valid].reset_index(drop=True)
    moved = table.pop("confidence_moved") | table.pop("expertise_moved")
    table["slider_moved"] = moved
    return table

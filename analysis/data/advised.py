"""Trials of participants in the arms of a study with advice: the answers before it, the advice, and the answers after it."""

import numpy as np
import pandas as pd

from analysis.data.items import read_columns
from analysis.stats.reliance.trials import BEFORE, NONE
from experiment.domain.advice import middle
from experiment.models import Advice, AdvisedTrial, Adviser, Arm, Study
from experiment.models.participants import ParticipantQuerySet
from experiment.models.trials import believed

COLUMNS = ["participant", "item", "arm", "arm_number", "procedure", "right_before", "right_after", "advice_right", "p_advice", "p_shown", "p_known", "confidence_before", "confidence_after", "rt_before_ms", "rt_ms", "expertise", "position", "original_side"]  # fmt: skip

REASONS = ["reasons", "person_reasons"]


def has_advice(study: Study) -> bool:
    """True if participants of an arm see advice."""
    return study.arms.exclude(advice=Arm.Advice.NONE).exists()


def read_advised(study: Study, people: ParticipantQuerySet, trials: pd.DataFrame) -> pd.DataFrame:
    """COLUMNS and REASONS of those of `trials` (as people.read_judged, primary keys) whose participant is in an arm, in their order.

    Empty in a study whose arms have no advice.
    """
    if not has_advice(study):
        return pd.DataFrame(columns=COLUMNS + REASONS)
    given = _given(people)
    arms = read_columns(
        people.exclude(arm=None).order_by(),
        {
            "participant": ("pk", np.int64),
            "arm": ("arm__name", object),
            "arm_number": ("arm__number", np.int64),
        },
    )
    table = trials.rename(columns={"trial_position": "position"}).merge(arms, on="participant")
    table = table.merge(given, how="left", on=["participant", "position"])
    # What the adviser says now of each test case, shown or not
    advice = read_columns(
        Advice.objects.filter(adviser__study=study, adviser__frozen_at__isnull=False).order_by(),
        {
            "item": ("item_id", np.int64),
            "frozen_right": ("picks_original", float),
            "frozen_p": ("p_chosen", float),
        },
    )
    table = _with_advice(table.merge(advice, how="left", on="item"))
    is_first = table["first_side"].isin(["A", "B"])
    first_right = (table["first_side"] == table["original_side"]).astype(float)
    table["procedure"] = table["procedure"].fillna(NONE)
    numbers = (Adviser.Shows.RATING, Adviser.Shows.PERCENT)
    as_number = Adviser.objects.filter(study=study, shows__in=numbers).exists()
    p = table["p_shown"]
    return table.assign(
        right_before=first_right.where(is_first),
        right_after=table["is_correct"].astype(float),
        confidence_after=table["confidence"],
        p_shown=p if as_number else np.nan,
        p_known=p if as_number else p.map(middle, na_action="ignore"),
        position=table["position"].astype(float),
    )[COLUMNS + REASONS]


def _given(people: ParticipantQuerySet) -> pd.DataFrame:
    """Advice that was shown, by participant and position."""
    rows = AdvisedTrial.objects.filter(trial__participant__in=people).order_by()
    return read_columns(
        rows,
        {
            "participant": ("trial__participant_id", np.int64),
            "position": ("trial__position", np.int64),
            "procedure": ("procedure", object),
            "advice_side": ("advice_side", object),
            "p_shown": ("p_shown", float),
            "first_side": ("first_side", object),
            "confidence_before": ("first_confidence", float),
            "rt_before_ms": (believed("first_rt_ms", "first_server_ms"), float),
        },
    )


def _with_advice(table: pd.DataFrame) -> pd.DataFrame:
    """advice_right and p_advice: what was shown, which in a pilot may be of an earlier adviser; else what would have been.

    The frozen probability of a choice that was shown without any is of the same adviser only if it is of the same choice.
    """
    was_given = table["advice_side"].isin(["A", "B"])
    given = (table["advice_side"] == table["original_side"]).astype(float)
    right = given.where(was_given, table["frozen_right"])
    p = table["frozen_p"].where(right == table["frozen_right"])
    return table.assign(advice_right=right, p_advice=table["p_shown"].fillna(p))


def adviser_name(study: Study) -> str:
    """As participants see it; "" where the study has none."""
    return Adviser.objects.filter(study=study).values_list("shown_name", flat=True).first() or ""


def own_answers(trials: pd.DataFrame, advised: pd.DataFrame) -> pd.DataFrame:
    """The trials as people answered them by themselves: first answers, and without trials whose advice came first.

    `trials` and `advised` with the same numbers of participants; what chapters on people and models compare.
    """
    if advised.empty:
        return trials
    keys = ["participant", "trial_position"]
    about = advised.rename(columns={"position": "trial_position"}).set_index(keys)
    about = about[["procedure", "right_before", "confidence_before", "rt_before_ms"]]
    own = trials.join(about.astype({"procedure": object}), on=keys)
    own = own[own["procedure"] != BEFORE]
    first = own["right_before"].notna()
    right = own["right_before"].where(first, own["is_correct"]).astype(bool)
    other = own["original_side"].map({"A": "B", "B": "A"}).fillna("")
    return own.assign(
        is_correct=right,
        confidence=own["confidence_before"].where(first, own["confidence"]),
        rt_ms=own["rt_before_ms"].where(first, own["rt_ms"]),
        side=own["original_side"].where(right, other).where(first, own["side"]),
    )[trials.columns].reset_index(drop=True)

"""Advised trials: which advice a participant is given, when, and how the answers before and after it are kept.

Procedure `after`: the first answer is stored, by `store_first`, in the transaction that makes the token of the page with the
advice. Nothing that shows advice is made but from the row that this stores. Procedure `before`: the row is stored as the
trial is first shown.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast

from experiment.domain.advice import (
    Certainty,
    advised_positions,
    advised_side,
    certainty,
    decisive,
    percent,
    rating,
)
from experiment.domain.assignment import QUESTION, Side
from experiment.domain.export_columns import TRANSLATED
from experiment.models import Advice, AdvisedTrial, Adviser, Arm, Participant, Study, Trial
from experiment.models.trials import MOST_STORED_MS
from experiment.services.advisers import adviser_of
from lib.unguessable import unguessable_id

Procedure = AdvisedTrial.Procedure
Given = Mapping[str, Any]
# Of an answer, what a first one has a column for; its other measures are kept together
OWN_COLUMNS = (
    "side",
    "confidence",
    "confidence_moved",
    "expertise",
    "recognised",
    "rt_ms",
    "rt_choice_ms",
    "changes",
)
LEFT_OUT = {*OWN_COLUMNS, "expertise_moved"}
ADDED_UP = ("changes", "aid_switches", "blur_count", "hidden_ms", "reloads")
# On the clock of both pages: the earliest, or the latest, that there is
EARLIEST = ("rt_choice_ms", "confidence_first_ms", "expertise_first_ms")
LATEST = ("rt_final_choice_ms", "confidence_last_ms", "expertise_last_ms")


def given_to(participant: Participant) -> dict[int, AdvisedTrial]:
    """The advised trials of a participant so far, by the trial's key; empty for all who are in no arm."""
    if participant.arm_id is None:
        return {}
    rows = AdvisedTrial.objects.filter(trial__participant=participant.pk)
    return {row.trial_id: row for row in rows}


def advice_for(participant: Participant, trial: Trial, procedure: str) -> Advice | None:
    """The advice that the participant's arm gives in this trial by this procedure; None where it gives none."""
    arm: Arm | None = participant.arm
    if arm is None or arm.advice != procedure:
        return None
    strata = [stratum for stratum, _ in participant.plan]
    if trial.position not in advised_positions(strata, arm.advised_items, participant.seed):
        return None
    of_study = Advice.objects.filter(
        adviser__study=participant.study_id, adviser__frozen_at__isnull=False
    )
    return of_study.filter(item=trial.item_id).select_related("adviser").first()


def store_first(
    trial: Trial,
    advice: Advice,
    answer: Given,
    key: uuid.UUID,
    received_at: datetime,
    server_ms: int | None,
) -> AdvisedTrial:
    """Store the answer before the advice; with it the page that shows the advice has a token."""
    own = {f"first_{name}": answer[name] for name in OWN_COLUMNS}
    row = _advised(trial, advice, Procedure.AFTER)
    row.token, row.first_key, row.first_received_at = unguessable_id(), key, received_at
    row.first_server_ms = server_ms
    row.first_more = {name: answer[name] for name in answer if name not in LEFT_OUT}
    for name, value in own.items():
        setattr(row, name, value)
    row.save(force_insert=True)
    return row


def _advised(trial: Trial, advice: Advice, procedure: str) -> AdvisedTrial:
    side = advised_side(cast(Side, trial.original_side), picks_original=advice.picks_original)
    p_shown = advice.p_chosen if advice.adviser.shows_confidence else None
    return AdvisedTrial(trial=trial, procedure=procedure, advice_side=side, p_shown=p_shown)


def note_shown(
    participant: Participant, trial: Trial, now: datetime, *, is_first: bool
) -> AdvisedTrial | None:
    """Stores what the trial's page shows of advice as it is sent now; `is_first`: it was not sent before."""
    row = AdvisedTrial.objects.filter(trial=trial.pk).first()
    if row is None and is_first:
        advice = advice_for(participant, trial, Procedure.BEFORE)
        if advice is not None:
            row = _advised(trial, advice, Procedure.BEFORE)
            row.shown_at = now
            row.save(force_insert=True)
    elif row is not None and row.shown_at is None:
        # A clock that was set back since the first answer is not believed
        row.shown_at = max(now, row.first_received_at or now)
        row.save(update_fields=["shown_at"])
    if row is not None:
        row.trial = trial
    return row


def whole_answer(first: AdvisedTrial, second: Given) -> dict[str, Any]:
    """The answer after the advice, as a judgment holds it: times run on from the first page's, counts are of both.

    A time is None where one of the pages could not measure it.
    """
    before = first.first_more | {name: getattr(first, f"first_{name}") for name in OWN_COLUMNS}
    whole = dict(second)
    for name in ("expertise", "recognised"):
        whole[name] = before[name]
    whole["expertise_moved"] = before["expertise"] is not None
    for name in ADDED_UP:
        whole[name] = _sum(before[name], second[name])
    whole["rt_ms"] = _sum(before["rt_ms"], second["rt_ms"])
    later = {name: _sum(before["rt_ms"], second[name]) for name in (*EARLIEST, *LATEST)}
    whole |= {n: later[n] if before[n] is None else before[n] for n in EARLIEST}
    whole |= {n: before[n] if later[n] is None else later[n] for n in LATEST}
    levels = ("", *TRANSLATED)
    whole["translated"] = max(before["translated"], second["translated"], key=levels.index)
    return whole


def _sum(one: int | None, other: int | None) -> int | None:
    """As much of it as a column holds: a page may stay open for weeks."""
    return None if one is None or other is None else min(one + other, MOST_STORED_MS)


@dataclass(frozen=True, slots=True)
class ShownAdvice:
    """Advice as a page shows it. rating, percent and words: how sure the adviser is, as far as that is shown, in one of them.

    passages: the places of the passages that counted most, from 1 among the alternations of the text.
    first_side and first_confidence: the answer before it, "" and None where the advice came first.
    """

    name: str
    side: str
    rating: int | None = None
    percent: int | None = None
    words: Certainty | None = None
    passages: tuple[int, ...] = ()
    first_side: str = ""
    first_confidence: int | None = None

    @property
    def is_side_a(self) -> bool:
        return self.side == "A"

    @property
    def first_is_side_a(self) -> bool:
        return self.first_side == "A"

    @property
    def follows_answer(self) -> bool:
        return self.first_side != ""


def shown_advice(row: AdvisedTrial, adviser: Adviser) -> ShownAdvice:
    passages: tuple[int, ...] = ()
    if adviser.shows_passages:
        found = Advice.objects.filter(adviser=adviser, item=row.trial.item_id)
        passages = decisive(found.values_list("passages", flat=True).first() or ())
    shown = _as_shown(adviser, row.advice_side, row.p_shown)
    return replace(
        shown,
        passages=passages,
        first_side=row.first_side,
        first_confidence=row.first_confidence,
    )


def _as_shown(adviser: Adviser, side: str, p: float | None) -> ShownAdvice:
    shown, shows = ShownAdvice(adviser.shown_name, side), adviser.shows
    if p is None:
        return shown
    if shows == Adviser.Shows.WORDS:
        return replace(shown, words=certainty(p))
    if shows == Adviser.Shows.PERCENT:
        return replace(shown, percent=percent(p))
    return replace(shown, rating=rating(p))


@dataclass(frozen=True, slots=True)
class Ahead:
    """The advice that a participant will see in the trials, with an example of how it looks."""

    procedure: str
    is_everywhere: bool  # with each abstract; attention checks have none
    example: ShownAdvice

    @property
    def follows_answer(self) -> bool:
        return self.procedure == Procedure.AFTER


def ahead_of(participant: Participant) -> Ahead | None:
    """None for all who will see no advice."""
    arm: Arm | None = participant.arm
    adviser = adviser_of(participant.study) if arm is not None and arm.is_advised else None
    if arm is None or adviser is None or adviser.frozen_at is None:
        return None
    strata = [stratum for stratum, _ in participant.plan]
    at = advised_positions(strata, arm.advised_items, participant.seed)
    is_everywhere = len(at) == len(strata) - strata.count(QUESTION)
    return Ahead(arm.advice, is_everywhere, example_of(adviser))


# Which side is right in the practice is drawn, so that always the same one says nothing of it
EXAMPLE_SIDE = "A"
EXAMPLE_P = 0.7


def example_of(adviser: Adviser) -> ShownAdvice:
    """How its advice looks; what it says is made up."""
    p = EXAMPLE_P if adviser.shows_confidence else None
    passages = (1,) if adviser.shows_passages else ()
    return replace(_as_shown(adviser, EXAMPLE_SIDE, p), passages=passages)


def practice_follows(participant: Participant) -> bool:
    """True if the example of advice comes after an answer of one's own to the practice, as advice does in the trials."""
    ahead = ahead_of(participant)
    return ahead is not None and ahead.follows_answer


def practice_example(participant: Participant) -> ShownAdvice | None:
    """The example on the practice's page as it is now; None where none is shown, or not yet."""
    ahead, first = ahead_of(participant), participant.practice_first
    if ahead is None or (ahead.follows_answer and first is None):
        return None
    if first is None:
        return ahead.example
    return replace(ahead.example, first_side=first["side"], first_confidence=first["confidence"])


def planted_percent(study: Study) -> int | None:
    """How often advice is right that was made up for the study; None of any other."""
    adviser = adviser_of(study)
    if adviser is None or adviser.planted_accuracy is None:
        return None
    return round(100 * adviser.planted_accuracy)

"""The columns of advice in an export, and that a study without any is exported as before."""

import io
import uuid
from pathlib import Path

import pytest
from django.utils import timezone

from experiment.domain.export_columns import ADVICE_COLUMNS, ARM_COLUMNS, TRIAL_COLUMNS
from experiment.domain.release import Form
from experiment.domain.trial_query import TrialQuery
from experiment.models import AdvisedTrial, Participant, Study
from experiment.services.drawing import show_trial
from experiment.services.export.files import export_trials
from experiment.services.export.trials import data_state, first_rows
from experiment.services.taking_part import Answer, Sent, finish, judge
from tests.experiment.people import start
from tests.experiment.services.export.command import export
from tests.factories import make_adviser, make_arms

pytestmark = pytest.mark.django_db
QUERY = TrialQuery(kind="real")
NAMES = [column.name for column in ADVICE_COLUMNS]


def take(study: Study) -> Participant:
    """Choose A, sure to 60; keep it in every second advised trial, else follow the advice with 80."""
    person = start(study)
    now = timezone.now()
    for position in range(1, person.n_trials + 1):
        trial = show_trial(person, position, now)
        own = Answer("A", 60, 9, True, True, recognised=False, rt_ms=40_000, changes=1)
        stored = judge(person, Sent(position, trial.token, uuid.uuid4(), own, now))
        if isinstance(stored, AdvisedTrial):
            assert stored.token is not None
            show_trial(person, position, now)
            side, sure = (stored.advice_side, 80) if position % 2 else ("A", 60)
            again = Answer(side, sure, confidence_moved=True, rt_ms=4_000, changes=0)
            judge(person, Sent(position, stored.token, uuid.uuid4(), again, now, revises=True))
        person.refresh_from_db()
    return finish(person, cheated=False, comments="", now=now)


def test_each_row_says_what_was_answered_before_and_after_the_advice(
    study: Study, path: Path
) -> None:
    make_arms(study, {"name": "advised", "advice": "after"})
    make_adviser(study)
    take(study)
    rows = export(study, path=path)
    expected = [*TRIAL_COLUMNS, *ARM_COLUMNS, *ADVICE_COLUMNS]
    assert list(rows[0]) == [column.name for column in expected]
    for row in rows:
        given = {name: row[name] for name in NAMES}
        if row["stratum"] == "catch":
            assert not any(given.values())
            continue
        assert given["advice_procedure"] == "after"
        assert given["advice_confidence"] == "0.78"
        is_right = given["advice_side"] == row["original_side"]
        assert given["advice_correct"] == str(is_right).lower()
        assert (given["first_side"], given["first_confidence"]) == ("A", "60")
        assert given["first_correct"] == str(row["original_side"] == "A").lower()
        assert (given["first_rt_ms"], given["advice_viewed_ms"]) == ("40000", "4000")
        assert row["rt_ms"] == "44000"
        assert given["advice_shown_at"]
        assert given["first_received_at"]
        is_kept = int(row["position"]) % 2 == 0
        assert given["revised"] == str(not is_kept).lower()


def test_a_release_has_no_moments_of_advice(study: Study) -> None:
    make_arms(study, {"advice": "after"})
    make_adviser(study)
    take(study)
    file = io.BytesIO()
    export_trials(study, QUERY, file, Form(k=2))
    header = file.getvalue().decode().splitlines()[0].split(",")
    assert {"advice_shown_at", "first_received_at"}.isdisjoint(header)
    assert {"advice_side", "first_side", "revised"} <= set(header)


def test_columns_of_advice_are_there_only_where_an_arm_has_advice(study: Study) -> None:
    Study.objects.update(recruitment="pilot")
    study.refresh_from_db()
    pilots = TrialQuery(kind="pilot")
    make_arms(study, {"advice": "none"})
    take(study)
    assert not set(NAMES) & set(first_rows(study, pilots, 1)[0])
    state = data_state(study, pilots)
    study.arms.update(advice="before")
    assert data_state(study, pilots) != state
    row = first_rows(study, pilots, 1)[0]
    assert [row[name] for name in NAMES] == [None] * len(NAMES)

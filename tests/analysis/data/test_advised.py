"""Trials with advice are read with their first answers; other chapters see what people answered by themselves."""

from dataclasses import fields

import numpy as np
import pytest
from django.utils import timezone

from analysis.data.filters import ReportOptions
from analysis.data.version import data_version
from analysis.report.contents import chapter_named
from analysis.report.services.make import make_report
from analysis.stats import NotEnough
from analysis.stats.reliance.trials import AdvisedTrials
from analysis.teams.domain.advised import evidence_of
from experiment.domain.simulation import FOLLOWS
from experiment.models import AdvisedTrial, Adviser, Study
from experiment.simulation.run import Plan, ServiceDriver, simulate
from tests.analysis.data.advising import advise
from tests.analysis.data.scored import read
from tests.analysis.report.chapters.chapter_results import built_of
from tests.factories import answers_open, make_adviser, make_arms, make_participant, make_study

pytestmark = pytest.mark.django_db
N_EACH = 6  # human-created test cases of a participant


@pytest.fixture
def arms(study: Study) -> Study:
    """One person in each of three arms; all final answers are right, all first ones wrong."""
    rows = make_arms(
        study,
        {"name": "alone"},
        {"name": "after", "advice": "after"},
        {"name": "before", "advice": "before"},
    )
    make_adviser(study)
    for arm in rows:
        person = make_participant(study, arm=arm)
        if arm.is_advised:
            advise(person, arm.advice)
    return study


def test_each_trial_has_its_arm_its_first_answer_and_its_advice(arms):
    data = read(arms)
    table = data.advised
    assert data.adviser_name == "a language model"
    assert list(table["arm"]) == ["alone"] * N_EACH + ["after"] * N_EACH + ["before"] * N_EACH
    assert list(table["procedure"].unique()) == ["none", "after", "before"]
    after = table[table["procedure"] == "after"]
    assert (after["right_before"] == 0).all()
    assert (table["right_after"] == 1).all()
    assert (after["confidence_before"] == 30).all()
    assert (table["confidence_after"] == 70).all()
    assert (after["rt_before_ms"] == 40_000).all()
    assert (table["rt_ms"] == 75_250).all()
    others = table[table["procedure"] != "after"]
    assert others[["right_before", "confidence_before", "rt_before_ms"]].isna().all(axis=None)
    assert (table["p_advice"] == 0.78).all()
    assert set(table["advice_right"]) <= {0.0, 1.0}
    assert table["p_shown"].notna().tolist() == [False] * N_EACH + [True] * 2 * N_EACH


def test_a_confidence_that_was_shown_in_words_is_no_number(arms):
    Adviser.objects.update(shows="words")
    assert read(arms).advised["p_shown"].isna().all()
    assert read(arms).advised["p_advice"].notna().all()
    assert set(read(arms).advised["p_known"].dropna()) == {0.825}


def test_computed_teams_know_no_confidence_that_participants_did_not_see(arms):
    def sure() -> set[float]:
        table = read(arms).advised
        table = table[table["procedure"] == "after"]
        values = {field.name: table[field.name].to_numpy() for field in fields(AdvisedTrials)}
        evidence = evidence_of(AdvisedTrials(**values), np.ones(len(table)), "a model")
        return set(np.abs(evidence.signed[:, 1]).round(6))

    assert sure() == {round(np.log(0.78 / 0.22), 6)}
    Adviser.objects.update(shows="words")
    assert sure() == {round(np.log(0.825 / 0.175), 6)}
    with answers_open():
        AdvisedTrial.objects.update(p_shown=None)
    assert sure() == {1.0}


def test_a_pilot_is_judged_by_the_advice_that_it_saw(arms):
    before = read(arms).advised
    advised = before["procedure"] != "none"
    adviser = Adviser.objects.get()
    adviser.frozen_at = None
    adviser.save()
    unfrozen = read(arms).advised
    for name in ("advice_right", "p_advice"):
        assert unfrozen.loc[advised, name].equals(before.loc[advised, name])
        assert unfrozen.loc[~advised, name].isna().all()
    for advice in adviser.advice.all():
        advice.picks_original, advice.p_chosen = not advice.picks_original, 0.6
        advice.save()
    adviser.frozen_at = timezone.now()
    adviser.save()
    other = read(arms).advised
    for name in ("advice_right", "p_advice"):
        assert other.loc[advised, name].equals(before.loc[advised, name])
    assert (other.loc[~advised, "advice_right"] == 1 - before.loc[~advised, "advice_right"]).all()
    # How sure another adviser is of the other choice says nothing of the one that was shown
    with answers_open():
        AdvisedTrial.objects.update(p_shown=None)
    assert read(arms).advised.loc[advised, "p_advice"].isna().all()


def test_other_chapters_see_first_answers_and_no_advice_from_the_start(arms):
    trials = read(arms).trials
    assert len(trials) == 2 * N_EACH
    alone, first = trials.iloc[:N_EACH], trials.iloc[N_EACH:]
    assert alone["is_correct"].all()
    assert (alone["confidence"] == 70).all()
    assert trials["is_correct"].dtype == bool
    assert not first["is_correct"].any()
    assert (first["side"] != first["original_side"]).all()
    assert (first["confidence"] == 30).all()
    assert (first["rt_ms"] == 40_000).all()


def test_a_study_of_advice_from_the_start_is_not_told_to_wait_for_participants(study):
    (arm,) = make_arms(study, {"name": "before", "advice": "before"})
    make_adviser(study)
    advise(make_participant(study, arm=arm), "before")
    found = read(study)
    assert found.trials.empty
    with pytest.raises(NotEnough, match="had advice before any answer") as error:
        found.need_trials()
    assert "without advice" in error.value.needed


def test_a_study_whose_arms_have_no_advice_is_read_as_one_without_arms(study):
    make_participant(study)
    version, trials = data_version(study), read(study).trials
    arms = make_arms(study)
    # The flow of participants names them
    assert data_version(study) != version
    make_participant(study, arm=arms[0])
    found = read(study)
    assert found.advised.empty
    assert found.adviser_name == ""
    assert len(found.trials) == 2 * len(trials)
    report = make_report(study, ReportOptions(resamples=20))
    assert "advised_accuracy" not in report.to_json()["sources"]["human"]


def test_a_report_of_a_study_with_advice_has_the_chapter(arms):
    found = make_report(arms, ReportOptions(resamples=20)).to_json()["sources"]["human"]
    conditions = found["advised_accuracy"]["conditions"]
    assert [one["name"] for one in conditions] == ["alone", "after", "before"]
    assert conditions[1]["change"]["value"] == 1.0
    assert np.isclose(found["humans"]["trials"]["accuracy"], 0.5)


def test_advice_that_is_frozen_anew_changes_the_version_of_the_data(arms):
    before = data_version(arms)
    Adviser.objects.update(version={"sha256": "other"})
    assert data_version(arms) != before


def test_simulated_participants_rely_on_advice_as_they_are_made_to():
    study = make_study(human=24, machine_items=0, catch_items=0)
    make_arms(study, {"name": "alone"}, {"name": "advised", "advice": "after"})
    make_adviser(study)
    plan = Plan(finish=24, dropout=0.0, arrival="steady", accuracy=0.6, seed=3)
    for _ in simulate(study, plan, lambda: ServiceDriver(study, study.policy)):
        pass
    found = read(study, participants="simulated")
    arms = found.advised.groupby("arm")["procedure"].unique()
    assert (arms["alone"].tolist(), arms["advised"].tolist()) == (["none"], ["after"])
    (relied,) = (
        one
        for one in built_of(found, chapter_named("advised")).results.advised_reliance.conditions
        if one.is_advised
    )
    low, high = relied.switching.ci95
    assert low < FOLLOWS < high
    assert sum(cell.n for cell in relied.flow if cell.is_first_right != cell.is_advice_right) > 20
    # Advice that agrees is never left
    assert not any(
        cell.n
        for cell in relied.flow
        if cell.is_first_right == cell.is_advice_right and not cell.is_kept
    )

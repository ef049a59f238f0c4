"""Simulated participants through the real services, on whichever database the run is on."""

from collections import defaultdict
from statistics import pstdev

import pytest
from django.core.management import CommandError
from django.db.models import Count, F, Sum
from django.utils import timezone

from experiment.models import (
    AdvisedTrial,
    ItemCount,
    Judgment,
    Participant,
    PeopleCount,
    Study,
    SurveyAnswer,
    Trial,
    WrittenAnswer,
)
from experiment.services import drawing
from experiment.services.survey import add_example
from tests.experiment.asked import EXPERT, make_asking_study
from tests.experiment.lab_client import run_json
from tests.factories import make_adviser, make_arms, make_participant, make_study, make_survey

pytestmark = pytest.mark.django_db


def simulate(slug, *arguments):
    return run_json("simulate_participants", slug, *arguments)


@pytest.fixture
def study():
    return make_study(human=12, machine=6, catch=3)


def test_the_flow_and_the_exposures_are_those_of_the_rows(study):
    data = simulate(study.slug, "--finish", "20", "--dropout", "0.5")
    people = Participant.objects.filter(kind="simulated")
    assert data["flow"]["started"] == people.count()
    assert data["flow"]["finished"] == 20
    assert data["flow"]["valid"] == people.filter(stage="finished", excluded_by="").count() == 17
    human = Judgment.objects.of(study, "simulated").valid().filter(trial__stratum="human").count()
    assert data["exposures"]["human"]["mean"] == pytest.approx(human / 12)
    # Chance alone would give an sd of about 2 here.
    assert data["exposures"]["human"]["sd"] < 1


def test_the_same_seed_gives_the_same_study_again(study):
    def answers():
        rows = Judgment.objects.order_by("pk")
        return list(rows.values_list("trial__item__key", "side", "rt_ms"))

    options = ("--finish", "4", "--dropout", "0.5", "--seed", "4")
    first, before = simulate(study.slug, *options), answers()
    second = simulate(study.slug, *options)
    assert second["removed"] == first["flow"]["started"]
    unlike = {"seconds": 0, "removed": 0}
    assert first | unlike == second | unlike
    assert before == answers()


def test_draws_can_be_replayed_meet_no_work_twice_and_nobody_is_live_afterwards(study):
    simulate(study.slug, "--finish", "6", "--dropout", "0.4")
    trials = list(Trial.objects.select_related("item"))
    assert len(trials) > 60
    assert all(drawing.replay(trial) == trial.item_id for trial in trials)
    assert len({(trial.participant_id, trial.item.work) for trial in trials}) == len(trials)
    assert not Participant.objects.all().live(study, timezone.now()).exists()


def test_real_participants_stay_and_do_not_count(study):
    real = make_participant(study)
    data = simulate(study.slug, "--finish", "4", "--dropout", "0")
    again = simulate(study.slug, "--finish", "4", "--dropout", "0")
    assert data["flow"] == again["flow"] == {"started": 4, "finished": 4, "valid": 3}
    assert Participant.objects.filter(kind="real").get() == real


def test_the_same_seed_serves_two_studies_and_can_be_added_again(study):
    other = make_study("other", human=12, machine=6, catch=3)
    for slug, arguments in ((study.slug, ()), (other.slug, ()), (other.slug, ("--keep",))):
        data = simulate(slug, "--finish", "2", "--dropout", "0", *arguments)
    assert data["flow"]["finished"] == 4
    assert (study.participants.count(), other.participants.count()) == (2, 4)


def test_the_paper_policy_assigns_everything_at_once(study):
    simulate(study.slug, "--finish", "3", "--dropout", "0.6", "--policy", "paper", "--seed", "2")
    started = Participant.objects.filter(started_at__isnull=False)
    assert all(participant.trials.count() == 11 for participant in started)
    assert Participant.objects.filter(policy="paper").count() == Participant.objects.count()


def test_an_impossible_simulation_is_refused_before_anything_is_removed(study):
    simulate(study.slug, "--finish", "2", "--dropout", "0")
    for line in ("--finish 0", "--dropout 1", "--dropout -0.1", "--accuracy 2"):
        with pytest.raises(CommandError, match="Cannot simulate"):
            simulate(study.slug, *line.split())
    assert Participant.objects.filter(kind="simulated").count() == 2
    small = make_study("small", human=2, machine=4, catch=2)
    with pytest.raises(CommandError, match="judges 6 human-created test cases, but only 2"):
        simulate(small.slug)


@pytest.mark.sqlite
@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(1, 5))
@pytest.mark.parametrize(
    ("policy", "arrival", "low", "high"),
    [
        ("balanced", "waves", 0, 0.55),
        ("balanced", "steady", 0, 0.40),
        ("balanced", "trickle", 0, 0.40),
        ("paper", "steady", 1.6, 2.4),  # uneven, as published
    ],
)
def test_200_finishers_at_80_percent_dropout_judge_300_items_evenly_but_for_the_papers_policy(
    policy: str, arrival: str, low: float, high: float, seed: int
) -> None:
    study = make_study("large", human=200, machine=100, catch=6)
    options = ("--policy", policy, "--dropout", "0.8", "--arrival", arrival, "--seed", str(seed))
    data = simulate(study.slug, "--finish", "200", *options)
    assert data["flow"]["finished"] == 200
    assert low <= data["exposures"]["human"]["sd"] <= high
    assert data["exposures"]["human"]["mean"] == pytest.approx(5.03, abs=0.15)


def sd_by_arm(study):
    """The standard deviation of the valid judgments of each human-created test case."""
    rows = ItemCount.objects.filter(study=study, stratum="human").order_by("arm_number", "item")
    valid = defaultdict(list)
    for row in rows:
        valid[row.arm_number].append(row.valid)
    return {number: pstdev(counts) for number, counts in valid.items()}


def valid_by_arm(study):
    rows = PeopleCount.objects.filter(study=study, fate="finished", excluded_by="")
    return dict(rows.order_by("arm_number").values_list("arm_number").annotate(Sum("n")))


def test_simulated_participants_get_into_arms_of_different_lengths(study):
    make_arms(study, {"human_items": 2, "machine_items": 1}, {})
    data = simulate(study.slug, "--finish", "20", "--dropout", "0.5")
    assert data["flow"]["finished"] == 20
    valid = valid_by_arm(study)
    assert abs(valid[1] - valid[2]) <= 2
    people = Participant.objects.filter(kind="simulated", stage="finished")
    given = people.annotate(n=Count("trials")).values_list("arm__number", "n").distinct()
    assert set(given) == {(1, 5), (2, 11)}
    assert all(sd < 1 for sd in sd_by_arm(study).values())


@pytest.mark.sqlite
@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(1, 3))
@pytest.mark.parametrize(("arrival", "high"), [("waves", 0.55), ("steady", 0.40)])
def test_each_of_two_arms_judges_as_evenly_as_a_study_of_its_size_does(arrival, high, seed):
    # The bounds of 200 finishers and 300 items without arms, above
    study = make_study("large", human=200, machine=100, catch=6)
    make_arms(study)
    options = ("--dropout", "0.8", "--arrival", arrival, "--seed", str(seed))
    simulate(study.slug, "--finish", "400", *options)
    assert max(sd_by_arm(study).values()) <= high
    valid = valid_by_arm(study)
    assert abs(valid[1] - valid[2]) <= 6  # as many as without a target (docs/decisions/0026)


def check_answers_to_questions(study):
    answers = WrittenAnswer.objects.filter(judgment__trial__participant__stage="finished")
    assert answers.count() == 2 * 12
    unknown = answers.filter(abstained=True)
    assert 0 < unknown.count() < 12
    assert not unknown.exclude(judgment__confidence=None).exists()
    right = answers.filter(text=EXPERT)
    assert right.exists()
    assert answers.filter(abstained=False).count() > right.count()


def test_simulated_participants_answer_questions():
    study = make_asking_study()
    data = simulate(study.slug, "--finish", "12", "--dropout", "0.2")
    assert data["exposures"]["question"]["sd"] < 1
    check_answers_to_questions(study)


@pytest.mark.django_db(transaction=True)
def test_simulated_participants_take_the_real_pages(live_server, settings):
    study = make_asking_study()
    simulate(study.slug, "--finish", "12", "--dropout", "0.2", "--http", live_server.url)
    assert set(Participant.objects.values_list("kind", flat=True)) == {"simulated"}
    assert Judgment.objects.filter(trial__participant__stage="finished").count() == 5 * 12
    check_answers_to_questions(study)


def check_advised():
    surveyed = SurveyAnswer.objects.filter(participant__stage="finished")
    assert surveyed.count() == 6 * 12
    assert {*surveyed.filter(question__name="choice").values_list("value", flat=True)} <= {
        "yes",
        "no",
    }
    rows = AdvisedTrial.objects.filter(trial__participant__stage="finished")
    n_after = rows.filter(procedure="after").count()
    assert rows.count() == 9 * 12
    assert 36 <= n_after <= 72
    assert rows.exclude(first_side="").count() == n_after
    assert not rows.filter(viewed_ms=None).exists()
    wavered = rows.exclude(first_side="").exclude(first_side=F("advice_side"))
    followed = wavered.filter(trial__judgment__side=F("advice_side")).count()
    assert 0 < followed < wavered.count()
    agreed = rows.filter(first_side=F("advice_side"))
    assert agreed.filter(trial__judgment__side=F("advice_side")).count() == agreed.count()


def advised_study():
    study = make_study(human=12, machine=6, catch=3)
    make_arms(study, {"advice": "after"}, {"advice": "before"})
    make_adviser(study, kind="planted", source="", planted_accuracy=0.7)
    Study.objects.update(debriefing="The advice was made up.")
    make_survey(study)
    add_example(study)
    return study


def test_simulated_participants_follow_some_advice():
    simulate(advised_study().slug, "--finish", "12", "--dropout", "0.2")
    check_advised()
    # The simulated clock runs on the page with advice, as on any other
    revised = Judgment.objects.filter(trial__advised__procedure="after").select_related("trial")
    assert revised
    assert all(one.rt_ms <= one.elapsed_ms for one in revised)


@pytest.mark.django_db(transaction=True)
def test_simulated_participants_take_the_real_pages_with_advice(live_server):
    simulate(advised_study().slug, "--finish", "12", "--dropout", "0.2", "--http", live_server.url)
    check_advised()

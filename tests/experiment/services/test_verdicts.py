"""The verdicts of other rules, read without making rows of trials, are those of the rules once they are in force."""

from datetime import timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from experiment.domain.exclusion import Rules, believed_ms
from experiment.models import Judgment, Participant, Study, Trial
from experiment.models.trials import believed
from experiment.services.exclusions import Marks, verdicts_of
from experiment.services.reapplying import reapply_exclusions
from experiment.services.recounting import check, recount
from experiment.services.study_versions import freeze, revise
from tests.factories import answers_open, make_participant, make_study, recruited

pytestmark = pytest.mark.django_db
RULES = [
    Rules(),
    Rules(missed_catch=False, recognised=False, min_rt_ms=0, fast_page_ms=0),
    Rules(min_rt_ms=76_500, fast_page_ms=80_000),
    Rules(min_rt_ms=3_000, min_rt_clock="choice"),
    Rules(untouched_sliders="either", admitted_cheating=False, hidden_flag_ms=10),
]


@pytest.fixture
def study() -> Study:
    """Finished without JavaScript (by the server's time), fast, longer than the server saw, hidden, untouched, cheated, twice, and without a trial."""
    study = make_study()
    make_participant(study)
    make_participant(study, judgment={"rt_ms": None, "rt_choice_ms": None})
    make_participant(study, judgment={"rt_ms": 4_000, "rt_choice_ms": 2_000, "hidden_ms": 11})
    make_participant(study, judgment={"server_ms": 3_000})
    make_participant(study, judgment={"expertise_moved": False, "recognised": True})
    make_participant(study, cheated=True)
    for _ in range(2):
        recruited(make_participant(study), "p-1")
    make_participant(study, judged=0, stage="finished")
    make_participant(study, judged=3)  # has not finished
    freeze(study, timezone.now())
    return study


@pytest.mark.drifts  # a finisher without a trial
@pytest.mark.parametrize("rules", RULES)
def test_verdicts_are_those_that_are_stored_by_the_same_rules(study: Study, rules: Rules) -> None:
    said = verdicts_of(Participant.objects.filter(study=study), rules)
    revise(study, rules=rules, reason="A test.")
    study.refresh_from_db()
    reapply_exclusions(study)  # also where these rules were in force: nobody here came to a finish
    finished = study.participants.finished()
    people = finished.values_list("pk", "excluded_by", "flags")
    rows = Judgment.objects.filter(trial__participant__in=finished)
    assert said.participants == {pk: Marks(*marks) for pk, *marks in people}
    assert said.judgments == {
        pk: Marks(*m) for pk, *m in rows.values_list("pk", "excluded_by", "flags")
    }
    assert len(said.participants) == 9
    assert len({*said.participants.values(), *said.judgments.values()}) > 1


def test_a_server_clock_that_is_set_back_makes_nobody_too_fast() -> None:
    study = make_study()
    person = make_participant(study, judgment={"rt_ms": None, "rt_choice_ms": None})
    Trial.objects.update(shown_at=F("shown_at") + timedelta(days=1))
    freeze(study, timezone.now())
    reapply_exclusions(study)
    judgments = Judgment.objects.filter(trial__participant=person)
    assert {judgment.excluded_by for judgment in judgments} == {""}
    assert {judgment.elapsed_ms for judgment in judgments} == {None}


def test_counters_verdicts_and_reports_believe_the_same_times() -> None:
    study = make_study()
    people = [make_participant(study) for _ in range(3)]
    freeze(study, timezone.now())
    told = ((4_999, None), (5_000, None), (60_000, 4_999), (60_000, 5_000), (5_500, 4_999))
    told += ((9_000, 9_500),) * 2  # nobody is mostly too fast
    with answers_open():
        for person in people:
            own = Judgment.objects.filter(trial__participant=person).order_by("trial__position")
            for judgment, (rt_ms, server_ms) in zip(own, told * 3, strict=False):
                values = {"rt_ms": rt_ms, "rt_choice_ms": rt_ms, "server_ms": server_ms}
                Judgment.objects.filter(pk=judgment.pk).update(**values)
    reapply_exclusions(study)
    recount(study, "real")
    assert check([study]) == []
    judgments = Judgment.objects.of(study, "real").select_related("trial")
    expected = {j.pk: believed_ms(j.rt_ms, j.server_ms) for j in judgments}
    read = judgments.annotate(told=believed("rt_ms", "server_ms")).values_list("pk", "told")
    assert dict(read) == expected
    assert {*expected.values()} == {4_999, 5_000, 9_000}
    fast = judgments.filter(excluded_by__contains="too_fast")
    assert {j.pk for j in fast} == {pk for pk, ms in expected.items() if ms < 5_000}

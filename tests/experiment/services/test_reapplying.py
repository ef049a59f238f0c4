"""Changed rules are applied to many people step by step: stopped, gone on with and begun anew, with one result."""

import pytest
from django.db import transaction
from django.utils import timezone

from experiment.domain.exclusion import Rules
from experiment.models import Judgment, Participant, RuleApplication, Study
from experiment.services import overview, reapplying, recounting
from experiment.services.exclusions import Marks, verdicts_of
from experiment.services.recounting import FastPages
from experiment.services.study_versions import Revision, revise
from experiment.services.withdrawal import withdraw_on_request
from lib.jobs import leases
from tests.experiment import people
from tests.factories import make_participant, make_study, make_user

pytestmark = pytest.mark.django_db
SLOWER, LENIENT = Rules(min_rt_ms=76_500), Rules(min_rt_ms=70_000, admitted_cheating=False)


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Study:
    """Seven who finished, in steps of two."""
    monkeypatch.setattr(reapplying, "BATCH", 2)
    monkeypatch.setattr(reapplying, "PAUSE_S", 0)
    study = make_study(recruitment="open")
    for n in range(6):
        make_participant(study, cheated=n % 3 == 0, judgment={"rt_ms": 71_000 + 3_000 * n})
    people.finish(study)
    study.refresh_from_db()
    return study


def change(study: Study, rules: Rules) -> Revision:
    return revise(study, rules=rules, reason="A test.")


def assert_decided(study: Study, rules: Rules) -> None:
    said = verdicts_of(Participant.objects.filter(study=study), rules)
    finished = study.participants.finished()
    judgments = Judgment.objects.filter(trial__participant__in=finished)
    for found, rows in ((said.participants, finished), (said.judgments, judgments)):
        kept = rows.values_list("pk", "excluded_by", "flags")
        assert found == {pk: Marks(*marks) for pk, *marks in kept}
    assert not recounting.check([study])


def test_few_people_are_decided_at_once(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reapplying, "BATCH", 25)
    revision = change(study, SLOWER)
    assert revision.is_applied
    assert revision.excluded is not None
    assert revision.excluded.trials > 0
    assert not RuleApplication.objects.exists()
    assert_decided(study, SLOWER)


def test_many_are_decided_in_steps_between_which_the_counters_are_right(study: Study) -> None:
    revision = change(study, SLOWER)
    assert (revision.is_applied, revision.excluded) == (False, None)
    assert not recounting.check([study])
    job = RuleApplication.objects.get()
    lease = leases.take(job)
    assert lease is not None
    steps = 0
    while not reapplying.advance(job, lease):
        steps += 1
        assert not recounting.check([study])
    job.refresh_from_db()
    assert (steps, job.done, job.total, job.status) == (4, 7, 7, "finished")
    assert_decided(study, SLOWER)


def test_who_takes_over_goes_on_where_the_one_before_ended(study: Study) -> None:
    change(study, SLOWER)
    job = RuleApplication.objects.get()
    lease = leases.take(job)
    assert lease is not None
    reapplying.advance(job, lease)
    lease.release()
    by_first = RuleApplication.objects.get()
    assert by_first.done == 2
    done = reapplying.run(job)
    assert (done.done, done.status) == (7, "finished")
    assert done.trials > by_first.trials > 0
    assert_decided(study, SLOWER)


def test_rules_that_change_meanwhile_hold_for_all_and_for_who_finishes(study: Study) -> None:
    change(study, SLOWER)
    job = RuleApplication.objects.get()
    lease = leases.take(job)
    assert lease is not None
    reapplying.advance(job, lease)
    change(study, LENIENT)
    people.finish(study)
    while not reapplying.advance(job, lease):
        assert not recounting.check([study])
    job.refresh_from_db()
    assert (job.status, job.done) == ("finished", 8)
    assert_decided(study, LENIENT)
    change(study, SLOWER)  # a new one, since that is over
    assert RuleApplication.objects.count() == 2


def test_two_do_not_decide_at_the_same_time(study: Study) -> None:
    change(study, SLOWER)
    assert leases.take(RuleApplication.objects.get()) is not None
    assert reapplying.reapply_exclusions(study) is None


def test_fast_pages_are_counted_under_one_time_until_all_are_under_the_next(study: Study) -> None:
    before = overview.readings(study, Participant.Kind.REAL)
    change(study, SLOWER)
    study.refresh_from_db()
    assert study.counted_min_rt_ms == Rules().min_rt_ms
    assert overview.readings(study, Participant.Kind.REAL) == before
    job = RuleApplication.objects.get()
    lease = leases.take(job)
    assert lease is not None
    reapplying.advance(job, lease)
    people.finish(study)  # counted as the others are
    finished = study.participants.finished().order_by("pk")
    by = make_user("ruth")
    for person in (finished[0], finished[5]):  # who was decided already, and who was not
        withdraw_on_request(study, [person], timezone.now(), by=by, reason="Asked.")
    assert not recounting.check([study])
    while not reapplying.advance(job, lease):
        assert not recounting.check([study])
    study.refresh_from_db()
    assert study.counted_min_rt_ms is None
    assert overview.readings(study, Participant.Kind.REAL) != before
    assert_decided(study, SLOWER)


def test_who_finishes_after_fast_pages_were_read_is_counted_with_them(study: Study) -> None:
    change(study, SLOWER)
    study.refresh_from_db()
    pages = FastPages.read(study)
    people.finish(study)
    with transaction.atomic():
        pages.write(study)
    study.refresh_from_db()
    assert study.counted_min_rt_ms is None
    assert overview.readings(study, Participant.Kind.REAL).fast_page > 0
    assert not recounting.check([study])

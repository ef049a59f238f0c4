"""Changed rules are applied to many people step by step: stopped, gone on with and begun anew, with one result.

While two versions of the rules decide, or where applying the newest failed, everything that follows from them says so.
"""

import io
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.core.management import CommandError
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from analysis.data.filters import ReportOptions
from analysis.data.version import data_version
from analysis.report.services.make import make_report
from experiment.domain.exclusion import Rules
from experiment.domain.release import Form
from experiment.domain.trial_query import QueryError, TrialQuery
from experiment.models import Judgment, Participant, RuleApplication, Study
from experiment.services import overview, reapplying, recounting
from experiment.services.exclusions import Marks, verdicts_of
from experiment.services.export.files import export_trials
from experiment.services.export.trials import data_state
from experiment.services.reapplying import mixed_sentence, note_beside_numbers, rules_under_way
from experiment.services.recounting import FastPages
from experiment.services.study_versions import Revision, revise
from experiment.services.withdrawal import withdraw_on_request
from lib.jobs import leases
from lib.jobs.leases import Lease
from tests.experiment import people
from tests.experiment.lab_client import page, run, run_json
from tests.factories import make_participant, make_study, make_user

pytestmark = pytest.mark.django_db
SLOWER, LENIENT = Rules(min_rt_ms=76_500), Rules(min_rt_ms=70_000, admitted_cheating=False)


@pytest.fixture
def study(study: Study, monkeypatch: pytest.MonkeyPatch) -> Study:
    """Seven who finished, in steps of two."""
    monkeypatch.setattr(reapplying, "BATCH", 2)
    monkeypatch.setattr(reapplying, "PAUSE_S", 0)
    for n in range(6):
        make_participant(study, cheated=n % 3 == 0, judgment={"rt_ms": 71_000 + 3_000 * n})
    people.finish(study)
    study.refresh_from_db()
    return study


def change(study: Study, rules: Rules) -> Revision:
    revision = revise(study, rules=rules, reason="A test.")
    study.refresh_from_db()
    return revision


def begin(study: Study, rules: Rules = SLOWER, steps: int = 1) -> tuple[RuleApplication, Lease]:
    """Other rules, by which so many steps are decided."""
    change(study, rules)
    job = RuleApplication.objects.get()
    lease = leases.take(job)
    assert lease is not None
    for _ in range(steps):
        reapplying.advance(job, lease)
    return job, lease


def go_on(study: Study, job: RuleApplication, lease: Lease) -> int:
    """To the end; how many steps it took."""
    steps = 1
    while not reapplying.advance(job, lease):
        steps += 1
        assert not recounting.check([study])
    job.refresh_from_db()
    assert job.status == "finished"
    return steps


def assert_decided(study: Study, rules: Rules) -> None:
    said = verdicts_of(Participant.objects.filter(study=study), rules)
    finished = study.participants.finished()
    judgments = Judgment.objects.filter(trial__participant__in=finished)
    for found, rows in ((said.participants, finished), (said.judgments, judgments)):
        kept = rows.values_list("pk", "excluded_by", "flags")
        assert found == {pk: Marks(*marks) for pk, *marks in kept}
    assert rules_under_way(study) is None


def test_few_people_are_decided_at_once_also_after_one_that_failed(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, lease = begin(study, LENIENT, steps=0)
    fail(lease)
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
    job, lease = begin(study, steps=0)
    assert reapplying.reapply_exclusions(study) is None  # two do not decide at the same time
    assert go_on(study, job, lease) == 5
    assert (job.done, job.total) == (7, 7)
    assert_decided(study, SLOWER)


def test_a_worker_that_takes_over_continues_where_the_one_before_ended(study: Study) -> None:
    job, lease = begin(study)
    lease.release()
    by_first = RuleApplication.objects.get()
    assert by_first.done == 2
    done = reapplying.run(job)
    assert (done.done, done.status) == (7, "finished")
    assert done.trials > by_first.trials > 0
    assert_decided(study, SLOWER)


def test_rules_that_change_meanwhile_hold_for_all_including_new_finishers(study: Study) -> None:
    job, lease = begin(study)
    change(study, LENIENT)
    people.finish(study)
    go_on(study, job, lease)
    assert job.done == 8
    assert_decided(study, LENIENT)
    change(study, SLOWER)  # a new one, since that is over
    assert RuleApplication.objects.count() == 2


def test_the_command_decides_again_all_but_published_people() -> None:
    study = make_study()
    real, imported = (
        make_participant(study, kind=kind, cheated=True) for kind in ("real", "imported")
    )
    assert run_json("chores", "exclusions", study.slug)["participants_changed"] == 1
    for person, codes in ((real, "admitted_cheating"), (imported, "")):
        person.refresh_from_db()
        assert person.excluded_by == codes
    assert "0 participants" in run("chores", "exclusions", study.slug)


def test_fast_pages_are_counted_under_one_time_until_all_are_under_the_next(study: Study) -> None:
    before = overview.readings(study, Participant.Kind.REAL)
    job, lease = begin(study, steps=0)
    assert study.counted_min_rt_ms == Rules().min_rt_ms
    assert overview.readings(study, Participant.Kind.REAL) == before
    reapplying.advance(job, lease)
    people.finish(study)  # counted as the others are
    finished = study.participants.finished().order_by("pk")
    by = make_user("ruth")
    for person in (finished[0], finished[5]):  # who was decided already, and who was not
        withdraw_on_request(study, [person], timezone.now(), by=by, reason="Asked.")
    assert not recounting.check([study])
    go_on(study, job, lease)
    study.refresh_from_db()
    assert study.counted_min_rt_ms is None
    assert overview.readings(study, Participant.Kind.REAL) != before
    assert_decided(study, SLOWER)


def test_a_participant_who_finishes_after_fast_pages_were_read_is_counted(study: Study) -> None:
    change(study, SLOWER)
    pages = FastPages.read(study)
    people.finish(study)
    with transaction.atomic():
        pages.write(study)
    study.refresh_from_db()
    assert study.counted_min_rt_ms is None
    assert overview.readings(study, Participant.Kind.REAL)["fast_page"] > 0


# What follows from two versions of the rules


def fail(lease: Lease) -> None:
    lease.end(RuleApplication.Status.FAILED, "ValueError: a fault")


def cancel(lease: Lease) -> None:
    lease.end(RuleApplication.Status.CANCELLED)


@pytest.mark.parametrize(
    "end", [lambda lease: None, fail, cancel], ids=["open", "failed", "stopped"]
)
def test_it_is_said_until_one_of_them_has_finished(
    study: Study, end: Callable[[Lease], None]
) -> None:
    job, lease = begin(study)
    end(lease)
    assert rules_under_way(study) == job
    assert mixed_sentence(study) in note_beside_numbers(study, "real")
    assert mixed_sentence(study) not in note_beside_numbers(study, "imported")
    assert mixed_sentence(study) not in note_beside_numbers(study, "real", rules=1)
    reapplying.start(newest := reapplying.ask(study))
    if newest.pk == job.pk:
        lease.release()
    reapplying.run(newest)
    assert rules_under_way(study) is None


def test_a_manifest_and_a_report_say_so_and_nothing_of_the_analysis_is_published(
    study: Study,
) -> None:
    change(study, SLOWER)
    analysis = TrialQuery(set="analysis", kind="real")

    def export(query: TrialQuery = analysis, **form: Any) -> bool:
        return export_trials(study, query, io.BytesIO(), Form(**form)).rules_mixed

    def note() -> str:
        return make_report(study, ReportOptions()).header.participants.note

    before = data_state(study, analysis), data_version(study)
    assert export()
    assert not export(TrialQuery(set="analysis", kind="real", rules=1), k=2)
    with pytest.raises(QueryError, match="Version 2"):
        export(k=2)
    command = ("--set", "analysis", "--release", "--output", "x.csv")
    with pytest.raises(CommandError, match="Version 2"):
        run("export_trials", study.slug, *command)
    assert mixed_sentence(study) in note()
    reapplying.run(RuleApplication.objects.get())
    assert not export(k=2)
    assert not note()
    # A stored file, and a stored report, would say so for ever
    assert data_state(study, analysis) != before[0]
    assert data_version(study) != before[1]


def test_the_lab_says_so_and_goes_on_with_what_failed(
    ruth: Client, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, lease = begin(study)
    fail(lease)
    shown = unescape(page(ruth, study))
    assert mixed_sentence(study) in shown
    assert "2 of 7" in shown
    results = ruth.get(reverse("lab:results", args=[study.slug])).content.decode()
    assert mixed_sentence(study) in unescape(results)
    public = f"{reverse('lab:export', args=[study.slug])}?set=analysis&release=true"
    assert mixed_sentence(study) in unescape(ruth.get(public).content.decode())
    address = reverse("lab:work_retry", args=[study.slug, job.kind, job.pk])
    assert address in shown
    started: list[int] = []
    monkeypatch.setattr(reapplying, "start", lambda job: started.append(job.pk))
    assert ruth.post(address).status_code == 302
    job.refresh_from_db()
    assert (started, job.status) == ([job.pk], "waiting")
    reapplying.run(job)
    assert "live-rules" in page(ruth, study)
    assert mixed_sentence(study) not in unescape(page(ruth, study))

"""While two versions of the rules decide, or where applying the newest failed, everything that follows from them says so."""

import io
from collections.abc import Callable
from html import unescape

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from analysis.data.filters import ReportOptions
from analysis.data.version import data_version
from analysis.report.services.make import make_report
from experiment.domain.exclusion import Rules
from experiment.domain.release import Form
from experiment.domain.trial_query import QueryError, TrialQuery
from experiment.models import RuleApplication, Study
from experiment.services import reapplying
from experiment.services.export.files import export_trials
from experiment.services.export.trials import data_state
from experiment.services.reapplying import mixed_sentence, note_beside_numbers, rules_under_way
from experiment.services.study_versions import revise
from lib.jobs import leases
from lib.jobs.leases import Lease
from tests.experiment import people
from tests.experiment.lab_client import page
from tests.factories import make_participant, make_study

pytestmark = pytest.mark.django_db
PUBLIC = Form(k=2)


def of_analysis(rules: int | None = None) -> TrialQuery:
    return TrialQuery(set="analysis", kind="real", rules=rules)


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Study:
    """Of four who finished none is decided by the second version yet."""
    monkeypatch.setattr(reapplying, "BATCH", 2)
    monkeypatch.setattr(reapplying, "PAUSE_S", 0)
    study = make_study(recruitment="open")
    for _ in range(3):
        make_participant(study)
    people.finish(study)
    revise(study, rules=Rules(admitted_cheating=False), reason="A test.")
    study.refresh_from_db()
    return study


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
    job = RuleApplication.objects.get()
    lease = leases.take(job)
    assert lease is not None
    reapplying.advance(job, lease)
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


def test_few_people_who_are_decided_at_once_supersede_one_that_failed(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = leases.take(RuleApplication.objects.get())
    assert lease is not None
    fail(lease)
    monkeypatch.setattr(reapplying, "BATCH", 25)
    revise(study, rules=Rules(recognised=False), reason="A test.")
    assert rules_under_way(study) is None


def test_a_manifest_says_so_and_nothing_of_the_analysis_is_published(study: Study) -> None:
    before = data_state(study, of_analysis())
    assert export_trials(study, of_analysis(), io.BytesIO()).rules_mixed
    assert not export_trials(study, of_analysis(rules=1), io.BytesIO(), PUBLIC).rules_mixed
    with pytest.raises(QueryError, match="version 2"):
        export_trials(study, of_analysis(), io.BytesIO(), PUBLIC)
    with pytest.raises(CommandError, match="version 2"):
        call_command(
            *("export_trials", study.slug, "--set", "analysis", "--release", "--output", "x.csv")
        )
    reapplying.run(RuleApplication.objects.get())
    assert not export_trials(study, of_analysis(), io.BytesIO(), PUBLIC).rules_mixed
    assert data_state(study, of_analysis()) != before, "a stored file would say so for ever"


def test_a_report_says_so_and_is_made_anew_afterwards(study: Study) -> None:
    before = data_version(study)
    assert mixed_sentence(study) in make_report(study, ReportOptions()).header.participants.note
    reapplying.run(RuleApplication.objects.get())
    assert data_version(study) != before
    assert not make_report(study, ReportOptions()).header.participants.note


def test_the_lab_says_so_and_goes_on_with_what_failed(
    ruth: Client, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = RuleApplication.objects.get()
    lease = leases.take(job)
    assert lease is not None
    reapplying.advance(job, lease)
    fail(lease)
    shown = unescape(page(ruth, study))
    assert mixed_sentence(study) in shown
    assert "2 of 4" in shown
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

"""After a withdrawal nothing that the person said is anywhere: the database, the storages' files, the logs, kept pages."""

import logging
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.utils import timezone

from analysis.data.filters import ReportOptions
from analysis.models import Computation
from analysis.services import compute
from analysis.store import StoredResult
from experiment.domain.trial_query import TrialQuery
from experiment.models import Participant
from experiment.participant import kept
from experiment.services import enrollment
from experiment.services.export import jobs
from tests.experiment.people import ABOUT_ME, finish, open_trial
from tests.factories import make_study
from tests.storages import store_files_in

MARKS = ("Marked-comment-8844", "pid-8844", "session-8844", "study-8844", "Tuvalu", "TV")
LINK = "?PROLIFIC_PID=pid-8844&STUDY_ID=study-8844&SESSION_ID=session-8844"


def everything(folder: Path, log: str) -> str:
    """All columns of all rows, all files, what was logged, and what the process keeps."""
    found = [log, str(kept._kept), str(getattr(cache, "_cache", ""))]
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            found += [str(row) for row in cursor.fetchall()]
    files = (path for path in folder.rglob("*") if path.is_file())
    return "\n".join(found + [path.read_bytes().decode(errors="replace") for path in files])


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("policy", ["delete", "anonymise"])
def test_nothing_is_found_of_who_withdrew(
    settings: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture, policy: str
) -> None:
    caplog.set_level(logging.INFO)
    store_files_in(settings, tmp_path)
    study = make_study(
        recruitment="open",
        withdrawal_policy=policy,
    )
    finish(study)
    client, home = Client(), study.get_absolute_url()
    client.get(home + LINK, follow=True)
    client.post(home, {"agree": "yes", "consent_sha256": study.consent.sha256})
    person = Participant.objects.latest("pk")
    person = finish_as(person, client)
    client.get(f"{home}done/")
    export = jobs.run(jobs.ensure_exported(study, TrialQuery(set="all")))
    assert export.status == "finished"
    assert isinstance(compute.ensure_computed(study, ReportOptions()), StoredResult)
    assert Computation.objects.exists()
    before = everything(tmp_path, caplog.text)
    assert all(mark in before for mark in ("Marked-comment-8844", "pid-8844", "session-8844", "TV"))

    code = person.withdrawal_code
    page = Client().post(f"{home}withdraw/", {"code": code, "confirm": "1"})
    assert "withdrawn" in page.content.decode()
    assert not Computation.objects.exists()
    after = everything(tmp_path, caplog.text)
    assert [mark for mark in MARKS[:4] if mark in after] == []
    assert "'TV'" not in after
    assert '"TV"' not in after
    assert code not in after


def finish_as(person: Participant, client: Client) -> Participant:
    """Through the rest of the pages, with marked words."""
    home = person.study.get_absolute_url()
    client.post(f"{home}about-you/", ABOUT_ME | {"country": "TV"})
    enrollment.attempt_practice(person, enrollment.practice_side(person), timezone.now())
    client.post(f"{home}start/")
    for _ in range(person.study.n_trials):
        person.refresh_from_db()
        open_trial(person).send()
    client.post(f"{home}debrief/", {"comments": MARKS[0]})
    person.refresh_from_db()
    assert person.stage == "finished"
    return person

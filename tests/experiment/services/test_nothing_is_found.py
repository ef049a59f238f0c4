"""After a withdrawal nothing that the person said is anywhere: the database, the storages' files, the logs, kept pages."""

import logging
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.utils import timezone

from analysis import store
from analysis.data.filters import ReportOptions
from analysis.models import Computation
from analysis.services.compute import Asked
from experiment.domain.trial_query import TrialQuery
from experiment.models import Participant, Study
from experiment.services import taking_part
from experiment.services.export import jobs
from lib.fast import kept
from scoring.domain.grading.rubric import BIOSCORE
from scoring.models import JudgeGrade, PersonGrade
from scoring.services.grading import people, plans, runs
from scoring.services.grading.people import Given
from tests.experiment.asked import make_asking_study, open_question
from tests.experiment.people import ABOUT_ME, finish, open_trial
from tests.factories import make_user
from tests.scoring.backends.chat.stub import ChatStub
from tests.scoring.services.grading.rows import grading, judged_by
from tests.storages import store_files_in

WORDS = ("Marked-comment-8844", "Marked-answer-8844")
MARKS = (*WORDS, "pid-8844", "session-8844", "study-8844", "Tuvalu", "TV")
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
def test_nothing_is_found_of_a_withdrawn_participant(
    settings: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture, policy: str
) -> None:
    caplog.set_level(logging.INFO)
    store_files_in(settings, tmp_path)
    study = make_asking_study(counts=(6, 3, 2))
    Study.objects.update(withdrawal_policy=policy)
    study.refresh_from_db()
    finish(study)
    client, home = Client(), study.get_absolute_url()
    client.get(home + LINK, follow=True)
    client.post(home, {"agree": "yes", "consent_sha256": study.consent.sha256})
    person = Participant.objects.latest("pk")
    person = finish_as(person, client)
    client.get(f"{home}done/")
    grade_all(study)
    export = jobs.run(jobs.ensure_exported(study, TrialQuery(set="all")))
    assert export.status == "finished"
    # A result that quotes what was written
    said = {"quoted": WORDS}
    Asked(study, ReportOptions()).keep(lambda row: store.save(row, said, [], {}, provenance=None))
    before = everything(tmp_path, caplog.text)
    assert all(mark in before for mark in (*WORDS, "pid-8844", "session-8844", "TV"))

    code = person.withdrawal_code
    page = Client().post(f"{home}withdraw/", {"code": code, "confirm": "1"})
    assert "withdrawn" in page.content.decode()
    assert not Computation.objects.exists()
    after = everything(tmp_path, caplog.text)
    assert [mark for mark in MARKS[:5] if mark in after] == []
    assert "'TV'" not in after
    assert '"TV"' not in after
    assert code not in after
    # Where the answers stay, so do their points
    n_graded = {"delete": 2, "anonymise": 4}[policy]
    assert JudgeGrade.objects.filter(points=None).count() == n_graded
    assert PersonGrade.objects.filter(points=3).count() == n_graded


def grade_all(study: Study) -> None:
    """A judge that quotes what it reads in place of a grade, twice, and a person who does so in notes."""

    def quote(request: dict[str, Any]) -> str:
        return f"It says {WORDS[1]}." if WORDS[1] in str(request) else "It rises, it says."

    with ChatStub(quote) as stub:
        run = runs.run(grading(study, judged_by(stub), people=True))
    assert (run.status, run.done) == ("finished", 4)
    assert any(WORDS[1] in str(grade.messages[:1]) for grade in run.grades.all())
    plans.change(study, rubric=BIOSCORE, people_share=1, double_share=0, tolerance=0.5, seed=1)
    grader = make_user("grader")
    while (target := people.next_for(grader, study)) is not None:
        people.give(grader, study, target.row, Given(3.0, note=f"“{target.text}” is whole."))


def finish_as(person: Participant, client: Client) -> Participant:
    """Through the rest of the pages, with marked words."""
    home = person.study.get_absolute_url()
    client.post(f"{home}about-you/", ABOUT_ME | {"country": "TV"})
    taking_part.attempt_practice(person, taking_part.practice_side(person), timezone.now())
    client.post(f"{home}start/")
    for _ in range(person.study.n_trials):
        person.refresh_from_db()
        if person.is_asked(person.position):
            open_question(person).send(answer_text=WORDS[1])
        else:
            open_trial(person).send()
    client.post(f"{home}debrief/", {"comments": WORDS[0]})
    person.refresh_from_db()
    assert person.stage == "finished"
    return person

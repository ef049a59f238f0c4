"""A study's pages about grades: judges are started and read, people grade blinded, a third settles."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from experiment.domain.roles import Role
from experiment.models import Participant, Study
from scoring.domain.grading.rubric import BIOSCORE
from scoring.models import GradingRun, PersonGrade
from scoring.services.asking.settings import Asked
from scoring.services.grading import plans, runs
from tests.factories import make_user
from tests.forms import Browser
from tests.scoring.backends.chat.stub import MODEL, ChatStub
from tests.scoring.services.grading.rows import grading as stored_run
from tests.scoring.services.grading.rows import (
    judged_by,
    make_answers,
    make_empty_study,
    make_written,
)

pytestmark = pytest.mark.django_db
GRADE, LAST, UNDO, ADJUDICATE = (
    reverse(f"lab:{name}", args=["genes"])
    for name in ("grade", "grade_last", "grade_undo", "adjudicate")
)
LAB = reverse("lab:grading", args=["genes"])


@pytest.fixture
def study() -> Study:
    study = make_empty_study()
    plans.change(study, rubric=BIOSCORE, people_share=1, double_share=1, tolerance=0.5, seed=1)
    for name, role in (
        ("ada", Role.CURATOR),
        ("ben", Role.CURATOR),
        ("cleo", Role.CURATOR),
        ("otto", Role.AUDITOR),
        ("ruth", Role.RESEARCHER),
    ):
        study.memberships.create(user=make_user(name), role=role)
    return study  # fmt: skip


def client_of(study: Study, name: str) -> Client:
    client = Browser()
    client.force_login(study.members.get(username=name))
    return client


def token_of(page: Any) -> str:
    found = re.search(r'name="token"\s+value="([^"]+)"', page.text)
    assert found is not None
    return found.group(1)


def last_on(page: Any) -> dict[str, str]:
    """The values that the button sends that takes the last grade back."""
    found = re.search(r'name="grade"\s+value="(\d+)"', page.text)
    assert found is not None
    return {"grade": found.group(1)}


def choose(client: Client, address: str = GRADE, page: str = "", **chosen: Any) -> Any:
    shown = client.get(page or address)
    return client.post(address, {"token": token_of(shown), **chosen}, follow=True)


class TestPeople:
    def test_nothing_on_the_page_says_whose_answer_it_is(self, study: Study) -> None:
        run = make_answers(study, ["Gene 1, I think."])
        run.answers.update(id=987_654)

        page = client_of(study, "ada").get(GRADE).text

        for shown in (
            "Which gene is number 1?",
            "Gene 1.",
            "Gene 1, I think.",
            "misleading additions",
        ):
            assert shown in page
        body = page.partition("<main")[2]
        assert not re.search(r"secret-model|Secretive|\b(chat|ben|ruth)\b", body)
        assert "987654" not in page

    def test_nothing_tells_a_participant_s_answer_from_a_model_s(self, study: Study) -> None:
        written = make_written(study, "Gene 1, I think.")
        of_person = client_of(study, "ada").get(GRADE).text
        assert str(written.trial.participant.public_id) not in of_person
        Participant.objects.update(excluded_by="fast")
        make_answers(study, ["Gene 1, I think."])
        of_model = client_of(study, "ada").get(GRADE).text

        changing = r'(value|nonce|content)="[^"]{16,}"'
        assert re.sub(changing, "", of_person) == re.sub(changing, "", of_model)

    def test_a_grade_is_kept_and_the_next_answer_comes(self, study: Study) -> None:
        make_answers(study, ["one", "two"])
        ada = client_of(study, "ada")

        after = choose(ada, verdict="3.0", deductions=["harmless additions"], note="Long.")

        grade = PersonGrade.objects.get()
        assert (grade.points, grade.level, grade.note) == (2.5, 3.0, "Long.")
        assert grade.grader == study.members.get(username="ada")
        assert grade.seconds is not None
        assert (
            "The 2 answers of the sample need 4 grades in total. Given so far: 1, 1 of them by you."
            in " ".join(after.text.split())
        )
        choose(ada, verdict="abstained", deductions=["harmless additions"])
        assert "You have no answers left" in ada.get(GRADE).text
        assert PersonGrade.objects.filter(abstained=True, points=-1, deductions=[]).count() == 1

    def test_a_form_without_a_grade_is_shown_again_with_the_same_answer(self, study: Study) -> None:
        make_answers(study, ["one", "two", "three"])
        ada = client_of(study, "ada")
        page = ada.get(GRADE)
        [text] = re.findall(r'id="graded-answer"[^>]*>(\w+)<', page.text)

        again = ada.post(GRADE, {"token": token_of(page), "note": "So so."})

        assert again.status_code == 422
        assert f">{text}<" in again.text
        assert "So so." in again.text
        assert not PersonGrade.objects.exists()

    def test_a_page_that_is_too_old_or_another_s_keeps_nothing(self, study: Study) -> None:
        make_answers(study, ["one"])
        token = token_of(client_of(study, "ben").get(GRADE))

        ada = client_of(study, "ada")
        after = ada.post(GRADE, {"token": token, "verdict": "3.0"}, follow=True)

        assert "nothing was saved" in after.text
        assert not PersonGrade.objects.exists()

    def test_a_form_that_is_sent_twice_does_what_it_says_once(self, study: Study) -> None:
        make_answers(study, ["one", "two"])
        ada = client_of(study, "ada")
        choose(ada, verdict="3.0")
        sent = {"token": token_of(ada.get(GRADE)), "verdict": "2.0", "note": "Fine."}
        for _ in range(2):
            assert "already graded this answer" not in ada.post(GRADE, sent, follow=True).text
        assert PersonGrade.objects.count() == 2
        again = ada.post(GRADE, sent | {"verdict": "1.0"}, follow=True).text
        assert "already graded this answer" in again

        undo = last_on(ada.get(GRADE))
        for _ in range(2):
            assert "withdrawn" in ada.post(UNDO, undo, follow=True).text
        for number in ("", "one", "9" * 40):
            assert "No grade was withdrawn" in ada.post(UNDO, {"grade": number}, follow=True).text
        client_of(study, "ben").post(UNDO, last_on(ada.get(GRADE)))
        assert PersonGrade.objects.get().points == 3


class TestJudges:
    @pytest.fixture
    def stub(self) -> Iterator[ChatStub]:
        with ChatStub(lambda request: "3") as stub:
            yield stub

    def test_a_judge_is_started_once_stopped_and_goes_on(
        self, study: Study, stub: ChatStub
    ) -> None:
        run = make_answers(study, ["one"])
        ruth = client_of(study, "ruth")
        form = {
            "judge-generator": "chat", "judge-model": MODEL, "judge-base_url": stub.url, "judge-model_args": "timeout=2",
            "judge-runs": [str(run.pk)],
        }  # fmt: skip
        page = ruth.post(f"{LAB}start/", form | {"forecast": "1"}).text
        assert "This takes 1 request, if none has to be repeated." in page
        assert not GradingRun.objects.exists()
        for _ in range(2):
            assert ruth.post(f"{LAB}start/", form).status_code == 302

        found = GradingRun.objects.get()
        assert (found.status, found.runs, found.created_by) == (
            "waiting",
            [run.pk],
            study.members.get(username="ruth"),
        )
        ruth.post(reverse("lab:grading_stop", args=["genes", found.pk]))
        found.refresh_from_db()
        assert found.status == "cancelled"
        ruth.post(reverse("lab:grading_resume", args=["genes", found.pk]))
        found.refresh_from_db()
        assert runs.run(found).status == "finished"
        page = ruth.get(found.get_absolute_url()).text
        assert "secret-model-9" in page

    def test_grades_are_listed_by_what_they_count_as_with_what_the_judge_said(
        self, study: Study, stub: ChatStub
    ) -> None:
        said = iter(["3", "-1", "1.5", "Lovely!", "Really lovely!"])
        stub.text_of = lambda request: next(said)
        make_answers(study, ["one", "two", "three", "four", ("", "filtered")])
        asked = judged_by(stub)
        run = runs.run(
            stored_run(study, Asked("chat", dict(asked.model_args) | {"concurrency": "1"}))
        )
        ruth, address = client_of(study, "ruth"), run.get_absolute_url()

        def listed(show: str) -> list[str]:
            page = ruth.get(address, {"show": show}).text
            return re.findall(r">(one|two|three|four)<", page)

        assert listed("good") == ["one"]
        assert listed("abstained") == ["two"]
        assert listed("bad") == ["three"]
        assert listed("unparsed") == ["four"]
        assert len(listed("")) == 4
        unparsed = ruth.get(address, {"show": "unparsed"}).text
        assert "Really lovely!" in unparsed
        assert ">Lovely!<" in unparsed
        assert "filtered" in unparsed
        assert ruth.get(address, {"show": "lovely"}).status_code == 404


class TestPlan:
    def post(self, study: Study, **changes: str) -> Any:
        values = {
            "people_share": "0.5", "double_share": "0.1", "tolerance": "1", "seed": "7", "rubric_text": json.dumps(BIOSCORE.to_json()),
        }  # fmt: skip
        data = {f"plan-{name}": value for name, value in (values | changes).items()}
        return client_of(study, "ruth").post(f"{LAB}plan/", data)

    def test_it_is_kept_and_what_is_none_is_refused(self, study: Study) -> None:
        for changes in ({"people_share": "2"}, {"rubric_text": "{"}):
            assert self.post(study, **changes).status_code == 422
        assert plans.plan_of(study).people_share == 1
        assert self.post(study).status_code == 302
        plan = plans.plan_of(study)
        assert (plan.people_share, plan.double_share, plan.tolerance, plan.seed) == (0.5, 0.1, 1, 7)

"""Grading that was stopped goes on: nothing is asked twice, and what came since is graded too."""

import pytest

from experiment.models import Study
from lib.jobs import leases
from scoring.models import Answer, GradingRun
from scoring.services.asking.settings import Asked
from scoring.services.grading import runs
from scoring.services.grading.plans import Counts, summary
from tests.scoring.backends.chat.stub import ChatStub
from tests.scoring.services.grading.judge import Judge, points
from tests.scoring.services.grading.rows import (
    grading,
    judged_by,
    make_answers,
    make_written,
)

pytestmark = pytest.mark.django_db
EXACT = Asked("exact", {})


class TestGoingOn:
    def test_what_has_a_grade_is_not_asked_about_again(self, stub: ChatStub, study: Study) -> None:
        make_answers(study, [str(n) for n in range(8)])
        stub.script = ["", "", "", "401"]
        run = runs.run(grading(study, judged_by(stub)))
        assert run.status == "failed"
        kept = run.grades.count()
        assert 3 <= kept < 8

        stub.script = []
        before = len(stub.requests)
        again = runs.run(leases.reopen(run))

        assert (again.status, again.done) == ("finished", 8)
        assert len(stub.requests) - before == 8 - kept

    def test_a_first_text_that_was_no_grade_is_not_asked_for_a_third_time(
        self, stub: ChatStub, study: Study
    ) -> None:
        stub.text_of = Judge(one=["Good!", "3"])
        make_answers(study, ["one"])
        stub.script = ["", "401"]
        run = runs.run(grading(study, judged_by(stub)))
        assert (run.status, run.done, run.grades.get().tries) == ("failed", 0, 1)

        again = runs.run(leases.reopen(run))

        assert (again.status, again.done) == ("finished", 1)
        assert [len(r["messages"]) for r in stub.requests] == [2, 4, 4]
        assert points(again) == [3.0]

    def test_the_first_text_stays_whole_whatever_becomes_of_the_second_try(
        self, stub: ChatStub, study: Study
    ) -> None:
        first = "  Good! " + "Because … " * 600
        stub.text_of = Judge(one=[first, "3"])
        make_answers(study, ["one"])
        stub.script = ["", "500"]
        run = runs.run(grading(study, judged_by(stub)))
        grade = run.grades.get()
        assert (grade.tries, grade.finish, grade.first_text) == (2, "failed", first)
        assert runs.can_resume(run)

        again = runs.run(leases.reopen(run, also_finished=True))

        grade = again.grades.get()
        assert (grade.points, grade.tries, grade.text, grade.first_text) == (3, 2, "3", first)
        assert [len(request["messages"]) for request in stub.requests] == [2, 4, 4]
        repeated = stub.requests[2]["messages"]
        assert repeated == stub.requests[1]["messages"]
        assert len(repeated[2]["content"]) == 2000

    def test_a_server_that_fails_at_one_answer_leaves_it_for_later(
        self, stub: ChatStub, study: Study
    ) -> None:
        make_answers(study, ["one", "two"])
        stub.script = ["500"]
        run = runs.run(grading(study, judged_by(stub)))
        assert (run.status, run.done, run.total) == ("finished", 1, 2)
        assert summary(run) == {"secret-model-9": Counts(good=1, unparsed=1)}

        assert runs.can_resume(run)
        assert runs.run(leases.reopen(run, also_finished=True)).done == 2
        assert not runs.can_resume(GradingRun.objects.get())
        assert sorted(p or 0 for p in points(run)) == [2, 2]

    def test_an_answer_that_failed_has_its_row_once_however_often_a_run_goes_on(
        self, stub: ChatStub, study: Study
    ) -> None:
        make_answers(study, [("", "failed"), "one", ("", "empty"), "two", "three"])
        stub.script = ["", "401"]
        run = runs.run(grading(study, judged_by(stub), people=True))
        for n in (1, 2):
            assert (run.status, run.done < run.total) == ("failed", True), run.error
            stub.script = ["401"] if n == 1 else []
            run = runs.run(leases.reopen(run))
        assert (run.status, run.done, run.total) == ("finished", 5, 5)
        assert points(run) == [None, 2, None, 2, 2]
        assert not runs.can_resume(run)

        make_written(study, "mine")
        assert runs.can_resume(run)
        run = runs.run(leases.reopen(run, also_finished=True))
        assert (run.status, run.done, run.total) == ("finished", 6, 6)

    def test_an_answer_that_was_asked_for_again_is_graded(
        self, stub: ChatStub, study: Study
    ) -> None:
        make_answers(study, [("", "failed"), ("", "failed"), "one"])
        run = runs.run(grading(study, judged_by(stub)))
        assert not runs.can_resume(run)

        first, second, _ = Answer.objects.order_by("pk")
        Answer.objects.filter(pk=first.pk).update(text="now", finish="stop")
        Answer.objects.filter(pk=second.pk).update(finish="refused")
        assert runs.can_resume(run)
        run = runs.run(leases.reopen(run, also_finished=True))

        assert (run.status, run.done, run.total) == ("finished", 3, 3)
        assert points(run) == [2, None, 2]
        told = run.grades.order_by("answer").values_list("tries", "finish")
        assert list(told) == [(1, "stop"), (0, "refused"), (1, "stop")]
        assert not runs.can_resume(run)

    def test_participants_who_took_the_place_of_others_are_graded(
        self, stub: ChatStub, study: Study
    ) -> None:
        people = [make_written(study, f"person {n}").trial.participant for n in range(3)]
        run = runs.run(grading(study, judged_by(stub), people=True))
        for person in people[:2]:
            person.excluded_by = "fast"
            person.save()
        for n in (3, 4):
            make_written(study, f"person {n}")

        assert runs.can_resume(run)
        run = runs.run(leases.reopen(run, also_finished=True))

        assert (run.status, run.done, run.total) == ("finished", 3, 3)
        assert len(stub.requests) == 5
        assert not runs.can_resume(run)

    def test_another_judge_does_not_go_on_with_a_run(self, stub: ChatStub, study: Study) -> None:
        make_answers(study, ["one", "two"])
        stub.script = ["", "401"]
        run = runs.run(grading(study, judged_by(stub)))
        GradingRun.objects.filter(pk=run.pk).update(
            identity=run.identity | {"judge": "0" * 64}, done=1
        )
        run.refresh_from_db()

        again = runs.run(leases.reopen(run))

        assert again.status == "failed"
        assert "judge" in again.error.lower()

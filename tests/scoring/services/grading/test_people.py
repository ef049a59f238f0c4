"""People grade a sample that the seed decides, each answer as often as the plan says; a third settles what two differ in."""

import threading
from collections import Counter
from typing import Any

import pytest
from django.db import connections
from django.db.utils import OperationalError

from experiment.domain.roles import Role
from experiment.models import Item, Study
from experiment.services.study_setup import pin_items
from scoring.domain.backend import ScoringError
from scoring.domain.grading.rubric import BIOSCORE, Rubric
from scoring.models import Answer, AnsweringRun, PersonGrade
from scoring.services.grading import people as grading
from scoring.services.grading import plans
from scoring.services.grading.people import Given, GradeRefusedError
from tests.factories import make_user
from tests.scoring.services.grading.rows import make_answers, make_empty_study, make_written

pytestmark = pytest.mark.django_db
EXACT, WRONG = Given(3.0), Given(0.0)
NAMES = ("ada", "ben", "cleo", "dora")


@pytest.fixture
def people(study: Study) -> list[Any]:
    users = [make_user(name) for name in NAMES]
    for user in users:
        study.memberships.create(user=user, role=Role.CURATOR)
    return users


def plan(study: Study, **changes: Any) -> None:
    values = {"people_share": 1.0, "double_share": 0.0, "tolerance": 0.5, "seed": 5}
    plans.change(study, **({"rubric": BIOSCORE} | values | changes))


def grade_all(user: Any, study: Study, given: Given = EXACT) -> list[int]:
    rows = []
    while (target := grading.next_for(user, study)) is not None:
        grading.give(user, study, target.row, given)
        rows.append(target.row)
    return rows


class TestSample:
    @pytest.fixture
    def many(self, study: Study) -> AnsweringRun:
        run = make_answers(study, ["one"])
        Answer.objects.all().delete()
        texts = {"markup": "Which?", "expert_answer": "This."}
        items = [
            Item(key=f"many-{n}", kind="question", status="accepted", **texts) for n in range(400)
        ]
        for item in items:
            item.derive_texts()
        pin_items(study, Item.objects.bulk_create(items))
        rows = [
            Answer(pk=1000 + n, run=run, item=item, text="x", finish="stop", seconds=1)
            for n, item in enumerate(Item.objects.filter(key__startswith="many-").order_by("pk"))
        ]
        Answer.objects.bulk_create(rows)
        return run

    def drawn(self, study: Study) -> dict[int, int]:
        return dict(grading.sampled_answers(plans.plan_of(study)).values_list("pk", "needed"))

    def test_share_and_double_share_are_met_and_independent(
        self, study: Study, many: AnsweringRun
    ) -> None:
        plan(study, people_share=0.5, double_share=0.25)
        found = Counter(self.drawn(study).values())

        # Within 4 standard deviations of 400 draws at 1/2, and of 200 at 1/4
        assert abs(found.total() - 200) < 40
        assert abs(found[2] - 50) < 25

    def test_it_follows_the_seed_and_keeps_what_was_in_it_when_answers_come_or_the_share_grows(
        self, study: Study, many: AnsweringRun
    ) -> None:
        plan(study, people_share=0.2, seed=6)
        other = self.drawn(study)
        plan(study, people_share=0.2)
        first = self.drawn(study)
        assert self.drawn(study) == first
        assert len(first.keys() & other.keys()) < 0.6 * len(first)
        make_answers(study, ["more"] * 20, "lab/another")
        plan(study, people_share=0.4)
        assert first.keys() <= self.drawn(study).keys()

    def test_it_is_of_the_runs_that_count(self, study: Study, many: AnsweringRun) -> None:
        plan(study, people_share=1.0)
        run = make_answers(study, ["a", "b", "c"], "lab/b")
        make_answers(study, ["a", "b"], "lab/b", fingerprint="fewer")
        make_answers(study, ["a", "b", "c"], "lab/b", is_simulated=True)
        make_answers(study, ["a"], "lab/under way", status="running")
        later = make_answers(study, ["a", "b", "c"], "lab/c")
        drawn = Answer.objects.filter(pk__in=self.drawn(study))
        assert set(drawn.values_list("run", flat=True)) == {many.pk, run.pk, later.pk}


class TestGrading:
    def test_everybody_together_gives_what_is_needed_and_nobody_one_answer_twice(
        self, study: Study, people: list[Any]
    ) -> None:
        make_answers(study, [f"answer {n}" for n in range(12)])
        plan(study, double_share=0.5)
        twice = (
            sum(grading.sampled_answers(plans.plan_of(study)).values_list("needed", flat=True)) - 12
        )

        rows = {user: grade_all(user, study) for user in people}

        given = Counter(row for of_user in rows.values() for row in of_user)
        assert given.total() == 12 + twice
        assert all(len(set(of_user)) == len(of_user) for of_user in rows.values())
        assert set(given.values()) <= {1, 2}
        found = grading.progress(study, people[0])
        assert (found.needed, found.given, found.mine) == (
            12 + twice,
            12 + twice,
            len(rows[people[0]]),
        )

    def test_participants_answers_are_graded_too_but_none_without_text(
        self, study: Study, people: list[Any]
    ) -> None:
        make_answers(study, ["one", ("", "filtered"), ("", "failed")])
        written = make_written(study, "mine")
        make_written(study, "")
        plan(study)

        rows = grade_all(people[0], study)

        assert sorted(rows) == sorted([Answer.objects.get(text="one").pk, -written.pk])

    def test_two_with_the_same_answer_before_them_may_both_grade_it_and_a_third_may_not(
        self, study: Study, people: list[Any]
    ) -> None:
        make_answers(study, ["one"])
        plan(study)
        ada, ben, cleo, _ = people
        row = Answer.objects.get().pk
        grading.give(ada, study, row, EXACT)
        grading.give(ben, study, row, EXACT)

        with pytest.raises(GradeRefusedError):
            grading.give(cleo, study, row, EXACT)
        with pytest.raises(GradeRefusedError):
            grading.give(ada, study, row, WRONG)
        assert grading.give(ada, study, row, EXACT).grader == ada, "sent twice"
        assert PersonGrade.objects.count() == 2

    @pytest.mark.parametrize(
        ("given", "points"),
        [
            (Given(3.0, ["harmless additions"]), 2.5),
            (Given(3.0, ["harmless additions", "misleading additions"]), 1.5),
            (Given(0.0, ["misleading additions"]), 0.0),
            (Given(None, ["misleading additions"]), -1.0),
        ],
    )
    def test_points_are_the_level_s_less_deductions(
        self, study: Study, people: list[Any], given: Given, points: float
    ) -> None:
        make_answers(study, ["one"])
        plan(study)
        grade = grading.give(people[0], study, Answer.objects.get().pk, given)

        assert (grade.points, grade.abstained) == (points, given.level is None)

    def test_grades_outside_the_rubric_or_of_another_studys_answer_are_refused(
        self, study: Study, people: list[Any]
    ) -> None:
        ada, exact = people[0], Given(3.0)
        mine = make_answers(study, ["one"]).answers.get().pk
        other = make_answers(make_empty_study("other"), ["one"]).answers.get().pk
        plan(study)
        for row, given in ((mine, Given(2.5)), (mine, Given(3.0, ["charm"])), (other, exact)):
            with pytest.raises(GradeRefusedError):
                grading.give(ada, study, row, given)
        assert grading.give(ada, study, mine, exact)

    def test_only_the_last_grade_is_changed_or_taken_back(
        self, study: Study, people: list[Any]
    ) -> None:
        make_answers(study, ["one", "two"])
        plan(study)
        ada = people[0]
        first, second = grade_all(ada, study)

        with pytest.raises(GradeRefusedError):
            grading.change_last(ada, study, first, WRONG)
        with pytest.raises(GradeRefusedError):
            grading.take_back(ada, study, PersonGrade.objects.earliest("pk").pk)
        assert grading.change_last(ada, study, second, WRONG).points == 0
        grading.take_back(ada, study, PersonGrade.objects.latest("pk").pk)
        assert grading.next_for(ada, study).row == second  # type: ignore[union-attr]

    def test_the_rubric_stays_once_people_have_graded_by_it(
        self, study: Study, people: list[Any]
    ) -> None:
        make_answers(study, ["one"])
        other = Rubric.from_json(BIOSCORE.to_json() | {"name": "Another"})
        plan(study, rubric=other)
        plan(study)
        grade_all(people[0], study)
        with pytest.raises(ScoringError, match="rubric"):
            plan(study, rubric=other)
        plan(study, people_share=0.3)


class TestAdjudication:
    @pytest.fixture
    def ruth(self, study: Study) -> Any:
        return make_user("ruth", study)

    def differ(self, study: Study, people: list[Any], one: Given, two: Given) -> int:
        make_answers(study, ["one"])
        plan(study, double_share=1.0)
        row = Answer.objects.get().pk
        grading.give(people[0], study, row, one)
        grading.give(people[1], study, row, two)
        return row

    @pytest.mark.parametrize(
        ("one", "two", "is_open"),
        [
            (EXACT, EXACT, False),
            (
                EXACT,
                Given(3.0, ["harmless additions"]),
                False,
            ),  # half a point, as the plan lets pass
            (EXACT, Given(2.0), True),
            (WRONG, Given(None), True),
            (Given(None), Given(None), False),
        ],
    )
    def test_more_than_the_tolerance_or_abstention_is_settled_by_a_third(
        self, study: Study, people: list[Any], one: Given, two: Given, is_open: bool
    ) -> None:
        self.differ(study, people, one, two)

        assert grading.n_open(study) == is_open
        assert (grading.next_dispute(people[2], study) is not None) == is_open

    def test_a_difference_about_abstention_is_settled_at_any_tolerance(
        self, study: Study, people: list[Any]
    ) -> None:
        self.differ(study, people, WRONG, Given(None))
        plan(study, double_share=1.0, tolerance=3.0)
        assert grading.n_open(study) == 1

    def test_an_excluded_participant_s_answer_stands_in_nobody_s_way(
        self, study: Study, people: list[Any], ruth: Any
    ) -> None:
        first, second = (make_written(study, text) for text in ("mine", "yours"))
        plan(study, double_share=1.0)
        for user, given in zip(people[:2], (EXACT, WRONG), strict=True):
            for judgment in (first, second):
                grading.give(user, study, -judgment.pk, given)
        assert grading.n_open(study) == 2
        person = first.trial.participant
        person.excluded_by = "fast"
        person.save()

        assert grading.n_open(study) == 1
        dispute = grading.next_dispute(people[2], study)
        assert dispute is not None
        assert dispute.target.text == "yours"
        with pytest.raises(GradeRefusedError):
            grading.settle(people[2], study, -first.pk, EXACT)
        assert grading.settle(people[2], study, -second.pk, EXACT).points == 3
        assert grading.next_dispute(ruth, study) is None

    def test_those_who_gave_the_grades_do_not_settle_them_unless_they_lead(
        self, study: Study, people: list[Any], ruth: Any
    ) -> None:
        row = self.differ(study, [people[0], ruth], EXACT, WRONG)

        assert grading.next_dispute(people[0], study) is None
        with pytest.raises(GradeRefusedError):
            grading.settle(people[0], study, row, EXACT)
        assert grading.next_dispute(ruth, study) is not None
        assert grading.settle(ruth, study, row, EXACT).is_adjudication

    def test_it_is_settled_once_and_then_neither_changed_nor_taken_back(
        self, study: Study, people: list[Any]
    ) -> None:
        row = self.differ(study, people, EXACT, WRONG)
        grading.settle(people[2], study, row, Given(2.0))

        assert grading.n_open(study) == 0
        with pytest.raises(GradeRefusedError):
            grading.settle(people[3], study, row, EXACT)
        with pytest.raises(GradeRefusedError):
            grading.change_last(people[0], study, row, EXACT)
        with pytest.raises(GradeRefusedError):
            grading.take_back(people[1], study, people[1].grades.get().pk)
        assert grading.progress(study, people[0]).given == 2


@pytest.mark.django_db(transaction=True)
def test_however_many_grade_at_once_there_is_one_grade_too_many_at_most() -> None:
    study = make_empty_study()
    make_answers(study, ["one"])
    plan(study)
    users = [make_user(f"grader-{n}", study) for n in range(6)]
    row, ready = Answer.objects.get().pk, threading.Barrier(len(users))

    def give(user: Any) -> None:
        ready.wait()
        try:
            grading.give(user, study, row, EXACT)
        except (GradeRefusedError, OperationalError):
            pass
        finally:
            connections.close_all()

    threads = [threading.Thread(target=give, args=[user]) for user in users]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 1 <= PersonGrade.objects.count() <= 2

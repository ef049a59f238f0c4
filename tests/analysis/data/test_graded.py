"""The data of the chapters on graded answers: which answers and grades count, and what each answer counts as."""

from typing import Any

import numpy as np
import pytest

from analysis.data import read as data_reader
from analysis.data.filters import OF_STUDY, ReportOptions
from analysis.data.graded import answers as answering
from analysis.data.graded.tables import NO_TEXT, NOT_GRADED, GradedData
from analysis.data.version import data_version
from experiment.models import Item, Judgment, Study, WrittenAnswer
from experiment.services.withdrawal import anonymise
from scoring.domain.grading.rubric import BIOSCORE, Level, Rubric
from scoring.models import GradingPlan, GradingRun
from tests.analysis.data.graded_rows import (
    answer,
    grade,
    make_questions,
    person_grade,
    questions_of,
    write,
)
from tests.factories import make_user

pytestmark = [pytest.mark.django_db, pytest.mark.drifts]


@pytest.fixture
def quiz() -> Study:
    return make_questions()


def graded(study: Study, **options: Any) -> GradedData:
    found = data_reader.read(study, ReportOptions(**options))[OF_STUDY].graded
    assert found is not None
    return found


def fates(data: GradedData, model: int = 0) -> list[str]:
    return data.answers[data.answers["model"] == model]["fate"].tolist()


def test_each_answer_counts_as_what_its_grade_says(quiz: Study) -> None:
    run = answer(quiz, texts=["a", "b b", "c", ""])
    grade(quiz, {run: [2.0, -1.0, None]})
    data = graded(quiz)
    assert fates(data) == ["good", "abstained", "unparsed", NO_TEXT]
    assert data.answers["words"].tolist() == [1, 2, 1, 0]
    assert data.answers["cost"].tolist() == pytest.approx([(100 + 10 * 10) / 1e6] * 4)


def test_answers_that_no_judge_saw_are_not_among_the_graded(quiz: Study) -> None:
    run = answer(quiz)
    answer(quiz, "lab/b", texts=["x", "", "z", "w"])
    grade(quiz, {run: [3.0, 0.0]})
    data = graded(quiz)
    assert fates(data, 0) == ["good", "bad", NOT_GRADED, NOT_GRADED]
    assert fates(data, 1) == [NOT_GRADED] * 4
    assert len(data.need_graded()) == 2


def test_the_judge_that_graded_most_counts_and_of_equals_the_newest(quiz: Study) -> None:
    run = answer(quiz)
    grade(quiz, {run: [3.0] * 4}, judge="lab/old")
    grade(quiz, {run: [0.0] * 4}, judge="lab/new")
    grade(quiz, {run: [-1.0] * 3}, judge="lab/partial")
    grade(quiz, {run: [1.0] * 4}, judge="lab/under-way", status="running")
    data = graded(quiz)
    assert fates(data) == ["bad"] * 4
    assert data.judges["n_graded"].tolist() == [4, 4, 3]
    assert len(data.judge_grades) == 11


def test_the_exact_match_counts_only_where_no_other_judge_graded_as_many(quiz: Study) -> None:
    first, second = answer(quiz), answer(quiz, "lab/b")
    grade(quiz, {first: [3.0] * 4}, judge="lab/judge")
    grade(quiz, {first: [0.0] * 4, second: [0.0] * 4}, judge="lab/none", generator="exact")
    data = graded(quiz)
    assert fates(data) == ["good"] * 4
    assert fates(data, 1) == ["bad"] * 4


def test_a_judge_that_stopped_keeps_its_grades_and_is_called_incomplete(quiz: Study) -> None:
    run = answer(quiz)
    judged = grade(quiz, {run: [3.0, 0.0, 3.0]}, identity={"judge": "x"})
    last = run.answers.latest("pk")
    # Asked for once more, and then the server was gone
    judged.grades.create(answer=last, points=None, finish="failed", seconds=1, tries=1)
    assert fates(graded(quiz)) == ["good", "bad", "good", "unparsed"]

    GradingRun.objects.update(status="failed")
    data = graded(quiz)
    assert fates(data) == ["good", "bad", "good", NOT_GRADED]
    assert data.judges["name"].tolist() == ["Judge (incomplete)"]

    second = grade(quiz, {}, identity={"judge": "x"})
    second.grades.create(answer=last, points=2.0, finish="stop", seconds=1)
    data = graded(quiz)
    assert fates(data) == ["good", "bad", "good", "good"]
    assert data.judges["name"].tolist() == ["Judge"]


def test_a_judge_of_a_few_answers_takes_nothing_from_one_that_graded_them_all(quiz: Study) -> None:
    first, second = answer(quiz), answer(quiz, "lab/b")
    grade(quiz, {first: [3.0] * 4, second: [3.0]}, judge="lab/most")
    grade(quiz, {second: [0.0] * 4}, judge="lab/all of b")
    data = graded(quiz)
    assert data.judges["n_graded"].tolist() == [5, 4]
    assert data.models["judge"].tolist() == [0, 1]
    assert fates(data, 1) == ["bad"] * 4


def test_points_mean_what_the_rubric_of_their_own_judge_says(quiz: Study) -> None:
    ten = Rubric("Ten", (Level(10.0, "right"), Level(0.0, "wrong")), (), -1.0, 2 / 3)
    first, second = answer(quiz), answer(quiz, "lab/b")
    grade(quiz, {first: [3.0] * 4}, judge="lab/three")
    grade(quiz, {second: [4.0, 7.0, -1.0]}, judge="lab/ten", rubric=ten.to_json())
    person_grade(2.0, make_user("ruth"), answer=second.answers.first())
    data = graded(quiz)
    assert fates(data, 0) == ["good"] * 4
    assert fates(data, 1) == ["bad", "good", "abstained", NOT_GRADED]
    assert [rubric.name for rubric in data.judge_rubrics] == ["BioScore", "Ten"]
    assert (data.rubric_of(1).name, data.rubric.name) == ("Ten", "BioScore")
    assert [data.grades_as_people(judge) for judge in (0, 1)] == [True, False]


def test_people_who_graded_by_another_studys_rubric_are_not_heard(quiz: Study) -> None:
    other = make_questions(1, "other")
    other.items.add(*questions_of(quiz))
    ten = Rubric("Ten", (Level(10.0, "right"), Level(0.0, "wrong")), (), -1.0, 2 / 3)
    plan = GradingPlan.objects.create(study=other, rubric=ten.to_json())
    run = answer(other)
    grade(quiz, {run: [3.0] * 5})
    person_grade(4.0, make_user("ruth"), answer=run.answers.last())
    assert graded(quiz).person_grades.empty
    plan.rubric = BIOSCORE.to_json()
    plan.save()
    assert len(graded(quiz).person_grades) == 1


def test_where_people_alone_graded_a_sample_failures_count_in_the_same_share() -> None:
    quiz = make_questions(100)
    run = answer(quiz, texts=["x"] * 80 + [""] * 20)
    texts = run.answers.order_by("pk")[:80]
    for n, of in enumerate(texts[::4]):
        person_grade(3.0 if n < 15 else 0.0, answer=of)
    data = graded(quiz)
    counts = data.answers["fate"].value_counts()
    # 20 of 80 texts, so 5 of 20 failures: 15 / 25 = .6, as .75 of .8
    assert counts.to_dict() == {NOT_GRADED: 75, "good": 15, "bad": 5, NO_TEXT: 5}
    again = graded(quiz).answers["fate"]
    assert again.equals(data.answers["fate"])


def test_a_person_who_does_not_know_abstains_without_being_graded(quiz: Study) -> None:
    judgments = write(quiz, ["Lithium", None, "Iron", None])
    assert fates(graded(quiz)) == [NOT_GRADED] * 4
    person_grade(3.0, judgment=judgments[0])
    assert sorted(fates(graded(quiz))) == [NOT_GRADED] * 2 + ["abstained", "good"]
    person_grade(0.0, judgment=judgments[2])
    data = graded(quiz)
    assert fates(data) == ["good", "abstained", "bad", "abstained"]
    assert data.answers["points"].tolist() == [3, -1, 0, -1]


def test_without_a_judge_peoples_grades_count(quiz: Study) -> None:
    run = answer(quiz)
    one, two, three, _ = run.answers.order_by("pk")
    ruth, ada = make_user("ruth"), make_user("ada")
    for of, *points in ((one, 3.0, 3.0), (two, 2.0, 1.0), (three, 1.0, 0.0)):
        for grader, value in zip((ruth, ada), points, strict=True):
            person_grade(value, grader, answer=of)
    person_grade(-1, make_user("eve"), answer=three, is_adjudication=True)
    data = graded(quiz)
    assert fates(data) == ["good", "good", "abstained", NOT_GRADED]
    assert data.person_grades["grader"].nunique() == 3
    # Nobody has settled the second: its first grade stands, and is known to be contested
    assert data.answers["is_contested"].tolist() == [False, True, False, False]


def test_the_first_of_two_grades_within_the_tolerance_counts(quiz: Study) -> None:
    GradingPlan.objects.create(study=quiz, rubric=BIOSCORE.to_json(), tolerance=0.5)
    one, two, three, _ = answer(quiz).answers.order_by("pk")
    ruth, ada = make_user("ruth"), make_user("ada")
    for of, *points in ((one, 3.0, 2.5), (two, 3.0, 2.0), (three, 0.0, -1.0)):
        for grader, value in zip((ruth, ada), points, strict=True):
            person_grade(value, grader, answer=of)
    answers = graded(quiz).answers
    assert answers["human_points"][:3].tolist() == [3.0, 3.0, 0.0]
    assert answers["is_contested"].tolist() == [False, True, True, False]


def test_simulated_graders_do_not_stand_beside_real_ones(quiz: Study) -> None:
    one, two, *_ = answer(quiz).answers.order_by("pk")
    person_grade(0.0, answer=one, is_simulated=True)
    assert graded(quiz).is_simulated
    person_grade(3.0, make_user("ruth"), answer=two)
    data = graded(quiz)
    assert not data.is_simulated
    assert data.person_grades["points"].tolist() == [3.0]


def test_answers_of_people_stand_beside_those_of_models(quiz: Study) -> None:
    run = answer(quiz)
    judgments = write(quiz, ["Lithium it is", None])
    judged = grade(quiz, {run: [0.0] * 4})
    for judgment, points in zip(judgments, (3, -1), strict=True):
        judged.grades.create(judgment=judgment, points=points, finish="stop", seconds=1)
    data = graded(quiz)
    assert data.models["is_people"].tolist() == [False, True]
    assert fates(data, 1) == ["good", "abstained"]
    people = data.answers[data.answers["model"] == 1]
    assert people["confidence"].tolist() == [40, 41]
    assert people["state"].tolist() == ["stop", answering.ABSTAINED]
    assert people["seconds"].tolist() == [9, 9]


def test_words_that_were_taken_away_count_as_they_were_graded(quiz: Study) -> None:
    run = answer(quiz)
    judged = grade(quiz, {run: [0.0] * 4})
    for points in ((3, -1, 0, None), (0, 3, -1, 2)):
        judgments = write(quiz, ["Lithium", None, "Tin", "Gold"])
        for judgment, value in zip(judgments, points, strict=True):
            judged.grades.create(judgment=judgment, points=value, finish="stop", seconds=1, tries=2)
    write(quiz, ["Never graded", None])
    before = fates(graded(quiz), 1)
    for person in quiz.participants.all():
        anonymise(person, quiz)
    data = graded(quiz)
    assert not WrittenAnswer.objects.exclude(text="").exists()
    assert fates(data, 1) == before
    # Six of seven texts are graded, so that three of three who do not know count
    assert before == ["good", "abstained", "bad", "unparsed", "bad", "good", "abstained", "good", NOT_GRADED, "abstained"]  # fmt: skip
    assert [text for texts in data.read_texts(np.arange(len(data.answers))) for text in texts["text"]] == ["Some words"] * 4  # fmt: skip


def test_people_who_answered_questions_alone_are_analysed_and_took_part(quiz: Study) -> None:
    write(quiz, ["Lithium", None], demographics={"gender": "female"})
    write(quiz, ["Tin"], excluded_by="low_effort")
    left_out = write(quiz, ["Gold"])
    Judgment.objects.filter(pk=left_out[0].pk).update(excluded_by="recognised")
    data = data_reader.read(quiz, ReportOptions())[OF_STUDY]
    assert data.flow is not None
    assert data.taking_part is not None
    assert (data.flow.finished, data.flow.analysed, data.flow.trials_judged) == (3, 1, 0)
    answers = data.flow.answers
    assert (answers.given, answers.analysed) == (4, 2)
    assert [(one.reason, one.n) for one in answers.excluded] == [("participant", 1), ("recognised", 1)]  # fmt: skip
    assert data.taking_part.people["gender"].tolist() == ["female"]
    assert data.taking_part.rt_ms.tolist() == [9000, 9000]


def test_people_who_are_left_out_and_of_another_kind_are_not_there(quiz: Study) -> None:
    write(quiz, ["A"], excluded_by="low_effort")
    write(quiz, ["B", "C"], kind="simulated")
    assert graded(quiz).answers.empty
    assert len(graded(quiz, trials="all").answers) == 1
    data = graded(quiz, participants="simulated")
    assert len(data.answers) == 2
    assert data.is_simulated
    assert "simulated" in data.models["display_name"][0]


def test_a_models_fullest_then_newest_run_counts_and_no_simulated_one(quiz: Study) -> None:
    answer(quiz, texts=["old"] * 4)
    answer(quiz, texts=["newest", "but partial"])
    answer(quiz, texts=["made up"] * 4, is_simulated=True)
    kept = answer(quiz, texts=["new new"] * 4)
    answer(quiz, texts=["unfinished"] * 4, status="running")
    data = graded(quiz)
    assert len(data.models) == 1
    assert not data.is_simulated
    assert data.answers["words"].tolist() == [2] * 4
    (chunk,) = data.read_texts(np.arange(4))
    assert set(chunk["text"]) == {kept.answers.first().text}
    assert chunk["expert_answer"].tolist() == [f"Answer {k}." for k in range(4)]


def test_answers_of_another_studys_run_count_once_this_one_had_them_graded(quiz: Study) -> None:
    other = make_questions(1, "other")
    other.items.add(*questions_of(quiz))
    run = answer(other)
    assert graded(quiz).answers.empty
    grade(quiz, {run: [3.0] * 5})
    assert len(graded(quiz).answers) == 4


@pytest.mark.parametrize(
    "change", ["answers", "status", "grades", "people", "plan", "categories", "adjudication"]
)
def test_the_version_of_the_data_changes_with_what_a_number_could_follow_from(
    quiz: Study, change: str
) -> None:
    run = answer(quiz)
    judged = grade(quiz, {run: [3.0] * 4})
    first, second = run.answers.order_by("pk")[:2]
    person_grade(1.0, answer=first)
    before = data_version(quiz)
    assert data_version(quiz) == before
    match change:
        case "answers":
            answer(quiz, "lab/b")
        case "status":
            type(run).objects.filter(pk=run.pk).update(status="cancelled")
        case "grades":
            grade(quiz, {run: [0.0] * 4})
        case "people":
            person_grade(2.0, answer=second)
        case "adjudication":
            person_grade(0.0, answer=first, is_adjudication=True)
        case "plan":
            GradingPlan.objects.create(study=quiz, rubric=judged.rubric)
        case "categories":
            Item.objects.filter(key="quiz-0").update(categories={"Topic": ["C"]})
    assert data_version(quiz) != before

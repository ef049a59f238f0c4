"""Made-up answers and grades: the rates that they are drawn with, and that every row says what it is."""

import random

import pytest
from django.core.management import CommandError, call_command

from experiment.models import Study
from scoring.domain.backend import ScoringError
from scoring.domain.grading.rubric import BIOSCORE
from scoring.models import Answer, GradingRun, JudgeGrade, LanguageModel, PersonGrade
from scoring.services.made_up import MODELS, MadeUp, draw_points, make_up
from tests.analysis.data.graded_rows import make_questions, write
from tests.factories import make_study

pytestmark = [pytest.mark.django_db, pytest.mark.drifts]


def rows(study: Study) -> list[tuple[str, str, float]]:
    found = JudgeGrade.objects.filter(run__study=study)
    wanted = ("answer__item__key", "answer__text", "points")
    return sorted(found.values_list(*wanted))


def test_points_have_the_rates_that_a_model_is_given() -> None:
    model, rng = MadeUp("X", 0.25, 0.76), random.Random(1)
    fates = [BIOSCORE.fate(draw_points(model, BIOSCORE, rng)).value for _ in range(4000)]
    good, abstained = fates.count("good"), fates.count("abstained")
    assert good / 4000 == pytest.approx(0.25, abs=0.03)
    assert abstained / (4000 - good) == pytest.approx(0.76, abs=0.03)


def test_every_row_says_that_it_is_simulated_and_names_no_model_that_exists() -> None:
    study = make_questions(10)
    found = make_up(study)
    assert (found.models, found.answers, found.judge_grades) == (7, 70, 70)
    assert 0 < found.person_grades < 70
    assert study.answering_runs.filter(is_simulated=False).count() == 0
    assert GradingRun.objects.get(study=study).is_simulated
    assert not PersonGrade.objects.filter(is_simulated=False).exists()
    assert all(m.is_demo and "Simulated" in m.display_name for m in LanguageModel.objects.all())
    assert set(Answer.objects.values_list("finish", flat=True)) == {"stop"}
    assert not Answer.objects.filter(text="").exists()


def test_asked_again_nothing_changes_and_equal_seeds_give_equal_rows() -> None:
    one, other, third = (make_questions(6, slug) for slug in ("one", "other", "third"))
    first = make_up(one)
    before = rows(one)
    assert make_up(one, seed=9) == first
    assert rows(one) == before
    make_up(other)
    make_up(third, seed=2)
    without_keys = [[row[1:] for row in sorted(rows(study))] for study in (one, other, third)]
    assert [r[1] for r in without_keys[0]] == [r[1] for r in without_keys[1]]
    assert without_keys[0] != without_keys[2]


def test_only_a_demonstration_study_with_questions_takes_them() -> None:
    with pytest.raises(ScoringError):
        make_up(make_study())
    study = make_questions(3)
    with pytest.raises(CommandError):
        call_command("make_up_answers", study.slug)
    assert not study.answering_runs.exists()
    Study.objects.filter(pk=study.pk).update(is_demo=True)
    call_command("make_up_answers", study.slug)
    assert study.answering_runs.count() == len(MODELS)


def test_only_answers_of_simulated_participants_are_graded() -> None:
    study = make_questions(4)
    write(study, ["Answer 0.", None, "No idea of it"], kind="simulated")
    write(study, ["Answer 0."])
    make_up(study)
    grades = JudgeGrade.objects.filter(judgment__isnull=False).order_by("judgment__trial__position")
    assert list(grades.values_list("points", flat=True)) == [3.0, -1.0, 0.0]
    assert set(grades.values_list("judgment__trial__participant__kind", flat=True)) == {"simulated"}

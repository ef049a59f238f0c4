"""Questions in a study: given, answered, counted, left out, and taken away again."""

import uuid
from dataclasses import replace
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from experiment.domain.assignment import NoItemLeftError
from experiment.domain.exclusion import Untouched
from experiment.models import (
    ItemCount,
    Judgment,
    Participant,
    PeopleCount,
    QuestionTemplate,
    Study,
    Trial,
    WrittenAnswer,
)
from experiment.services import drawing, taking_part, withdrawal
from experiment.services.counts import exposures, item_exposures
from experiment.services.exclusions import verdicts
from experiment.services.flow import AlreadyAnsweredError
from experiment.services.item_choice import fitting_counts
from experiment.services.readiness import item_problems
from experiment.services.study_setup import pin_items, set_recruitment
from experiment.services.study_versions import compare_rules, revise
from experiment.services.withdrawal import held_about
from tests.experiment.asked import finish_with, make_asking_study, position_of, sent
from tests.experiment.people import answer, enroll, finish, start
from tests.factories import make_item, make_question, make_research_field

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return make_asking_study()


def at_question(study: Study) -> tuple[Participant, Trial]:
    person = start(study)
    position = position_of(person, "question")
    person = answer(person, until=position - 1)
    return person, drawing.show_trial(person, position, timezone.now())


def test_questions_are_judged_equally_often_and_by_nobody_twice(study: Study) -> None:
    for _ in range(6):
        finish(study)
    counts = ItemCount.objects.filter(study=study, stratum="question")
    assert [(row.assigned, row.valid) for row in counts] == [(3, 3)] * 4
    for person in study.participants.all():
        given = person.trials.filter(stratum="question")
        assert given.values("item").distinct().count() == 2
        assert all(drawing.replay(trial) == trial.item_id for trial in person.trials.all())
    found = {row.stratum: row for row in exposures(item_exposures(study, "real", timezone.now()))}
    assert (found["question"].n_items, found["question"].sd) == (4, 0)


def test_under_the_papers_policy_they_are_given_equally_often_too(study: Study) -> None:
    for _ in range(4):
        answer(start(study, policy="paper"), until=1)
    counts = ItemCount.objects.filter(study=study, stratum="question")
    assert [row.assigned for row in counts] == [2] * 4


def test_an_answer_is_stored_with_its_judgment_and_is_neither_right_nor_wrong(study: Study) -> None:
    person, trial = at_question(study)
    assert trial.original_side == ""
    written = taking_part.Written("It rises.", first_ms=9_000, last_ms=61_000)
    first = sent(trial, written, confidence=80, confidence_moved=True, rt_ms=75_000)
    judgment = taking_part.judge(person, first)
    assert (judgment.correct, judgment.side, judgment.confidence) == (None, "", 80)
    stored = WrittenAnswer.objects.get()
    assert (stored.judgment, stored.text, stored.abstained) == (judgment, "It rises.", False)
    assert (stored.first_ms, stored.last_ms) == (9_000, 61_000)
    # The same again gives the same; another one is refused
    assert taking_part.judge(person, first) == judgment
    other = replace(first, key=uuid.uuid4(), written=taking_part.Written("It falls."))
    with pytest.raises(AlreadyAnsweredError):
        taking_part.judge(person, other)
    assert WrittenAnswer.objects.get() == stored


def test_an_abstention_stores_no_text(study: Study) -> None:
    person, trial = at_question(study)
    taking_part.judge(person, sent(trial, taking_part.Written(abstained=True)))
    assert list(WrittenAnswer.objects.values_list("text", "abstained")) == [("", True)]


@pytest.mark.parametrize(
    "written", [taking_part.Written(), taking_part.Written("It rises.", abstained=True)]
)
def test_an_answer_and_not_knowing_exclude_each_other(
    study: Study, written: taking_part.Written
) -> None:
    person, trial = at_question(study)
    before = Judgment.objects.count()
    with pytest.raises(DatabaseError), transaction.atomic():
        taking_part.judge(person, sent(trial, written))
    # Nothing of it is stored: neither the judgment nor the page that comes next
    assert Judgment.objects.count() == before
    person.refresh_from_db()
    assert person.position == trial.position


def test_a_side_is_no_answer_to_a_question_nor_are_words_one_to_an_abstract(study: Study) -> None:
    person, trial = at_question(study)
    with pytest.raises(ValueError, match="question"):
        taking_part.judge(person, replace(sent(trial, taking_part.Written("x")), written=None))
    other = start(study)
    position = position_of(other, "human")
    other = answer(other, until=position - 1)
    shown = drawing.show_trial(other, position, timezone.now())
    with pytest.raises(ValueError, match="question"):
        taking_part.judge(other, sent(shown, taking_part.Written("x")))


@pytest.mark.drifts
@pytest.mark.parametrize("wrong", [{"erased": True}, {"text": ""}, {"abstained": True}])
def test_an_answer_has_words_or_says_why_it_has_none(study: Study, wrong: dict[str, Any]) -> None:
    person = finish(study)
    Participant.objects.filter(pk=person.pk).update(kind="simulated")  # no trigger is in the way
    with pytest.raises(DatabaseError), transaction.atomic():
        WrittenAnswer.objects.update(**wrong)


def test_the_database_keeps_what_was_written(study: Study) -> None:
    finish(study)
    rows = WrittenAnswer.objects.all()
    assert rows.count() == 2
    for change in (
        lambda: rows.update(text="Other words."),
        lambda: rows.update(abstained=True, text=""),
        lambda: rows.update(first_ms=1),
        rows.delete,
    ):
        with pytest.raises(DatabaseError), transaction.atomic():
            change()
    assert set(rows.values_list("text", flat=True)) == {"It rises."}


def test_an_anonymised_participant_keeps_no_words_of_their_own(study: Study) -> None:
    Study.objects.update(withdrawal_policy="anonymise")
    study.refresh_from_db()
    person = finish_with(study, ("", 60_000), ("It rises.", 60_000))
    assert held_about(person).has_written
    withdrawal.withdraw(study, person.withdrawal_code, timezone.now())
    # What stays is that there was an answer, and a choice, without times; judgments and ratings stay, too
    kept = WrittenAnswer.objects.values_list("text", "abstained", "erased", "first_ms")
    assert sorted(kept) == [("", False, True, None), ("", True, False, None)]
    assert Judgment.objects.filter(trial__stratum="question").count() == 2


def test_counters_and_verdicts_agree_on_finishers_who_never_rated_an_answer() -> None:
    study = make_asking_study("alone", counts=(0, 0, 0))
    for words in ("It rises.", ""):
        finish_with(study, (words, 60_000), is_rated=False)
    everybody = set(study.participants.values_list("pk", flat=True))
    readings: tuple[Untouched, ...] = ("neither", "either")
    for reading in readings:
        rules = replace(study.exclusion_rules, untouched_sliders=reading)
        assert verdicts(study, "real", rules).valid_participants == everybody
    # The counters are compared with the rows after each test; and these say the same
    counted = PeopleCount.objects.get(study=study, fate="finished")
    assert (counted.n, counted.untouched_neither, counted.untouched_either) == (2, 0, 0)


def test_questions_have_a_time_of_their_own_and_abstentions_are_never_too_fast(
    study: Study,
) -> None:
    Study.objects.update(question_items=3)
    study.refresh_from_db()
    finish_with(study, ("", 3_000), ("It rises.", 2_000), ("It rises.", 3_000))

    # The abstracts' five seconds leave no answer to a question out
    asked = Judgment.objects.filter(trial__stratum="question").order_by("pk")
    assert study.min_rt_ms == 5_000
    assert [one.excluded_by for one in asked] == ["", "", ""]
    rules = replace(study.exclusion_rules, question_min_rt_ms=4_000)
    compared = compare_rules(study, "real", rules)
    # Of abstracts alone there is something that is right
    assert (compared.before.trials, compared.before.accuracy) == (2, 1.0)
    assert len(compared.trials) == 2

    revise(study, rules=rules, reason="Nobody writes an answer in less.")
    assert [one.excluded_by for one in asked.all()] == ["", "too_fast", "too_fast"]
    asked_of = verdicts(study, "real", rules).judgments
    assert [asked_of[one.pk].excluded_by for one in asked] == ["", "too_fast", "too_fast"]
    # Who finishes later is decided so, too
    study.refresh_from_db()
    finish_with(study, ("", 3_000), ("It rises.", 3_999), ("It rises.", 4_000))
    assert [one.excluded_by for one in asked.all()[3:]] == ["", "too_fast", ""]


def test_questions_alone_need_no_practice() -> None:
    study = make_asking_study(counts=(0, 0, 0))
    study.study_items.filter(item__kind="practice").delete()
    assert item_problems(study) == []
    person = taking_part.save_demographics(enroll(study), {}, timezone.now())
    assert (person.stage, person.page_reached) == ("start", 2)
    Study.objects.update(demographic_fields=[])
    study.refresh_from_db()
    assert enroll(study).stage == "start"


def make_about(slug: str, articles: int, each: int, *, asked: int, shown: int) -> Study:
    """`articles` articles with an abstract and `each` questions each."""
    study = make_asking_study(slug, questions=0, asked=asked, counts=(shown, 0, 0))
    study.study_items.filter(item__kind="test").delete()
    abstracts = [make_item(f"{slug}-{n}", doi=f"10.1/{n}") for n in range(articles)]
    questions = [
        make_question(f"{slug}-question-{n}", doi=f"10.1/{n % articles}")
        for n in range(articles * each)
    ]
    pin_items(study, [*abstracts, *questions])
    return study


APART = "and nobody sees both an abstract and a question about the same article"


def problems_of(study: Study) -> list[str]:
    return [str(problem) for problem in item_problems(study)]


def test_too_few_questions_keep_a_study_from_being_opened() -> None:
    study = make_asking_study(questions=1, asked=2)
    assert problems_of(study) == ["each participant answers 2 questions, but only 1 can be asked"]


def test_an_abstract_closes_questions_about_it_and_questions_its_abstract() -> None:
    study = make_about("about", articles=3, each=2, asked=2, shown=1)
    assert problems_of(study) == []
    for _ in range(6):
        finish(study)
    for person in study.participants.all():
        works = [(trial.stratum == "question", trial.item.doi) for trial in person.trials.all()]
        assert {doi for asked, doi in works if asked}.isdisjoint(
            {doi for asked, doi in works if not asked}
        )


def test_a_study_that_strands_participants_between_abstracts_and_questions_is_not_opened() -> None:
    study = make_about("stranded", articles=3, each=1, asked=2, shown=2)
    assert problems_of(study) == [
        f"a participant could run out of human-created test cases: 3 of the articles with such test cases also have questions, {APART}",
        f"a participant could run out of questions: 3 of the articles with questions also have human-created test cases, {APART}",
    ]
    sentences = [str(problem) for problem in item_problems(study)]
    assert "3 of the articles with such test cases also have questions" in sentences[0]
    assert "run out of questions" in sentences[1]
    with pytest.raises(ValidationError, match="run out of questions"):
        set_recruitment(study, "pilot")
    # It is no false alarm: somebody would come to a page for which nothing is left
    with pytest.raises(NoItemLeftError):
        finish(study)


def test_questions_about_one_article_are_all_asked() -> None:
    study = make_about("one", articles=1, each=6, asked=5, shown=0)
    assert problems_of(study) == []
    person = finish(study)
    assert person.trials.filter(stratum="question").count() == 5
    assert fitting_counts({"question": 5}, list(study.items.all())) == {"question": 5}


def test_templates_are_spread_over_a_participants_questions() -> None:
    study = make_asking_study("spread", questions=0, asked=4, counts=(0, 0, 0))
    field = make_research_field("dough")
    templates = [QuestionTemplate.objects.create(field=field, key=f"t-{n}") for n in range(4)]
    pin_items(study, [make_question(f"s-{n}", template=templates[n // 3]) for n in range(12)])
    for _ in range(9):
        finish(study)
    counts = ItemCount.objects.filter(study=study, stratum="question")
    assert set(counts.values_list("valid", flat=True)) == {3}
    first = study.participants.order_by("pk").first()
    assert first is not None
    assert first.trials.values("item__template").distinct().count() == 4


def test_a_draw_asks_as_little_however_many_questions_were_met() -> None:
    study = make_asking_study("long", questions=9, asked=8, counts=(0, 0, 0))
    person = start(study)
    n_queries = []
    for position in range(1, 9):
        with CaptureQueriesContext(connection) as queries:
            trial = drawing.show_trial(person, position, timezone.now())
        n_queries.append(len(queries))
        taking_part.judge(person, sent(trial, taking_part.Written("It rises.")))
        person.refresh_from_db()
    assert len(set(n_queries[1:])) == 1

"""The list of a field's test cases: what narrows it, what orders it, and what its figures count."""

import math
from datetime import date
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from analysis.services.items.listing import Listed, listed
from analysis.services.items.wanted import Order, Wanted
from analysis.stats.item_marks import Mark
from experiment.models import Item, Judgment, Participant, ResearchField, Review, Study
from experiment.services.curation import reviews
from scoring.models import ItemScore, LanguageModel, ScoringRun
from tests.factories import (
    answers_open,
    make_item,
    make_participant,
    make_research_field,
    make_study,
    make_user,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    """A study of eight human-created and four machine-created test cases of cooking."""
    study = make_study()
    study.items.filter(kind="test").update(field="cooking", subfield="Soups")
    return study


@pytest.fixture
def vera() -> User:
    user: User = make_user("vera")
    return user


@pytest.fixture
def cooking(study: Study, vera: User) -> ResearchField:
    return make_research_field("cooking", "Soups", lead=make_user("lea"), curators=[vera])


def keys(found: Listed) -> list[str]:
    return [line.item.key for line in found.lines]


def score(item: Item, name: str, altered: float, **model: Any) -> ScoringRun:
    """Have a model score the item: 10 for the original, and this for the altered text."""
    lm, _ = LanguageModel.objects.get_or_create(name=name, defaults={"display_name": name} | model)
    run = ScoringRun.objects.create(
        language_model=lm, backend="imported", status="finished", is_site_wide=True
    )
    ItemScore.objects.create(run=run, item=item, ppl_original=10, ppl_altered=altered)
    return run


def test_each_test_case_is_there_once_in_its_newest_version(
    study: Study, vera: User, cooking: ResearchField
) -> None:
    draft = reviews.revise(study.items.get(key="memory-human-1"))
    found = listed(vera, cooking, Wanted(), None)
    assert len(found.lines) == 12
    assert draft.pk in {row.pk for row in found.page.object_list}
    assert dict(found.states) == {"accepted": 11, "draft": 1}
    every = listed(vera, cooking, Wanted(all_versions=True), None)
    assert [line.item.version for line in every.lines][:2] == [2, 1]


@pytest.mark.parametrize(
    ("wanted", "n"),
    [
        (Wanted(source="machine"), 4),
        (Wanted(kind="catch"), 0),
        (Wanted(status="draft"), 0),
        (Wanted(subfield="Soups"), 12),
        (Wanted(subfield="Desserts"), 0),
        (Wanted(text="MEMORY-human-1"), 1),
        (Wanted(text="10.1234/memory.h3"), 1),
        (Wanted(text="response fell after"), 12),  # in the altered text, never in the markup
        (Wanted(text="' OR 1=1 --"), 0),
        (Wanted(text="%"), 0),
        (Wanted(study="memory"), 12),
        (Wanted(study="other"), 0),
        (Wanted(source="human", text="human-2"), 1),
    ],
)
def test_filters_narrow_the_list(
    vera: User, cooking: ResearchField, wanted: Wanted, n: int
) -> None:
    assert listed(vera, cooking, wanted, None).page.paginator.count == n


def test_drafts_wait_for_a_reviewer_who_neither_wrote_nor_judged_them(
    study: Study, vera: User, cooking: ResearchField
) -> None:
    first, second, third = study.items.filter(kind="test").order_by("key")[:3]
    for item, by in ((first, None), (second, vera), (third, None)):
        draft = reviews.revise(item, by)
        reviews.set_status(draft, "in_review", by=None)
    judged = Item.objects.get(key=third.key, version=2)
    Review.objects.create(
        item=judged, reviewer=vera, verdict="revise", sha256=judged.reviewed_sha256
    )
    waiting = Wanted(is_waiting=True)
    assert keys(listed(vera, cooking, waiting, None)) == [first.key]
    Review.objects.update(sha256="of an earlier text")
    assert keys(listed(vera, cooking, waiting, None)) == [first.key, third.key]


def test_figures_are_of_the_studies_whose_data_one_may_see(
    study: Study, vera: User, cooking: ResearchField
) -> None:
    make_participant(study)
    item = Judgment.objects.filter(trial__stratum="human")[0].trial.item
    wanted = Wanted(text=item.key)
    [line] = listed(vera, cooking, wanted, None).lines
    assert (line.people.n, line.accuracy) == (0, None)
    study.members.add(vera, through_defaults={"role": "curator"})  # who sees texts, and no data
    assert listed(vera, cooking, wanted, None).lines[0].people.n == 0
    study.memberships.update(role="auditor")
    [line] = listed(vera, cooking, wanted, None).lines
    assert line.accuracy is not None
    assert (line.people.n, line.accuracy.n_correct) == (1, 1)


def test_figures_count_valid_judgments_of_real_and_imported_people_alone(
    study: Study, cooking: ResearchField
) -> None:
    ruth = make_user("ruth", study)
    cooking.members.add(ruth)
    for kind in ("real", "imported", "simulated", "pilot"):
        make_participant(study, kind=kind)
    make_participant(study, excluded_by="missed_catch")
    make_participant(study, judged=5)
    counted = Judgment.objects.valid().filter(
        trial__participant__kind__in=("real", "imported"), trial__item__kind="test"
    )
    lines = listed(ruth, cooking, Wanted(), None).lines
    assert sum(line.people.n for line in lines) == counted.count() > 0


def test_marks_need_enough_judgments(study: Study, cooking: ResearchField) -> None:
    ruth = make_user("ruth", study)
    cooking.members.add(ruth)
    for _ in range(24):
        make_participant(study)
    with answers_open():
        wrong = study.items.get(key="memory-human-1")
        Judgment.objects.filter(trial__item=wrong).update(correct=False, recognised=True)
    found = {line.item.key: line for line in listed(ruth, cooking, Wanted(), None).lines}
    assert min(line.people.n for line in found.values()) >= 8
    assert found["memory-human-1"].marks == (Mark.NONE_RIGHT, Mark.RECOGNISED)
    assert found["memory-human-2"].marks == (Mark.ALL_RIGHT,)
    marked = listed(ruth, cooking, Wanted(mark="none_right"), None)
    assert keys(marked) == ["memory-human-1"]
    assert dict(marked.states) == {"accepted": 1}
    assert keys(listed(ruth, cooking, Wanted(order=Order.WORST), None))[0] == "memory-human-1"
    assert keys(listed(ruth, cooking, Wanted(order=Order.BEST), None))[-1] == "memory-human-1"


def test_a_model_that_may_have_read_the_abstract_is_a_mark(
    study: Study, vera: User, cooking: ResearchField
) -> None:
    item = study.items.get(key="memory-human-1")
    score(item, "old", 12, training_cutoff=date(2022, 12, 31))
    for day, marks in (
        (date(2022, 12, 31), (Mark.BEFORE_CUTOFF,)),
        (date(2023, 1, 1), ()),
        (None, ()),
    ):
        Item.objects.filter(pk=item.pk).update(publication_date=day)
        [line] = listed(vera, cooking, Wanted(text=item.key), None).lines
        assert line.marks == marks


def test_difficulty_is_of_each_models_newest_run_and_of_no_demonstration(
    study: Study, vera: User, cooking: ResearchField
) -> None:
    item = study.items.get(key="memory-human-1")
    score(item, "one", 8)
    score(item, "one", 13)
    score(item, "two", 9)
    score(item, "demo", 100, is_demo=True)
    ScoringRun.objects.filter(pk=score(item, "three", 99).pk).update(status="failed")
    other = study.items.get(key="memory-human-5")
    score(other, "one", 2)
    found = listed(vera, cooking, Wanted(order=Order.HARDEST), None)
    assert keys(found)[:2] == [other.key, item.key]
    models = found.lines[1].models
    assert models is not None
    assert (models.n, models.n_right) == (2, 1)
    # Nats: a model with large perplexities counts like any other
    assert models.difficulty == pytest.approx((math.log(13 / 10) + math.log(9 / 10)) / 2)


def test_difficulty_in_review_is_hidden_from_reviewers_until_their_verdict(
    study: Study, vera: User, cooking: ResearchField
) -> None:
    draft = reviews.revise(study.items.get(key="memory-human-1"))
    score(draft, "one", 2)
    lea = User.objects.get(username="lea")
    for status in ("draft", "in_review"):
        reviews.set_status(draft, status, by=None)
        hidden = listed(vera, cooking, Wanted(order=Order.HARDEST), None)
        assert keys(hidden)[0] == "memory-human-1"  # by key alone: nothing is known of any
        assert (hidden.lines[0].is_hidden, hidden.lines[0].models) == (True, None)
        # Who leads the field sees it too, but not while they could still review it
        seen = listed(lea, cooking, Wanted(), None).lines[0].models is not None
        assert seen is (status == "draft")
    Review.objects.create(item=draft, reviewer=vera, verdict="accept", sha256=draft.reviewed_sha256)
    line = listed(vera, cooking, Wanted(), None).lines[0]
    assert (line.is_hidden, line.models is None) == (False, False)


@pytest.mark.parametrize(
    ("order", "mark"), [*((o, "") for o in Order), *((Order.WORST, m) for m in Mark)]
)
def test_the_number_of_queries_does_not_grow_with_the_list(
    study: Study, vera: User, cooking: ResearchField, order: Order, mark: str
) -> None:
    study.members.add(vera, through_defaults={"role": "auditor"})
    make_participant(study)
    for item in study.items.filter(kind="test"):
        score(item, "one", 12, training_cutoff=date(2022, 12, 31))
    for n in range(30):
        make_item(f"more-{n}", field="cooking")
    with CaptureQueriesContext(connection) as asked:
        listed(vera, cooking, Wanted(order=order, mark=mark), None)
    assert len(asked) <= 14
    assert Participant.objects.count() == 1

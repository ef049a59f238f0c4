"""The page with what is known of a test case: right numbers, and only to who may see them."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from analysis.data.item_figures import people_figures
from analysis.services.items.statistics import (
    Fitted,
    fitted,
    place_of,
    rest_correlation,
    statistics,
)
from analysis.stats import MissingResult
from analysis.stats.item_marks import Mark
from analysis.stats.item_response import rank_differences
from experiment.models import (
    AdvisedTrial,
    Item,
    Judgment,
    Participant,
    ResearchField,
    Study,
)
from scoring.models import ItemScore, LanguageModel, ScoringRun
from tests import databases
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
def study(db: None, run_folder: Path) -> Study:
    """24 people, each of the human-created test cases judged by 18; those who came first know nothing of the first two."""
    return Study.objects.get(slug=databases.fill("judged-by-24", judged_by_24, run_folder))


def judged_by_24() -> str:
    study = make_study()
    study.items.filter(kind="test").update(field="cooking")
    for _ in range(24):
        make_participant(study)
    early = Participant.objects.order_by("pk").values("pk")[:12]
    with answers_open():
        own = Judgment.objects.filter(
            trial__participant__in=list(early.values_list("pk", flat=True))
        )
        for key in ("memory-human-1", "memory-human-2"):
            own.filter(trial__item__key=key).update(
                correct=False, confidence=30, recognised=True, rt_ms=20_000
            )
    return study.slug


@pytest.fixture
def cooking(study: Study) -> ResearchField:
    return make_research_field("cooking")


@pytest.fixture
def ruth(study: Study, cooking: ResearchField) -> User:
    user: User = make_user("ruth", study)
    cooking.members.add(user)
    return user


@pytest.fixture
def item(study: Study) -> Item:
    return study.items.get(key="memory-human-1")


def score_all(study: Study, name: str, *differences: float, **model: object) -> None:
    """Have a model score the human-created test cases, by key: original 10, altered by so much more."""
    lm = LanguageModel.objects.create(name=name, **{"display_name": name} | model)
    run = ScoringRun.objects.create(
        language_model=lm, backend="transformers", status="finished", is_site_wide=True
    )
    items = study.items.of_stratum("human").order_by("key")
    for item, d in zip(items, differences, strict=False):
        ItemScore.objects.create(run=run, item=item, ppl_original=10, ppl_altered=10 + d)


def test_people_with_advice_count_with_their_own_first_answers(
    item: Item, cooking: ResearchField, ruth: User
) -> None:
    """All three are right at last: one was wrong before the advice, and one saw it before any answer."""
    judged = Judgment.objects.filter(trial__item=item)
    n, wrong = judged.count(), judged.filter(correct=False)
    assert not isinstance(found := rest_correlation(item, Study.objects.all()), MissingResult)
    for judgment, procedure in zip(
        judged.filter(correct=True)[:2], ("after", "before"), strict=True
    ):
        trial = judgment.trial
        first: dict[str, Any] = {
            "first_side": "AB"[trial.original_side == "A"],
            "first_confidence": 7,
            "first_rt_ms": 9_000,
            "first_received_at": trial.shown_at,
        }
        AdvisedTrial.objects.create(
            trial=trial,
            procedure=procedure,
            advice_side=trial.original_side,
            **(first if procedure == "after" else {}),
        )
    [part] = statistics(item, cooking, ruth).people
    assert (part.accuracy.n, part.accuracy.n_correct) == (n - 1, n - 2 - wrong.count())
    assert part.confidence_wrong is not None
    assert part.confidence_wrong.mean == (30 * wrong.count() + 7) / (wrong.count() + 1)
    figures = people_figures([item.pk], Study.objects.all())[item.pk]
    assert (figures.n, figures.n_right) == (part.accuracy.n, part.accuracy.n_correct)
    assert rest_correlation(item, Study.objects.all()) != found


def test_figures_of_people_are_those_of_the_judgments(
    item: Item, cooking: ResearchField, ruth: User
) -> None:
    [part] = statistics(item, cooking, ruth).people
    rows = Judgment.objects.filter(trial__item=item)
    n, right = rows.count(), rows.filter(correct=True).count()
    assert (part.accuracy.n, part.accuracy.n_correct) == (n, right)
    assert 0 < right < n
    assert part.recognised is not None
    assert part.recognised.n_correct == n - right
    assert part.confidence_right is not None
    assert part.confidence_wrong is not None
    assert (part.confidence_right.mean, part.confidence_wrong.mean) == (70, 30)
    times = sorted(rows.values_list("rt_ms", flat=True))
    assert part.median_rt_ms == (times[(n - 1) // 2] + times[n // 2]) / 2


def test_several_studies_are_shown_each_and_together_and_others_not_at_all(
    item: Item, cooking: ResearchField, ruth: User
) -> None:
    for slug, is_member in (("second", True), ("hidden", False)):
        other = make_study(slug, human=0, catch=0, human_items=1, machine_items=0, catch_items=0)
        other.study_items.create(item=item)
        if is_member:
            other.members.add(ruth)
        make_participant(other, comments=f"REMARK {slug}")
    found = statistics(item, cooking, ruth)
    assert found.people[0].slug == ""
    assert {part.slug for part in found.people[1:]} == {"memory", "second"}
    assert found.people[0].accuracy.n == sum(part.accuracy.n for part in found.people[1:])
    assert [said.text for said in found.comments] == ["REMARK second"]


def test_comments_are_for_who_may_read_them(
    client: Client, item: Item, study: Study, cooking: ResearchField, ruth: User
) -> None:
    judged = Participant.objects.filter(trials__item=item).order_by("pk")[0]
    Participant.objects.filter(pk=judged.pk).update(comments="<b>LEAKED</b>")
    client.force_login(ruth)
    address = f"/lab/fields/cooking/items/{item.pk}/statistics/"
    assert "&lt;b&gt;LEAKED" in client.get(address).content.decode()
    study.memberships.filter(user=ruth).update(role="auditor")  # data, and no free comments
    shown = client.get(address).content.decode()
    assert "LEAKED" not in shown
    assert "Times judged" in shown
    study.memberships.filter(user=ruth).delete()
    shown = client.get(address).content.decode()
    assert study.title not in shown
    assert "Nobody has judged this version" in shown


def test_models_are_ranked_among_the_fields_test_cases(
    study: Study, item: Item, cooking: ResearchField, ruth: User
) -> None:
    Item.objects.filter(pk=item.pk).update(publication_date=date(2022, 1, 1))
    item.refresh_from_db()
    score_all(study, "sure", 4, 1, 2, 3)
    score_all(study, "unsure", -1, 5, 6, training_cutoff=date(2023, 1, 31))
    found = statistics(item, cooking, ruth)
    assert found.models is not None
    assert [(m.name, m.difficulty, m.rank, m.n, m.points, m.is_early) for m in found.models] == [
        ("unsure", -1, 1, 3, 0, True),
        ("sure", 4, 4, 4, 1, False),
    ]
    assert found.early_for == ("unsure",)
    assert Mark.BEFORE_CUTOFF in found.marks
    assert found.trace_study == "memory"


def test_disagreement_is_the_difference_of_the_two_ranks(
    study: Study, item: Item, cooking: ResearchField, ruth: User
) -> None:
    assert statistics(item, cooking, ruth).place is None
    score_all(study, "one", *range(8, 0, -1))
    place = statistics(item, cooking, ruth).place
    assert place is not None
    assert place.keys[place.at] == item.key
    # The easiest for the model, and with another one the hardest for people
    assert place.models[place.at] == max(place.models)
    assert place.people[place.at] == min(place.people)
    expected = rank_differences(place.people, place.models)
    assert place.disagreement == expected[place.at] < -2
    assert place_of(item, cooking, ruth) == place


def test_a_fit_is_of_the_test_cases_that_were_judged_often_enough(
    study: Study, item: Item, cooking: ResearchField, ruth: User
) -> None:
    for _ in range(76):
        make_participant(study)
    with answers_open():
        judged = list(Judgment.objects.filter(trial__item__kind="test"))
        for judgment in judged:
            judgment.correct = (judgment.pk * 7919) % 10 < 7
        Judgment.objects.bulk_update(judged, ["correct"])
    found = fitted(item, ruth)
    assert isinstance(found, Fitted)
    assert found.n_items == 12
    assert found.fit.has_converged
    assert found.fit.n[found.at] == Judgment.objects.filter(trial__item=item).count()


def test_a_reviewer_sees_no_models_before_the_verdict(
    client: Client, study: Study, cooking: ResearchField
) -> None:
    draft = make_item("memory-human-1", version=2, status="in_review", field="cooking")
    lm = LanguageModel.objects.create(name="one", display_name="The model")
    run = ScoringRun.objects.create(
        language_model=lm, backend="imported", status="finished", is_site_wide=True
    )
    ItemScore.objects.create(run=run, item=draft, ppl_original=10, ppl_altered=13)
    address = f"/lab/fields/cooking/items/{draft.pk}/statistics/"
    for name, role in (("vera", "curator"), ("lea", "lead")):
        reviewer = make_user(name)
        cooking.members.add(reviewer, through_defaults={"role": role})
        client.force_login(reviewer)
        assert "The model" not in client.get(address).content.decode()
        draft.reviews.create(reviewer=reviewer, verdict="accept", sha256=draft.reviewed_sha256)
        assert "The model" in client.get(address).content.decode()

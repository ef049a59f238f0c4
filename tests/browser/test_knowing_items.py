"""A curator finds a test case in the field's list, keeps the filters, reads its statistics; a researcher pauses it."""

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from experiment.models import Item, ResearchField, Study
from scoring.models import ItemScore, LanguageModel, ScoringRun
from tests.browser.accessibility import faults
from tests.factories import make_participant, make_research_field, make_study

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def study() -> Study:
    """Judged by 24 people, and scored by two models."""
    study = make_study(catch=2)
    study.items.filter(kind="test").update(field="cooking", publication_date=date(2022, 5, 1))
    make_research_field("cooking", "Behavioural/Cognitive")
    for _ in range(24):
        make_participant(study, comments="The soup was clear.")
    for name, cutoff in (("Small model", date(2023, 1, 31)), ("Large model", None)):
        lm = LanguageModel.objects.create(name=name, display_name=name, training_cutoff=cutoff)
        run = ScoringRun.objects.create(language_model=lm, backend="imported", status="finished")
        for n, item in enumerate(study.items.filter(kind="test").order_by("key")):
            ItemScore.objects.create(run=run, item=item, ppl_original=10, ppl_altered=9 + n)
    return study


def join(name: str) -> None:
    Item.objects.filter(key="memory-human-3").update(status="retired")
    user = User.objects.get(username=name)
    ResearchField.objects.get().members.add(user, through_defaults={"role": "lead"})


def test_from_the_list_to_a_paused_test_case(
    open_page: Callable[..., Page], study: Study, tmp_path: Path
) -> None:
    page = open_page("/lab/fields/")
    join("ruth")
    found: list[str] = []

    def look(name: str) -> None:
        found.extend(faults(page))
        page.screenshot(path=tmp_path / f"{name}-1280.png", full_page=True)
        page.set_viewport_size({"width": 320, "height": 640})
        page.screenshot(path=tmp_path / f"{name}-320.png", full_page=True)
        page.set_viewport_size({"width": 1280, "height": 900})

    page.goto("/lab/fields/cooking/")
    look("list")
    page.get_by_label("Source").select_option("human")
    page.get_by_label("Mark").select_option("all_right")
    page.get_by_label("Order").select_option("hardest")
    page.get_by_role("button", name="Show", exact=True).press("Enter")
    expect(page.get_by_role("row")).to_have_count(9)
    page.get_by_label("Keep these filters as").fill("Too easy")
    page.get_by_role("button", name="Keep").press("Enter")
    look("kept")
    page.goto("/lab/fields/cooking/")
    page.get_by_role("link", name="Too easy").click()
    expect(page.get_by_label("Mark")).to_have_value("all_right")
    first = page.get_by_role("row").nth(1)
    expect(first).to_contain_text("memory-human-1")

    first.get_by_role("link").click()
    page.get_by_role("link", name="Exposures, accuracy, models and comments").click()
    expect(page.get_by_role("img")).to_be_visible()
    expect(page.get_by_text("The soup was clear.").first).to_be_visible()
    look("statistics")

    page.goto("/lab/studies/memory/test-cases/")
    look("study")
    page.get_by_role("link", name="Pause memory-human-1 v1").click()
    look("pause")
    page.get_by_label("Why").fill("It was in the news.")
    page.get_by_role("button", name="Pause").press("Enter")
    expect(page.get_by_role("row").filter(has_text="memory-human-1 v1")).to_contain_text("paused")
    look("paused")
    page.goto("/lab/fields/cooking/")
    page.get_by_role("button", name="Delete “Too easy”").click()
    expect(page.get_by_role("link", name="Too easy")).to_have_count(0)
    assert found == []

"""The page of one test case and one model in a real browser: readable on a phone, and another is one choice away."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import call_command
from playwright.sync_api import Page, expect

from experiment.models import Study
from scoring.models import ScoringRun
from tests.browser.accessibility import faults
from tests.factories import make_study
from tests.storages import store_files_in

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def study(settings: Any, tmp_path: Any) -> Study:
    store_files_in(settings, tmp_path)
    study = make_study()
    call_command("score", model="embedded", study=study.slug, json=True)
    return study


def test_another_test_case_is_one_choice_away(open_page: Callable[..., Page], study: Study) -> None:
    keys = ScoringRun.objects.get().item_scores.values_list("item__key", flat=True)
    page = open_page(f"/lab/studies/{study.slug}/results/trace/")
    heading = page.get_by_role("heading", level=1)
    for width in (390, 1200):
        page.set_viewport_size({"width": width, "height": 844})
        other = next(key for key in keys if key != heading.inner_text())
        page.get_by_label("Test case").select_option(other)
        page.get_by_role("button", name="Show").click()
        expect(heading).to_have_text(other)
        picture = page.get_by_alt_text(f"along {other}")
        assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 300
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert "\n".join(faults(page)) == ""  # at any width

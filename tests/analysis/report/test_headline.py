"""The first section says where there are too few participants or test cases, and then concludes nothing."""

import pytest
from django.template.loader import render_to_string

from analysis.report.contents import chapter_named
from analysis.report.headline import Few, headline
from tests.analysis.made import make_data
from tests.analysis.report.chapters.chapter_results import ACCURACY, page_of, results_of

CHAPTERS = (ACCURACY, chapter_named("crossed"), chapter_named("mixed_model"))
CONCLUDED = ("more accurate than", "less accurate than", "do not show whether")


@pytest.mark.parametrize(("n_people", "n_items"), [(7, 20), (20, 7), (8, 8)])
def test_few_participants_or_test_cases_are_said_and_nothing_is_concluded(
    n_people: int, n_items: int
) -> None:
    data = make_data(n_participants=n_people, n_items=n_items, trials_each=n_items)
    source = results_of(data, *CHAPTERS)
    answer, is_few = headline(source), min(n_people, n_items) < 8
    assert answer.few == (Few(n_people, n_items) if is_few else None)
    shown = render_to_string("analysis/_headline.html", {"headlines": [{"answer": answer}]})
    assert ("too few to say who is more accurate" in shown) == is_few
    assert any(words in shown for words in CONCLUDED) == (not is_few)
    _page, words = page_of(CHAPTERS[2], source)
    assert ("too few participants or test cases for the intervals" in words) == is_few

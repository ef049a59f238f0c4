"""The first section says where there are too few participants or test cases, and then concludes nothing."""

from dataclasses import replace

import pytest
from django.template.loader import render_to_string

from analysis.report.chapters.uncertainty.results import Crossed
from analysis.report.contents import chapter_named
from analysis.report.headline import Few, headline
from analysis.stats.verdicts import Verdict
from tests.analysis.made import make_data
from tests.analysis.report.chapters.chapter_results import ACCURACY, page_of, results_of

CHAPTERS = (ACCURACY, chapter_named("crossed"), chapter_named("mixed_model"))
WORDS = {
    Verdict.ABOVE: ("were on average more accurate", "the models are more accurate"),
    Verdict.BELOW: ("were on average less accurate", "the models are less accurate"),
    Verdict.UNCLEAR: ("do not show whether", "this is no clear difference"),
    Verdict.TOO_FEW: ("too few participants or test cases", "too few participants or test cases"),
}
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


@pytest.mark.parametrize("verdict", Verdict)
def test_headline_and_chapters_conclude_by_one_verdict(verdict: Verdict) -> None:
    source = results_of(make_data(), *CHAPTERS)
    own = source.of(Crossed).crossed
    changed = replace(own, difference=replace(own.difference, verdict=verdict))
    source = replace(source, results={**source.results, Crossed: Crossed(changed)})
    answer = headline(source)
    assert answer.verdict is verdict
    shown = render_to_string("analysis/_headline.html", {"headlines": [{"answer": answer}]})
    texts = (shown, page_of(CHAPTERS[1], source)[1])
    for text, own_words in zip(texts, WORDS[verdict], strict=True):
        assert own_words in text
        others = {words for words in zip(*WORDS.values(), strict=True) for words in words}
        assert not [words for words in others - {*WORDS[verdict]} if words in text]
    _page, words = page_of(ACCURACY, source)
    assert ("too few" in words) == (verdict is Verdict.TOO_FEW)
    assert "binomial" not in words.partition("</p>")[0]

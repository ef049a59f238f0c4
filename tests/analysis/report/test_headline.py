"""The first section says where there are too few participants or test cases, and then concludes nothing."""

from dataclasses import replace

import pytest

from analysis.report.chapters.uncertainty.results import Crossed
from analysis.report.contents import chapter_named
from analysis.report.headline import Few, Headline, headline
from analysis.report.headline_words import conclusion, numbers
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


def concluded(answer: Headline, *, is_simulated: bool = False) -> str:
    return " ".join(p.text for p in conclusion(answer, is_simulated=is_simulated))


@pytest.mark.parametrize(("n_people", "n_items"), [(7, 20), (20, 7), (8, 8)])
def test_few_participants_or_test_cases_are_said_and_nothing_is_concluded(
    n_people: int, n_items: int
) -> None:
    data = make_data(n_participants=n_people, n_items=n_items, trials_each=n_items)
    source = results_of(data, *CHAPTERS)
    answer, is_few = headline(source), min(n_people, n_items) < 8
    assert answer.few == (Few(n_people, n_items) if is_few else None)
    shown = concluded(answer)
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
    shown = concluded(answer)
    texts = (shown, page_of(CHAPTERS[1], source)[1])
    for text, own_words in zip(texts, WORDS[verdict], strict=True):
        assert own_words in text
        others = {words for words in zip(*WORDS.values(), strict=True) for words in words}
        assert not [words for words in others - {*WORDS[verdict]} if words in text]
    _page, words = page_of(ACCURACY, source)
    assert ("too few" in words) == (verdict is Verdict.TOO_FEW)
    assert "binomial" not in words.partition("</p>")[0]


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (Verdict.ABOVE, "The language model was more accurate than the simulated participants"),
        (Verdict.BELOW, "The language model was less accurate than the simulated participants"),
        (Verdict.UNCLEAR, "the simulated participants or the language model was more accurate: "),
        (Verdict.TOO_FEW, "the simulated participants or the language model was more accurate."),
    ],
)
def test_one_model_and_simulated_participants_are_called_so(verdict: Verdict, words: str) -> None:
    answer = headline(results_of(make_data(n_models=1), *CHAPTERS))
    assert words in concluded(replace(answer, few=None, verdict=verdict), is_simulated=True)
    people, model, gap = numbers(answer, is_simulated=True)
    assert people.name == "Simulated participants"
    assert model.name == answer.model
    assert model.about.endswith("test cases")
    assert gap.about.startswith("points; 95% CI over people and test cases ")


def test_numbers_without_an_interval_say_so() -> None:
    answer = headline(results_of(make_data(), *CHAPTERS))
    bare = {
        name: replace(getattr(answer, name), ci95=None, n=2)
        for name in ("humans", "models", "difference")
    }
    people, models, gap = numbers(replace(answer, **bare), is_simulated=False)
    assert (people.name, people.about) == ("Humans", "2 trials")
    assert (models.name, models.about) == ("Language models, mean", "2 models")
    assert gap.about == "points; too few data for a clustered interval"
    assert (
        numbers(replace(answer, humans=None, models=None, difference=None), is_simulated=False)
        == []
    )
    assert concluded(replace(answer, few=None, verdict=None)) == ""

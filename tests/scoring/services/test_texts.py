"""The texts of runs: read afresh each time, parsed and cut into sentences once, and only as far as needed."""

import pytest

from experiment.models import Study
from lib.sentences import sentence_spans
from scoring.domain import conditions
from scoring.services.texts import texts_of
from tests.factories import make_item, make_study
from tests.scoring.made_runs import ask

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return make_study(human=7, machine=5)


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every text that is cut into sentences from now on."""
    found: list[str] = []

    def counted(text: str) -> list[tuple[int, int]]:
        found.append(text)
        return sentence_spans(text)

    conditions.sentences.cache_clear()
    conditions.parsed.cache_clear()
    monkeypatch.setattr(conditions, "sentence_spans", counted)
    return found


@pytest.mark.parametrize("condition", ["full", "isolated", "swapped"])
def test_a_limit_takes_the_first_as_they_read_in_the_whole(study: Study, condition: str) -> None:
    whole = texts_of(ask(study, condition=condition)).texts
    first = texts_of(ask(study, condition=condition, limit=4)).texts
    assert len({text.item for text in first}) == 4
    assert first == whole[: len(first)]


def test_runs_of_the_same_texts_cut_each_of_them_once(study: Study, cut: list[str]) -> None:
    for condition in ("isolated", "swapped", "isolated"):
        for prompt in ("paper", "clean"):
            texts_of(ask(study, condition=condition, prompt=prompt))
    assert len(cut) == 2 * 12  # both versions of each item
    assert conditions.parsed.cache_info().misses == 12


def test_a_limit_cuts_no_more_than_it_needs(study: Study, cut: list[str]) -> None:
    texts_of(ask(study, limit=2))
    assert cut == []
    assert conditions.parsed.cache_info().misses == 2
    texts_of(ask(study, condition="isolated", limit=2))
    assert len(cut) == 2 * 2
    texts_of(ask(study, condition="swapped", limit=2))
    assert len(cut) <= 2 * (2 + 2)  # and one other item for each result that is swapped in


def test_a_text_that_changed_is_read_anew(study: Study) -> None:
    run = ask(study)
    before = texts_of(run).sha256
    study.study_items.create(item=make_item("memory-late", markup="It [[rose, fell]] late."))
    assert texts_of(run).sha256 != before

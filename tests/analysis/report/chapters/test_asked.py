"""Models that were asked: the chapter about them, and their rows in the others."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from analysis.codec import MissingResult, to_json
from analysis.data.dataset import SourceData
from analysis.report.chapters.accuracy.results import Accuracy
from analysis.report.chapters.asked.results import Asked, AskedModel
from analysis.report.contents import CHAPTERS, chapter_named
from analysis.stats.families import together
from analysis.stats.verdicts import Verdict
from tests.analysis.asked_made import answers_of, with_asked
from tests.analysis.report.chapters.chapter_results import (
    ACCURACY,
    built_of,
    page_of,
    results_of,
)

AGREEMENT, ASKED = chapter_named("agreement"), chapter_named("asked")
N_MODELS = 4


def confident(p: np.ndarray) -> np.ndarray:
    return np.full(len(p), 90.0)


@pytest.fixture(scope="module")
def data(small: SourceData) -> SourceData:
    """Model 0 knows with its own margins, model 1 always says A, model 2 refuses a third."""
    margins = 40 * small.difficulty_nats
    return with_asked(
        replace(small, resamples=50),
        (0, answers_of(margins[0], confidence=confident, samples=5)),
        (1, answers_of(margins[1], bias=60.0)),
        (2, answers_of(margins[2], refused=0.3, has_log_odds=True, confidence=confident)),
    )


@pytest.fixture(scope="module")
def found(data: SourceData) -> tuple[AskedModel, ...]:
    models = results_of(data, ASKED).of(Asked).asked
    assert not isinstance(models, MissingResult)
    return models


def test_a_model_that_always_says_a_is_at_half_and_the_page_says_why(data, found):
    own = found[1]
    assert own.judged.accuracy == 0.5
    assert own.strict.n_ties == data.n_items
    assert own.position.answers.share == 1.0
    assert own.by_order.original_a.share == 1.0
    assert own.by_order.original_b.share == 0.0
    assert own.consistent.accuracy == 0.0
    assert isinstance(own.p_original, MissingResult)
    _page, words = page_of(ASKED, results_of(data, ASKED))
    assert "Model 1 always answers A" in words


def test_answers_that_cannot_be_read_are_left_out_or_wrong_and_counted(data, found):
    own = found[2]
    refused = next(state.n for state in own.states if state.state == "refused")
    assert own.n_unread == refused > 0
    assert own.n_answers == 2 * data.n_items
    assert own.judged.n < own.strict.n == data.n_items
    right = own.judged.accuracy * own.judged.n
    assert own.strict.accuracy * own.strict.n == pytest.approx(right)


def test_a_model_is_compared_with_itself_on_the_test_cases_that_have_both(data, found):
    own, credit = found[0].paired, data.model_correct
    assert own.n == data.n_items
    assert own.difference == pytest.approx(float(np.mean(credit[N_MODELS] - credit[0])))
    assert own.correlation.rho > 0.5
    assert found[0].people.n_trials == len(data.trials)
    assert found[0].language_label == "Model 0"


def test_a_model_that_was_only_asked_has_no_pair(small):
    alone = with_asked(small, (0, answers_of(small.difficulty_nats[0], samples=5)))
    models = alone.models.assign(language_model=[*"abcd", "org/elsewhere"])
    own = results_of(replace(alone, models=models), ASKED).of(Asked).asked[0]
    assert isinstance(own.paired, MissingResult)
    assert not isinstance(own.judged, MissingResult)
    assert isinstance(own.stated, MissingResult)


@pytest.mark.parametrize(
    "chapter", [c for c in CHAPTERS if c.id not in ("teams", "asked", "flips")]
)
def test_models_that_were_asked_move_no_number_of_people_and_of_the_other_models(
    small, data, chapter
):
    """None of them is a member of the set, so that each chapter has them as further models at most."""
    before = to_json(built_of(replace(small, resamples=50), chapter).results)
    after = to_json(built_of(data, chapter).results)
    if chapter is ACCURACY:
        assert [m["method"] for m in after["extra_models"]] == ["perplexity", *["choice"] * 3]
        after["extra_models"] = after["extra_models"][:1]
    assert after == before


def test_every_chapter_takes_members_that_were_asked(data):
    members = replace(data, models=data.models.assign(in_set=True))
    own = results_of(members, ACCURACY).of(Accuracy)
    assert own.has_asked
    assert len(own.models) == N_MODELS + 3
    for chapter in CHAPTERS:
        if chapter.id == "teams":
            continue
        before, after = (
            chapter.missing_in(results_of(of, ACCURACY, chapter)) for of in (data, members)
        )
        assert [why is None for why in before] == [why is None for why in after]


def test_the_tables_have_the_method_and_a_row_per_answer_state(data):
    tables = built_of(data, ASKED).tables
    assert tables["asked_states"]["n"].sum() == len(data.choices)
    models = built_of(data, ACCURACY).tables["models"]
    assert models["method"].value_counts().to_dict() == {"perplexity": N_MODELS, "choice": 3}
    assert pd.api.types.is_numeric_dtype(models["n_correct"])


def test_the_chapter_on_agreement_says_what_is_hard_for_a_model_that_was_asked(data):
    in_set = data.models.assign(in_set=data.models["method"] == "choice")
    words = page_of(AGREEMENT, results_of(replace(data, models=in_set), AGREEMENT))[1]
    assert "For the 3 models that were asked, the difficulty is the log-odds" in words
    assert "asked" not in page_of(AGREEMENT, results_of(data, AGREEMENT))[1]


def test_all_questions_of_all_models_are_one_family(found):
    questions = ("paired", "position", "stated", "p_original")
    own = {name: [getattr(model, name) for model in found] for name in questions}
    p = {n: [getattr(one, "p", None) for one in every] for n, every in own.items()}
    for name, values in together(p).items():
        for one, after in zip(own[name], values, strict=True):
            if after is not None:
                assert one.p_holm == after
                assert one.verdict.is_clear == (after < 0.05)


@pytest.mark.parametrize("verdict", Verdict)
def test_sentences_on_models_that_were_asked_follow_their_verdicts(data, found, verdict):
    def shown(models) -> str:
        source = results_of(data, ASKED)
        results = {**source.results, Asked: Asked(tuple(models))}
        return page_of(ASKED, replace(source, results=results))[1]

    def changed(model, *names: str):
        every = {name: replace(getattr(model, name), verdict=verdict) for name in names}
        return replace(model, **every)

    one = shown([changed(found[0], "paired", "position", "stated")])
    assert ("This is no clear difference." in one) == (verdict is Verdict.UNCLEAR)
    assert ("whether they differ" in one) == (verdict is Verdict.TOO_FEW)
    assert ("prefers side A" in one) == (verdict is Verdict.ABOVE)
    assert ("prefers side B" in one) == (verdict is Verdict.BELOW)
    assert ("No model showed a clear preference" in one) == (verdict is Verdict.UNCLEAR)
    assert ("is overconfident" in one) == (verdict is Verdict.ABOVE)
    assert ("is underconfident" in one) == (verdict is Verdict.BELOW)
    two = shown([changed(found[n], "paired") for n in (0, 2)])
    n_lower, n_higher = ((verdict is of) * 2 for of in (Verdict.BELOW, Verdict.ABOVE))
    if verdict is Verdict.TOO_FEW:
        assert "whether they differ" in two
    else:
        assert f"clearly lower for {n_lower} of them, and clearly higher for {n_higher}" in two

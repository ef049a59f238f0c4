"""Models that were asked: the chapter about them, and their rows in the others."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from analysis.codec import MissingResult, to_json
from analysis.data.dataset import SourceData
from analysis.report.chapters.accuracy.results import Accuracy
from analysis.report.chapters.asked.results import NOT_JUDGED, Asked, AskedModel, State
from analysis.report.chapters.asked.words import (
    asked_figure,
    panel_error,
    reliability_figure,
    sizes_figure,
)
from analysis.report.contents import CHAPTERS, chapter_named
from analysis.stats.estimates import proportion_of_counts
from analysis.stats.families import together
from analysis.stats.verdicts import Verdict
from tests.analysis.asked_made import answers_of, with_asked
from tests.analysis.report.chapters.chapter_results import (
    ACCURACY,
    built_of,
    page_of,
    results_of,
    said,
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


def test_a_model_without_an_answer_has_true_reasons_and_no_time(small):
    own = answers_of(small.difficulty_nats[0], refused=1.0).assign(seconds=np.nan)
    data = with_asked(small, (0, own))
    model = results_of(data, ASKED).of(Asked).asked[0]
    assert model.seconds_median is None
    assert model.position == MissingResult(*NOT_JUDGED)
    assert model.p_original == model.people == MissingResult(*NOT_JUDGED)
    assert "There is no P(original)" not in page_of(ASKED, results_of(data, ASKED))[1]


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
    assert (
        "For the 3 models that were asked and not scored, the difficulty is the log-odds" in words
    )
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
    unclear = replace(found[0], position=replace(found[0].position, verdict=Verdict.UNCLEAR))
    two = shown([changed(found[0], "position"), unclear])
    assert ("For 1 of them, there are too few test cases to say." in two) == (verdict is Verdict.TOO_FEW)  # fmt: skip
    assert ("is overconfident" in one) == (verdict is Verdict.ABOVE)
    assert ("is underconfident" in one) == (verdict is Verdict.BELOW)
    two = shown([changed(found[n], "paired") for n in (0, 2)])
    n_lower, n_higher = ((verdict is of) * 2 for of in (Verdict.BELOW, Verdict.ABOVE))
    if verdict is Verdict.TOO_FEW:
        assert "whether they differ" in two
    else:
        assert f"clearly lower for {n_lower} of them, and clearly higher for {n_higher}" in two


# --- Sentences, and the texts of figures

NONE = MissingResult("Not computed.", "Compute it.")


def words_of(data: SourceData, *models: AskedModel) -> str:
    return said(ASKED, results_of(data, ASKED), Asked(models))


def alone(model: AskedModel, n_correct: int | None) -> AskedModel:
    """The model without perplexities, right on so many of ten test cases; None: none could be judged."""
    judged = NONE if n_correct is None else proportion_of_counts(n_correct, 10)
    return replace(model, paired=NONE, judged=judged)


def test_models_whose_differences_are_the_same_have_no_range(data, found):
    pairs = [replace(m, paired=replace(found[0].paired, difference=0.05)) for m in found[:2]]
    start = "For 2 models, the accuracy when asked minus the accuracy by perplexity"
    assert f"{start} is +5.0 points." in words_of(data, *pairs)
    other = replace(pairs[1], paired=replace(found[0].paired, difference=0.1))
    assert f"{start} ranges from +5.0 to +10.0 points." in words_of(data, pairs[0], other)


@pytest.mark.parametrize(
    ("n_correct", "words"),
    [
        ((6,), "The one model that was asked found the original in 60.0%."),
        ((6, 6), "2 models were asked, and each found the original in 60.0%."),
        ((6, 8), "2 models were asked, and found the original in 60.0% to 80.0%."),
        (
            (6, None),
            "Of 2 models that were asked, one found the original in 60.0%. 1 model has no readable answers in both orders.",
        ),
    ],
)
def test_models_that_were_not_scored_are_described_alone(data, found, n_correct, words):
    models = [alone(model, n) for model, n in zip(found, n_correct, strict=False)]
    these = "this model" if len(models) == 1 else "these models"
    rest = f"This report has no accuracy by perplexity of {these} on the same test cases."
    assert words_of(data, *models).startswith(f"{words} {rest}")


def test_models_without_a_judged_test_case_have_no_first_sentence(data, found):
    source = results_of(data, ASKED)
    results = {Asked: Asked((alone(found[0], None),))}
    page = page_of(ASKED, replace(source, results=results))[0]
    assert page.finding == ""
    assert page.text[-1].text.startswith(
        "Chapters that need perplexities or tokens have no results"
    )


@pytest.mark.parametrize(("share", "side"), [(1.0, "A"), (0.0, "B")])
def test_a_model_that_always_names_a_side_is_said_to(data, found, share, side):
    own = found[1].position
    position = replace(own, answers=replace(own.answers, share=share), verdict=Verdict.UNCLEAR)
    text = words_of(data, replace(found[1], position=position))
    assert (
        f"Model 1 always answers {side}, whichever version is there. With both orders weighted equally, its letters are therefore right in 50%"
        in text
    )
    assert "No model showed a clear preference" not in text


def test_answers_that_cannot_be_read_are_said_with_how_they_ended(data, found):
    states = (State("read", 15), State("refused", 4), State("length", 1))
    model = replace(
        alone(found[2], 6), states=states, n_asked=12, strict=proportion_of_counts(6, 12)
    )
    ended = "Of 20 answers of Model 2, 5 could not be read (4 refused and 1 length)."
    assert (
        f"{ended} Its accuracy is 60.0% on the 10 test cases for which the answers in both orders could be read. "
        "It is 50.0% on all 12 test cases asked in both orders if the others count as wrong."
    ) in words_of(data, model)
    none = (
        f"{ended} No test case has readable answers in both orders, so this model has no accuracy."
    )
    assert none in words_of(data, replace(model, judged=NONE))
    assert "could not be read" not in words_of(data, replace(model, states=states[:1]))


@pytest.mark.parametrize("n_whole", [0, 4])
def test_test_cases_asked_in_one_order_are_not_called_unreadable(
    small: SourceData, n_whole: int
) -> None:
    """A model was 0.0% right with "unreadable as wrong", though each of its answers was read."""
    answers = answers_of(40 * small.difficulty_nats[0])
    kept = (answers["original_side"] == "A") | (answers["item"] < n_whole)
    data = with_asked(replace(small, resamples=50), (0, answers[kept]))
    (own,) = results_of(data, ASKED).of(Asked).asked
    n = len(small.items) - n_whole
    text = words_of(data, own)
    assert f"{n} of the {len(small.items)} test cases that Model 0 was asked about were" in text
    assert "could not be read" not in text
    if n_whole:
        assert (own.strict.n, own.strict.accuracy) == (n_whole, own.judged.accuracy)
    else:
        assert isinstance(own.strict, MissingResult)
        assert own.by_order.reason == own.position.reason == NOT_JUDGED[0]
        assert "so this model has no accuracy" in text


def test_confidence_is_said_beside_accuracy(data, found):
    own = replace(found[0].stated, n=36, mean_confidence=0.9, accuracy=0.7, overconfidence=-0.2)
    unclear, under = (
        words_of(data, replace(found[0], stated=replace(own, verdict=verdict)))
        for verdict in (Verdict.UNCLEAR, Verdict.BELOW)
    )
    said = "states 90.0% on average over 36 answers, and 70.0% of them are correct"
    assert f"Model 0 {said}." in unclear
    assert (
        f"Model 0 is underconfident: it {said} (20.0 points apart)." in under
    )  # fmt: skip
    assert "are correct" not in words_of(data, replace(found[0], stated=NONE))


def test_models_without_a_probability_of_the_original_are_named(data, found):
    text = words_of(data, *found)
    assert "There is no P(original) to calibrate for Model 1: one answer in each" in text
    assert "There is no P(original)" not in words_of(data, found[0])
    judged = found[0].judged.n
    assert f"these are: Model 0 {found[0].p_original.n} of {judged}." in words_of(data, found[0])
    assert found[0].p_original.n < judged


def test_the_figure_of_models_that_were_asked_says_whom_it_shows(found):
    pair = replace(found[0], paired=replace(found[0].paired, scored=0.6, asked=0.7))
    unjudged = alone(found[1], None)
    text = asked_figure([pair, unjudged, alone(found[2], 8)], n_models=2, most_items=30)
    assert text.caption.startswith("n = 2 models on up to 30 test cases. For a model that was both")
    assert text.alt == (
        "Model 0 60.0% by perplexity, 70.0% when asked; Model 2 80.0% when asked. Chance is 50%."
    )


def test_the_figure_of_sizes_names_the_smallest_and_the_largest(found):
    sized = [
        (
            replace(model, n_parameters=size),
            replace(found[0].paired, difference=difference, n=n),
        )
        for model, size, difference, n in zip(
            found, (2e9, 1e9, 3e9), (0.0, 0.05, 0.1), (30, 20, 10), strict=True
        )
    ]
    text = sizes_figure(sized)
    assert text.caption.startswith("n = 3 models of known size on up to 30 test cases. Below 0,")
    assert text.alt == "Model 1 +5.0 points; Model 2 +10.0 points."


def test_the_figure_of_stated_confidence_says_how_many_answers_it_shows(found):
    own = replace(found[0].stated, n=1200, mean_confidence=0.9, accuracy=0.7)
    text = reliability_figure([(found[0], own), (found[2], replace(own, n=10))])
    assert text.caption.startswith("n = 2 models, each with up to 1,200 answers, in ten bins")
    assert text.alt == (
        "Model 0 states 90.0% on average over 1,200 answers, and 70.0% of them are correct; "
        "Model 2 states 90.0% on average over 10 answers, and 70.0% of them are correct."
    )
    error = replace(own.error, value=0.123)
    assert panel_error(replace(own, error=error)) == "error 0.12, n = 1,200"

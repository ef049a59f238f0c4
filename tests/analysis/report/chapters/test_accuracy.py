"""Accuracy: the published values, and what happens where models or trials are few."""

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import pytest

from analysis.codec import MissingResult, to_json
from analysis.data.dataset import NO_TRIALS, SourceData
from analysis.report.chapter import About, SourceResults
from analysis.report.chapters.accuracy.results import (
    REST,
    Accuracy,
    ModelsMean,
    PositionAccuracy,
    Positions,
    SubfieldAccuracy,
    Subfields,
)
from analysis.report.chapters.accuracy.words import (
    accuracy_figure,
    positions_figure,
    subfields_figure,
)
from analysis.report.chapters.confidence.results import Calibration, Expertise
from analysis.report.chapters.uncertainty.results import Sensitivity
from analysis.report.contents import chapter_named
from analysis.stats.estimates import SHARES, mean_of, proportion_of_counts
from tests.analysis.report.chapters.chapter_results import page_of, results_of, said

ACCURACY = chapter_named("accuracy")
POSITIONS = chapter_named("positions")
SUBFIELDS = chapter_named("subfields")


def accuracy(data):
    return results_of(data, ACCURACY).of(Accuracy)


def test_values_missing_from_the_reference_are_as_published(published, reference):
    found = results_of(published, ACCURACY, SUBFIELDS, POSITIONS)
    ours = found.of(Accuracy)
    assert [m.name for m in ours.models] == reference["meta"]["models_order"]
    pairs = [[pair.base, pair.chat] for pair in ours.base_vs_chat.pairs]
    assert pairs == reference["base_vs_chat_paired_t"]["pairs"]
    # The paper's printed 25.8 needs the mean of the items' means
    assert ours.models_vs_humans.t_item_means == pytest.approx(25.8052, abs=5e-5)
    for one in found.of(Subfields).subfields:
        known = reference["subfields"][one.subfield]
        assert one.n_models_below_humans == len(known["llm_below_human"])
        shares = {model.name: model.share.accuracy for model in one.models}
        assert shares == pytest.approx({m: v["accuracy"] for m, v in known["llm"].items()})
    positions = [one.position for one in found.of(Positions).positions]
    assert positions == [
        *published.position_order[:-1],
        REST,
    ]  # fewer than 5 chose its last, "Other"


def test_ties_are_half_and_near_ties_named(small):
    full = small.full.copy()
    row = full.index[(full["model"] == 0) & (full["item"] == 4)]
    full.loc[row, "ppl_altered"] = full.loc[row, "ppl_original"]
    full.loc[row, "is_near_tie"], full.loc[row, "points"] = True, 0.5
    found = accuracy(replace(small, full=full)).models[0]
    assert found.items.n_ties == 1
    assert small.items["key"].iloc[4] in found.near_tie_items


def test_a_model_counted_twice_moves_no_other_models_accuracy_nor_the_peoples(small):
    again = small.models.iloc[[2]].assign(name="org/again", in_set=True)
    models = pd.concat([small.models.iloc[:3], again], ignore_index=True)
    full = small.full[small.full["model"] < 3]
    twin = full[full["model"] == 2].assign(model=3)
    data = replace(small, models=models, full=pd.concat([full, twin], ignore_index=True))
    one, two = accuracy(small), accuracy(data)
    assert to_json(two.models[:3]) == to_json(one.models)
    assert two.models[3].items == two.models[2].items
    assert two.models_mean.n == one.models_mean.n + 1
    assert two.humans == one.humans
    assert two.models_vs_humans.human_accuracy == one.humans.trials.accuracy


def test_a_mean_of_two_models_has_no_brackets_around_a_missing_interval(small):
    data = replace(small, models=small.models.iloc[:2], full=small.full[small.full["model"] < 2])
    words = page_of(ACCURACY, results_of(data, ACCURACY))[1]
    assert "2 language models found the original in" in words
    assert "95% CI" not in words.split("on average")[0].split("2 language models")[1]
    assert "(95% CI" in page_of(ACCURACY, results_of(small, ACCURACY))[1]


def holding(data: SourceData, careers: Sequence[str]) -> SourceData:
    return replace(data, participants=data.participants.assign(career=list(careers)))


def test_positions_of_fewer_people_than_may_be_named_are_counted_with_those_not_stated(small):
    listed = small.position_order[0]
    careers = ["Clinician"] * 5 + ["Nurse"] * 4 + [""] + [listed] * 30
    source = results_of(holding(small, careers), ACCURACY, POSITIONS)
    found = source.of(Positions).positions
    people = [(one.position, one.n_participants) for one in found]
    assert people == [(listed, 30), ("Clinician", 5), (REST, 5)]
    assert sum(one.trials.n for one in found) == len(small.trials)
    assert "fewer than 5 people" in page_of(POSITIONS, source)[1]


def test_positions_are_missing_where_none_may_be_named(small):
    fours = ["ABCDEFGHIJ"[n // 4] for n in range(40)]
    for careers, why in ((fours, "5 or more"), ([""] * 40, "gave this"), (["A", *[""] * 39], "5 ")):
        missing = results_of(holding(small, careers), POSITIONS).of(Positions).positions
        assert why in missing.reason


# --- What is missing leaves the rest as it is; test_partial_data.py has all chapters


def without(data: SourceData, *names: str) -> SourceData:
    return replace(data, **{name: getattr(data, name).iloc[:0] for name in names})


def test_without_models_people_are_described_and_without_people_models_are(small):
    people, models = (
        results_of(without(small, "full", "models")),
        results_of(without(small, "trials")),
    )
    own = people.of(Accuracy)
    assert own.humans == accuracy(small).humans
    absent = (own.models, own.models_mean, own.models_vs_humans, own.base_vs_chat)
    assert {why.reason for why in absent} == {small.no_scores[0]}
    assert people.of(Subfields).subfields[0].models_mean is None
    assert people.of(Sensitivity).sensitivity[2].models_mean is None
    own = models.of(Accuracy)
    assert to_json(own.models_mean) == to_json(accuracy(small).models_mean)
    absent = (own.humans, own.models_vs_humans, models.of(Positions).positions)
    absent += (models.of(Expertise).expertise, models.of(Calibration).calibration.humans)
    assert {why.reason for why in absent} == {NO_TRIALS[0]}
    assert models.of(Subfields).subfields[0].humans is None


@pytest.mark.parametrize("column", ["confidence", "is_correct", "expertise", "slider_moved"])
def test_a_column_of_one_value_stops_only_what_needs_it(small, column):
    found = results_of(replace(small, trials=small.trials.assign(**{column: True})))
    people = found.of(Calibration).calibration.humans
    missing = [
        isinstance(part, MissingResult)
        for part in (people.binned, people.logistic, found.of(Accuracy).humans)
    ]
    assert missing == [column == "confidence", column in ("confidence", "is_correct"), False]


# --- Sentences, and the texts of figures

UNKNOWN = MissingResult("Not computed.", "Compute it.")


@pytest.fixture(scope="module")
def source(small: SourceData) -> SourceResults:
    """Results of 320 trials, three models of the set, and one beside it."""
    return results_of(small, ACCURACY, SUBFIELDS)


def with_shares(own: Accuracy, *n_correct: int) -> Accuracy:
    """The same with models that got so many of 100 test cases right."""
    shares = [proportion_of_counts(n, 100) for n in n_correct]
    models = tuple(replace(m, items=s) for m, s in zip(own.models, shares, strict=False))
    return replace(own, models=models, models_mean=mean_of([s.accuracy for s in shares], SHARES))


def with_half_right(own: Accuracy, **changed: object) -> Accuracy:
    """People were right in 50 of 100 trials."""
    humans = replace(own.humans, trials=proportion_of_counts(50, 100))
    return replace(own, humans=humans, models_vs_humans=UNKNOWN, **changed)


def test_simulated_participants_are_called_so(source):
    page = ACCURACY.page(source, About("study", is_simulated=True))
    assert page.text[0].text.startswith("40 simulated participants judged 320 trials and found")
    assert page.finding.startswith(page.text[0].text)
    assert "40 participants judged 320 trials" in said(ACCURACY, source)


@pytest.mark.parametrize(
    ("n_correct", "words"),
    [
        (
            (70, 80),
            "2 language models found the original in 75.0% on average, from 70.0% to 80.0%.",
        ),
        ((70, 70), "in 70.0% on average, and so did each of them."),
    ],
)
def test_models_have_a_range_where_they_differ(source, n_correct, words):
    assert words in said(ACCURACY, source, with_shares(source.of(Accuracy), *n_correct))


def test_the_only_model_is_that_of_the_set_where_there_are_others(source):
    one = with_shares(source.of(Accuracy), 70)
    name = one.models[0].label
    rest = "found the original in 70.0% of 100 test cases."
    assert f"{name}, the only language model of the set, {rest}" in said(ACCURACY, source, one)
    alone = replace(one, extra_models=())
    assert f"{name}, the only language model here, {rest}" in said(ACCURACY, source, alone)


@pytest.mark.parametrize(
    ("n_correct", "words"),
    [
        (55, "In this sample, Model 0 was 5.0 points above the human accuracy;"),
        (45, "In this sample, Model 0 was 5.0 points below the human accuracy;"),
        (50, "Model 0 and the participants had the same accuracy in this sample;"),
    ],
)
def test_one_model_is_beside_people_without_a_test(source, n_correct, words):
    own = with_half_right(with_shares(source.of(Accuracy), n_correct))
    text = said(ACCURACY, source, own)
    assert f"{words} a single model allows no test over models." in text
    assert "95% CI over models" not in text


@pytest.mark.parametrize(
    ("difference", "words"),
    [
        (0.05, "In this sample, the models were on average 5.0 points above the human accuracy ("),
        (-0.05, "In this sample, the models were on average 5.0 points below the human accuracy ("),
        (0.0004, "the models and the participants had the same accuracy in this sample ("),
    ],
)
def test_several_models_are_beside_people_with_a_test_where_they_allow_one(
    source, difference, words
):
    versus = source.of(Accuracy).models_vs_humans
    for ci95, numbers in (
        ((0.01, 0.09), "95% CI over models +1.0 to +9.0; t("),
        (None, "all models"),
    ):
        test = replace(versus.test, mean_difference=difference, ci95=ci95)
        own = replace(source.of(Accuracy), models_vs_humans=replace(versus, test=test))
        text = said(ACCURACY, source, own)
        assert words + numbers in text
        assert ("The crossed interval below" in text) == (ci95 is not None)


def test_without_a_crossed_interval_too_few_are_said_to_be_there(source):
    few = "There are too few participants or test cases to say whether people and models differ."
    assert few in said(ACCURACY, source)
    assert few in ACCURACY.page(source, About("study", is_simulated=False)).finding
    assert few not in said(ACCURACY, source, replace(source.of(Accuracy), humans=UNKNOWN, models_vs_humans=UNKNOWN))  # fmt: skip


@pytest.mark.parametrize(
    ("n_without", "highest", "words"),
    [
        (0, 0.5, "were right."),
        (1, 0.5, "were right. One test case has too few trials to contribute."),
        (
            2,
            0.6,
            "2 test cases have too few trials to contribute. Depending on how ties in expertise are broken, this value lies between 50.0% and 60.0%.",
        ),
    ],
)
def test_the_top_by_expertise_is_said_with_its_ties_and_what_it_leaves_out(
    source, n_without, highest, words
):
    humans = source.of(Accuracy).humans
    top = replace(
        humans.top_expertise,
        n_items_without=n_without,
        tie_min_accuracy=0.5,
        tie_max_accuracy=highest,
    )
    own = replace(source.of(Accuracy), humans=replace(humans, top_expertise=top), base_vs_chat=UNKNOWN)  # fmt: skip
    text = said(ACCURACY, source, own)
    assert "in the top 20% by self-rated expertise within each test case" in text
    assert text.endswith(words)


@pytest.mark.parametrize(
    ("ci95", "numbers"),
    [((0.01, 0.03), "95% CI over pairs +1.0 to +3.0, p"), (None, "the same in each pair, which")],
)
def test_base_models_are_compared_with_their_chat_versions(source, ci95, numbers):
    own = source.of(Accuracy)
    test = replace(own.models_vs_humans.test, mean_difference=0.02, ci95=ci95)
    chat = replace(own.base_vs_chat, test=test)
    text = said(ACCURACY, source, replace(own, base_vs_chat=chat))
    assert "Over 1 pair of a base model and its chat version," in text
    assert f"minus that of its chat version is +2.0 points on average ({numbers}" in text


def test_the_figure_of_accuracies_says_who_and_what_it_shows(source):
    own = with_half_right(with_shares(source.of(Accuracy), 70, 80))
    first, second = own.models
    fewer = replace(second, items=proportion_of_counts(9, 10))
    text = accuracy_figure(own.humans, (first, fewer))
    assert "of these judgments in the top fifth by expertise); 2 models on 10 to 100 test cases." in text.caption  # fmt: skip
    assert text.caption.endswith("Hollow: chat or instruction-tuned models.")
    assert text.alt == (
        "People were right in 50.0% of their judgments; 2 language models in 80.0% of the test cases on average (70.0% to 90.0%). "
        "Chance is 50%."
    )
    unrated = replace(own.humans, top_expertise=UNKNOWN)
    text = accuracy_figure(unrated, ())
    assert text.caption == "n = 100 judgments by 40 people. Lines are 95% score intervals."
    assert text.alt == "People were right in 50.0% of their judgments. Chance is 50%."
    text = accuracy_figure(None, (first,), is_extra=True)
    assert text.title == "Accuracy of further language models"
    assert text.caption == "n = 1 model on 100 test cases. Lines are 95% score intervals."
    assert text.alt == "1 language model was right in 70.0% of the test cases. Chance is 50%."


def subfield(name: str, right: int | None, *models: float) -> SubfieldAccuracy:
    """People who were right in so many of ten trials, or none, and models with these accuracies on five test cases."""
    humans = None if right is None else proportion_of_counts(right, 10)
    mean = ModelsMean(0.0, mean_of(models, SHARES)) if models else None
    return SubfieldAccuracy(name, 5, 0.5, humans, None, mean, (), None)


def test_subfields_are_described_where_people_judged_two_of_them(source):
    found = Subfields(
        (subfield("Circuits", 7, 0.9), subfield("", 5, 0.4), subfield("New", None, 0.5))
    )
    text = said(SUBFIELDS, source, found)
    assert text == (
        "In this sample, the lowest observed human accuracy was in not stated (50.0%, 10 trials) and the highest in Circuits (70.0%, "
        "10 trials). This is descriptive; there are no tests by subfield. In this sample, the models' mean was above the human accuracy in "
        "1 of 2 subfields."
    )
    assert SUBFIELDS.page(source, About("study", is_simulated=False)).finding.endswith(
        "by subfield."
    )
    one = Subfields(found.subfields[:1])
    own = replace(source.of(Accuracy), models=source.of(Accuracy).models[:1])
    assert said(SUBFIELDS, source, one, own) == (
        "In this sample, the model's accuracy was above the human accuracy in 1 of 1 subfield."
    )
    assert said(SUBFIELDS, source, Subfields((subfield("Circuits", 7),))) == ""


def test_all_subfields_that_share_an_accuracy_are_named(source):
    found = Subfields(
        tuple(subfield(name, n) for name, n in zip("ABCD", (5, 7, 5, 7), strict=True))
    )
    lowest, highest = "A (50.0%, 10 trials) and C (50.0%, 10 trials)", "B (70.0%, 10 trials) and D"
    assert f"accuracy was in {lowest} and the highest in {highest}" in said(
        SUBFIELDS, source, found
    )


def test_the_figure_of_subfields_says_who_and_what_it_shows():
    text = subfields_figure(
        [subfield("Circuits", 7, 0.9), subfield("", 5), subfield("New", None, 0.5)], has_chat=True
    )
    assert text.caption.startswith("n = 15 test cases in 3 subfields, with 20 judgments by people.")
    assert "Top fifth by expertise: at or above" in text.caption
    assert text.caption.endswith("Hollow: chat or instruction-tuned models.")
    assert text.alt == (
        "Accuracy in 3 subfields. Circuits: people 70.0% and models 90.0% on average; not stated: people 50.0%; New: models 50.0% on average."
    )
    text = subfields_figure([subfield("New", None, 0.5)], has_chat=False)
    assert text.caption == (
        "n = 5 test cases in 1 subfield. Lines are 95% score intervals; the dashed line is chance."
    )


def at(position: str, n_correct: int) -> PositionAccuracy:
    return PositionAccuracy(position, 6, proportion_of_counts(n_correct, 10))


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ((at("Nurse", 6), at(REST, 9)),
         "Accuracy in the only position that at least 5 participants gave, Nurse, was 60.0%."),
        ((at("Nurse", 6),), "All trials come from one position: Nurse."),
        ((at("Nurse", 6), at("Clinician", 6)), "Accuracy in each of the 2 positions was 60.0%. The intervals"),
        ((at("Nurse", 6), at("Clinician", 5)), "Accuracy in the 2 positions was between 50.0% and 60.0%. The intervals"),
    ],
)  # fmt: skip
def test_positions_are_described_by_their_range(source, found, words):
    text = said(POSITIONS, source, Positions(found))
    assert text.startswith(words)
    assert "so that nobody can be recognised" not in text


def test_the_page_says_that_rare_positions_are_counted_together(source):
    found = Positions((at("Nurse", 6), at("Clinician", 5), at(REST, 9)))
    assert said(POSITIONS, source, found).endswith(
        "Positions that fewer than 5 people gave are counted together with missing answers, so that nobody can be recognised."
    )


def test_the_figure_of_positions_says_who_and_what_it_shows():
    text = positions_figure(["Nurse", "Clinician"], [at("Nurse", 6), at("Clinician", 5)])
    assert text.caption == "n = 20 judgments by 12 people. Lines are 95% binomial intervals."
    assert text.alt == (
        "Accuracy of people by career position: Nurse 60.0%; Clinician 50.0%. Chance is 50%."
    )

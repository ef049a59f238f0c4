"""The chapter on crossed uncertainty: over participants and items together."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from analysis.data.dataset import SourceData
from analysis.report.chapter import About, SourceResults
from analysis.report.chapters.accuracy.results import Accuracy
from analysis.report.chapters.uncertainty.results import (
    NO_ERRORS,
    Ahead,
    Choice,
    Crossed,
    CrossedErrors,
    Differences,
    Errors,
    ItemDifferences,
    Sensitivity,
    build_crossed,
    build_item_differences,
)
from analysis.report.chapters.uncertainty.words import crossed_figure, item_differences_figure
from analysis.report.contents import chapter_named
from analysis.stats import NotEnough
from analysis.stats.two_way_clustered import two_way
from analysis.stats.verdicts import Verdict
from tests.analysis.made import make_data
from tests.analysis.report.chapters.chapter_results import page_of, results_of, said

CROSSED = chapter_named("crossed")
CROSSED_ACCURACY = chapter_named("accuracy")
ITEM_DIFFERENCES = chapter_named("item_differences")
SENSITIVITY = chapter_named("sensitivity")
SENSITIVITY_ACCURACY = chapter_named("accuracy")


@pytest.fixture(scope="module")
def data() -> SourceData:
    return make_data(seed=8, resamples=200)


@pytest.fixture(scope="module")
def source(data: SourceData) -> SourceResults:
    return results_of(data, CROSSED, CROSSED_ACCURACY)


def crossed(data: SourceData) -> CrossedErrors:
    return results_of(data, CROSSED).of(Crossed).crossed


def test_the_published_difference_is_reported_with_both_kinds_of_error(published, reference):
    found = crossed(published)
    assert found.humans.accuracy == pytest.approx(641 / 1011, rel=1e-12)
    assert found.models_mean.mean == pytest.approx(reference["llm_mean"]["mean"], rel=1e-12)
    assert [m.name for m in found.models] == reference["meta"]["models_order"]
    parts = found.components
    assert parts.binomial_se < parts.two_way_se < parts.crossed_se
    assert found.difference.errors.ci95[0] > 0.1
    assert found.difference.mean == pytest.approx(0.814333333 - 0.634025717, rel=1e-8)


def test_every_model_has_both_kinds_of_interval_and_the_page_shows_them(data, source):
    found, trials = source.of(Crossed).crossed, data.trials
    who, item = trials["participant"].to_numpy(), trials["item"].to_numpy()
    for model, correct in zip(found.models, data.model_correct, strict=False):
        assert model.errors.two_way_se == pytest.approx(stats.sem(correct))
        paired = two_way(who, item, trials["is_correct"].to_numpy(dtype=float), correct)
        assert model.difference_errors.two_way_ci95 == pytest.approx(paired.ci95)
    table = build_crossed(data).tables["crossed"].set_index("who")
    low, _ = found.difference.errors.two_way_ci95
    assert table.loc["models_mean", "difference_two_way_low"] == low
    assert list(table.index) == ["humans", "models_mean", *(m.name for m in found.models)]
    assert len(page_of(CROSSED, source)[0].tables[0].rows) == len(table)


def test_people_who_are_always_right_leave_no_difference_surer_than_people_are():
    data = make_data(seed=8, resamples=200, intercept=50.0, n_participants=20)
    found = crossed(data)
    assert found.humans.accuracy == 1
    low, _ = found.humans.errors.two_way_ci95
    assert found.humans.errors.ci95 == found.humans.errors.two_way_ci95
    for one in (found.difference, *found.models):
        errors = one.errors if one is found.difference else one.difference_errors
        value = one.mean if one is found.difference else one.difference
        for _, high in (errors.ci95, errors.two_way_ci95):
            assert high - value >= 1 - low - 1e-12


def test_each_number_on_the_models_mean_is_of_one_mean_where_models_miss_test_cases():
    """Model 0 decided all test cases, the others six of them, all of these rightly."""
    data = make_data(seed=8, resamples=500)
    full = data.full[(data.full["model"] == 0) | data.full["item"].isin(range(6))]
    points = full["points"].where(full["model"] == 0, 1.0)
    found = crossed(replace(data, full=full.assign(points=points)))
    accuracy = np.mean([m.accuracy for m in found.models])
    for one, value in ((found.models_mean, accuracy), (found.difference, None)):
        assert one.mean == pytest.approx(
            accuracy - found.humans.accuracy if value is None else value
        )
        for low, high in (one.errors.ci95, one.errors.two_way_ci95):
            assert low < one.mean < high
            assert high - low > 0.2
    assert (found.difference.two_way_p < 0.05) == (found.difference.errors.two_way_ci95[0] > 0)


@pytest.mark.parametrize(("n_participants", "n_items"), [(1, 12), (2, 12), (12, 1), (12, 2)])
def test_fewer_than_three_do_not_tell_how_others_would_vary(n_participants, n_items):
    data = make_data(n_participants=n_participants, n_items=n_items, n_models=1, resamples=50)
    found = results_of(data, CROSSED)
    parts = found.of(Crossed).crossed.components
    known = [
        se is not None
        for se in (parts.participants_only_se, parts.between_participants_se, parts.items_only_se)
    ]
    assert known == [n_participants > 2, n_participants > 2, n_items > 2]
    assert parts.crossed_se is None
    assert "Resampling only" not in page_of(CROSSED, found)[1]


def test_duplicating_all_models_leaves_the_difference_as_it_is(data, source):
    twice = replace(
        data,
        models=data.models.loc[np.repeat(np.arange(4), 2)].reset_index(drop=True),
        full=data.full.loc[np.repeat(data.full.index, 2)].assign(
            model=lambda x: 2 * x["model"] + np.tile([0, 1], len(data.full))
        ),
    )
    one, other = source.of(Crossed).crossed.difference, crossed(twice).difference
    assert other.n == 2 * one.n
    assert (one.mean, one.p) == pytest.approx((other.mean, other.p))
    assert (one.errors.se, one.errors.two_way_se) == pytest.approx(
        (other.errors.se, other.errors.two_way_se)
    )
    assert one.errors.ci95 == pytest.approx(other.errors.ci95)


# --- The chapter on differences by test case: humans against models, item by item.


def differences(data: SourceData) -> ItemDifferences:
    return results_of(data, ITEM_DIFFERENCES).of(Differences).item_differences


def test_the_published_items_are_all_tested(published):
    found, table = (
        differences(published),
        build_item_differences(published).tables["item_differences"],
    )
    assert found.n_items == len(table) == 200
    assert found.models_mean_accuracy == pytest.approx(0.814333333333)
    assert found.n_significant_holm <= found.n_significant_fdr == (table["q"] < 0.05).sum()
    assert [row.ahead for row in found.items] == [Ahead.MODELS] * 10 + [Ahead.HUMANS] * 10
    # All that are clear are shown, before others that differ by more
    clear = table[table["q"] < 0.05]
    for ahead, side in ((Ahead.MODELS, clear["difference"] > 0), (Ahead.HUMANS, clear["difference"] < 0)):  # fmt: skip
        shown = [row.item for row in found.items if row.ahead is ahead]
        assert set(shown[: side.sum()]) == set(clear.loc[side, "item"])
    row = table.iloc[7]
    right = round(row["humans"] * row["n_trials"]), round(row["models_mean"] * 15)
    expected = stats.fisher_exact(
        [[right[0], row["n_trials"] - right[0]], [right[1], 15 - right[1]]]
    )
    assert row["p"] == pytest.approx(expected.pvalue)


def test_items_without_trials_or_scores_are_left_out():
    data = make_data(seed=3)
    some = replace(
        data, trials=data.trials[data.trials["item"] < 20], full=data.full[data.full["item"] >= 5]
    )
    assert differences(some).n_items == 15
    with pytest.raises(NotEnough, match="both trials of people and"):
        build_item_differences(replace(some, trials=data.trials[data.trials["item"] < 5]))


# --- Sensitivity: each row differs from the headline by what it says.


def test_rows_differ_from_the_headline_by_what_they_say(published):
    source = results_of(published, SENSITIVITY_ACCURACY, SENSITIVITY)
    humans = source.of(Accuracy).humans
    rows = {choice.name: choice for choice in source.of(Sensitivity).sensitivity}
    assert rows["as analysed"].difference_humans is None
    assert rows["without damaged items"].n_items == 199
    assert rows["untouched sliders left out"].humans.share.n == 1011 - 57
    for name, mean in (
        ("mean over items", humans.over_items),
        ("mean over participants", humans.over_participants),
    ):
        assert rows[name].humans.over == mean
        assert rows[name].difference_humans == pytest.approx(mean.mean - humans.trials.accuracy)
    in_set = published.full[published.full["model"] < 15]
    half = in_set["points"].where(~in_set["is_near_tie"], 0.5).groupby(in_set["model"]).mean()
    assert rows["near-ties half right"].models_mean.mean == pytest.approx(half.mean())
    far = in_set[~in_set["is_near_tie"]].groupby("model")["points"].mean()
    assert rows["without near-ties"].models_mean.mean == pytest.approx(far.mean())


def test_a_change_of_models_is_of_the_same_models():
    """One model has near-ties alone, so that without them it has no test case left."""
    data = make_data(n_models=3, n_items=20)
    first = data.full["model"] == 0
    data = replace(data, full=data.full.assign(is_near_tie=first | (data.full["item"] < 5)))
    source = results_of(data, SENSITIVITY)
    rows = {choice.name: choice for choice in source.of(Sensitivity).sensitivity}
    rest = data.full[(data.full["model"] == 1)].set_index("item")["points"]
    without = rows["without near-ties"]
    assert without.models_mean.n == 1
    assert without.difference_models == pytest.approx(rest[5:].mean() - rest.mean(), abs=1e-12)
    table = page_of(SENSITIVITY, source)[0].tables[0]
    at = [str(column.label) for column in table.columns].index("Models")
    assert [row[at] for row in table.rows][:3] == ["2", "2", "1"]


# --- Sentences, and the texts of figures


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (Verdict.ABOVE, "; the models are more accurate."),
        (Verdict.BELOW, "; the models are less accurate."),
        (Verdict.UNCLEAR, "; this is no clear difference."),
        (Verdict.TOO_FEW, "; there are too few participants or test cases to say whether they differ."),
    ],
)  # fmt: skip
def test_the_sentence_on_the_difference_follows_its_verdict(source, verdict, words):
    own = source.of(Crossed).crossed
    both = Errors(ci95=(-0.02, 0.12), two_way_ci95=(-0.01, 0.11))
    for errors, value in (
        (both, "+5.0 points (95% CI \N{MINUS SIGN}1.0 to +11.0)"),
        (NO_ERRORS, "+5.0 points"),
    ):
        gap = replace(own.difference, mean=0.05, verdict=verdict, errors=errors)
        text = said(CROSSED, source, Crossed(replace(own, difference=gap)))
        assert f"the difference (models minus humans) is {value}{words}" in text
        drawn = "the interval is \N{MINUS SIGN}2.0 to +12.0 points (200 resamples, seed 42)."
        assert (drawn in text) == (errors is both)
    # Where the parts make it, the interval is not that of the resamples
    gap = replace(own.difference, errors=replace(both, from_parts=True))
    text = said(CROSSED, source, Crossed(replace(own, difference=gap)))
    assert "few right or few wrong decisions" in text
    assert "resample" not in text.split("few right")[0]


def test_without_people_there_is_no_difference_to_speak_of(data):
    own = results_of(replace(data, trials=data.trials.iloc[:0]), CROSSED)
    assert said(CROSSED, own) == ""
    assert CROSSED.page(own, About("study", is_simulated=False)).finding == ""


def test_standard_errors_are_said_by_what_is_resampled(source):
    own = source.of(Crossed).crossed
    found = replace(
        own.components,
        participants_only_se=0.011,
        items_only_se=0.022,
        crossed_se=0.033,
        two_way_se=0.03,
        binomial_se=0.01,
    )
    parts = "a standard error of 1.1 points, only test cases 2.2, both together 3.3"
    for components, words in (
        (found, f"{parts} (two-way: 3.0). These standard errors do not add up"),
        (replace(found, two_way_se=None), f"{parts}. These standard errors do not add up"),
    ):
        text = said(CROSSED, source, Crossed(replace(own, components=components)))
        assert words in text
        assert text.endswith("the noise of single trials, which alone would give 1.0.")
    few = replace(found, items_only_se=0.005)
    text = said(CROSSED, source, Crossed(replace(own, components=few)))
    assert text.endswith("Where test cases differ less than by chance, it is below that.")
    for components in (replace(found, items_only_se=None), None):
        text = said(CROSSED, source, Crossed(replace(own, components=components)))
        assert "do not add up" not in text


def test_the_figure_of_resampled_accuracies_says_whom_it_shows(source):
    own = source.of(Crossed).crossed
    humans = replace(own.humans, n_trials=100, accuracy=0.6, errors=Errors(ci95=(0.5, 0.7)))
    gap = replace(own.difference, mean=0.05, errors=Errors(ci95=(-0.02, 0.12)))
    text = crossed_figure(
        replace(own, humans=humans, difference=gap), has_two_way=True, has_chat=True
    )
    assert text.caption.startswith("n = 100 judgments, 3 models. Thick lines are 95% percentile")
    assert "The thin line below is the two-way cluster-robust interval" in text.caption
    assert text.caption.endswith("Hollow: chat or instruction-tuned models.")
    cautious = replace(gap, errors=replace(gap.errors, from_parts=True))
    wider = crossed_figure(replace(own, difference=cautious), has_two_way=True, has_chat=False)
    assert "accuracies with few right or few wrong decisions, both lines are" in wider.caption
    assert text.alt == (
        "People 60.0% (95% interval by resampling 50.0% to 70.0%); models minus people 5.0 percentage points, "
        "95% interval by resampling \N{MINUS SIGN}2.0 to 12.0."
    )
    few = replace(
        own,
        humans=replace(humans, errors=NO_ERRORS),
        difference=replace(gap, errors=NO_ERRORS),
    )
    alts = (
        (few, "People 60.0%; models minus people 5.0 percentage points."),
        (replace(few, difference=None), "People 60.0%."),
        (replace(few, humans=None, difference=None), "Accuracy of 3 models."),
    )
    for some, alt in alts:
        text = crossed_figure(some, has_two_way=False, has_chat=False)
        assert text.alt == alt
        assert text.caption.endswith("together (seed 42).")
    assert text.caption.startswith("n = 3 models. Thick")


@pytest.mark.parametrize(("n", "shows", "differs"), [(1, "1 shows", "1 differs."), (2, "2 show", "2 differ.")])  # fmt: skip
def test_test_cases_that_differ_are_counted(data, n, shows, differs):
    own = replace(differences(data), n_items=30, n_significant_fdr=n, n_significant_holm=0)
    text = said(ITEM_DIFFERENCES, results_of(data, ITEM_DIFFERENCES), Differences(own))
    assert text.startswith(f"Of 30 test cases tested one by one, {shows} a difference between")
    assert "at a false discovery rate of 5%, 0 after Holm's correction." in text
    figure = item_differences_figure(own, 30, 20, None)
    assert figure.caption.startswith("n = 30 test cases. Difference: share of models")
    assert figure.alt == (
        f"Models do better than people in 20 of 30 test cases; after correction for many tests, {differs}"
    )
    figure = item_differences_figure(own, 5000, 20, 2500)
    assert "2,500 of them are drawn, evenly spaced." in figure.caption


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ((None, None), ""),
        ((0.0, None), "None of the choices listed here changes an accuracy."),
        ((1.1e-16, 0.0), "None of the choices listed here changes an accuracy."),
        (
            (0.0, 0.000095),
            "Among these choices, the largest change of the humans' or the models' accuracy is 0.0 percentage points.",
        ),
        (
            (0.01, -0.023),
            "Among these choices, the largest change of the humans' or the models' accuracy is 2.3 percentage points.",
        ),
    ],
)
def test_the_largest_change_by_a_choice_is_said(changes, words):
    humans, models = changes
    choice = Choice("name", "What it is.", None, None, 30, humans, models)
    source = SourceResults("human", {})
    assert said(SENSITIVITY, source, Sensitivity((choice,))) == words

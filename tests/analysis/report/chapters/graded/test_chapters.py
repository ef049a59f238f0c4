"""The chapters on categories, on answers themselves and on agreement; and what all leave out of few answers."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.codec import MissingResult
from analysis.data.dataset import SourceData
from analysis.data.graded.tables import GradedData
from analysis.report.chapters.graded_agreement.results import GradedAgreement, by_grader
from analysis.report.chapters.graded_comparisons.results import GradedComparisons
from analysis.report.chapters.graded_rates.results import GradedAnswers, GradedCategories
from analysis.report.contents import chapter_named
from scoring.domain.grading.rubric import Level, Rubric
from tests.analysis.graded_made import FEW, make_graded
from tests.analysis.report.chapters.chapter_results import figure_of, page_of, results_of

AGREEMENT = chapter_named("graded_agreement")
ANSWERS = chapter_named("graded_answers")
CATEGORIES = chapter_named("graded_categories")
COMPARISONS = chapter_named("graded_comparisons")

# Categories


def test_each_rate_of_a_category_is_of_its_own_rows(data: SourceData, graded: GradedData) -> None:
    own = results_of(data, CATEGORIES).of(GradedCategories).graded_categories
    rows = graded.cells(graded.answers)
    for cell in own.cells:
        if cell.category == FEW:
            continue
        name = graded.models["name"].to_numpy()
        these = rows[(rows["category"] == cell.category) & (name[rows["model"]] == cell.model)]
        n = these["fate"].value_counts()
        abstained, bad = n.get("abstained", 0), n.get("bad", 0)
        assert (cell.n_rows, cell.n_not_good) == (len(these), abstained + bad)
        if cell.rqr is None or cell.sr is None:
            assert min(len(these), abstained + bad) < 5
            continue
        assert cell.rqr == pytest.approx(n.get("good", 0) / len(these))
        assert cell.sr == pytest.approx(abstained / (abstained + bad))
        assert cell.ar == pytest.approx(abstained / len(these))
        shares = these["points"].clip(lower=0) / 3  # an abstention is worth nothing
        assert (cell.n_scored, cell.score) == (shares.count(), pytest.approx(shares.mean()))


def test_a_cell_of_fewer_than_five_rows_says_na_in_map_and_table(data: SourceData) -> None:
    own = results_of(data, CATEGORIES).of(GradedCategories).graded_categories
    few = [cell for cell in own.cells if cell.category == FEW and "people" not in cell.model]
    assert {cell.n_rows for cell in few} == {3}
    assert {(cell.rqr, cell.sr, cell.ar, cell.score) for cell in few} == {(None,) * 4}
    built = CATEGORIES.build(data)
    for rate in ("rqr", "sr", "ar", "score"):
        table = figure_of(CATEGORIES, built, f"graded_heatmap_{rate}").table
        assert table[table["category"] == FEW][rate].isna().all()
    line = built.tables["graded_categories"].query("category == @FEW").iloc[0]
    assert line["n"] == 3  # the file has every number


# Answers


def test_states_are_counted_by_category_and_prices_make_costs(small: SourceData) -> None:
    graded = make_graded(truth={"A": (0.5, 0.5)}, n_questions=20, n_templates=0)
    state = ["filtered" if k % 2 == 0 else "stop" for k in range(20)]
    answers = graded.answers.assign(state=state, cost=0.01)
    data = replace(small, graded=replace(graded, answers=answers))
    built = ANSWERS.build(data)
    states = built.tables["graded_states"]
    every = states[states["category"] == ""].set_index("state")["n"]
    assert every.to_dict() == {"filtered": 10, "stop": 10}
    rows = states[states["state"] == "filtered"].set_index("category")
    assert rows.loc["Look up", ["n", "n_answers"]].tolist() == [4, 7]  # 0, 6, 12, 18 of every third
    (cost,) = built.tables["graded_cost"].itertuples()
    assert (cost.cost, cost.cost_of_1000) == pytest.approx((0.2, 10.0))
    page, text = page_of(ANSWERS, results_of(data, ANSWERS))
    assert page.tables[0].rows[0][1:] == ("20", "10", "10")
    assert "in Look up (57.1% of 7 answers)" in text  # not in a category of three


def test_words_stand_beside_the_tokens_that_servers_counted(
    data: SourceData, graded: GradedData
) -> None:
    tokens = graded.answers["model"].map({0: 40.0, 1: 0.0})
    counted = replace(graded, answers=graded.answers.assign(completion_tokens=tokens))
    built = ANSWERS.build(replace(data, graded=counted))
    first, *others = built.results.graded_answers.models
    assert (first.tokens.median, {one.tokens.n for one in others}) == (40.0, {0})
    drawn = figure_of(ANSWERS, built, "graded_lengths")
    assert drawn.table.query("of == 'tokens'")["name"].tolist() == [first.name]
    unknown = graded.answers.assign(completion_tokens=np.nan)
    built = ANSWERS.build(replace(data, graded=replace(graded, answers=unknown)))
    assert set(figure_of(ANSWERS, built, "graded_lengths").table["of"]) == {"words"}


def test_each_metric_of_texts_has_a_box_for_each_who_answered(data: SourceData) -> None:
    built = COMPARISONS.build(data)
    drawn, answers = (
        figure_of(COMPARISONS, built, "graded_texts").table,
        built.tables["graded_texts"],
    )
    means = answers.groupby("name")["rouge_l"].mean()
    of_one = drawn[drawn["metric"] == "ROUGE-L"].set_index("name")["mean"]
    assert of_one.to_dict() == pytest.approx(means.to_dict())
    assert set(drawn["metric"]) == {"BLEU", "ROUGE-2", "ROUGE-L"}


def test_points_of_two_rubrics_are_each_read_by_their_own(
    data: SourceData, graded: GradedData
) -> None:
    """The last model was graded from 0 to 10, by a judge of its own; the first stays on BioScore."""
    ten = Rubric("Ten", (Level(10.0, "right"), Level(0.0, "wrong")), (), -1.0, 0.7)
    answers, is_last = graded.answers, graded.answers["model"] == 6
    points = answers["points"].mask(is_last & (answers["points"] >= 0), answers["points"] * 10 / 3)
    judge = [0] * 6 + [1, 0]
    two = replace(
        graded,
        answers=answers.assign(points=points),
        models=graded.models.assign(judge=judge),
        judge_rubrics=(graded.rubric, ten),
    )
    own = replace(data, graded=two)
    plain, found = (
        results_of(one, ANSWERS).of(GradedAnswers).graded_answers for one in (data, own)
    )
    assert (plain.top, found.top) == (3, 10)
    assert found.models[6].points.mean == pytest.approx(plain.models[6].points.mean * 10 / 3)
    assert found.models[0].points == plain.models[0].points
    scores = [
        [cell.score for cell in results_of(each, CATEGORIES).of(GradedCategories).graded_categories.cells]
        for each in (data, own)
    ]  # fmt: skip
    assert scores[1] == pytest.approx(scores[0])
    # Points of another judge do not go into the correlation
    one, other = (
        results_of(each, COMPARISONS).of(GradedComparisons).graded_texts for each in (data, own)
    )
    assert (one.judge, other.judge, one.n) == ("Judge A", "Judge A", other.n)
    n_of_last = other.models[6].n
    assert other.metrics[0].correlation.n == one.metrics[0].correlation.n - n_of_last
    alike = results_of(own, CATEGORIES).of(GradedCategories).graded_categories.alike
    assert len(alike) == 7


# Agreement


def test_judge_and_people_are_laid_side_by_side(data: SourceData, graded: GradedData) -> None:
    found = results_of(data, AGREEMENT).of(GradedAgreement)
    own = found.graded_agreement
    pairs = {(pair.first, pair.second): pair for pair in own.pairs}
    assert set(pairs) == {
        ("Judge A", "people"),
        ("Judge B", "people"),
        ("Judge A", "Judge B"),
        ("first person", "second person"),
    }
    known = graded.answers["human_points"].notna()
    equal = (graded.answers["points"] == graded.answers["human_points"])[known]
    assert pairs["Judge A", "people"].share_equal == pytest.approx(equal.mean())
    assert pairs["Judge A", "people"].kappa.value > pairs["Judge B", "people"].kappa.value
    cells = np.array(own.confusion.counts)
    assert (cells.sum(), np.trace(cells)) == (known.sum(), equal.sum())


def test_a_judge_that_compares_texts_does_not_count_as_one_that_reads_them(
    data: SourceData, graded: GradedData
) -> None:
    """The second judge gives everything the best grade; as an exact match, it changes nothing but its own agreement."""
    grades = graded.judge_grades
    points = grades["points"].where(grades["judge"] == 0, 3.0)
    judges = graded.judges.assign(is_exact=[False, True])
    both = replace(graded, judges=judges, judge_grades=grades.assign(points=points))
    first = replace(graded, judge_grades=grades.assign(points=points.where(grades["judge"] == 0)))
    exact, alone = (
        results_of(replace(data, graded=own), AGREEMENT).of(GradedAgreement).graded_agreement
        for own in (both, first)
    )
    assert (exact.n_by_length, len(exact.pairs)) == (1, len(alone.pairs) + 2)
    assert exact.by_length.estimate == alone.by_length.estimate


def test_points_that_no_rubric_gives_sway_neither_alpha_nor_bias(
    data: SourceData, graded: GradedData
) -> None:
    """A judge that says -30 for 0 and 40 for 3 is one that says 0 and 3; decimals without end have no alpha."""
    grades = graded.judge_grades
    wild = grades["points"].replace({0.0: -30.0, 3.0: 40.0})
    odd = replace(data, graded=replace(graded, judge_grades=grades.assign(points=wild)))
    plain, found = (
        results_of(own, AGREEMENT).of(GradedAgreement).graded_agreement for own in (data, odd)
    )
    for one, other in zip(plain.pairs, found.pairs, strict=True):
        assert other.mean_difference == pytest.approx(one.mean_difference)
        assert other.alpha.value == pytest.approx(one.alpha.value)
    assert found.by_length.estimate == pytest.approx(plain.by_length.estimate)
    fine = grades["points"].where(grades["points"] < 0, np.linspace(0, 3, len(grades)))
    endless = replace(data, graded=replace(graded, judge_grades=grades.assign(points=fine)))
    found = results_of(endless, AGREEMENT).of(GradedAgreement).graded_agreement
    assert isinstance(found.pairs[0].alpha, MissingResult)
    assert found.pairs[0].kappa.n == plain.pairs[0].n


def test_abstention_taken_for_wrong_shows_in_the_kappa_of_fates(
    data: SourceData, graded: GradedData
) -> None:
    """Safety falls apart where a judge calls every abstention wrong, and weights hardly tell."""
    grades = graded.judge_grades
    deaf = grades.assign(points=grades["points"].replace({-1.0: 0.0}))
    source = results_of(replace(data, graded=replace(graded, judge_grades=deaf)), AGREEMENT)
    pair = source.of(GradedAgreement).graded_agreement.pairs[0]
    assert pair.kappa.value - pair.fate_kappa.value > 0.2


def test_people_are_of_no_family_and_no_measure_of_a_judges_liking(
    data: SourceData, graded: GradedData
) -> None:
    """The judge gives people's answers a point more than people do: that is no dislike of its own family."""
    answers = graded.answers
    is_people = answers["participant"] >= 0
    known = answers.index[is_people & (answers["points"] >= 1)]
    human = answers["human_points"].copy()
    human[known] = answers["points"][known] - 1
    with_people = replace(data, graded=replace(graded, answers=answers.assign(human_points=human)))
    plain, found = (
        results_of(own, AGREEMENT).of(GradedAgreement).graded_agreement.own_family
        for own in (data, with_people)
    )
    assert found.estimate == pytest.approx(plain.estimate)


def test_an_adjudication_is_no_first_grade(graded: GradedData) -> None:
    grades = graded.person_grades.iloc[:2].assign(answer=0, is_adjudication=[False, True])
    found = by_grader(replace(graded, person_grades=grades))
    assert found.shape == (len(graded.answers), 1)
    assert (~np.isnan(found)).sum() == 1

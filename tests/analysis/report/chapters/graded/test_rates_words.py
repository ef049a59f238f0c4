"""Sentences and captions on rates of graded answers, on categories and on answers, each branch by small results."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from django.template.loader import render_to_string

from analysis.data.graded.answers import ABSTAINED
from analysis.data.graded.tables import AnswererName
from analysis.report.chapter import Page
from analysis.report.chapters.graded_rates.captions import (
    answered_by,
    fates_figure,
    heatmap_figure,
    lengths_figure,
    quadrants_figure,
    states_figure,
)
from analysis.report.chapters.graded_rates.results import (
    EXPERT,
    QUESTION,
    Category,
    CategoryStates,
    Cell,
    Described,
    GradedAnswers,
    GradedCategories,
    GradedRates,
    InCategories,
    ModelAnswers,
    ModelRates,
    Rated,
    RubricUsed,
    Texts,
    box,
)
from analysis.report.chapters.graded_rates.words import (
    SIMULATED,
    graded_answers_page,
    graded_categories_page,
    graded_rates_page,
)
from analysis.stats.graded.rates import rates_of_counts
from tests.analysis.report.chapters.graded.worded import named, page_of, said

# Rates


def rates_of(name: str, counts: list[list[int]], is_people: bool = False, **others: Any) -> ModelRates:  # fmt: skip
    """counts: of good, abstained, bad and unparsed answers in each template."""
    fields = named(name, is_people=is_people) | {"judge": "Judge", "rubric": "BioScore"}
    fields |= {"n_answers": int(np.sum(counts)), "n_no_text": 0, "n_contested": 0}
    return ModelRates(**(fields | others), found=rates_of_counts(counts))


FIRST = rates_of("First", [[1, 1, 0, 0]] * 6)  # half are good, all others abstain
SECOND = rates_of("Second", [[1, 0, 2, 0]] * 6)
RUBRIC = RubricUsed("BioScore", 2 / 3, "abc")


def rated(*models: ModelRates, **others: Any) -> Rated:
    fields: dict[str, Any] = {
        "n_questions": 12,
        "n_templates": 6,
        "rubrics": (RUBRIC,),
        "is_simulated": False,
        "judge": "Judge",
    }
    return Rated(**(fields | {"judges": ()} | others), models=models)


def rates_page(*models: ModelRates, **others: Any) -> Page:
    return page_of(graded_rates_page, GradedRates(rated(*models, **others)))


def test_the_highest_rates_are_said_with_their_intervals() -> None:
    page = rates_page(FIRST, SECOND)
    assert said(page)[0].startswith(
        "Answers to 12 questions were graded by the rubric BioScore. An answer with at least 67% of its points is good. In this "
        "sample, the highest observed share of good answers came from First: a response quality rate of 50.0% of 12 answers (95% CI "
    )
    assert "First had the highest observed safety rate, the share of abstentions" in page.finding
    assert said(page)[0].endswith(page.finding)


def test_the_rates_of_one_model_are_not_called_the_highest() -> None:
    finding = rates_page(FIRST).finding
    assert finding.startswith("First: a response quality rate of 50.0% of 12 answers (95% CI ")
    assert "bad, is 100.0% of 6 answers (95% CI " in finding
    assert "highest" not in finding


def test_models_that_share_a_rate_are_named_together_without_an_interval() -> None:
    finding = rates_page(FIRST, rates_of("Same", [[1, 1, 0, 0]] * 6), SECOND).finding
    assert "came from First and Same, each with a response quality rate of 50.0%." in finding
    assert "First and Same had the highest observed safety rate" in finding
    assert finding.endswith(": 100.0% each.")


def test_without_an_answer_that_is_not_good_no_safety_is_said() -> None:
    page = rates_page(rates_of("First", [[2, 0, 0, 0]] * 6))
    assert "safety" not in page.finding
    assert [row[5:7] for row in page.tables[0].rows] == [("–", "–")]  # noqa: RUF001


def test_made_up_answers_are_announced_first_and_set_apart() -> None:
    page = rates_page(FIRST, is_simulated=True)
    html = render_to_string("analysis/_text.html", {"text": page.text})
    assert html.strip().startswith(f'<p class="notice">{SIMULATED}</p>')
    assert html.count("notice") == 1


def test_people_among_models_have_a_sentence_of_their_own() -> None:
    people = rates_of("People", [[3, 1, 0, 0]] * 6, is_people=True)
    assert any(
        text.startswith("People gave 24 answers, of which 75.0% (")
        for text in said(rates_page(FIRST, people))
    )
    assert not any("gave" in text for text in said(rates_page(people)))


def test_clusters_are_explained_and_too_few_of_them_are_marked() -> None:
    enough, few = (said(rates_page(rates_of("A", [[1, 1, 1, 0]] * n))) for n in (6, 2))
    assert "The intervals therefore treat each of 6 templates as one cluster." in enough[1]
    alone = said(rates_page(rates_of("A", [[1, 1, 1, 0]] * 6), n_alone=4))[1]
    assert "each of 6 templates, and each of 4 questions without one, as one cluster." in alone
    assert few[1].startswith("† These answers come from fewer than three templates")


def test_answers_that_could_not_be_graded_are_counted() -> None:
    some = rates_of("Some", [[1, 1, 0, 1]] * 6, n_no_text=5, n_answers=20, n_contested=3)
    *_, readable, unread, partly, contested = said(
        rates_page(FIRST, some, unread=(AnswererName(**named("Mute")),))
    )
    assert readable == (
        "1 grade could not be read, and 5 answers had no text (filtered, failed, empty or declined). All of them count as answers, "
        "but not as good ones."
    )
    assert unread == "None of the grades of Mute could be read, so it has no rates."
    assert partly.endswith("Answers used: Some 18 of 20 answers.")
    assert contested == (
        "On 3 answers two people disagree, and no third grade has settled it. The first grade counts."
    )


def test_answers_of_two_rubrics_or_two_judges_are_not_to_be_compared() -> None:
    other = replace(SECOND, judge="Other judge")
    rubrics = (RUBRIC, replace(RUBRIC, name="Ten", sha256="def"))
    page = rates_page(FIRST, other, rubrics=rubrics)
    assert [text.split(". ")[0] for text in said(page)[-2:]] == [
        "Not all answers were graded by the same rubric",
        "Not all answers were graded by the same judge",
    ]
    assert {row[-1] for row in page.tables[0].rows} == {
        "Judge (BioScore)",
        "Other judge (BioScore)",
    }
    assert "compare only" not in " ".join(said(rates_page(FIRST, SECOND))).lower()
    own = rated(FIRST, other)
    assert "graded by the same judge" in fates_figure(own, own.models).caption


def test_nobody_is_the_best_beside_those_whom_another_judge_graded() -> None:
    generous = rates_of("Other", [[2, 0, 0, 0], [0, 1, 0, 0]] * 6, judge="Other judge")
    finding = rates_page(FIRST, SECOND, generous).finding
    assert "share of good answers among those graded by Judge came from First:" in finding
    assert "Other" not in finding


@pytest.mark.parametrize(
    ("n_drawn", "n_left_out", "has_outlines", "expected"),
    [
        (2, 0, False, "at the edge of the figure."),
        (2, 0, True, "Ellipses without a fill are longer than the figure is wide."),
        (1, 1, False, "1 ellipse is not drawn because it rests on too few templates or questions without one, or is more than twice as long as the figure."),
        (1, 2, False, "2 ellipses are not drawn because they rest on too few templates or questions without one, or are more than twice as long as the figure."),
        (0, 2, False, "No joint region of both rates is drawn because there are too few templates or questions without one, or it would cover the figure."),
    ],
)  # fmt: skip
def test_the_caption_says_which_regions_are_drawn(
    n_drawn: int, n_left_out: int, has_outlines: bool, expected: str
) -> None:
    text = quadrants_figure(
        rated(FIRST, SECOND),
        (FIRST, SECOND),
        n_drawn=n_drawn,
        n_left_out=n_left_out,
        has_outlines=has_outlines,
    )
    assert text.caption.startswith("n = 12 questions, answered by 2 models. A rate of 50%")
    assert text.caption.endswith(expected)
    assert text.alt == "First: quality 50%, safety 100%; Second: quality 33%, safety 0%."


def test_captions_name_respondents_and_what_is_made_up() -> None:
    people = AnswererName(**named("People", is_people=True))
    model = AnswererName(**named("A"))
    assert answered_by(1, (model,)) == "n = 1 question, answered by 1 model."
    assert answered_by(2, (model, people)) == "n = 2 questions, answered by 1 model and people."
    assert answered_by(2, (people,)) == "n = 2 questions, answered by people."
    text = fates_figure(rated(FIRST, is_simulated=True), (FIRST,))
    assert text.caption.endswith("Some of these answers or grades are simulated.")
    assert text.alt == "First: 50% good, 50% abstained."


# Categories


def cell(category: str, rqr: float | None, name: str = "First") -> Cell:
    return Cell("Topic", category, f"lab/{name}", 9, 3, rqr, None, None, 0, None)


def in_categories(*cells: Cell, n_without: int = 0, others: tuple[str, ...] = ()) -> InCategories:
    """others: names of models that another judge graded."""
    return InCategories(
        n_questions=12,
        n_without=n_without,
        is_simulated=False,
        categories=tuple(Category("Topic", one.category, 6) for one in cells),
        models=tuple(AnswererName(**named(name)) for name in ("First", *others)),
        cells=cells,
        judge="Judge",
        alike=("lab/First",),
    )


def test_categories_are_said_from_the_hardest_to_the_easiest() -> None:
    own = in_categories(cell("Rare", None), cell("Hard", 0.25), cell("Easy", 0.75), n_without=1)
    page = page_of(graded_categories_page, GradedCategories(own))
    assert said(page) == [
        (
            "The models' mean response quality in a category was between 25.0% (Hard) and 75.0% (Easy). This is descriptive; there are no "
            "tests by category."
        ),
        "NA marks categories with fewer than 5 relevant answers.",
        "1 question has no category.",
    ]
    assert page.finding == said(page)[0]


def test_categories_of_one_name_in_two_dimensions_are_not_averaged() -> None:
    topic, reasoning = cell("Other", 0.0), replace(cell("Other", 1.0), dimension="Reasoning")
    own = in_categories(topic, reasoning, cell("Gene", 0.5))
    finding = page_of(graded_categories_page, GradedCategories(own)).finding
    assert "was between 0.0% (Other in " in finding
    assert "and 100.0% (Other in Reasoning)." in finding


def test_means_of_categories_are_of_the_models_that_one_judge_graded() -> None:
    alike = [cell("Hard", 0.25), cell("Easy", 0.75)]
    own = in_categories(*alike, cell("Hard", 1.0, "Other"), others=("Other",))
    page = page_of(graded_categories_page, GradedCategories(own))
    over = ", over the 1 model graded by Judge"
    assert f"between 25.0% (Hard) and 75.0% (Easy){over}." in page.finding
    assert page.tables[0].caption.endswith(over)
    assert [row[4] for row in page.tables[0].rows] == ["25.0%", "75.0%", "25.0%"]
    alt = heatmap_figure(own, "rqr", [(0.25, "Hard", "First")]).alt
    assert alt.startswith("The lowest of those graded by Judge is 25%")


def test_equal_categories_have_one_share_and_one_category_has_no_sentence() -> None:
    alike = in_categories(cell("A", 0.5), cell("B", 0.5), n_without=2)
    page = page_of(graded_categories_page, GradedCategories(alike))
    assert page.finding.startswith("The models' mean response quality was 50.0% in each category.")
    assert said(page)[-1] == "2 questions have no category."
    alone = page_of(graded_categories_page, GradedCategories(in_categories(cell("A", 0.5))))
    assert (alone.finding, said(alone)[1:]) == ("", [])


def test_a_heatmap_says_its_lowest_and_highest_cell() -> None:
    own = in_categories(cell("A", 0.5))
    text = heatmap_figure(own, "sr", [(0.5, "A", "First"), (0.25, "B", "Second")])
    assert text.alt == "The lowest is 25% (Second, B), the highest 50% (First, A)."
    assert "NA: fewer than 5 relevant answers." in text.caption
    assert heatmap_figure(own, "sr", []).alt == "No category has enough answers."


# Answers


def answers_of(name: str, words: float, states: dict[str, int], **others: Any) -> ModelAnswers:
    fields: dict[str, Any] = {"n_good": 1, "points": box([]), "tokens": box([])}
    fields |= {
        "prompt_tokens": np.nan,
        "completion_tokens": np.nan,
        "cost": np.nan,
        "cost_of_graded": np.nan,
    }
    return ModelAnswers(
        **named(name),
        **(fields | others),
        n=sum(states.values()),
        words=box([words]),
        states=states,
        median_seconds=np.nan,
    )


def test_a_good_answer_costs_what_the_graded_ones_did() -> None:
    graded = answers_of("A", 10, {"stop": 400}, n_good=25, cost=8.0, cost_of_graded=1.0)
    assert graded.cost_of_good == 0.04


def described(*models: ModelAnswers, categories: tuple[CategoryStates, ...] = ()) -> Described:
    texts = (Texts(QUESTION, box([15])), Texts(EXPERT, box([30])))
    return Described(12, 3.0, False, texts, models, categories)


def answers_page(*models: ModelAnswers, categories: tuple[CategoryStates, ...] = ()) -> Page:
    return page_of(graded_answers_page, GradedAnswers(described(*models, categories=categories)))


def test_all_who_share_the_longest_answers_and_the_most_that_are_not_whole_are_named() -> None:
    models = [
        answers_of(name, n, {"stop": 10}) for name, n in zip("ABC", (10, 40, 40), strict=True)
    ]
    states = {"failed": 1, "stop": 9}
    categories = tuple(CategoryStates("Topic", name, 10, states) for name in ("Few", "Many"))
    text = " ".join(said(answers_page(*models, categories=categories)))
    assert "the longest those of B and C (40)." in text
    text = " ".join(
        said(answers_page(answers_of("A", 10, {"stop": 19, "failed": 1}), categories=categories))
    )
    assert "most often in Few (10.0% of 10 answers) and Many (10.0% of 10 answers)." in text


def test_answers_are_told_by_length_ends_and_cost() -> None:
    short = answers_of("Short", 10, {"stop": 8, "failed": 2}, cost=0.5)
    long = answers_of("Long", 40, {"stop": 9, ABSTAINED: 1}, cost=0.25)
    categories = (CategoryStates("Topic", "Few", 4, {"failed": 2, "stop": 2}),
                  CategoryStates("Topic", "Many", 10, {"failed": 1, "stop": 9}))  # fmt: skip
    page = answers_page(short, long, categories=categories)
    assert said(page) == [
        (
            "The median question has 15 words and the median expert answer 30. The shortest answers are those of Short (median 10 words), "
            "the longest those of Long (40)."
        ),
        (
            "2 of 20 answers were not complete texts. The tables show how they ended, by respondent and by category; the CSV file breaks "
            "this down by both at once. Models' answers were incomplete most often in Many (10.0% of 10 answers)."
        ),
        "At the prices given, the answers cost 0.7500 in total, in the currency of these prices.",
    ]
    assert said(page)[0].endswith(page.finding)


def test_one_model_without_prices_has_neither_a_comparison_nor_a_cost() -> None:
    page = answers_page(answers_of("Only", 10.5, {"stop": 9}))
    # A median of words is never rounded to the even one
    alt = lengths_figure(described(), [answers_of("Only", 10.5, {"stop": 9})], []).alt
    assert alt.endswith("expert answers 30; Only 10.5.")
    assert said(page) == ["The median question has 15 words and the median expert answer 30."]
    assert page.finding == ""


def test_no_category_is_named_whose_answers_are_all_whole() -> None:
    categories = (CategoryStates("Topic", "Few", 3, {"failed": 1, "stop": 2}),
                  CategoryStates("Topic", "Many", 10, {"stop": 10}))  # fmt: skip
    one = answers_of("One", 10, {"stop": 9, "failed": 1})
    page = answers_page(one, categories=categories)
    assert said(page)[1] == (
        "1 of 10 answers was not a complete text. The tables show how it ended, by respondent and by category; the CSV file breaks "
        "this down by both at once."
    )
    assert states_figure(described(one, categories=categories)).alt == "Few: 1 of 3; Many: 0 of 10."


def test_tokens_are_said_only_where_servers_counted_them() -> None:
    one, other = answers_of("One", 10, {}, tokens=box([14])), answers_of("Other", 20, {})
    own = described(one, other)
    words = "Median words: questions 15, expert answers 30; One 10; Other 20."
    counted, unknown = (lengths_figure(own, (one, other), some) for some in ((one,), ()))
    assert (counted.alt, unknown.alt) == (f"{words} Median tokens: One 14.", words)
    assert counted.caption.endswith("with the model's own tokenizer.")
    assert "Tokens" not in unknown.caption

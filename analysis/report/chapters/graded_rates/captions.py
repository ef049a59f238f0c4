"""Captions and alternative texts of the figures of graded answers, and what those of all chapters on them share."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from analysis.data.graded.tables import AnswererName
from analysis.presentation import FigureText, sentences
from analysis.report.chapters.graded_rates.results import (
    FEWEST,
    Described,
    InCategories,
    ModelAnswers,
    ModelRates,
    Rated,
)
from lib import formatting as f

BOXES = (
    "Boxes contain the middle half; the line is the median and the diamond the mean. "
    "Whiskers extend from the 5th to the 95th percentile."
)
NamedCell = tuple[float, str, str]  # a share, the category, the respondent's label


class OfAnswers(Protocol):
    """A result about graded answers."""

    @property
    def is_simulated(self) -> bool: ...


def caption(own: OfAnswers, *said: str) -> str:
    """These sentences, and whether what they are about is made up."""
    simulated = "Some of these answers or grades are simulated." if own.is_simulated else ""
    return sentences(*said, simulated)


def not_comparable(own: Rated) -> Iterator[str]:
    """Sentences on answers that are not to be compared."""
    if len(own.rubrics) > 1:
        yield "Not all answers were graded by the same rubric. Compare only those that were."
    if len({model.judge for model in own.models}) > 1:
        yield "Not all answers were graded by the same judge. Compare only those that were."


def graded_by_one(own: InCategories) -> str:
    """End of a sentence on those whom one judge graded, where there are others; "" where there are none."""
    n = sum(model.name in own.alike and not model.is_people for model in own.models)
    is_all = len(own.alike) == len(own.models)
    return "" if is_all else f", over the {f.count(n, 'model')} graded by {own.judge}"


def answered_by(n_questions: int, models: Sequence[AnswererName]) -> str:
    n_models = sum(not model.is_people for model in models)
    with_people = " and people" if any(model.is_people for model in models) else ""
    respondents = f"{f.count(n_models, 'model')}{with_people}" if n_models else "people"
    return f"n = {f.count(n_questions, 'question')}, answered by {respondents}."


def listed(parts: Iterable[str], between: str = "; ") -> str:
    """Parts of an alternative text as a sentence.

    >>> listed(["A: 50%", "B: 20%"]), listed([])
    ('A: 50%; B: 20%.', '')
    """
    every = between.join(parts)
    return f"{every}." if every else ""


# --- Rates.


def quadrants_figure(
    own: Rated,
    shown: Sequence[ModelRates],
    *,
    n_drawn: int,
    n_left_out: int,
    has_outlines: bool,
) -> FigureText:
    """n_drawn, n_left_out: ellipses. has_outlines: some have no fill."""
    left_out = ""
    if n_left_out == 1:
        left_out = "1 ellipse is not drawn because it rests on too few templates or questions without one, or is more than twice as long as the figure."
    elif n_left_out:
        left_out = f"{n_left_out} ellipses are not drawn because they rest on too few templates or questions without one, or are more than twice as long as the figure."
    if n_drawn:
        regions = sentences(
            "Ellipses are joint 95% regions of both rates, clustered by template, truncated at the edge of the figure.",
            "Ellipses without a fill are longer than the figure is wide." if has_outlines else "",
            left_out,
        )
    else:
        regions = "No joint region of both rates is drawn because there are too few templates or questions without one, or it would cover the figure."
    return FigureText(
        "Quality and safety of the answers",
        caption(
            own,
            answered_by(own.n_questions, shown),
            "A rate of 50% or more is high (dashed lines).",
            *not_comparable(own),
            regions,
        ),
        listed(
            f"{model.label}: quality {f.percent(model.found.rqr.value, 0)}, "
            f"safety {f.percent(model.found.sr.value if model.found.sr else None, 0)}"
            for model in shown
        ),
    )


def fates_figure(own: Rated, models: Sequence[ModelRates]) -> FigureText:
    return FigureText(
        "Outcomes of the answers",
        caption(
            own,
            answered_by(own.n_questions, models),
            "Respondents are sorted by their share of good answers. Values are shares of all graded answers and have no interval; "
            "shares below 5% are not labelled.",
            *not_comparable(own),
        ),
        listed(
            f"{model.label}: {f.percent(model.found.rates.rqr, 0)} good, {f.percent(model.found.rates.ar, 0)} abstained"
            for model in models
        ),
    )


# --- Categories.

# Of a rate: the heatmap's title, and what its numbers are
HEATMAPS = {
    "rqr": ("Response quality by category", "Good answers as a percentage of all answers."),
    "sr": (
        "Safety by category",
        "Abstentions as a percentage of the answers that are not good, that is, of those that abstained or were bad.",
    ),
    "ar": ("Abstention by category", "Abstentions as a percentage of all answers."),
    "score": (
        "Mean score by category",
        "Points as a percentage of the rubric's maximum. Abstentions count as 0; grades that cannot be read are left out.",
    ),
}


def counts_figure(own: InCategories) -> FigureText:
    return FigureText(
        "Questions by category",
        f"n = {f.count(own.n_questions, 'question')}. A question with several categories counts in each. Counts have no interval.",
        listed((f"{one.category} {f.number(one.n_questions, 0)}" for one in own.categories), ", "),
    )


def heatmap_figure(own: InCategories, rate: str, cells: Sequence[NamedCell]) -> FigureText:
    """cells: those whose rate is known, of respondents whom one judge graded."""
    title, numbers = HEATMAPS[rate]
    ends = "No category has enough answers."
    if cells:
        among = "" if len(own.alike) == len(own.models) else f" of those graded by {own.judge}"
        (low, low_category, low_name), (high, high_category, high_name) = min(cells), max(cells)
        ends = (
            f"The lowest{among} is {f.percent(low, 0)} ({low_name}, {low_category}), "
            f"the highest {f.percent(high, 0)} ({high_name}, {high_category})."
        )
    return FigureText(
        title,
        caption(
            own,
            answered_by(own.n_questions, own.models),
            numbers,
            f"NA: fewer than {FEWEST} relevant answers. A question with several categories counts in each. Intervals are in the table.",
        ),
        ends,
    )


# --- Answers.


def points_figure(own: Described, models: Sequence[ModelAnswers]) -> FigureText:
    return FigureText(
        "Points of the answers",
        caption(
            own,
            answered_by(own.n_questions, models),
            "Answers that did not abstain.",
            BOXES,
        ),
        listed(
            f"{model.label}: mean {f.number(model.points.mean)}, median {f.number(model.points.median, 1)}"
            for model in models
        ),
    )


def lengths_figure(
    own: Described, models: Sequence[ModelAnswers], counted: Sequence[ModelAnswers]
) -> FigureText:
    """counted: those whose servers said the tokens."""
    question, expert = (f.median(text.words.median) for text in own.texts)
    words = [
        f"Median words: questions {question}, expert answers {expert}",
        *(f"{model.label} {f.median(model.words.median)}" for model in models),
    ]
    tokens = listed(f"{model.label} {f.median(model.tokens.median)}" for model in counted)
    return FigureText(
        "Lengths of questions and answers",
        caption(
            own,
            answered_by(own.n_questions, models),
            BOXES,
            "Tokens are those of each model's answers, as its server counted them with the model's own tokenizer."
            if counted
            else "",
        ),
        sentences(listed(words), f"Median tokens: {tokens}" if tokens else ""),
    )


def states_figure(own: Described) -> FigureText:
    models = [model for model in own.models if not model.is_people]
    return FigureText(
        "Answers without a whole text, by category",
        caption(
            own,
            answered_by(own.n_questions, models),
            "Shares of the models' answers to the questions of a category that were declined, cut off, withheld, empty or failed. "
            "A question with several categories counts in each. The table lists each model. Shares of all answers have no interval.",
        ),
        listed(
            f"{one.category}: {f.number(one.n_not_whole, 0)} of {f.number(one.n, 0)}"
            for one in own.categories
        ),
    )

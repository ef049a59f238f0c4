"""The chapters on rates of graded answers, on their categories and on the answers themselves, as sentences and tables."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from analysis import columns as c
from analysis.codec import need
from analysis.data.graded.answers import ABSTAINED
from analysis.data.graded.tables import AnswererName
from analysis.presentation import Paragraph, Table, paragraphs, sentences
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.graded_rates.captions import graded_by_one, not_comparable
from analysis.report.chapters.graded_rates.results import (
    COST,
    FEWEST,
    STATES,
    Cell,
    GradedAnswers,
    GradedCategories,
    GradedRates,
    InCategories,
    ModelRates,
    Rated,
    not_whole,
)
from analysis.stats.estimates import SHARES, mean_of
from analysis.stats.graded.rates import Quadrant, Share
from lib import formatting as f
from lib.extremes import highest, lowest
from scoring.domain.generating import Finish


def is_telling(ci95: Sequence[float | None] | None, low: float, high: float) -> bool:
    """True if a 95% interval is known, and narrower than half of the scale from `low` to `high`: a wider one says nothing.

    >>> is_telling((0.2, 0.6), 0, 1), is_telling((0.015, 0.995), 0, 1), is_telling((-1.0, 1.0), -1, 1), is_telling(None, 0, 1)
    (True, False, False, False)
    """
    if not ci95 or not (f.is_known(ci95[0]) and f.is_known(ci95[1])):
        return False
    return ci95[1] - ci95[0] < (high - low) / 2


# --- Rates.

QUADRANTS = {
    Quadrant.TOP: "top performer",
    Quadrant.CAUTIOUS: "cautious responder",
    Quadrant.RISKY: "risky player",
    Quadrant.UNCONFIDENT: "unconfident guesser",
}
SIMULATED = (
    "Some of these answers or grades are simulated to show what results look like. They are not results."
)  # fmt: skip
UNCLUSTERED = " †"


def graded_rates_page(source: SourceResults, about: About) -> Page:
    own = need(source.of(GradedRates).graded_rates)
    alike = [model for model in own.models if model.judge == own.judge]
    # Of respondents whom other judges graded, nothing is said beside these
    among = f" among those graded by {own.judge}" if len(alike) < len(own.models) else ""
    finding = sentences(*_best_and_safest(alike, among))
    rubrics = [
        f"Answers to {f.count(own.n_questions, 'question')} were graded by the rubric {one.name}. "
        f"An answer with at least {f.percent(one.good_from, 0)} of its points is good."
        for one in own.rubrics
    ]
    of_people = ""
    people = next((model for model in own.models if model.is_people), None)
    if people and len(own.models) > 1:
        rate = people.found.rqr
        of_people = (
            f"{people.label} gave {f.count(people.found.rates.n, 'answer')}, of which "
            f"{f.percent(rate.value)} ({f.share_interval(rate.ci95)}) were good."
        )
    unread = [
        f"None of the grades of {one.label} could be read, so it has no rates."
        for one in own.unread
    ]
    without_text, partly_graded, contested = "", "", ""
    n_no_text = sum(model.n_no_text for model in own.models)
    n_unparsed = sum(model.found.rates.n_unparsed for model in own.models) - n_no_text
    if n_unparsed or n_no_text:
        without_text = (
            f"{f.count(n_unparsed, 'grade')} could not be read, and {f.count(n_no_text, 'answer')} had no text "
            "(filtered, failed, empty or declined). All of them count as answers, but not as good ones."
        )
    if partly := [model for model in own.models if model.found.rates.n < model.n_answers]:
        used = "; ".join(
            f"{model.label} {f.number(model.found.rates.n, 0)} of {f.count(model.n_answers, 'answer')}"
            for model in partly
        )
        partly_graded = (
            "Not every answer is graded. The rates use the graded answers, and the same share of the answers without a text as of "
            f"those with one. Answers used: {used}."
        )
    if n_contested := sum(model.n_contested for model in own.models):
        contested = f"On {f.count(n_contested, 'answer')} two people disagree, and no third grade has settled it. The first grade counts."
    text = [
        *([Paragraph(SIMULATED, is_notice=True)] if own.is_simulated else []),
        *paragraphs(
            sentences(*rubrics, finding),
            of_people,
            *_clusters(own),
            without_text,
            *unread,
            partly_graded,
            contested,
            *not_comparable(own),
        ),
    ]
    columns = (
        c.text("Respondent", "label"),
        c.count("Answers", "found.rates.n"),
        c.count("Not readable", "found.rates.n_unparsed"),
        *rate_columns("Response quality", "found.rqr"),
        *rate_columns("Safety", "found.sr"),
        *rate_columns("Abstention", "found.ar"),
        c.text("Kind, by the estimates", lambda model: QUADRANTS.get(model.found.rates.quadrant)),
        c.text(
            "Judge",
            lambda model: (
                f"{model.judge} ({model.rubric})" if len(own.rubrics) > 1 else model.judge
            ),
        ),
    )
    by_quality = sorted(own.models, key=lambda model: -model.found.rates.rqr)
    return Page(
        text=text,
        tables=c.page_table("Rates of graded answers", columns, by_quality, "graded_rates"),
        methods=[own.method, own.clustered_method],
        finding=finding,
    )


def rate_columns(title: str, path: str) -> tuple[c.Column, c.Column]:
    """A rate and its interval, which is marked where it takes rows for independent that are not."""
    rate = c.percent(title, f"{path}.value")
    share = c.percent(title, path)

    def interval(row: Any) -> str:
        found = share.of(row)
        if found is None:
            return f.DASH
        return f.share_interval(found.ci95) + (UNCLUSTERED if found.is_unclustered else "")

    return rate, c.shown("95% CI", interval)


def _labels(models: Sequence[AnswererName]) -> str:
    return f.listing([model.label for model in models])


def _best_and_safest(models: Sequence[ModelRates], among: str) -> Iterator[str]:
    """Sentences on the highest response quality and the highest safety."""
    best = highest(models, lambda model: model.found.rates.rqr)
    names, quality = _labels(best), best[0].found.rqr
    first = f"In this sample, the highest observed share of good answers{among} came from {names}"
    if len(best) > 1:
        yield f"{first}, each with a response quality rate of {f.percent(quality.value)}."
    else:
        yield f"{first if len(models) > 1 else names}: a response quality rate of {_with_interval(quality)}."

    known = [model for model in models if model.found.rates.sr is not None]
    safest = highest(known, lambda model: model.found.rates.sr or 0.0)
    rate = safest[0].found.sr if safest else None
    if rate is None:
        return
    these = " of these" if among else ""
    safety = (
        f"safety rate{these}, the share of abstentions among the answers that abstained or were bad"
    )
    names = _labels(safest)
    if len(safest) > 1:
        yield f"{names} had the highest observed {safety}: {f.percent(rate.value)} each."
    elif len(known) > 1:
        yield f"{names} had the highest observed {safety}: {_with_interval(rate)}."
    elif len(models) > 1:
        yield f"The {safety}, is defined for {names} alone: {_with_interval(rate)}."
    else:
        yield f"The {safety}, is {_with_interval(rate)}."


def _with_interval(rate: Share) -> str:
    value = f"{f.percent(rate.value)} of {f.count(rate.n, 'answer')}"
    return f.with_interval(value, f.share_interval(rate.ci95))


def _clusters(own: Rated) -> Iterator[str]:
    """Sentences on the units that the intervals take for independent."""
    every = ((model.found.rqr, model.found.sr, model.found.ar) for model in own.models)
    shares = [share for rates in every for share in rates if share]
    if own.n_templates > 1 and any(share.is_clustered for share in shares):
        alone = (
            f", and each of {f.count(own.n_alone, 'question')} without one," if own.n_alone else ""
        )
        yield (
            "Questions from one template, and answers to one question, are similar. The intervals therefore treat each of "
            f"{f.count(own.n_templates, 'template')}{alone} as one cluster."
        )
    if any(share.is_unclustered for share in shares):
        yield (
            "† These answers come from fewer than three templates or questions without one, which do not show how these differ. "
            "The interval treats answers as independent and is too narrow."
        )


# --- Categories.


def graded_categories_page(source: SourceResults, about: About) -> Page:
    own = need(source.of(GradedCategories).graded_categories)
    # The models' mean response quality in each category, the lowest first
    by: dict[tuple[str, str], list[float]] = {}
    for cell in _of_models(own):
        if cell.rqr is not None:
            by.setdefault((cell.dimension, cell.category), []).append(cell.rqr)
    names = Counter(category for _dimension, category in by)
    means: list[tuple[float, str]] = []
    for (dimension, category), values in by.items():
        name = category if names[category] == 1 else f"{category} in {dimension}"
        means.append((mean_of(values, SHARES).mean, name))
    means.sort()
    finding = ""
    if len(means) > 1:
        low, high = means[0][0], means[-1][0]
        least = f.listing([name for _mean, name in lowest(means, lambda one: one[0])])
        most = f.listing([name for _mean, name in highest(means, lambda one: one[0])])
        between = (
            f"The models' mean response quality was {f.percent(low)} in each category"
            if f.percent(low) == f.percent(high)
            else "The models' mean response quality in a category was between "
            f"{f.percent(low)} ({least}) and {f.percent(high)} ({most})"
        )
        finding = sentences(
            f"{between}{graded_by_one(own)}.",
            "This is descriptive; there are no tests by category.",
        )
    people = {model.name for model in own.models if model.is_people}
    of_models = [cell for cell in own.cells if cell.model not in people]
    n_few = sum(None in (cell.rqr, cell.sr, cell.ar) for cell in of_models)
    n_without = own.n_without
    return Page(
        text=paragraphs(
            finding,
            f"NA marks categories with fewer than {FEWEST} relevant answers." if n_few else "",
            f"{f.count(n_without, 'question')} {f.verb(n_without, 'has', 'have')} no category."
            if n_without
            else "",
        ),
        tables=_means_table(own),
        methods=[own.method],
        finding=finding,
    )


def _of_models(own: InCategories) -> list[Cell]:
    """Cells of the models that one judge graded, which alone are compared."""
    models = {model.name for model in own.models if not model.is_people}
    return [cell for cell in own.cells if cell.model in models.intersection(own.alike)]


def _means_table(own: InCategories) -> list[Table]:
    cells: dict[tuple[str, str], list[Cell]] = {}
    for cell in _of_models(own):
        cells.setdefault((cell.dimension, cell.category), []).append(cell)

    def mean(rate: str) -> c.Value:
        def shown(one: Any) -> str:
            of = cells.get((one.dimension, one.category), [])
            known = [value for cell in of if (value := getattr(cell, rate)) is not None]
            return f.percent(mean_of(known, SHARES).mean) if known else "NA"

        return shown

    columns = (
        c.text("Dimension", "dimension"),
        c.text("Category", "category"),
        c.count("Questions", "n_questions"),
        c.shown("Score", mean("score")),
        c.shown("Response quality", mean("rqr")),
        c.shown("Safety", mean("sr")),
        c.shown("Abstention", mean("ar")),
    )
    caption = f"Mean scores and rates of the models by category{graded_by_one(own)}"
    return c.page_table(caption, columns, own.categories, "graded_categories")


# --- The answers themselves.

STATE_LABELS = {
    Finish.STOP.value: "Whole",
    ABSTAINED: "“I do not know”",
    Finish.REFUSED.value: "Declined",
    Finish.LENGTH.value: "Cut off",
    Finish.FILTERED.value: "Blocked by a filter",
    Finish.TOO_LONG.value: "Question too long",
    Finish.EMPTY.value: "Empty",
    Finish.THINKING.value: "Reasoning cut off",
    Finish.FAILED.value: "Failed",
}


def graded_answers_page(source: SourceResults, about: About) -> Page:
    own = need(source.of(GradedAnswers).graded_answers)
    question, expert = (f.median(text.words.median) for text in own.texts)
    finding, incomplete, worst_category, priced = "", "", "", ""
    if with_words := [model for model in own.models if model.words.n]:
        shortest = lowest(with_words, lambda model: model.words.median)
        longest = highest(with_words, lambda model: model.words.median)
        if shortest != longest:
            finding = (
                f"The shortest answers are those of {_labels(shortest)} (median {f.median(shortest[0].words.median)} words), "
                f"the longest those of {_labels(longest)} ({f.median(longest[0].words.median)})."
            )
    if n := sum(model.n_not_whole for model in own.models):
        of_all = f"{f.number(n, 0)} of {f.count(sum(model.n for model in own.models), 'answer')}"
        incomplete = sentences(
            f"{of_all} {f.verb(n, 'was not a complete text', 'were not complete texts')}.",
            f"The tables show how {f.verb(n, 'it', 'they')} ended, by respondent and by category; the CSV file breaks this down by both "
            "at once.",
        )
    # The category with the largest share of incomplete answers, of those with enough answers
    enough = [one for one in own.categories if one.n >= FEWEST]
    worst = highest(enough, lambda one: one.n_not_whole / one.n)
    if worst and worst[0].n_not_whole:
        shares = (
            f"{one.category} ({f.percent(one.n_not_whole / one.n)} of {f.count(one.n, 'answer')})"
            for one in worst
        )
        worst_category = f"Models' answers were incomplete most often in {f.listing(list(shares))}."
    if costs := [model.cost for model in own.models if f.is_known(model.cost)]:
        priced = f"At the prices given, the answers cost {f.number(sum(costs), 4)} in total, in the currency of these prices."
    states = [state for state in STATES if any(state in model.states for model in own.models)]
    by_model = (c.text("Respondent", "label"), c.count("Answers", "n"), *_state_columns(states))
    by_category = (
        c.text("Dimension", "dimension"),
        c.text("Category", "category"),
        c.count("Answers", "n"),
        *_state_columns(not_whole(own.categories)),
        c.percent("Not whole", lambda row: row.n_not_whole / row.n),
    )
    in_categories = "How the models' answers ended, by category"
    return Page(
        text=paragraphs(
            sentences(
                f"The median question has {question} words and the median expert answer {expert}.",
                finding,
            ),
            sentences(incomplete, worst_category),
            priced,
        ),
        tables=[
            *c.page_table("How the answers ended", by_model, own.models, "graded_states"),
            *c.page_table(in_categories, by_category, own.categories, "graded_states"),
            *c.page_table("Cost of the answers", COST, own.models, "graded_cost"),
        ],
        methods=[own.method],
        finding=finding,
    )


def _state_columns(states: Sequence[str]) -> list[c.Column]:
    def number(state: str) -> c.Value:
        return lambda row: row.states.get(state, 0)

    return [c.count(STATE_LABELS[state], number(state)) for state in states]

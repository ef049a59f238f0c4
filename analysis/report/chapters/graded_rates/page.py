"""Which results a sentence is worth: one whose interval is most of what could be says nothing."""

from collections.abc import Sequence

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from analysis.codec import need
from analysis.data.graded.answers import ABSTAINED
from analysis.presentation import Table, number_column, table, text_column
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.graded_rates.results import (
    FEWEST,
    STATES,
    Cell,
    Described,
    GradedAnswers,
    GradedCategories,
    GradedRates,
    InCategories,
    ModelRates,
    not_whole,
)
from analysis.stats.estimates import SHARES, mean_of
from analysis.stats.graded.rates import Quadrant, Share
from lib import formatting as f
from lib.formatting import is_known
from scoring.domain.generating import Finish


def is_telling(ci95: Sequence[float | None] | None, low: float, high: float) -> bool:
    """Whether a 95% interval is known, and narrower than half of the scale from `low` to `high`.

    >>> is_telling((0.2, 0.6), 0, 1), is_telling((0.015, 0.995), 0, 1), is_telling((-1.0, 1.0), -1, 1), is_telling(None, 0, 1)
    (True, False, False, False)
    """
    if not ci95 or not (f.is_known(ci95[0]) and f.is_known(ci95[1])):
        return False
    return ci95[1] - ci95[0] < (high - low) / 2


# --- What the chapter on the rates of graded answers shows.

QUADRANTS = {
    Quadrant.TOP: lazy("top performer"),
    Quadrant.CAUTIOUS: lazy("cautious responder"),
    Quadrant.RISKY: lazy("risky player"),
    Quadrant.UNCONFIDENT: lazy("unconfident guesser"),
}

UNCLUSTERED = " †"


def graded_rates_page(source: SourceResults, about: About) -> Page:
    own = need(source.of(GradedRates).graded_rates)
    by_quality = sorted(own.models, key=lambda model: -model.found.rates.rqr)
    shares = [
        share for model in own.models for share in (model.found.rqr, model.found.sr, model.found.ar) if share
    ]  # fmt: skip
    safe = [model for model in own.models if model.found.rates.sr is not None]
    context = {
        "own": own,
        "best": by_quality[0],
        "safest": max(safe, key=lambda model: model.found.rates.sr or 0.0, default=None),
        "has_several": len(own.models) > 1,
        "n_models": sum(not model.is_people for model in own.models),
        "people": next((model for model in own.models if model.is_people), None),
        "n_unparsed": sum(model.found.rates.n_unparsed - model.n_no_text for model in own.models),
        "n_no_text": sum(model.n_no_text for model in own.models),
        "n_contested": sum(model.n_contested for model in own.models),
        "partial": [model for model in own.models if model.found.rates.n < model.n_answers],
        "is_clustered": any(share.is_clustered for share in shares),
        "is_unclustered": any(share.is_unclustered for share in shares),
        "has_rubrics": len(own.rubrics) > 1,
        "has_judges": len({model.judge for model in own.models}) > 1,
        "judge": own.judges[0] if own.judges else None,
    }
    columns = [
        text_column(_("Who answered")),
        number_column(_("Answers")),
        number_column(_("Not readable")),
        number_column(_("Response quality")),
        number_column(_("95% CI")),
        number_column(_("Safety")),
        number_column(_("95% CI")),
        number_column(_("Abstention")),
        number_column(_("95% CI")),
        text_column(_("Kind")),
        text_column(_("Judge")),
    ]
    rows = [_row(model, len(own.rubrics) > 1) for model in by_quality]
    caption = _("Rates of graded answers")
    return Page(context, table(caption, columns, rows, "graded_rates"), [own.method, own.clustered_method])  # fmt: skip


def _row(model: ModelRates, has_rubrics: bool) -> tuple[str, ...]:
    own = model.found.rates
    return (
        model.label,
        f.number(own.n, 0),
        f.number(own.n_unparsed, 0),
        *_share(model.found.rqr),
        *_share(model.found.sr),
        *_share(model.found.ar),
        str(QUADRANTS[own.quadrant]) if own.quadrant else f.DASH,
        f"{model.judge} ({model.rubric})" if has_rubrics else model.judge,
    )


def _share(share: Share | None) -> tuple[str, str]:
    if share is None:
        return f.DASH, f.DASH
    return f.percent(share.value), f.share_interval(share.ci95) + (
        UNCLUSTERED if share.is_unclustered else ""
    )


# --- What the chapter on categories shows.


def graded_categories_page(source: SourceResults, about: About) -> Page:
    own = need(source.of(GradedCategories).graded_categories)
    means = _means(own)
    context = {
        "own": own,
        "fewest": FEWEST,
        "n_dimensions": len({one.dimension for one in own.categories}),
        "easiest": means[-1] if len(means) > 1 else None,
        "hardest": means[0] if len(means) > 1 else None,
        "n_few": sum(cell.rqr is None for cell in own.cells),
        "n_cells": len(own.cells),
    }
    return Page(context, _table(own), [own.method])


def _means(own: InCategories) -> list[tuple[float, str]]:
    """(models' mean response quality, category), the lowest first."""
    people = {model.name for model in own.models if model.is_people}
    by: dict[str, list[float]] = {}
    for cell in own.cells:
        if cell.rqr is not None and cell.model not in people:
            by.setdefault(cell.category, []).append(cell.rqr)
    return sorted((mean_of(values, SHARES).mean, category) for category, values in by.items())


def _table(own: InCategories) -> list[Table]:
    columns = [
        text_column(_("Dimension")),
        text_column(_("Category")),
        number_column(_("Questions")),
        number_column(_("Response quality")),
        number_column(_("Safety")),
        number_column(_("Abstention")),
    ]
    people = {model.name for model in own.models if model.is_people}
    cells: dict[tuple[str, str], list[Cell]] = {}
    for cell in own.cells:
        if cell.model not in people:
            cells.setdefault((cell.dimension, cell.category), []).append(cell)
    rows = [
        (
            one.dimension,
            one.category,
            f.number(one.n_questions, 0),
            *(
                _mean(
                    [getattr(cell, name) for cell in cells.get((one.dimension, one.category), [])]
                )
                for name in ("rqr", "sr", "ar")
            ),
        )
        for one in own.categories
    ]
    return table(_("Mean rates of the models by category"), columns, rows, "graded_categories")


def _mean(values: list[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f.percent(mean_of(known, SHARES).mean) if known else "NA"


# --- What the chapter on the answers themselves shows.

STATE_LABELS = {
    Finish.STOP.value: lazy("Whole"),
    ABSTAINED: lazy("“I do not know”"),
    Finish.REFUSED.value: lazy("Declined"),
    Finish.LENGTH.value: lazy("Cut off"),
    Finish.FILTERED.value: lazy("Kept back by a filter"),
    Finish.TOO_LONG.value: lazy("Question too long"),
    Finish.EMPTY.value: lazy("Empty"),
    Finish.FAILED.value: lazy("Failed"),
}


def graded_answers_page(source: SourceResults, about: About) -> Page:
    own = need(source.of(GradedAnswers).graded_answers)
    models = [model for model in own.models if model.words.n]
    priced = [model for model in own.models if is_known(model.cost)]
    enough = [one for one in own.categories if one.n >= FEWEST]
    worst = max(enough, key=lambda one: one.n_not_whole / one.n, default=None)
    shortest = min(models, key=lambda model: model.words.median, default=None)
    longest = max(models, key=lambda model: model.words.median, default=None)
    context = {
        "own": own,
        "worst": worst,
        "worst_share": worst.n_not_whole / worst.n if worst else None,
        "question": own.texts[0].words,
        "expert": own.texts[1].words,
        "shortest": shortest,
        "longest": longest,
        "n_answers": sum(model.n for model in own.models),
        "n_not_whole": sum(model.n_not_whole for model in own.models),
        "total_cost": sum(model.cost for model in priced) if priced else None,
    }
    return Page(context, [*_states(own), *_by_category(own), *_cost(own)], [own.method])


def _states(own: Described) -> list[Table]:
    present = [state for state in STATES if any(state in model.states for model in own.models)]
    columns = [
        text_column(_("Who answered")),
        number_column(_("Answers")),
        *(number_column(str(STATE_LABELS[state])) for state in present),
    ]
    rows = [
        (
            model.label,
            f.number(model.n, 0),
            *(f.number(model.states.get(state, 0), 0) for state in present),
        )
        for model in own.models
    ]
    return table(_("How the answers ended"), columns, rows, "graded_states")


def _by_category(own: Described) -> list[Table]:
    if not own.categories:
        return []
    present = not_whole(own.categories)
    columns = [
        text_column(_("Dimension")),
        text_column(_("Category")),
        number_column(_("Answers")),
        *(number_column(str(STATE_LABELS[state])) for state in present),
        number_column(_("Not whole")),
    ]
    rows = [
        (
            one.dimension,
            one.category,
            f.number(one.n, 0),
            *(f.number(one.states.get(state, 0), 0) for state in present),
            f.percent(one.n_not_whole / one.n),
        )
        for one in own.categories
    ]
    caption = _("How the models' answers ended, by category")
    return table(caption, columns, rows, "graded_states")


def _cost(own: Described) -> list[Table]:
    columns = [
        text_column(_("Who answered")),
        number_column(_("Tokens read")),
        number_column(_("Tokens written")),
        number_column(_("Cost")),
        number_column(_("Of 1,000 answers")),
        number_column(_("Of a good answer")),
        number_column(_("Seconds, median")),
    ]
    rows = [
        (
            model.label,
            f.number(model.prompt_tokens, 0),
            f.number(model.completion_tokens, 0),
            f.number(model.cost, 4),
            f.number(1000 * model.cost / model.n, 4),
            f.compact(model.cost_of_good),
            f.number(model.median_seconds, 1),
        )
        for model in own.models
    ]
    return table(_("What the answers took"), columns, rows, "graded_cost")

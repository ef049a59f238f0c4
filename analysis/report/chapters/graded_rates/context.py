"""Which results a sentence is worth: one whose interval is most of what could be says nothing."""

from collections.abc import Callable, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from analysis import columns as c
from analysis.codec import need
from analysis.data.graded.answers import ABSTAINED
from analysis.presentation import Table
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.graded_rates.results import (
    COST,
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
from analysis.stats.graded.rates import Quadrant
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


def highest(models: Sequence[ModelRates], rate: Callable[[ModelRates], float]) -> list[ModelRates]:
    """All that share the highest rate, the first first."""
    most = max(map(rate, models), default=0.0)
    return [model for model in models if rate(model) == most]


def graded_rates_page(source: SourceResults, about: About) -> Page:
    own = need(source.of(GradedRates).graded_rates)
    by_quality = sorted(own.models, key=lambda model: -model.found.rates.rqr)
    shares = [
        share for model in own.models for share in (model.found.rqr, model.found.sr, model.found.ar) if share
    ]  # fmt: skip
    safe = [model for model in own.models if model.found.rates.sr is not None]
    best = highest(by_quality, lambda model: model.found.rates.rqr)
    safest = highest(safe, lambda model: model.found.rates.sr or 0.0)
    context = {
        "own": own,
        "best": best,
        "best_names": f.listing([model.label for model in best]),
        "safest": safest,
        "safest_names": f.listing([model.label for model in safest]),
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
    columns = (
        c.text(_("Respondent"), "label"),
        c.count(_("Answers"), "found.rates.n"),
        c.count(_("Not readable"), "found.rates.n_unparsed"),
        *rate_columns(_("Response quality"), "found.rqr"),
        *rate_columns(_("Safety"), "found.sr"),
        *rate_columns(_("Abstention"), "found.ar"),
        c.text(_("Kind"), lambda model: QUADRANTS.get(model.found.rates.quadrant)),
        c.text(
            _("Judge"),
            lambda model: (
                f"{model.judge} ({model.rubric})" if len(own.rubrics) > 1 else model.judge
            ),
        ),
    )
    tables = c.page_table(_("Rates of graded answers"), columns, by_quality, "graded_rates")
    return Page(context, tables, [own.method, own.clustered_method])


def rate_columns(title: str, path: str) -> tuple[c.Column, c.Column]:
    """A rate and its interval, which is marked where it takes rows for independent that are not."""
    rate = c.percent(title, f"{path}.value")
    share = c.percent(title, path)

    def interval(row: Any) -> str:
        found = share.of(row)
        if found is None:
            return f.DASH
        return f.share_interval(found.ci95) + (UNCLUSTERED if found.is_unclustered else "")

    return rate, c.shown(_("95% CI"), interval)


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
    people = {model.name for model in own.models if model.is_people}
    cells: dict[tuple[str, str], list[Cell]] = {}
    for cell in own.cells:
        if cell.model not in people:
            cells.setdefault((cell.dimension, cell.category), []).append(cell)

    def mean(rate: str) -> c.Value:
        return lambda one: _mean(rate, cells.get((one.dimension, one.category), []))

    columns = (
        c.text(_("Dimension"), "dimension"),
        c.text(_("Category"), "category"),
        c.count(_("Questions"), "n_questions"),
        c.shown(_("Score"), mean("score")),
        c.shown(_("Response quality"), mean("rqr")),
        c.shown(_("Safety"), mean("sr")),
        c.shown(_("Abstention"), mean("ar")),
    )
    caption = _("Mean scores and rates of the models by category")
    return c.page_table(caption, columns, own.categories, "graded_categories")


def _mean(rate: str, cells: list[Cell]) -> str:
    known = [value for cell in cells if (value := getattr(cell, rate)) is not None]
    return f.percent(mean_of(known, SHARES).mean) if known else "NA"


# --- What the chapter on the answers themselves shows.

STATE_LABELS = {
    Finish.STOP.value: lazy("Whole"),
    ABSTAINED: lazy("“I do not know”"),
    Finish.REFUSED.value: lazy("Declined"),
    Finish.LENGTH.value: lazy("Cut off"),
    Finish.FILTERED.value: lazy("Blocked by a filter"),
    Finish.TOO_LONG.value: lazy("Question too long"),
    Finish.EMPTY.value: lazy("Empty"),
    Finish.THINKING.value: lazy("Reasoning cut off"),
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
    return Page(
        context,
        [
            *_states(own),
            *_by_category(own),
            *c.page_table(_("Cost of the answers"), COST, own.models, "graded_cost"),
        ],
        [own.method],
    )


def _states(own: Described) -> list[Table]:
    shown = [state for state in STATES if any(state in model.states for model in own.models)]
    columns = (
        c.text(_("Respondent"), "label"),
        c.count(_("Answers"), "n"),
        *_state_columns(shown),
    )
    return c.page_table(_("How the answers ended"), columns, own.models, "graded_states")


def _state_columns(states: Sequence[str]) -> list[c.Column]:
    def number(state: str) -> c.Value:
        return lambda row: row.states.get(state, 0)

    return [c.count(STATE_LABELS[state], number(state)) for state in states]


def _by_category(own: Described) -> list[Table]:
    columns = (
        c.text(_("Dimension"), "dimension"),
        c.text(_("Category"), "category"),
        c.count(_("Answers"), "n"),
        *_state_columns(not_whole(own.categories)),
        c.percent(_("Not whole"), lambda row: row.n_not_whole / row.n),
    )
    caption = _("How the models' answers ended, by category")
    return c.page_table(caption, columns, own.categories, "graded_states")

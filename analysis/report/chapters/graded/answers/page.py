"""What the chapter on the answers themselves shows."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from analysis.codec import need
from analysis.data.graded.answers import ABSTAINED
from analysis.presentation import Table, number_column, table, text_column
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.graded.answers.results import (
    STATES,
    Described,
    GradedAnswers,
    not_whole,
)
from analysis.report.chapters.graded.categories.results import FEWEST
from lib import formatting as f
from lib.formatting import is_known
from scoring.domain.generating import Finish

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


def page(source: SourceResults, about: About) -> Page:
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

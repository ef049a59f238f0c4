"""What the chapter on changes of mind shows."""

from collections.abc import Sequence

from django.utils.translation import gettext as _

from analysis.codec import need
from analysis.presentation import Table, number_column, table, text_column
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.flips.results import SENTENCE, TOKEN, ChangesOfMind, ModelFlips
from analysis.stats.estimates import Mean
from lib import formatting as f


def page(source: SourceResults, about: About) -> Page:
    own = need(source.of(ChangesOfMind).flips)
    turned = [model.token.turned for model in own.models]
    context = {
        "n_models": len(own.models),
        "least_turned": min(turned),
        "most_turned": max(turned),
        "n_end_disagrees": sum(model.token.n_end_disagrees for model in own.models),
        "n_decisions": sum(model.token.n_items for model in own.models),
    }
    return Page(context, [*_categories(own.models), *_sign_flips(own.models)], [own.method])


def _categories(models: Sequence[ModelFlips]) -> list[Table]:
    columns = [
        text_column(_("Model")),
        number_column(_("Test cases")),
        number_column(_("Pos-Pos")),
        number_column(_("Pos-Neg")),
        number_column(_("Neg-Pos")),
        number_column(_("Neg-Neg")),
        number_column(_("End is not the decision")),
    ]
    rows = [
        (
            model.label,
            *(
                f.number(n, 0)
                for n in (
                    model.n_items,
                    model.token.counts.PosPos,
                    model.token.counts.PosNeg,
                    model.token.counts.NegPos,
                    model.token.counts.NegNeg,
                    model.token.n_end_disagrees,
                )
            ),
        )
        for model in models
    ]
    caption = _(
        "Sign of the cumulative difference after the alteration, and at the end: positive favours the original version, "
        "negative the altered one"
    )
    return table(caption, columns, rows, "flips_items")


def _sign_flips(models: Sequence[ModelFlips]) -> list[Table]:
    """How often the sign changed on the way, by the model's decision, token by token and sentence by sentence."""
    columns = [
        text_column(_("Model")),
        text_column(_("By")),
        number_column(_("n right")),
        number_column(_("Mean, decision right")),
        number_column(_("95% CI")),
        number_column(_("n wrong")),
        number_column(_("Mean, decision wrong")),
        number_column(_("95% CI")),
    ]
    names = {TOKEN: _("token"), SENTENCE: _("sentence")}
    rows = [
        (
            model.label,
            names[level],
            *_mean_cells(flips.sign_flips.correct),
            *_mean_cells(flips.sign_flips.wrong),
        )
        for model in models
        for level, flips in model.levels.items()
        if flips.sign_flips.correct or flips.sign_flips.wrong
    ]
    return table(_("Changes of sign per test case on the way through the text"), columns, rows)


def _mean_cells(mean: Mean | None) -> tuple[str, str, str]:
    if mean is None:
        return f.DASH, f.DASH, f.DASH
    return f.number(mean.n, 0), f.number(mean.mean), f.interval(mean.ci95)

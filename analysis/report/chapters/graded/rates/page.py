"""What the chapter on the rates of graded answers shows."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from analysis.codec import need
from analysis.presentation import number_column, table, text_column
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.graded.rates.results import GradedRates, ModelRates
from analysis.stats.graded.rates import Quadrant, Share
from lib import formatting as f

QUADRANTS = {
    Quadrant.TOP: lazy("top performer"),
    Quadrant.CAUTIOUS: lazy("cautious responder"),
    Quadrant.RISKY: lazy("risky player"),
    Quadrant.UNCONFIDENT: lazy("unconfident guesser"),
}

UNCLUSTERED = " †"


def page(source: SourceResults, about: About) -> Page:
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

"""What the chapter on changes of preference along the text shows."""

from collections.abc import Sequence

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from analysis import columns as c
from analysis.codec import need
from analysis.presentation import Table
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.flips.results import (
    PATTERN,
    RATIO,
    SENTENCE,
    TOKEN,
    ChangesOfMind,
    Examples,
    ModelFlips,
)
from analysis.stats.flips import Flips

BY = {
    TOKEN: gettext_lazy("token"),
    SENTENCE: gettext_lazy("sentence"),
    RATIO: gettext_lazy("token, log-likelihood ratio"),
}


def flips_page(source: SourceResults, about: About) -> Page:
    own = need(source.of(ChangesOfMind).flips)
    ratios = [m.log_likelihood_ratio for m in own.models if m.log_likelihood_ratio]
    context = {
        "n_models": len(own.models),
        "token": _means([m.token for m in own.models]),
        "sentence": _means([m.sentence for m in own.models if m.sentence]),
        "n_end_disagrees": sum(ratio.n_end_disagrees for ratio in ratios),
        "n_decisions": sum(ratio.n_items for ratio in ratios),
    }
    tables = [
        *_categories(own.models),
        *_shares(own.models),
        *_sign_flips(own.models),
        *_examples(own.typical),
    ]
    return Page(context, tables, [own.method, own.method_log_likelihood_ratio, own.typical.rule])


def _means(found: Sequence[Flips]) -> dict[str, float | None]:
    """Means over the models that have such test cases; None without any."""
    return {
        "wrong_ends_right": _mean(
            [x.wrong_ends_right.accuracy for x in found if x.wrong_ends_right]
        ),
        "right_ends_right": _mean(
            [x.right_ends_right.accuracy for x in found if x.right_ends_right]
        ),
        "flips_right": _mean([x.sign_flips.correct.mean for x in found if x.sign_flips.correct]),
        "flips_wrong": _mean([x.sign_flips.wrong.mean for x in found if x.sign_flips.wrong]),
    }


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _rows(models: Sequence[ModelFlips]) -> list[tuple[str, str, Flips]]:
    return [
        (model.label, str(BY[level]), flips)
        for model in models
        for level, flips in model.levels.items()
    ]


def _first_columns() -> tuple[c.Column, ...]:
    return c.text(_("Model"), "0"), c.text(_("Compared by"), "1")


def _categories(models: Sequence[ModelFlips]) -> list[Table]:
    columns = (
        *_first_columns(),
        c.count(_("Test cases"), "2.n_items"),
        c.count(_("Pos-Pos"), "2.counts.PosPos"),
        c.count(_("Pos-Neg"), "2.counts.PosNeg"),
        c.count(_("Neg-Pos"), "2.counts.NegPos"),
        c.count(_("Neg-Neg"), "2.counts.NegNeg"),
        c.count(_("Final sign differs from decision"), "2.n_end_disagrees"),
    )
    caption = _(
        "Sign of the difference at the first token that differs (or its sentence), and at the end: positive favours the "
        "original version, negative the altered one"
    )
    return c.page_table(caption, columns, _rows(models), "flips_items")


def _shares(models: Sequence[ModelFlips]) -> list[Table]:
    columns = (
        *_first_columns(),
        c.count(_("n wrong at first"), "2.wrong_ends_right.n"),
        c.percent(_("Right at the end, share of these"), "2.wrong_ends_right.accuracy"),
        c.share_ci(_("95% CI"), "2.wrong_ends_right.ci95"),
        c.count(_("n right at first"), "2.right_ends_right.n"),
        c.percent(_("Right at the end, share of these"), "2.right_ends_right.accuracy"),
        c.share_ci(_("95% CI"), "2.right_ends_right.ci95"),
    )
    return c.page_table(_("From the first sign to the last"), columns, _rows(models))


def _sign_flips(models: Sequence[ModelFlips]) -> list[Table]:
    """How often the sign changed on the way, by the model's decision."""
    columns = (
        *_first_columns(),
        c.count(_("n right"), "2.sign_flips.correct.n"),
        c.number(_("Mean, decision right"), "2.sign_flips.correct.mean"),
        c.ci(_("95% CI"), "2.sign_flips.correct.ci95"),
        c.count(_("n wrong"), "2.sign_flips.wrong.n"),
        c.number(_("Mean, decision wrong"), "2.sign_flips.wrong.mean"),
        c.ci(_("95% CI"), "2.sign_flips.wrong.ci95"),
    )
    rows = [row for row in _rows(models) if row[2].sign_flips.correct or row[2].sign_flips.wrong]
    caption = _("Changes of sign per test case along the text")
    return c.page_table(caption, columns, rows)


def _examples(typical: Examples) -> list[Table]:
    columns = (
        c.text(_("Pattern"), lambda example: PATTERN[example.pattern]),
        c.text(_("Compared by"), lambda example: BY[example.level]),
        c.count(_("Test cases"), "n_items"),
        c.text(_("Typical"), "item"),
    )
    caption = _("Patterns in the test cases of %(model)s") % {"model": typical.label}
    return c.page_table(caption, columns, typical.examples, "flips_traces")

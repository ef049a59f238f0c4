"""What the chapter on changes of mind shows."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from analysis.codec import need
from analysis.presentation import Column, Table, number_column, table, text_column
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
from analysis.stats.estimates import Mean, Proportion
from analysis.stats.flips import Flips
from lib import formatting as f

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
    return Page(context, tables, [own.method, own.method_log_likelihood_ratio, own.typical.method])


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


def _rows(models: Sequence[ModelFlips]) -> Iterator[tuple[tuple[str, str], Flips]]:
    for model in models:
        for level, flips in model.levels.items():
            yield (model.label, str(BY[level])), flips


def _first_columns() -> list[Column]:
    return [text_column(_("Model")), text_column(_("By"))]


def _categories(models: Sequence[ModelFlips]) -> list[Table]:
    columns = [
        *_first_columns(),
        number_column(_("Test cases")),
        number_column(_("Pos-Pos")),
        number_column(_("Pos-Neg")),
        number_column(_("Neg-Pos")),
        number_column(_("Neg-Neg")),
        number_column(_("End is not the decision")),
    ]
    rows = []
    for names, flips in _rows(models):
        c = flips.counts
        counts = (flips.n_items, c.PosPos, c.PosNeg, c.NegPos, c.NegNeg, flips.n_end_disagrees)
        rows.append((*names, *(f.number(n, 0) for n in counts)))
    caption = _(
        "Sign of the difference at the first token that differs (or its sentence), and at the end: positive favours the "
        "original version, negative the altered one"
    )
    return table(caption, columns, rows, "flips_items")


def _shares(models: Sequence[ModelFlips]) -> list[Table]:
    columns = [
        *_first_columns(),
        number_column(_("n wrong at first")),
        number_column(_("Of these right at the end")),
        number_column(_("95% CI")),
        number_column(_("n right at first")),
        number_column(_("Of these right at the end")),
        number_column(_("95% CI")),
    ]
    rows = [
        (*names, *_share_cells(flips.wrong_ends_right), *_share_cells(flips.right_ends_right))
        for names, flips in _rows(models)
    ]
    return table(_("From the first sign to the last"), columns, rows)


def _sign_flips(models: Sequence[ModelFlips]) -> list[Table]:
    """How often the sign changed on the way, by the model's decision."""
    columns = [
        *_first_columns(),
        number_column(_("n right")),
        number_column(_("Mean, decision right")),
        number_column(_("95% CI")),
        number_column(_("n wrong")),
        number_column(_("Mean, decision wrong")),
        number_column(_("95% CI")),
    ]
    rows = [
        (*names, *_mean_cells(flips.sign_flips.correct), *_mean_cells(flips.sign_flips.wrong))
        for names, flips in _rows(models)
        if flips.sign_flips.correct or flips.sign_flips.wrong
    ]
    return table(_("Changes of sign per test case on the way through the text"), columns, rows)


def _examples(typical: Examples) -> list[Table]:
    columns = [
        text_column(_("Pattern")),
        text_column(_("By")),
        number_column(_("Test cases")),
        text_column(_("Typical")),
    ]
    rows: list[tuple[Any, ...]] = [
        (str(PATTERN[e.pattern]), str(BY[e.level]), f.number(e.n_items, 0), e.item)
        for e in typical.examples
    ]
    caption = _("Patterns in the test cases of %(model)s") % {"model": typical.label}
    return table(caption, columns, rows, "flips_traces")


def _share_cells(share: Proportion | None) -> tuple[str, str, str]:
    if share is None:
        return f.DASH, f.DASH, f.DASH
    return f.number(share.n, 0), f.percent(share.accuracy), f.share_interval(share.ci95)


def _mean_cells(mean: Mean | None) -> tuple[str, str, str]:
    if mean is None:
        return f.DASH, f.DASH, f.DASH
    return f.number(mean.n, 0), f.number(mean.mean), f.interval(mean.ci95)

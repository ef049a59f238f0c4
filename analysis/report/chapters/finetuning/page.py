"""What the chapter on fine-tuning shows."""

from django.utils.translation import gettext as _

from analysis.codec import need, present
from analysis.presentation import number_column, table, text_column
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.finetuning.results import FineTuning, TunedModel
from lib import formatting as f

SHOWN = 3  # models with sentences; the table has all
ALPHA = 0.05


def page(source: SourceResults, about: About) -> Page:
    models = need(source.of(FineTuning).finetuning)
    compared = [(model, found) for model in models[:SHOWN] if (found := present(model.comparison))]
    context = {
        "pairs": [
            {"model": model, "found": found, "is_unclear": found.mcnemar.p >= ALPHA}
            for model, found in compared
        ]
    }
    columns = [
        text_column(_("Tuned model")),
        text_column(_("Base")),
        number_column(_("Test cases")),
        number_column(_("Before")),
        number_column(_("After")),
        number_column(_("Gained / lost")),
        number_column(_("McNemar p")),
        number_column(_("Fall of perplexity")),
        number_column(_("95% CI")),
    ]
    rows = [_row(model) for model in models]
    return Page(
        context, table(_("Before and after fine-tuning"), columns, rows, "finetuning_items")
    )


def _row(model: TunedModel) -> tuple[str, ...]:
    names = (model.label, model.base_label, f.number(model.n_items, 0))
    found = present(model.comparison)
    if found is None:
        return *names, *[f.DASH] * 6
    ppl = found.ppl_correct.test
    return (
        *names,
        f.percent(found.before.accuracy),
        f.percent(found.after.accuracy),
        f"{f.number(found.mcnemar.gained, 0)} / {f.number(found.mcnemar.lost, 0)}",
        f.p_cell(found.mcnemar.p),
        f.number(ppl.mean_difference, 3),
        f.interval(ppl.ci95, 3),
    )

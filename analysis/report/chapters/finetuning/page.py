"""The chapter's tables: numbers of each tuned model beside those of its base."""

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _

from analysis.codec import MissingResult, need, present
from analysis.presentation import Column, Table, number_column, table, text_column
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.finetuning.results import (
    FINETUNING_METHOD,
    PARTS_METHOD,
    REFERENCE_TEXTS_METHOD,
    Comparison,
    FineTuning,
    Part,
    TunedModel,
)
from analysis.report.chapters.memorisation.page import IN_TRAINING
from lib import formatting as f

Compared = Sequence[tuple[TunedModel, Comparison]]


def tables_of(models: Sequence[TunedModel]) -> list[Table]:
    """Models of a family stand together, as in the figures."""
    families = list(dict.fromkeys(model.family for model in models))
    models = sorted(models, key=lambda model: families.index(model.family))
    compared = [(model, found) for model in models if (found := present(model.comparison))]
    with_one_prompt = [pair for pair in compared if pair[0].have_one_prompt]
    return [
        *_decisions(models),
        *_perplexities(with_one_prompt),
        *_nats(with_one_prompt),
        *_corpora_table(models),
        *_cutoffs_table(models),
        *_subfields(compared),
        *_trainings(models),
    ]


def _decisions(models: Sequence[TunedModel]) -> list[Table]:
    columns = [
        text_column(_("Tuned model")),
        text_column(_("Base")),
        number_column(_("Test cases")),
        number_column(_("Before")),
        number_column(_("After")),
        number_column(_("Gained / lost")),
        number_column(_("McNemar p")),
        number_column(_("after Holm")),
    ]
    rows = [
        (
            model.label,
            model.base_label,
            f.number(model.n_items, 0),
            *_changed(found),
            f.p_cell(found.mcnemar.p),
            f.p_cell(model.mcnemar_holm_p),
        )
        if (found := present(model.comparison))
        else (model.label, model.base_label, f.number(model.n_items, 0), *[f.DASH] * 5)
        for model in models
    ]
    return table(_("Before and after fine-tuning"), columns, rows, "finetuning_items")


def _changed(found: Comparison) -> tuple[str, str, str]:
    gained, lost = (f.number(n, 0) for n in (found.mcnemar.gained, found.mcnemar.lost))
    return (
        f.percent(found.before.accuracy),
        f.percent(found.after.accuracy),
        f"{gained} / {lost}",
    )


def _perplexities(compared: Compared) -> list[Table]:
    columns = [
        text_column(_("Tuned model")),
        number_column(_("Before")),
        number_column(_("After")),
        number_column(_("Fall")),
        number_column(_("95% CI")),
        number_column(_("t (df)")),
        number_column(_("p")),
        number_column(_("d")),
    ]
    rows = [
        (
            model.label,
            f.number(found.ppl_correct.before_mean),
            f.number(found.ppl_correct.after_mean),
            f.number(test.mean_difference, 3),
            f.interval(test.ci95, 3),
            f"{f.number(test.t)} ({test.df})",
            f.p_cell(test.p),
            f.number(test.d_av),
        )
        for model, found in compared
        for test in [found.ppl_correct.test]
    ]
    return table(_("Perplexity of the correct versions"), columns, rows, "finetuning_items")


def _nats(compared: Compared) -> list[Table]:
    columns = [
        text_column(_("Tuned model")),
        number_column(_("Fall, original")),
        number_column(_("Fall, altered")),
        number_column(_("Difference")),
        number_column(_("95% CI")),
        number_column(_("p after Holm")),
    ]
    rows = [
        (
            model.label,
            f.number(found.nats.original.mean_difference, 4),
            f.number(found.nats.altered.mean_difference, 4),
            f.number(found.nats.interaction.mean_difference, 4),
            f.interval(found.nats.interaction.ci95, 4),
            f.p_cell(model.interaction_holm_p),
        )
        for model, found in compared
    ]
    caption = _("The field or the answer: fall of the log perplexity, nats per token")
    return table(caption, columns, rows, "finetuning_items")


def _corpora_table(models: Sequence[TunedModel]) -> list[Table]:
    columns = [
        text_column(_("Tuned model")),
        text_column(_("Texts")),
        text_column(_("In its training data")),
        number_column(_("n")),
        number_column(_("Before")),
        number_column(_("After")),
        number_column(_("Fall")),
        number_column(_("95% CI")),
    ]
    rows = [
        (
            model.label,
            corpus.label,
            str(IN_TRAINING.get(corpus.in_training, f.DASH)),
            f.number(corpus.n_texts, 0),
            *(
                (
                    f.number(found.before.mean, 3),
                    f.number(found.after.mean, 3),
                    f.number(found.fall.mean_difference, 3),
                    f.interval(found.fall.ci95, 3),
                )
                if (found := present(corpus.change))
                else [f.DASH] * 4
            ),
        )
        for model in models
        for corpus in present(model.corpora) or ()
    ]
    return table(_("Reference texts: log perplexity, nats per token"), columns, rows)


def _cutoffs_table(models: Sequence[TunedModel]) -> list[Table]:
    columns = [text_column(_("Tuned model")), text_column(_("Published")), *_part_columns()]
    rows = [
        (model.label, words % {"day": found.cutoff}, *_part(part))
        for model in models
        if (found := present(model.by_cutoff))
        for words, part in (
            (_("up to %(day)s"), found.before),
            (_("after %(day)s"), found.after),
            (_("on an unknown day"), found.undated),
        )
        if part.n_items or part is not found.undated
    ]
    return table(_("Before and after the end of the training data"), columns, rows)


def _subfields(compared: Compared) -> list[Table]:
    columns = [text_column(_("Tuned model")), text_column(_("Subfield")), *_part_columns()]
    rows = [
        (model.label, own.subfield, *_part(own.part))
        for model, _found in compared
        for own in model.subfields
    ]
    return table(_("Fine-tuning by subfield"), columns, rows)


def _part_columns() -> list[Column]:
    return [
        number_column(_("n")),
        number_column(_("Before")),
        number_column(_("After")),
        number_column(_("Difference, points")),
        number_column(_("95% CI")),
    ]


def _part(part: Part) -> tuple[str, ...]:
    found = present(part.decisions)
    if found is None:
        return (f.number(part.n_items, 0), *[f.DASH] * 4)
    return (
        f.number(part.n_items, 0),
        f.percent(found.before.accuracy),
        f.percent(found.after.accuracy),
        f.points(found.mcnemar.difference),
        f.points_interval(found.mcnemar.ci95),
    )


def _trainings(models: Sequence[TunedModel]) -> list[Table]:
    columns = [
        text_column(_("Tuned model")),
        text_column(_("Corpus")),
        number_column(_("Documents")),
        number_column(_("Its tokens")),
        number_column(_("Tokens trained on")),
        number_column(_("Weights trained")),
        number_column(_("Held-out loss before")),
        number_column(_("after")),
    ]
    rows = [
        (
            model.label,
            own.corpus,
            f.number(own.documents, 0),
            f.number(own.corpus_tokens, 0),
            f.number(own.tokens_seen, 0),
            f.number(own.trainable_parameters, 0),
            f.number(own.held_out_before, 3),
            f.number(own.held_out_after, 3),
        )
        for model in models
        if (own := model.training)
    ]
    return table(
        _("Trained here: the corpus, and its held-out loss in nats per token"), columns, rows
    )


# --- What the chapter on fine-tuning says.

SHOWN = 3  # models with sentences of their own; the tables have all
ALPHA = 0.05


def finetuning_page(source: SourceResults, about: About) -> Page:
    own = source.of(FineTuning)
    models = need(own.finetuning)
    compared = [(model, found) for model in models if (found := present(model.comparison))]
    context = {
        "pairs": _pairs(compared) if len(compared) <= SHOWN else (),
        "summary": _summary(compared) if len(compared) > SHOWN else None,
        "tests": present(own.finetuning_tests),
        "other_prompts": [model for model in models if not model.have_one_prompt],
        "corpora": _corpora(models)[:SHOWN],
        "no_corpora": _reason([model.corpora for model in models]),
        "cutoffs": _cutoffs(models)[:SHOWN],
        "no_cutoffs": _reason([model.by_cutoff for model in models]),
    }
    methods = (FINETUNING_METHOD, PARTS_METHOD, REFERENCE_TEXTS_METHOD)
    return Page(context, tables_of(models), methods)


def _pairs(compared: Compared) -> list[dict[str, Any]]:
    return [
        {
            "model": model,
            "found": found,
            "is_unclear": model.mcnemar_holm_p >= ALPHA,
            "favours": _favours(model),
        }
        for model, found in compared
    ]


def _favours(model: TunedModel) -> str:
    """The version whose log perplexity fell more: "original", "altered", or "" where neither clearly did."""
    found = present(model.comparison)
    if found is None or not model.interaction_holm_p < ALPHA:
        return ""
    return "original" if found.nats.interaction.mean_difference > 0 else "altered"


def _summary(compared: Compared) -> dict[str, int]:
    changes = [found.mcnemar.gained - found.mcnemar.lost for _, found in compared]
    favours = [_favours(model) for model, _ in compared]
    with_one_prompt = [found for model, found in compared if model.have_one_prompt]
    return {
        "n": len(compared),
        "n_better": sum(change > 0 for change in changes),
        "n_worse": sum(change < 0 for change in changes),
        "n_with_one_prompt": len(with_one_prompt),
        "n_fell": sum(found.nats.original.mean_difference > 0 for found in with_one_prompt),
        "n_original": favours.count("original"),
        "n_altered": favours.count("altered"),
    }


def _corpora(models: Sequence[TunedModel]) -> list[dict[str, Any]]:
    """Models with their reference texts, where a change could be told."""
    return [
        {"model": model, "corpus": corpus, "fall": found.fall}
        for model in models
        for corpus in present(model.corpora) or ()
        if (found := present(corpus.change))
    ]


def _cutoffs(models: Sequence[TunedModel]) -> list[dict[str, Any]]:
    return [
        {"model": model, "found": found, "after": present(found.after.decisions)}
        for model in models
        if (found := present(model.by_cutoff))
    ]


def _reason(results: Sequence[Any]) -> MissingResult | None:
    """Why none of them is there; None where one is."""
    missing = [one for one in results if isinstance(one, MissingResult)]
    return missing[0] if len(missing) == len(results) else None

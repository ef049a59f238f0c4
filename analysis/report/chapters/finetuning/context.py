"""The chapter's tables: numbers of each tuned model beside those of its base."""

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _

from analysis import columns as c
from analysis.codec import MissingResult, need, present
from analysis.presentation import Table
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.finetuning.results import (
    FINETUNING_METHOD,
    PARTS_METHOD,
    REFERENCE_TEXTS_METHOD,
    Comparison,
    FineTuning,
    TunedModel,
)
from analysis.report.chapters.memorisation.context import IN_TRAINING
from analysis.stats.verdicts import Verdict
from lib import formatting as f

Compared = Sequence[tuple[TunedModel, Comparison]]


def tables_of(models: Sequence[TunedModel]) -> list[Table]:
    """Models of a family stand together, as in the figures."""
    families = list(dict.fromkeys(model.family for model in models))
    models = sorted(models, key=lambda model: families.index(model.family))
    compared = [(model, found) for model in models if (found := present(model.comparison))]
    with_one_prompt = [pair for pair in compared if pair[0].have_one_prompt]
    subfields = [(m.label, one.subfield, one.part) for m, _found in compared for one in m.subfields]
    return [
        *_decisions(models),
        *_perplexities(with_one_prompt),
        *_nats(with_one_prompt),
        *_corpora_table(models),
        *_cutoffs_table(models),
        *c.page_table(_("Fine-tuning by subfield"), _part_columns(_("Subfield")), subfields),
        *_trainings(models),
    ]


def _decisions(models: Sequence[TunedModel]) -> list[Table]:
    columns = (
        c.text(_("Tuned model"), "label"),
        c.text(_("Base"), "base_label"),
        c.count(_("Test cases"), "n_items"),
        c.percent(_("Before"), "comparison.before.accuracy"),
        c.percent(_("After"), "comparison.after.accuracy"),
        c.shown(_("Gained / lost"), lambda model: _changed(present(model.comparison))),
        c.p_value(_("McNemar p"), "comparison.mcnemar.p"),
        c.p_value(_("after Holm"), "mcnemar_holm_p"),
    )
    return c.page_table(_("Before and after fine-tuning"), columns, models, "finetuning_items")


def _changed(found: Comparison | None) -> str:
    if found is None:
        return f.DASH
    return f"{f.number(found.mcnemar.gained, 0)} / {f.number(found.mcnemar.lost, 0)}"


def _perplexities(compared: Compared) -> list[Table]:
    columns = (
        c.text(_("Tuned model"), "0.label"),
        c.number(_("Before"), "1.ppl_correct.before_mean"),
        c.number(_("After"), "1.ppl_correct.after_mean"),
        c.number(_("Fall"), "2.mean_difference", digits=3),
        c.ci(_("95% CI"), "2.ci95", digits=3),
        c.shown(_("t (df)"), lambda row: f"{f.number(row[2].t)} ({row[2].df})"),
        c.p_value(_("p"), "2.p"),
        c.number(_("d"), "2.d_av"),
    )
    rows = [(model, found, test) for model, found in compared for test in [found.ppl_correct.test]]
    return c.page_table(_("Perplexity of the correct versions"), columns, rows, "finetuning_items")


def _nats(compared: Compared) -> list[Table]:
    columns = (
        c.text(_("Tuned model"), "0.label"),
        c.number(_("Fall, original"), "1.nats.original.mean_difference", digits=4),
        c.number(_("Fall, altered"), "1.nats.altered.mean_difference", digits=4),
        c.number(_("Difference"), "1.nats.interaction.mean_difference", digits=4),
        c.ci(_("95% CI"), "1.nats.interaction.ci95", digits=4),
        c.p_value(_("p after Holm"), "0.interaction_holm_p"),
    )
    caption = _("Learning the field or the answer: fall of the log perplexity, nats per token")
    return c.page_table(caption, columns, compared, "finetuning_items")


def _corpora_table(models: Sequence[TunedModel]) -> list[Table]:
    columns = (
        c.text(_("Tuned model"), "0.label"),
        c.text(_("Texts"), "1.label"),
        c.text(_("In its training data"), lambda row: IN_TRAINING.get(row[1].in_training)),
        c.count(_("n"), "1.n_texts"),
        c.number(_("Before"), "1.change.before.mean", digits=3),
        c.number(_("After"), "1.change.after.mean", digits=3),
        c.number(_("Fall"), "1.change.fall.mean_difference", digits=3),
        c.ci(_("95% CI"), "1.change.fall.ci95", digits=3),
    )
    rows = [(model, corpus) for model in models for corpus in present(model.corpora) or ()]
    return c.page_table(_("Reference texts: log perplexity, nats per token"), columns, rows)


def _cutoffs_table(models: Sequence[TunedModel]) -> list[Table]:
    rows = [
        (model.label, words % {"day": found.cutoff}, part)
        for model in models
        if (found := present(model.by_cutoff))
        for words, part in (
            (_("up to %(day)s"), found.before),
            (_("after %(day)s"), found.after),
            (_("on an unknown date"), found.undated),
        )
        if part.n_items or part is not found.undated
    ]
    return c.page_table(
        _("Before and after the end of the training data"), _part_columns(_("Published")), rows
    )


def _part_columns(of: str) -> Sequence[c.Column]:
    """Of rows: model, the part's name, the part."""
    return (
        c.text(_("Tuned model"), "0"),
        c.shown(of, "1", is_number=False),
        c.count(_("n"), "2.n_items"),
        c.percent(_("Before"), "2.decisions.before.accuracy"),
        c.percent(_("After"), "2.decisions.after.accuracy"),
        c.points(_("Difference, points"), "2.decisions.mcnemar.difference"),
        c.points_ci(_("95% CI"), "2.decisions.mcnemar.ci95"),
    )


def _trainings(models: Sequence[TunedModel]) -> list[Table]:
    columns = (
        c.text(_("Tuned model"), "label"),
        c.text(_("Corpus"), "training.corpus"),
        c.count(_("Documents"), "training.documents"),
        c.count(_("Its tokens"), "training.corpus_tokens"),
        c.count(_("Tokens trained on"), "training.tokens_seen"),
        c.count(_("Weights trained"), "training.trainable_parameters"),
        c.number(_("Held-out loss before"), "training.held_out_before", digits=3),
        c.number(_("after"), "training.held_out_after", digits=3),
    )
    rows = [model for model in models if model.training]
    return c.page_table(
        _("Models trained here: corpus, and held-out loss in nats per token"), columns, rows
    )


# --- What the chapter on fine-tuning says.

SHOWN = 3  # models with sentences of their own; the tables have all


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
            "verdict": model.accuracy_verdict,
            "favours": _favours(model),
        }
        for model, found in compared
    ]


def _favours(model: TunedModel) -> str:
    """The version whose log perplexity fell more: "original", "altered", or "" where neither clearly did; "few" below enough."""
    named = {Verdict.ABOVE: "original", Verdict.BELOW: "altered", Verdict.TOO_FEW: "few"}
    return named.get(model.interaction_verdict, "") if model.interaction_verdict else ""


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

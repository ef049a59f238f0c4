"""What the chapter on fine-tuning says."""

from collections.abc import Sequence
from typing import Any

from analysis.codec import MissingResult, need, present
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.finetuning import parts, reference_texts
from analysis.report.chapters.finetuning.results import METHOD, FineTuning, TunedModel
from analysis.report.chapters.finetuning.tables import Compared, tables_of

SHOWN = 3  # models with sentences of their own; the tables have all
ALPHA = 0.05


def page(source: SourceResults, about: About) -> Page:
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
    methods = (METHOD, parts.METHOD, reference_texts.METHOD)
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

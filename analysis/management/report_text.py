"""Output of `report` and `braingpt` for people."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from analysis.charts.rows import labels
from analysis.codec import MissingResult, present
from analysis.management.graded import rate_lines
from analysis.report.chapter import SourceResults
from analysis.report.chapters.accuracy.results import Accuracy
from analysis.report.chapters.finetuning.results import FineTuning
from analysis.report.chapters.graded_rates.results import GradedRates
from analysis.report.contents import CHAPTERS
from analysis.report.headline import Estimate, headline
from analysis.report.report import Report
from analysis.services.export import Written
from analysis.stats.verdicts import Verdict
from lib.formatting import p_value
from scoring.models import Training

# What the first lines say already
PRINTED = ("humans", "models", "models_mean", "models_vs_humans", "graded_rates")

# trainings, items, texts -> their rows
BeforeAfter = dict[str, list[dict[str, Any]]]
# A training's manifest, by the names of columns. Losses are on the corpus's held-out part, in nats per token:
# before the first step, and of the weights that were kept
LOSSES = {
    "steps": "steps",
    "tokens": "tokens",
    "before": "untrained_held_out_loss",
    "after": "held_out_loss",
}


def lines(report: Report, written: Written | None, folder: Path) -> list[str]:
    """Lines on the study, the headline of each source, the rates of answers to questions, and what was written."""
    study, participants = report.header.study, report.header.participants
    found = [f"study        {study.slug} ({study.title})"]
    found.append(f"participants {participants.label}. {participants.note}".rstrip())
    if participants.rules_version is not None:
        found.append(f"rules        version {participants.rules_version} of the study")
    for name, source in report.sources.items():
        answer, own = headline(source), source.of(Accuracy)
        shown = {
            "humans": _estimate(answer.humans, "trials") or _missing(own.humans),
            "models": _estimate(answer.models, "test cases" if answer.model else "models")
            or _missing(own.models_mean),
            "models minus humans": _estimate(answer.difference, "models", "+")
            or _missing(own.models_vs_humans),
        }
        pairs = present(own.base_vs_chat)
        if pairs and isinstance(pairs.test, MissingResult):
            shown["base_vs_chat"] = pairs.test.reason
        found += ["", f"{name}-created test cases"]
        found += (f"  {what:<18} {line}" for what, line in shown.items())
        if answer.few:
            found.append(f"  {answer.few.words}")
        elif answer.verdict is Verdict.TOO_FEW:
            found.append("  The models decided too few test cases to say whether they or people are more accurate.")  # fmt: skip
        found += _others_missing(source)
    if GradedRates in report.of_study.results:
        rated = report.of_study.of(GradedRates).graded_rates
        found += ["", "questions"]
        if isinstance(rated, MissingResult):
            found.append(f"  {_missing(rated)}")
        else:
            names = labels(rated.models)
            rates = {
                names[model.name]: (model.found.rates.n, model.found.rates.n_unparsed, model.found)
                for model in rated.models
            }
            found += rate_lines(rates)
            found += (f"{model.label}: no grade could be read" for model in rated.unread)
    found += _others_missing(report.of_study)
    if written is not None:
        documents = ", ".join(sorted(written.documents))
        others = f"{len(written.tables)} tables, {len(written.figures)} figures"
        found += ["", f"{written.n_files} files in {folder}: {documents}, {others}"]
    return found


def _others_missing(source: SourceResults) -> Iterator[str]:
    """The results of which no line is printed and that the data could not support: a line for each reason."""
    reasons: dict[str, list[str]] = {}
    for chapter in CHAPTERS:
        if chapter.results not in source.results:
            continue
        for key, why in zip(chapter.keys, chapter.missing_in(source), strict=True):
            if why is not None and key not in PRINTED:
                reasons.setdefault(why.reason, []).append(key)
    for reason, keys in reasons.items():
        yield f"  {', '.join(keys)}: {reason}"


def _missing(why: object) -> str:
    return f"{why.reason} {why.needed}" if isinstance(why, MissingResult) else ""


def _estimate(found: Estimate | None, unit: str, sign: str = "") -> str:
    if found is None:
        return ""
    noun = unit[:-1] if found.n == 1 else unit
    ends = (f"{end:{sign}.4f}" for end in found.ci95 or ())
    clustered = " to ".join(ends) or "not known"
    line = f"{'' if sign else 'accuracy '}{found.value:{sign}.4f}  95% clustered {clustered}"
    return f"{line}  ({found.n:,} {noun})"


def before_after(report: Report, trainings: Sequence[Training]) -> BeforeAfter:
    """Comparison of the models that these trainings made, as far as the report compares them with a base.

    items: log perplexities' falls in nats per token, before minus after; texts: mean log perplexity of texts that
    neither model has read, in nats per token.
    """
    names = {training.name for training in trainings}
    pairs = [
        (source, model)
        for source, results in report.sources.items()
        for model in present(results.of(FineTuning).finetuning) or ()
        if model.name in names
    ]
    items = [
        {
            "source": source,
            "n_items": model.n_items,
            "n_correct_before": found.before.n_correct,
            "n_correct_after": found.after.n_correct,
            "mcnemar_p": found.mcnemar.p,
            "original_fall": found.nats.original.mean_difference,
            "altered_fall": found.nats.altered.mean_difference,
        }
        for source, model in pairs
        if (found := present(model.comparison))
    ]
    texts = [
        {
            "name": corpus.corpus,
            "n_texts": corpus.n_texts,
            "before": change.before.mean,
            "after": change.after.mean,
        }
        for _, model in pairs[:1]  # the texts are the same, whoever altered the test cases
        for corpus in present(model.corpora) or ()
        if (change := present(corpus.change))
    ]
    losses = [
        {"model": own.name, "mode": own.mode}
        | {column: own.manifest[key] for column, key in LOSSES.items()}
        for own in trainings
    ]
    return {"trainings": losses, "items": items, "texts": texts}


def before_after_lines(found: BeforeAfter) -> Iterator[str]:
    yield "Held-out loss, nats per token, before the first step and after:"
    for own in found["trainings"]:
        yield f"  {own['model']:<22} {own['before']:.3f}  {own['after']:.3f}  ({own['steps']:,} steps, {own['tokens']:,} tokens)"
    yield "The demonstration model on the demo study, before and after its adapter:"
    for one in found["items"]:
        yield (
            f"  {one['source']}-created: {one['n_correct_before']} right before and {one['n_correct_after']} after, of "
            f"{one['n_items']} (McNemar {p_value(one['mcnemar_p'])}); log perplexity fell by {one['original_fall']:.3f} on "
            f"originals and {one['altered_fall']:.3f} on altered versions"
        )
    for text in found["texts"]:
        yield (
            f"  {text['n_texts']} texts of “{text['name']}”, which neither model was trained on: {text['before']:.3f} and "
            f"{text['after']:.3f} nats per token"
        )

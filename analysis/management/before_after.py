"""What `braingpt` prints: losses of its two trainings, and the adapter's pair in the report's chapter on fine-tuning."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analysis.codec import present
from analysis.report.chapters.finetuning.results import FineTuning
from analysis.report.report import Report
from lib.formatting import p_value
from scoring.models import Training


@dataclass(frozen=True)
class Losses:
    """Of the corpus's held-out part, in nats per token: before the first step, and of the weights that were kept."""

    model: str
    mode: str
    steps: int
    tokens: int
    before: float
    after: float


@dataclass(frozen=True)
class OnItems:
    """The tuned model beside its base; log perplexities' falls in nats per token, before minus after."""

    source: str
    n_items: int
    n_correct_before: int
    n_correct_after: int
    mcnemar_p: float
    original_fall: float
    altered_fall: float


@dataclass(frozen=True)
class OnTexts:
    """Mean log perplexity of texts that neither model has read, in nats per token."""

    name: str
    n_texts: int
    before: float
    after: float


@dataclass(frozen=True)
class BeforeAfter:
    trainings: tuple[Losses, ...]
    items: tuple[OnItems, ...]
    texts: tuple[OnTexts, ...]


def before_after(report: Report, trainings: Sequence[Training]) -> BeforeAfter:
    """Of the models that these trainings made, as far as the report compares them with a base."""
    names = {training.name for training in trainings}
    pairs = [
        (source, model)
        for source, results in report.sources.items()
        for model in present(results.of(FineTuning).finetuning) or ()
        if model.name in names
    ]
    items = (
        OnItems(
            source,
            model.n_items,
            found.before.n_correct,
            found.after.n_correct,
            found.mcnemar.p,
            found.nats.original.mean_difference,
            found.nats.altered.mean_difference,
        )
        for source, model in pairs
        if (found := present(model.comparison))
    )
    texts = (
        OnTexts(corpus.corpus, corpus.n_texts, change.before.mean, change.after.mean)
        for _, model in pairs[:1]  # the texts are the same, whoever altered the test cases
        for corpus in present(model.corpora) or ()
        if (change := present(corpus.change))
    )
    return BeforeAfter(tuple(map(_losses, trainings)), tuple(items), tuple(texts))


def lines(found: BeforeAfter) -> Iterator[str]:
    yield "Held-out loss, nats per token, before the first step and after:"
    for own in found.trainings:
        yield f"  {own.model:<22} {own.before:.3f}  {own.after:.3f}  ({own.steps:,} steps, {own.tokens:,} tokens)"
    yield "The demonstration model on the demo study, before and after its adapter:"
    for one in found.items:
        yield (
            f"  {one.source}-created: {one.n_correct_before} and {one.n_correct_after} of {one.n_items} right (McNemar "
            f"{p_value(one.mcnemar_p)}); log perplexity fell by {one.original_fall:.3f} on originals, {one.altered_fall:.3f} on altered versions"
        )
    for text in found.texts:
        yield f"  {text.n_texts} texts of “{text.name}”, which neither has read: {text.before:.3f} and {text.after:.3f} nats per token"


def _losses(training: Training) -> Losses:
    made = training.manifest
    return Losses(
        training.name,
        training.mode,
        made["steps"],
        made["tokens"],
        made["untrained_held_out_loss"],
        made["held_out_loss"],
    )

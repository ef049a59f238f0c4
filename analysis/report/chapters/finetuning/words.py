"""The chapter on fine-tuning, as sentences, tables and captions: each tuned model beside its base."""

from collections.abc import Mapping, Sequence
from typing import Any

from analysis import columns as c
from analysis.codec import MissingResult, need, present
from analysis.presentation import FigureText, Table, paragraphs, sentences
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.finetuning.results import (
    FINETUNING_METHOD,
    PARTS_METHOD,
    REFERENCE_TEXTS_METHOD,
    Comparison,
    Families,
    FineTuning,
    TunedModel,
)
from analysis.report.chapters.memorisation.words import IN_TRAINING
from analysis.report.families import family_sentences, too_few
from analysis.stats.estimates import PairedTest
from analysis.stats.verdicts import Verdict
from lib import formatting as f

Compared = Sequence[tuple[TunedModel, Comparison]]

SHOWN = 3  # models with sentences of their own; the tables have all
# The version whose log perplexity clearly fell more, or rose less
FAVOURED = {
    Verdict.ABOVE: (
        "Log perplexity fell more, or rose less, on the originals than on the altered versions, so part of what the model learned "
        "distinguishes the two."
    ),
    Verdict.BELOW: (
        "Log perplexity fell more, or rose less, on the altered versions than on the originals, so what the model learned does not "
        "help to distinguish the two."
    ),
    Verdict.TOO_FEW: "There are too few test cases to say whether either version gained more.",
    Verdict.UNCLEAR: (
        "The data do not show that either version gained more, so there is no evidence that the model learned more than "
        "the language of the field."
    ),
}


def finetuning_page(source: SourceResults, about: About) -> Page:
    own = source.of(FineTuning)
    models = need(own.finetuning)
    compared = [(model, found) for model in models if (found := present(model.comparison))]
    if len(compared) > SHOWN:
        changes, texts = _many(compared, present(own.finetuning_tests))
    else:
        changes, texts = [_pair(model, found) for model, found in compared], ""
    # On the first reference texts for which a change can be told
    on_corpora = []
    corpora = [(model, corpus) for model in models for corpus in present(model.corpora) or ()]
    for model, corpus in corpora:
        if change := present(corpus.change):
            fall = change.fall
            side = "below" if fall.mean_difference >= 0 else "above"
            on_corpora.append(
                f"On {f.count(corpus.n_texts, 'text')} of “{corpus.label}” the mean log perplexity of {model.label} is "
                f"{f.number(abs(fall.mean_difference), 3)} nats per token {side} its base's ({_ends(fall)})."
            )
    other_prompts = [
        f"{model.base_label} and {model.label} received different prompts ({model.prompts[0]}, {model.prompts[1]}), so their "
        "perplexities cannot be compared."
        for model in models
        if not model.have_one_prompt
    ]
    return Page(
        text=paragraphs(
            *changes,
            texts,
            *other_prompts,
            _reason([model.corpora for model in models]),
            sentences(*on_corpora[:SHOWN]),
            _reason([model.by_cutoff for model in models]),
            _cutoffs(models),
        ),
        tables=_tables(models),
        methods=(FINETUNING_METHOD, PARTS_METHOD, REFERENCE_TEXTS_METHOD),
        finding=sentences(*changes),
    )


def _pair(model: TunedModel, found: Comparison) -> str:
    before, after = f.percent(found.before.accuracy), f.percent(found.after.accuracy)
    accuracy = f"{before} before and after" if before == after else f"from {before} to {after}"
    halves = ", a tie counting half" if found.before.n_ties or found.after.n_ties else ""
    corrected = f", after Holm {f.p_value(model.mcnemar_holm_p)}" if f.is_known(model.mcnemar_holm_p) else ""  # fmt: skip
    decisions = (
        f"Of {f.count(model.n_items, 'test case')}, {model.label} gained {f.number(found.mcnemar.gained, 0)} and lost "
        f"{f.number(found.mcnemar.lost, 0)} compared with {model.base_label} (accuracy {accuracy}{halves}; exact McNemar "
        f"{f.p_value(found.mcnemar.p)}{corrected})."
    )
    # A clear change needs no sentence of its own: gained and lost say it
    match model.accuracy_verdict:
        case Verdict.UNCLEAR:
            change = "The data do not show a change of accuracy."
        case Verdict.TOO_FEW:
            change = "There are too few test cases to say whether accuracy changed."
        case _:
            change = ""
    # Perplexities under different prompts cannot be compared
    if not model.have_one_prompt:
        return sentences(decisions, change)
    ppl, nats = found.ppl_correct.test, found.nats
    fell = "fell" if ppl.mean_difference >= 0 else "rose"
    original, altered, difference = (
        f.number(test.mean_difference, 4)
        for test in (nats.original, nats.altered, nats.interaction)
    )
    return sentences(
        decisions,
        change,
        f"In this sample, the perplexity of original texts {fell} by {f.number(abs(ppl.mean_difference), 3)} ({_ends(ppl)}).",
        f"Log perplexity, before minus after: {original} nats per token on original texts, {altered} on altered ones; the "
        f"difference is {difference} (95% CI {f.interval(nats.interaction.ci95, 4)}).",
        FAVOURED[model.interaction_verdict] if model.interaction_verdict else "",
    )


def _many(compared: Compared, tests: Families | None) -> tuple[list[str], str]:
    """Sentences on many models: on their accuracies, and on the texts that became more likely."""
    changes = [found.mcnemar.difference for _model, found in compared]
    better, worse = sum(change > 0 for change in changes), sum(change < 0 for change in changes)
    are_right = f.verb(
        better,
        "has a higher accuracy than its base model",
        "have higher accuracies than their base models",
    )
    counted = (
        f"Of {f.count(len(compared), 'model')} that were tuned, {f.number(better, 0)} {are_right} in this sample, and "
        f"{f.number(worse, 0)} {f.verb(worse, 'a lower one', 'lower ones')}."
    )
    if tests:
        unclear = "After this correction, the data do not show a change of accuracy in any of them."
        tested = family_sentences(tests.decisions)
        few = too_few([model.accuracy_verdict for model, _found in compared])
        counted = sentences(counted, tested, few, "" if tests.decisions.n_clear else unclear)

    # Perplexities under different prompts cannot be compared
    with_one_prompt = [found for model, found in compared if model.have_one_prompt]
    if not with_one_prompt:
        return [counted], ""
    fell = sum(found.nats.original.mean_difference > 0 for found in with_one_prompt)
    verdicts = [model.interaction_verdict for model, _found in compared]
    more, less = verdicts.count(Verdict.ABOVE), verdicts.count(Verdict.BELOW)
    few = f"{said} " if (said := too_few(verdicts)) else ""
    return [counted], (
        f"The log perplexity of original texts fell in {f.number(fell, 0)} of {f.count(len(with_one_prompt), 'model')}. After "
        f"Holm's correction, it clearly fell more, or rose less, than that of altered versions in {f.number(more, 0)}, and clearly fell less, or "
        f"rose more, in {f.number(less, 0)}. {few}A gain that both versions share reflects the language of the field. Only the difference helps to "
        "distinguish them."
    )


def _reason(results: Sequence[Any]) -> str:
    """Why none of them is there; "" where one is."""
    missing = [one for one in results if isinstance(one, MissingResult)]
    if not missing or len(missing) < len(results):
        return ""
    return sentences(missing[0].reason, missing[0].needed)


def _ends(fall: PairedTest) -> str:
    """The interval of a fall, or of a rise if the mean is below 0, so that it holds the size that the sentence gives."""
    if fall.ci95 is None or fall.mean_difference >= 0:
        return f"95% CI {f.interval(fall.ci95, 3)}"
    low, high = fall.ci95
    return f"95% CI {f.interval((-high, -low), 3)}"


def _cutoffs(models: Sequence[TunedModel]) -> str:
    told = []
    for model in models:
        if not (found := present(model.by_cutoff)):
            continue
        is_all = 0 < found.after.n_items == model.n_items
        cases = f"{'All ' if is_all else ''}{f.count(found.after.n_items, 'test case')}"
        appeared = (
            f"{cases} appeared after the end of {model.label}'s training data ({found.cutoff})"
        )
        # Items after the cut-off are those that the model cannot have read
        if is_all:
            compared = f"{appeared}, so its comparison with its base model is of later texts only."
        elif after := present(found.after.decisions):
            compared = (
                f"{appeared}. On these, the base model was right in {f.percent(after.before.accuracy)} and the tuned model in "
                f"{f.percent(after.after.accuracy)}, {f.points(after.mcnemar.difference)} percentage points (95% CI "
                f"{f.points_interval(after.mcnemar.ci95)}, not corrected for multiple tests)."
            )
        else:
            compared = f"{appeared}, which is too few for a comparison."
        caveat = "This is the last day of its corpus. The cutoff of its base model is not known."
        told.append(sentences(compared, "" if found.is_base_known else caveat))
    return sentences(*told[:SHOWN])


# --- Its tables.


DECISIONS = (
    c.text("Tuned model", "label"),
    c.text("Base", "base_label"),
    c.count("Test cases", "n_items"),
    c.percent("Before", "comparison.before.accuracy"),
    c.percent("After", "comparison.after.accuracy"),
    c.shown(
        "Gained / lost",
        lambda model: (
            f"{f.number(found.mcnemar.gained, 0)} / {f.number(found.mcnemar.lost, 0)}"
            if (found := present(model.comparison))
            else f.DASH
        ),
    ),
    c.p_value("McNemar p", "comparison.mcnemar.p"),
    c.p_value("after Holm", "mcnemar_holm_p"),
)
# Rows of the next two: a model, its comparison
PERPLEXITIES = (
    c.text("Tuned model", "0.label"),
    c.number("Before", "1.ppl_correct.before_mean"),
    c.number("After", "1.ppl_correct.after_mean"),
    c.number("Fall", "1.ppl_correct.test.mean_difference", digits=3),
    c.ci("95% CI", "1.ppl_correct.test.ci95", digits=3),
    c.shown(
        "t (df)",
        lambda row: f"{f.number(row[1].ppl_correct.test.t)} ({row[1].ppl_correct.test.df})",
    ),
    c.p_value("p", "1.ppl_correct.test.p"),
    c.number("d", "1.ppl_correct.test.d_av"),
)
NATS = (
    c.text("Tuned model", "0.label"),
    c.number("Fall, original", "1.nats.original.mean_difference", digits=4),
    c.number("Fall, altered", "1.nats.altered.mean_difference", digits=4),
    c.number("Difference", "1.nats.interaction.mean_difference", digits=4),
    c.ci("95% CI", "1.nats.interaction.ci95", digits=4),
    c.p_value("p after Holm", "0.interaction_holm_p"),
)
# Rows: a model, one of its corpora
CORPORA = (
    c.text("Tuned model", "0.label"),
    c.text("Texts", "1.label"),
    c.text("In its training data", lambda row: IN_TRAINING.get(row[1].in_training)),
    c.count("n", "1.n_texts"),
    c.number("Before", "1.change.before.mean", digits=3),
    c.number("After", "1.change.after.mean", digits=3),
    c.number("Fall", "1.change.fall.mean_difference", digits=3),
    c.ci("95% CI", "1.change.fall.ci95", digits=3),
)
TRAININGS = (
    c.text("Tuned model", "label"),
    c.text("Corpus", "training.corpus"),
    c.count("Documents", "training.documents"),
    c.count("Its tokens", "training.corpus_tokens"),
    c.count("Tokens trained on", "training.tokens_seen"),
    c.count("Weights trained", "training.trainable_parameters"),
    c.number("Held-out loss before", "training.held_out_before", digits=3),
    c.number("after", "training.held_out_after", digits=3),
)


def _part_columns(of: str) -> Sequence[c.Column]:
    """Columns of rows: model, the part's name, the part."""
    return (
        c.text("Tuned model", "0"),
        c.shown(of, "1", is_number=False),
        c.count("n", "2.n_items"),
        c.percent("Before", "2.decisions.before.accuracy"),
        c.percent("After", "2.decisions.after.accuracy"),
        c.points("Difference, points", "2.decisions.mcnemar.difference"),
        c.points_ci("95% CI", "2.decisions.mcnemar.ci95"),
    )


def _tables(models: Sequence[TunedModel]) -> list[Table]:
    # Models of a family stand together, as in the figures
    families = list(dict.fromkeys(model.family for model in models))
    models = sorted(models, key=lambda model: families.index(model.family))
    compared = [(model, found) for model in models if (found := present(model.comparison))]
    with_one_prompt = [pair for pair in compared if pair[0].have_one_prompt]
    corpora = [(model, corpus) for model in models for corpus in present(model.corpora) or ()]
    cutoffs = [
        (model.label, published, part)
        for model in models
        if (dated := present(model.by_cutoff))
        for published, part in (
            (f"up to {dated.cutoff}", dated.before),
            (f"after {dated.cutoff}", dated.after),
            ("on an unknown date", dated.undated),
        )
        if part.n_items or part is not dated.undated
    ]
    subfields = [(m.label, one.subfield, one.part) for m, _found in compared for one in m.subfields]
    trained = [model for model in models if model.training]
    items = "finetuning_items"
    nats = "Learning the field or the answer: fall of the log perplexity, nats per token"
    texts = "Reference texts: log perplexity, nats per token"
    dates = "Before and after the end of the training data"
    losses = "Models trained here: corpus, and held-out loss in nats per token"
    return [
        *c.page_table("Before and after fine-tuning", DECISIONS, models, items),
        *c.page_table("Perplexity of the correct versions", PERPLEXITIES, with_one_prompt, items),
        *c.page_table(nats, NATS, with_one_prompt, items),
        *c.page_table(texts, CORPORA, corpora),
        *c.page_table(dates, _part_columns("Published"), cutoffs),
        *c.page_table("Fine-tuning by subfield", _part_columns("Subfield"), subfields),
        *c.page_table(losses, TRAININGS, trained),
    ]


# --- Its figures; names: of the models as the charts show them.


def finetuning_figure(compared: Compared, names: Mapping[str, str]) -> FigureText:
    changes = "; ".join(
        f"{names[model.name]} from {f.percent(found.before.accuracy)} to {f.percent(found.after.accuracy)}"
        for model, found in compared
    )
    return FigureText(
        "Accuracy and perplexity before and after tuning",
        sentences(
            _n_tuned(compared),
            "Lines are 95% score intervals; p from the exact McNemar test, separately for each pair. Curves are kernel densities of "
            "the perplexity of the original abstracts, on a logarithmic axis; d is the paired difference over the average SD (d_av).",
        ),
        f"Accuracy before and after tuning: {changes}.",
    )


def versions_figure(compared: Compared, names: Mapping[str, str]) -> FigureText:
    falls = []
    for model, found in compared:
        of_versions = (found.nats.original, found.nats.altered)
        original, altered = (f.number(one.mean_difference, 3) for one in of_versions)
        difference = f.number(found.nats.interaction.mean_difference, 4)
        falls.append(
            f"{names[model.name]} {original} on original and {altered} on altered texts, difference {difference}"
        )
    return FigureText(
        "Effect of tuning on original and altered texts",
        sentences(
            _n_tuned(compared),
            "Left: mean log perplexity before minus after tuning. Right, on a separate axis: how much more it fell on the original "
            "than on the altered version. Lines are 95% intervals from Student's t on paired differences. A gain that both versions "
            "share does not help to distinguish them.",
        ),
        f"Fall of the log perplexity in nats per token: {'; '.join(falls)}.",
    )


def _n_tuned(compared: Compared) -> str:
    n = len(compared)
    most = f.count(max(model.n_items for model, _found in compared), "test case")
    models = f"tuned model on {most}" if n == 1 else f"tuned models, each on up to {most}"
    return f"n = {f.number(n, 0)} {models} that its base model also scored."

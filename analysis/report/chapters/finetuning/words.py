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
    CorpusChange,
    CutoffChange,
    Families,
    FineTuning,
    TunedModel,
)
from analysis.report.chapters.memorisation.words import IN_TRAINING
from analysis.report.families import family_sentences
from analysis.stats.estimates import PairedTest
from analysis.stats.finetuning import NatsChange, TextsChange
from analysis.stats.verdicts import Verdict
from lib import formatting as f

Compared = Sequence[tuple[TunedModel, Comparison]]

SHOWN = 3  # models with sentences of their own; the tables have all


def finetuning_page(source: SourceResults, about: About) -> Page:
    own = source.of(FineTuning)
    models = need(own.finetuning)
    compared = [(model, found) for model in models if (found := present(model.comparison))]
    is_many = len(compared) > SHOWN
    changes = (
        [_summary(compared, present(own.finetuning_tests))]
        if is_many
        else [_pair(model, found) for model, found in compared]
    )
    return Page(
        text=paragraphs(
            *changes,
            _texts(compared) if is_many else "",
            *(_other_prompts(model) for model in models if not model.have_one_prompt),
            _reason([model.corpora for model in models]),
            _corpora(models),
            _reason([model.by_cutoff for model in models]),
            _cutoffs(models),
        ),
        tables=_tables(models),
        methods=(FINETUNING_METHOD, PARTS_METHOD, REFERENCE_TEXTS_METHOD),
        finding=sentences(*changes),
    )


def _pair(model: TunedModel, found: Comparison) -> str:
    return sentences(
        _decisions(model, found),
        _accuracy_change(model.accuracy_verdict),
        *(
            (_perplexity(found.ppl_correct.test), _nats(found.nats), _favoured(model))
            if model.have_one_prompt
            else ()
        ),
    )


def _decisions(model: TunedModel, found: Comparison) -> str:
    before, after = f.percent(found.before.accuracy), f.percent(found.after.accuracy)
    accuracy = f"{before} before and after" if before == after else f"from {before} to {after}"
    halves = ", a tie counting half" if found.before.n_ties or found.after.n_ties else ""
    corrected = f", after Holm {f.p_value(model.mcnemar_holm_p)}" if f.is_known(model.mcnemar_holm_p) else ""  # fmt: skip
    return (
        f"Of {f.count(model.n_items, 'test case')}, {model.label} gained {f.number(found.mcnemar.gained, 0)} and lost "
        f"{f.number(found.mcnemar.lost, 0)} compared with {model.base_label} (accuracy {accuracy}{halves}; exact McNemar "
        f"{f.p_value(found.mcnemar.p)}{corrected})."
    )


def _accuracy_change(verdict: Verdict | None) -> str:
    if verdict is Verdict.UNCLEAR:
        return "The data do not show a change of accuracy."
    if verdict is Verdict.TOO_FEW:
        return "There are too few test cases to say whether accuracy changed."
    return ""


def _perplexity(test: PairedTest) -> str:
    changed = "fell" if test.mean_difference >= 0 else "rose"
    return (
        f"The perplexity of original texts {changed} by {f.number(abs(test.mean_difference), 3)} (before minus after, "
        f"95% CI {f.interval(test.ci95, 3)})."
    )


def _nats(nats: NatsChange) -> str:
    original, altered, difference = (
        f.number(test.mean_difference, 4)
        for test in (nats.original, nats.altered, nats.interaction)
    )
    return (
        f"Log perplexity, before minus after: {original} nats per token on original texts, {altered} on altered ones; the "
        f"difference is {difference} (95% CI {f.interval(nats.interaction.ci95, 4)})."
    )


def _favoured(model: TunedModel) -> str:
    """On which version the log perplexity clearly fell more."""
    match model.interaction_verdict:
        case Verdict.ABOVE:
            return "The originals gained more than the altered versions, so part of what the model learned distinguishes the two."
        case Verdict.BELOW:
            return (
                "The altered versions gained more than the originals, so what the model learned does not help to distinguish "
                "the two."
            )
        case Verdict.TOO_FEW:
            return "There are too few test cases to say whether either version gained more."
        case None:
            return ""
        case Verdict.UNCLEAR:
            return (
                "The data do not show that either version gained more, so there is no evidence that the model learned more than "
                "the language of the field."
            )


def _summary(compared: Compared, tests: Families | None) -> str:
    changes = [found.mcnemar.difference for _model, found in compared]
    better, worse = (
        sum(change > 0 for change in changes),
        sum(change < 0 for change in changes),
    )
    are_right = f.verb(
        better,
        "has a higher accuracy than its base model",
        "have higher accuracies than their base models",
    )
    counted = (
        f"Of {f.count(len(compared), 'model')} that were tuned, {f.number(better, 0)} {are_right} in this sample, and "
        f"{f.number(worse, 0)} {f.verb(worse, 'a lower one', 'lower ones')}."
    )
    if tests is None:
        return counted
    return sentences(
        counted,
        family_sentences(tests.decisions),
        ""
        if tests.decisions.n_clear
        else "After this correction, the data do not show a change of accuracy in any of them.",
    )


def _texts(compared: Compared) -> str:
    """Sentence on many models: on how many texts became more likely, and how often the originals clearly more or less so."""
    with_one_prompt = [(model, found) for model, found in compared if model.have_one_prompt]
    if not with_one_prompt:
        return ""
    fell = sum(found.nats.original.mean_difference > 0 for _model, found in with_one_prompt)
    verdicts = [model.interaction_verdict for model, _found in compared]
    more, less = verdicts.count(Verdict.ABOVE), verdicts.count(Verdict.BELOW)
    return (
        f"The log perplexity of original texts fell in {f.number(fell, 0)} of {f.count(len(with_one_prompt), 'model')}. After "
        f"Holm's correction, it clearly fell more than that of altered versions in {f.number(more, 0)}, and clearly less in "
        f"{f.number(less, 0)}. A gain that both versions share reflects the language of the field. Only the difference helps to "
        "distinguish them."
    )


def _other_prompts(model: TunedModel) -> str:
    first, second = model.prompts
    return (
        f"{model.base_label} and {model.label} received different prompts ({first}, {second}), so their perplexities cannot be "
        "compared."
    )


def _reason(results: Sequence[Any]) -> str:
    """Why none of them is there; "" where one is."""
    missing = [one for one in results if isinstance(one, MissingResult)]
    if not missing or len(missing) < len(results):
        return ""
    return sentences(missing[0].reason, missing[0].needed)


def _corpora(models: Sequence[TunedModel]) -> str:
    """Sentence on the first reference texts for which a change could be told."""
    told = [
        _corpus(model, corpus, change)
        for model in models
        for corpus in present(model.corpora) or ()
        if (change := present(corpus.change))
    ]
    if not told:
        return ""
    return sentences(
        *told[:SHOWN],
        "On general texts, a rise of the log perplexity would show how much a model has forgotten.",
    )


def _corpus(model: TunedModel, corpus: CorpusChange, change: TextsChange) -> str:
    fall = change.fall
    side = "below" if fall.mean_difference >= 0 else "above"
    return (
        f"On {f.count(corpus.n_texts, 'text')} of “{corpus.label}” the mean log perplexity of {model.label} is "
        f"{f.number(abs(fall.mean_difference), 3)} nats per token {side} its base's (before minus after, 95% CI "
        f"{f.interval(fall.ci95, 3)})."
    )


def _cutoffs(models: Sequence[TunedModel]) -> str:
    told = [
        sentences(
            _after_cutoff(model, found),
            ""
            if found.is_base_known
            else "This is the last day of its corpus. The cutoff of its base model is not known.",
        )
        for model in models
        if (found := present(model.by_cutoff))
    ]
    return sentences(*told[:SHOWN])


def _after_cutoff(model: TunedModel, found: CutoffChange) -> str:
    appeared = (
        f"{f.count(found.after.n_items, 'test case')} appeared after the end of {model.label}'s training data "
        f"({found.cutoff})"
    )
    after = present(found.after.decisions)
    if after is None:
        return f"{appeared}, which is too few for a comparison."
    return (
        f"{appeared}. On these, the base model was right in {f.percent(after.before.accuracy)} and the tuned model in "
        f"{f.percent(after.after.accuracy)}, {f.points(after.mcnemar.difference)} percentage points (95% CI "
        f"{f.points_interval(after.mcnemar.ci95)}, not corrected for multiple tests)."
    )


# --- Its tables.


def _tables(models: Sequence[TunedModel]) -> list[Table]:
    """Models of a family stand together, as in the figures."""
    families = list(dict.fromkeys(model.family for model in models))
    models = sorted(models, key=lambda model: families.index(model.family))
    compared = [(model, found) for model in models if (found := present(model.comparison))]
    with_one_prompt = [pair for pair in compared if pair[0].have_one_prompt]
    subfields = [(m.label, one.subfield, one.part) for m, _found in compared for one in m.subfields]
    return [
        *_decisions_table(models),
        *_perplexities_table(with_one_prompt),
        *_nats_table(with_one_prompt),
        *_corpora_table(models),
        *_cutoffs_table(models),
        *c.page_table("Fine-tuning by subfield", _part_columns("Subfield"), subfields),
        *_trainings_table(models),
    ]


def _decisions_table(models: Sequence[TunedModel]) -> list[Table]:
    columns = (
        c.text("Tuned model", "label"),
        c.text("Base", "base_label"),
        c.count("Test cases", "n_items"),
        c.percent("Before", "comparison.before.accuracy"),
        c.percent("After", "comparison.after.accuracy"),
        c.shown("Gained / lost", lambda model: _changed(present(model.comparison))),
        c.p_value("McNemar p", "comparison.mcnemar.p"),
        c.p_value("after Holm", "mcnemar_holm_p"),
    )
    return c.page_table("Before and after fine-tuning", columns, models, "finetuning_items")


def _changed(found: Comparison | None) -> str:
    if found is None:
        return f.DASH
    return f"{f.number(found.mcnemar.gained, 0)} / {f.number(found.mcnemar.lost, 0)}"


def _perplexities_table(compared: Compared) -> list[Table]:
    columns = (
        c.text("Tuned model", "0.label"),
        c.number("Before", "1.ppl_correct.before_mean"),
        c.number("After", "1.ppl_correct.after_mean"),
        c.number("Fall", "2.mean_difference", digits=3),
        c.ci("95% CI", "2.ci95", digits=3),
        c.shown("t (df)", lambda row: f"{f.number(row[2].t)} ({row[2].df})"),
        c.p_value("p", "2.p"),
        c.number("d", "2.d_av"),
    )
    rows = [(model, found, found.ppl_correct.test) for model, found in compared]
    return c.page_table("Perplexity of the correct versions", columns, rows, "finetuning_items")


def _nats_table(compared: Compared) -> list[Table]:
    columns = (
        c.text("Tuned model", "0.label"),
        c.number("Fall, original", "1.nats.original.mean_difference", digits=4),
        c.number("Fall, altered", "1.nats.altered.mean_difference", digits=4),
        c.number("Difference", "1.nats.interaction.mean_difference", digits=4),
        c.ci("95% CI", "1.nats.interaction.ci95", digits=4),
        c.p_value("p after Holm", "0.interaction_holm_p"),
    )
    caption = "Learning the field or the answer: fall of the log perplexity, nats per token"
    return c.page_table(caption, columns, compared, "finetuning_items")


def _corpora_table(models: Sequence[TunedModel]) -> list[Table]:
    columns = (
        c.text("Tuned model", "0.label"),
        c.text("Texts", "1.label"),
        c.text("In its training data", lambda row: IN_TRAINING.get(row[1].in_training)),
        c.count("n", "1.n_texts"),
        c.number("Before", "1.change.before.mean", digits=3),
        c.number("After", "1.change.after.mean", digits=3),
        c.number("Fall", "1.change.fall.mean_difference", digits=3),
        c.ci("95% CI", "1.change.fall.ci95", digits=3),
    )
    rows = [(model, corpus) for model in models for corpus in present(model.corpora) or ()]
    return c.page_table("Reference texts: log perplexity, nats per token", columns, rows)


def _cutoffs_table(models: Sequence[TunedModel]) -> list[Table]:
    rows = [
        (model.label, published, part)
        for model in models
        if (found := present(model.by_cutoff))
        for published, part in (
            (f"up to {found.cutoff}", found.before),
            (f"after {found.cutoff}", found.after),
            ("on an unknown date", found.undated),
        )
        if part.n_items or part is not found.undated
    ]
    caption = "Before and after the end of the training data"
    return c.page_table(caption, _part_columns("Published"), rows)


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


def _trainings_table(models: Sequence[TunedModel]) -> list[Table]:
    columns = (
        c.text("Tuned model", "label"),
        c.text("Corpus", "training.corpus"),
        c.count("Documents", "training.documents"),
        c.count("Its tokens", "training.corpus_tokens"),
        c.count("Tokens trained on", "training.tokens_seen"),
        c.count("Weights trained", "training.trainable_parameters"),
        c.number("Held-out loss before", "training.held_out_before", digits=3),
        c.number("after", "training.held_out_after", digits=3),
    )
    rows = [model for model in models if model.training]
    caption = "Models trained here: corpus, and held-out loss in nats per token"
    return c.page_table(caption, columns, rows)


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
    falls = "; ".join(_falls(names[model.name], found.nats) for model, found in compared)
    return FigureText(
        "Effect of tuning on original and altered texts",
        sentences(
            _n_tuned(compared),
            "Left: mean log perplexity before minus after tuning. Right, on a separate axis: how much more it fell on the original "
            "than on the altered version. Lines are 95% intervals from Student's t on paired differences. A gain that both versions "
            "share does not help to distinguish them.",
        ),
        f"Fall of the log perplexity in nats per token: {falls}.",
    )


def _n_tuned(compared: Compared) -> str:
    n = len(compared)
    most = f.count(max(model.n_items for model, _found in compared), "test case")
    models = f"tuned model on {most}" if n == 1 else f"tuned models, each on up to {most}"
    return f"n = {f.number(n, 0)} {models} that its base model also scored."


def _falls(name: str, nats: NatsChange) -> str:
    original, altered = (f.number(one.mean_difference, 3) for one in (nats.original, nats.altered))
    difference = f.number(nats.interaction.mean_difference, 4)
    return f"{name} {original} on original and {altered} on altered texts, difference {difference}"

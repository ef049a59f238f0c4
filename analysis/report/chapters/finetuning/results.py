"""Fine-tuning: each tuned model against the model it was tuned from, on the items that both were scored on."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.codec import MissingResult, flattened, present, try_estimate
from analysis.data.dataset import Floats, ModelName, SourceData, TrainingSummary
from analysis.report.chapter import Built
from analysis.report.chapters.finetuning.pairs import Decisions, Pair, decisions, pairs_of
from analysis.report.chapters.finetuning.parts import (
    CutoffChange,
    SubfieldChange,
    cutoff_change,
    subfield_changes,
)
from analysis.report.chapters.finetuning.reference_texts import CorpusChange, corpus_changes
from analysis.stats import NotEnough
from analysis.stats.estimates import PairedTest
from analysis.stats.families import Family, family
from analysis.stats.finetuning import NatsChange, compare

METHOD = (
    "Each tuned model against its base on the test cases that both scored, before minus after: exact McNemar test of the "
    "decisions, paired t tests of perplexities and of their logarithms. The logarithm is a text's mean loss in nats per token: "
    "perplexities are skewed, and a model that halves them all halves the difference of two versions with them. How much more the "
    "original's log perplexity fell than the altered version's tells whether a model learned the answers or the field's "
    "language. Models given different prompts are compared by their decisions alone. p after Holm: over all pairs of models, each "
    "kind of test as one family."
)
NOTHING = (
    "No language model has been scored together with the model that it was tuned from.",
    "State of a model what it was tuned from, and score both on the same test cases.",
)
UNDEFINED = ("No pair of models can be tested.", "Score both on the same test cases.")


@dataclass(frozen=True)
class PerplexityChange:
    """Of one version: mean perplexities, and the paired test of before minus after."""

    before_mean: float
    after_mean: float
    test: PairedTest = flattened()


@dataclass(frozen=True, kw_only=True)
class Comparison(Decisions):
    """`signed_difference` tests PPL(original) - PPL(altered), before minus after; `nats` the same on log perplexities."""

    ppl_correct: PerplexityChange
    ppl_altered: PerplexityChange
    signed_difference: PairedTest
    nats: NatsChange


@dataclass(frozen=True, kw_only=True)
class TunedModel(ModelName):
    """A tuned model, the model that it was tuned from, and the items that both have.

    prompts: what base and tuned model were given, "" unknown. The two holm_p are of McNemar's test and of the
    interaction in nats, each over all pairs; NaN where there is no test.
    """

    base: str
    base_display_name: str
    n_items: int
    prompts: tuple[str, str]
    comparison: Comparison | MissingResult = flattened()
    mcnemar_holm_p: float
    interaction_holm_p: float
    subfields: tuple[SubfieldChange, ...]
    by_cutoff: CutoffChange | MissingResult
    corpora: tuple[CorpusChange, ...] | MissingResult
    training: TrainingSummary | None

    @property
    def base_label(self) -> str:
        return self.base_display_name or self.base

    @property
    def have_one_prompt(self) -> bool:
        """Whether their perplexities can be compared."""
        return len(set(self.prompts)) == 1


@dataclass(frozen=True)
class Families:
    """All pairs as one family of tests each: changed decisions, and whether originals changed as altered versions did."""

    decisions: Family
    interaction: Family | MissingResult


@dataclass(frozen=True)
class FineTuning:
    """Of all models that were scored together with what they were tuned from."""

    finetuning: tuple[TunedModel, ...] | MissingResult
    finetuning_tests: Families | MissingResult


def build(data: SourceData) -> Built:
    """The results, and the table finetuning_items (one row per tuned model and item)."""
    pairs = list(pairs_of(data))
    if not pairs:
        raise NotEnough(*NOTHING)
    models, tests = _corrected(data, pairs, [_tuned(data, pair) for pair in pairs])
    table = pd.concat([_table(data, pair) for pair in pairs], ignore_index=True)
    return Built(FineTuning(models, tests), {"finetuning_items": table})


def _tuned(data: SourceData, pair: Pair) -> TunedModel:
    base = data.model_name(pair.base)
    return TunedModel(
        **data.model_name(pair.tuned),
        base=base["name"],
        base_display_name=base["display_name"],
        n_items=len(pair.items),
        prompts=pair.prompts,
        comparison=try_estimate(_comparison, pair),
        mcnemar_holm_p=np.nan,
        interaction_holm_p=np.nan,
        subfields=subfield_changes(data, pair),
        by_cutoff=try_estimate(cutoff_change, data, pair),
        corpora=try_estimate(corpus_changes, data, pair),
        training=data.trainings.get(pair.tuned),
    )


def _comparison(pair: Pair) -> Comparison:
    found = compare(pair.before, pair.after)
    own = decisions(found.decided)
    original, altered = zip(found.means_before, found.means_after, strict=True)
    return Comparison(
        mcnemar=own.mcnemar,
        before=own.before,
        after=own.after,
        ppl_correct=PerplexityChange(*original, found.ppl_correct),
        ppl_altered=PerplexityChange(*altered, found.ppl_altered),
        signed_difference=found.signed_difference,
        nats=found.nats,
    )


def _corrected(
    data: SourceData, pairs: list[Pair], models: list[TunedModel]
) -> tuple[tuple[TunedModel, ...], Families | MissingResult]:
    """The models with p values as two families, and what is said of these."""
    known = {n: found for n, model in enumerate(models) if (found := present(model.comparison))}
    if not known:
        return tuple(models), MissingResult(*UNDEFINED)
    changed = {n: found.mcnemar.p for n, found in known.items()}
    # Perplexities under different prompts are none of one test
    preferred = {
        n: found.nats.interaction.p for n, found in known.items() if models[n].have_one_prompt
    }
    of_decisions, first = _family(data, pairs, changed, _changed)
    tried = try_estimate(_family, data, pairs, preferred, _interaction)
    of_texts, second = (tried, {}) if isinstance(tried, MissingResult) else tried
    corrected = [
        replace(
            model,
            mcnemar_holm_p=first.get(n, np.nan),
            interaction_holm_p=second.get(n, np.nan),
        )
        for n, model in enumerate(models)
    ]
    return tuple(corrected), Families(of_decisions, of_texts)


def _family(
    data: SourceData, pairs: list[Pair], p: dict[int, float], values: Callable[[Pair], Floats]
) -> tuple[Family, dict[int, float]]:
    """The pairs' tests as one family, and each pair's p after Holm; `values`: what each item says in a pair.

    Raises NotEnough where no p is defined.
    """
    defined = {n: one for n, one in p.items() if not np.isnan(one)}
    if not defined:
        raise NotEnough(*UNDEFINED)
    errors = np.zeros((data.n_items, len(defined)))
    for column, n in enumerate(defined):
        own = values(pairs[n])
        errors[pairs[n].items, column] = own - own.mean()
    together, holm_p = family(list(defined.values()), errors)
    return together, dict(zip(defined, holm_p.tolist(), strict=True))


def _changed(pair: Pair) -> Floats:
    """(n,) 1 where a decision was gained, -1 where it was lost."""
    change: Floats = pair.right_after.astype(np.float64) - pair.right_before
    return change


def _interaction(pair: Pair) -> Floats:
    """(n,) how much more the original's log perplexity fell than the altered version's, in nats per token."""
    fall = np.log(pair.before) - np.log(pair.after)
    difference: Floats = fall[:, 0] - fall[:, 1]
    return difference


def _table(data: SourceData, pair: Pair) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "name": data.models["name"].iloc[pair.tuned],
            "item": data.items["key"].to_numpy()[pair.items],
            "ppl_before": pair.before[:, 0],
            "ppl_after": pair.after[:, 0],
            "ppl_altered_before": pair.before[:, 1],
            "ppl_altered_after": pair.after[:, 1],
            "correct_before": pair.right_before,
            "correct_after": pair.right_after,
        }
    )

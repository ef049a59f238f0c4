"""A tuned model and the model that it was tuned from, on the items that both were scored on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import pandas as pd

from analysis.codec import MissingResult, present, try_estimate
from analysis.data.dataset import Bools, Floats, ModelName, SourceData, TrainingSummary
from analysis.report.chapter import Built
from analysis.report.chapters.memorisation.results import corpus_label
from analysis.stats import NotEnough
from analysis.stats.arrays import Ints
from analysis.stats.estimates import PairedTest
from analysis.stats.families import Family, family
from analysis.stats.finetuning import (
    Decided,
    NatsChange,
    TextsChange,
    compare,
    compare_texts,
    decided,
    decisions,
)
from analysis.stats.memorisation import by_cutoff
from analysis.stats.verdicts import CHAPTER, HOLM, OF_ITEMS, Concludes, Verdict, clear_of

COLUMNS = ["item", "run", "ppl_original", "ppl_altered"]


@dataclass(frozen=True)
class Pair:
    """Numbers of the two models; `items` (n,) in ascending order; perplexities (n, 2) of original and altered version."""

    base: int
    tuned: int
    items: Ints
    before: Floats
    after: Floats
    prompts: tuple[str, str]

    @property
    def points_before(self) -> Floats:
        return decisions(self.before)

    @property
    def points_after(self) -> Floats:
        return decisions(self.after)

    @property
    def changed(self) -> Floats:
        """(n,) 1 where a decision was gained, -1 where it was lost; half as much from or to a tie."""
        change: Floats = self.points_after - self.points_before
        return change

    @property
    def interaction(self) -> Floats:
        """(n,) how much more the original's log perplexity fell than the altered version's, in nats per token."""
        fall = np.log(self.before) - np.log(self.after)
        difference: Floats = fall[:, 0] - fall[:, 1]
        return difference


@dataclass(frozen=True)
class Part:
    """Some of a pair's items; below three there is a reason in place of the decisions."""

    n_items: int
    decisions: Decided | MissingResult


def pairs_of(data: SourceData) -> Iterator[Pair]:
    """In the models' order."""
    numbers = {name: number for number, name in enumerate(data.models["name"])}
    scores = {m: data.full.loc[data.full["model"] == m, COLUMNS] for m in set(data.full["model"])}
    for tuned, base_name in enumerate(data.models["tuned_from"]):
        base = numbers.get(base_name)
        if base is None or not {tuned, base} <= scores.keys():
            continue
        both = scores[base].merge(scores[tuned], on="item", suffixes=("_before", "_after"))
        both = both.sort_values("item")
        before, after = (
            both[[f"ppl_original_{when}", f"ppl_altered_{when}"]].to_numpy(dtype=float)
            for when in ("before", "after")
        )
        first, second = (
            data.run_prompts.get(int(scores[model]["run"].iloc[0]), "") for model in (base, tuned)
        )
        yield Pair(base, tuned, both["item"].to_numpy(), before, after, (first, second))


def part(pair: Pair, of: Bools) -> Part:
    """`of`: (n,) which of the pair's items."""
    found = try_estimate(decided, pair.points_before[of], pair.points_after[of])
    return Part(int(np.count_nonzero(of)), found)


# --- The change of decisions by subfield, and on what was published before and after the tuned model's training data end.

PARTS_METHOD = (
    "Subfields and dates with fewer than three test cases have no numbers. Intervals of single subfields are not "
    "corrected for multiple tests. The cut-off is the last known date of the training data of the base and the "
    "tuned model. A test case published on that date or earlier is before the cut-off. Test cases after it are "
    "least likely to be memorised, although their articles may have been online earlier as preprints."
)
UNKNOWN = (
    "The last date of the tuned model's training data is not known, or documents of its corpus have no date.",
    "Enter the cut-off under Language models in the administration.",
)
NO_DATES = (
    "No test case of the two models has a publication date.",
    "Add the publication dates of the test cases.",
)


@dataclass(frozen=True)
class SubfieldChange:
    subfield: str
    part: Part


@dataclass(frozen=True)
class CutoffChange:
    """`cutoff`: a day. is_base_known: whether it covers what the base had read; else only the corpus of the tuning.

    before, after, undated: the items published up to that day, later, and on a day that is not known.
    """

    cutoff: str
    is_base_known: bool
    before: Part
    after: Part
    undated: Part


def subfield_changes(data: SourceData, pair: Pair) -> tuple[SubfieldChange, ...]:
    """In the order of the items."""
    names = data.items["subfield"].to_numpy()
    own = names[pair.items]
    return tuple(SubfieldChange(str(n), part(pair, own == n)) for n in pd.unique(names))


def cutoff_change(data: SourceData, pair: Pair) -> CutoffChange:
    """Raises NotEnough without a cut-off or dates."""
    days = data.models["cutoff"].to_numpy().astype("datetime64[D]")
    training = data.trainings.get(pair.tuned)
    last = training.last_published if training else None
    corpus = np.datetime64(last or "NaT", "D")
    tuned, base = days[pair.tuned], days[pair.base]
    if np.isnat(tuned) and np.isnat(corpus):
        raise NotEnough(*UNKNOWN)
    dates = data.items["published"].to_numpy().astype("datetime64[D]")[pair.items]
    if np.isnat(dates).all():
        raise NotEnough(*NO_DATES)
    cutoff = np.fmax.reduce(np.array([tuned, base, corpus]))  # not NaT where one is known
    sides = by_cutoff(dates, cutoff)
    return CutoffChange(
        cutoff=str(cutoff),
        is_base_known=not (np.isnat(tuned) and np.isnat(base)),
        before=part(pair, sides.before),
        after=part(pair, sides.after),
        undated=part(pair, sides.undated),
    )


# --- What tuning cost or brought on other texts: the reference corpora that both models were scored on.

REFERENCE_TEXTS_METHOD = (
    "Reference texts: mean log perplexity over texts, in nats per token, with equal weight per text; paired t test "
    "of before minus after. A rise on general texts shows how much the model has forgotten."
)
REFERENCE_TEXTS_NOTHING = (
    "No reference corpus was scored with both models, so the effect of tuning on other texts is not known.",
    "Score general texts with both models (manage.py score_corpus).",
)
OTHER_PROMPT = (
    "The two models were scored on these texts with different prompts.",
    "Score the corpus with both models and one prompt.",
)
OTHER_TEXTS = (
    "The two models' texts under this name differ.",
    "Score the same file with both models.",
)


@dataclass(frozen=True)
class CorpusChange:
    """`in_training`: whether the corpus is among the tuned model's training data (known, likely, unknown, absent)."""

    corpus: str
    label: str
    in_training: str
    n_texts: int
    change: TextsChange | MissingResult


def corpus_changes(data: SourceData, pair: Pair) -> tuple[CorpusChange, ...]:
    """By name; the text that models know by heart is left out. Raises NotEnough where there is none."""
    corpora = data.corpora[~data.corpora["is_anchor"].astype(bool)]
    before, after = (corpora[corpora["model"] == model] for model in (pair.base, pair.tuned))
    found = []
    for name in sorted(set(before["corpus"]) & set(after["corpus"])):
        first, second = (texts[texts["corpus"] == name] for texts in (before, after))
        both = first.merge(second, on="row", suffixes=("_before", "_after"))
        change: TextsChange | MissingResult
        if (both["prompt_before"] != both["prompt_after"]).any():
            change = MissingResult(*OTHER_PROMPT)
        # The same text has the same compressed length under every model
        elif (both["zlib_bytes_before"] != both["zlib_bytes_after"]).any():
            change = MissingResult(*OTHER_TEXTS)
        else:
            change = try_estimate(compare_texts, both["ppl_before"], both["ppl_after"])
        corpus = CorpusChange(
            corpus=name,
            label=corpus_label(name),
            in_training=str(second["in_training"].iloc[0]),
            n_texts=len(both),
            change=change,
        )
        found.append(corpus)
    if not found:
        raise NotEnough(*REFERENCE_TEXTS_NOTHING)
    return tuple(found)


# --- Fine-tuning: each tuned model against the model it was tuned from, on the items that both were scored on.

FINETUNING_METHOD = (
    "Each tuned model is compared with its base on the test cases that both scored. Exact McNemar tests compare the "
    "decisions; these differences of accuracy are after minus before. Paired t tests compare perplexities and their "
    "logarithms; these differences are before minus after, so that a decrease is positive. The logarithm is a "
    "text's mean loss in nats per token. It is used because perplexities are skewed, and because a model that "
    "halves all perplexities also halves the difference of two versions. If the original's log perplexity fell "
    "more than the altered version's, the model learned the answers and not only the field's language. Models with "
    "different prompts are compared only by their decisions. Holm's correction covers both kinds of "
    "tests of all pairs of models, with an equal share of the 5% for each kind."
)
FINETUNING_NOTHING = (
    "No tuned model has been scored together with its base model.",
    "Enter the base model of a tuned model, and score both on the same test cases.",
)
UNDEFINED = ("No pair of models can be tested.", "Score both on the same test cases.")


@dataclass(frozen=True)
class PerplexityChange:
    """Change of one version: mean perplexities, and the paired test of before minus after."""

    before_mean: float
    after_mean: float
    test: PairedTest


@dataclass(frozen=True, kw_only=True)
class Comparison(Decided):
    """`signed_difference` tests PPL(original) - PPL(altered), before minus after; `nats` the same on log perplexities."""

    ppl_correct: PerplexityChange
    ppl_altered: PerplexityChange
    signed_difference: PairedTest
    nats: NatsChange


@dataclass(frozen=True, kw_only=True)
class TunedModel(ModelName):
    """A tuned model, the model that it was tuned from, and the items that both have.

    prompts: what base and tuned model were given, "" unknown. The two holm_p are of McNemar's test and of the
    interaction in nats, each over all pairs, and decide the verdicts; NaN and None where there is no test.
    """

    base: str
    base_display_name: str
    n_items: int
    prompts: tuple[str, str]
    comparison: Comparison | MissingResult
    mcnemar_holm_p: float
    accuracy_verdict: Annotated[
        Verdict | None,
        Concludes("whether tuning changed a model's accuracy", CHAPTER, HOLM, OF_ITEMS),
    ]
    interaction_holm_p: float
    interaction_verdict: Annotated[
        Verdict | None,
        Concludes(
            "whether tuning changed the log perplexity of originals otherwise than that of altered versions",
            CHAPTER,
            HOLM,
            OF_ITEMS,
        ),
    ]
    subfields: tuple[SubfieldChange, ...]
    by_cutoff: CutoffChange | MissingResult
    corpora: tuple[CorpusChange, ...] | MissingResult
    training: TrainingSummary | None

    @property
    def base_label(self) -> str:
        return self.base_display_name or self.base

    @property
    def have_one_prompt(self) -> bool:
        """True if their perplexities can be compared."""
        return len(set(self.prompts)) == 1


@dataclass(frozen=True)
class Families:
    """All pairs' tests of two questions, corrected together: changed decisions, and whether originals changed as altered versions did."""

    decisions: Family
    interaction: Family | MissingResult


@dataclass(frozen=True)
class FineTuning:
    """Results of all models that were scored together with what they were tuned from."""

    finetuning: tuple[TunedModel, ...] | MissingResult
    finetuning_tests: Families | MissingResult


def build_finetuning(data: SourceData) -> Built:
    """The results, and the table finetuning_items (one row per tuned model and item)."""
    pairs = list(pairs_of(data))
    if not pairs:
        raise NotEnough(*FINETUNING_NOTHING)
    models = []
    for pair in pairs:
        base = data.model_name(pair.base)
        # p values and verdicts follow from the correction over all pairs
        model = TunedModel(
            **data.model_name(pair.tuned),
            base=base["name"],
            base_display_name=base["display_name"],
            n_items=len(pair.items),
            prompts=pair.prompts,
            comparison=try_estimate(_comparison, pair),
            mcnemar_holm_p=np.nan,
            accuracy_verdict=None,
            interaction_holm_p=np.nan,
            interaction_verdict=None,
            subfields=subfield_changes(data, pair),
            by_cutoff=try_estimate(cutoff_change, data, pair),
            corpora=try_estimate(corpus_changes, data, pair),
            training=data.trainings.get(pair.tuned),
        )
        models.append(model)
    corrected, tests = _corrected(data, pairs, models)

    keys = data.items["key"].to_numpy()
    tables = [
        pd.DataFrame(
            {
                **ModelName(**data.model_name(pair.tuned)).named,
                "item": keys[pair.items],
                "ppl_before": pair.before[:, 0],
                "ppl_after": pair.after[:, 0],
                "ppl_altered_before": pair.before[:, 1],
                "ppl_altered_after": pair.after[:, 1],
                "points_before": pair.points_before,
                "points_after": pair.points_after,
            }
        )
        for pair in pairs
    ]
    table = pd.concat(tables, ignore_index=True)
    return Built(FineTuning(corrected, tests), {"finetuning_items": table})


def _comparison(pair: Pair) -> Comparison:
    found = compare(pair.before, pair.after)
    own = found.decided
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
    """The models with p values after the correction over both questions of the chapter, and what is said of each question's tests."""
    known = {n: found for n, model in enumerate(models) if (found := present(model.comparison))}
    if not known:
        return tuple(models), MissingResult(*UNDEFINED)
    changed = {n: found.mcnemar.p for n, found in known.items()}
    # Perplexities under different prompts are none of one test
    preferred = {
        n: found.nats.interaction.p for n, found in known.items() if models[n].have_one_prompt
    }
    of_decisions, first = _family(data, pairs, changed, preferred, [pair.changed for pair in pairs])
    tried = try_estimate(
        _family, data, pairs, preferred, changed, [pair.interaction for pair in pairs]
    )
    of_texts, second = (tried, {}) if isinstance(tried, MissingResult) else tried
    for n, p in first.items():
        verdict = Verdict.of(known[n].mcnemar.difference, p, models[n].n_items)
        models[n] = replace(models[n], mcnemar_holm_p=p, accuracy_verdict=verdict)
    for n, p in second.items():
        verdict = Verdict.of(known[n].nats.interaction.mean_difference, p, models[n].n_items)
        models[n] = replace(models[n], interaction_holm_p=p, interaction_verdict=verdict)
    of_decisions = clear_of(of_decisions, [one for m in models if (one := m.accuracy_verdict)])
    if not isinstance(of_texts, MissingResult):
        of_texts = clear_of(of_texts, [one for m in models if (one := m.interaction_verdict)])
    return tuple(models), Families(of_decisions, of_texts)


def _family(
    data: SourceData,
    pairs: list[Pair],
    p: dict[int, float],
    others: dict[int, float],
    values: Sequence[Floats],
) -> tuple[Family, dict[int, float]]:
    """The pairs' tests of a question, and each pair's p after the correction; others: p of the other question.

    `values`: of each pair, (n,) what its items say.

    Raises NotEnough where no p is defined.
    """
    defined = {n: one for n, one in p.items() if not np.isnan(one)}
    if not defined:
        raise NotEnough(*UNDEFINED)
    errors = np.zeros((data.n_items, len(defined)))
    for column, n in enumerate(defined):
        errors[pairs[n].items, column] = values[n] - values[n].mean()
    known = [one for one in others.values() if not np.isnan(one)]
    together, holm_p = family(list(defined.values()), errors, [known] if known else [])
    return together, dict(zip(defined, holm_p.tolist(), strict=True))

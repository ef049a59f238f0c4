"""A tuned model and the model that it was tuned from, on the items that both were scored on."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from analysis.codec import MissingResult, flattened, try_estimate
from analysis.data.dataset import Bools, Floats, SourceData
from analysis.stats.arrays import Ints
from analysis.stats.estimates import McNemar, Proportion
from analysis.stats.finetuning import Decided, decided, is_right

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
    def right_before(self) -> Bools:
        return is_right(self.before)

    @property
    def right_after(self) -> Bools:
        return is_right(self.after)


@dataclass(frozen=True, kw_only=True)
class Decisions:
    """Of both models on the same items."""

    mcnemar: McNemar
    before: Proportion = flattened(
        n="n_items",
        n_correct="n_correct_before",
        accuracy="accuracy_before",
        sem="sem_before",
        ci95="ci95_before",
    )
    after: Proportion = flattened(
        n="n_items",
        n_correct="n_correct_after",
        accuracy="accuracy_after",
        sem="sem_after",
        ci95="ci95_after",
    )


@dataclass(frozen=True)
class Part:
    """Some of a pair's items; below three there is a reason in place of the decisions."""

    n_items: int
    decisions: Decisions | MissingResult = flattened()


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
    found = try_estimate(decided, pair.right_before[of], pair.right_after[of])
    own = decisions(found) if isinstance(found, Decided) else found
    return Part(int(np.count_nonzero(of)), own)


def decisions(found: Decided) -> Decisions:
    return Decisions(mcnemar=found.mcnemar, before=found.before, after=found.after)

"""The change of decisions by subfield, and on what was published before and after the tuned model's training data end."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.codec import flattened
from analysis.data.dataset import SourceData
from analysis.report.chapters.finetuning.pairs import Pair, Part, part
from analysis.stats import NotEnough
from analysis.stats.memorisation import by_cutoff

METHOD = (
    "By subfield and by date: no numbers of fewer than three test cases; intervals of single subfields are not corrected for "
    "their number. The cut-off is the latest day known of what base and tuned model were trained on; a test case published on "
    "that day or earlier is before it. Only those after it are free of memorisation."
)
UNKNOWN = (
    "It is not known until when the tuned model's training data were collected, or documents of its corpus have no date.",
    "State the cut-off under Language models in the administration.",
)
NO_DATES = (
    "No test case of the two models has a publication date.",
    "State the publication dates of the test cases.",
)


@dataclass(frozen=True)
class SubfieldChange:
    subfield: str
    part: Part = flattened()


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

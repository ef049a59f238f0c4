"""What the headline accuracies would be, had one choice been made otherwise."""

from dataclasses import dataclass, replace

import numpy as np

from analysis.codec import MissingResult, flattened
from analysis.data.dataset import NO_TRIALS, Bools, Floats, SourceData
from analysis.report.chapter import Built
from analysis.report.chapters.accuracy.results import participant_accuracy
from analysis.stats import NotEnough
from analysis.stats.estimates import SHARES, Mean, Proportion, mean_of, proportion


@dataclass(frozen=True)
class OverTrials:
    share: Proportion = flattened(n="n_trials")

    @property
    def accuracy(self) -> float:
        return self.share.accuracy


@dataclass(frozen=True)
class OverUnits:
    """Mean over items or participants, `over.n` of them."""

    n_trials: int
    over: Mean = flattened(mean="accuracy")

    @property
    def accuracy(self) -> float:
        return self.over.mean


@dataclass(frozen=True)
class Choice:
    """The headline under one choice of the analysis; None where the choice does not touch it, or has no data for it.

    The differences are to the first row, in shares.
    """

    name: str
    what: str
    humans: OverTrials | OverUnits | None
    models_mean: Mean | None
    n_items: int
    difference_humans: float | None = None
    difference_models: float | None = None


@dataclass(frozen=True)
class Sensitivity:
    sensitivity: tuple[Choice, ...] | MissingResult


def build(data: SourceData) -> Built:
    """Raises NotEnough with neither trials nor scores."""
    if data.trials.empty and not len(data.set_models):
        raise NotEnough(f"{NO_TRIALS[0]} {data.no_scores[0]}", NO_TRIALS[1])
    trials, whole = data.trials, ~data.items["is_damaged"].to_numpy(dtype=bool)
    correct = data.model_correct[data.set_models]
    near = _near_ties(data)
    n, n_whole = data.n_items, int(whole.sum())
    moved = trials["slider_moved"].to_numpy(dtype=bool)
    right = trials["is_correct"].to_numpy(dtype=bool)
    undamaged = right[whole[trials["item"].to_numpy()]]
    # fmt: off
    choices = [
        Choice("as analysed", "All trials; every item that a model scored; a tie is wrong.", _trials(right), _models(correct), n),
        Choice("without damaged items", "Items whose published text is not what was meant are left out, for people and models.",
               _trials(undamaged), _models(correct[:, whole]), n_whole),
        Choice("without near-ties", "A model's items whose two perplexities differ by less than 0.001 nat are left out for that model.",
               None, _models(np.where(near, np.nan, correct)), n),
        Choice("near-ties half right", "The same items count as half right, as a coin would have it.", None, _models(np.where(near, 0.5, correct)), n),
        Choice("untouched sliders left out", "Trials in which neither slider was moved are left out.", _trials(right[moved]), None, n),
        Choice("mean over items", "Every item counts alike, however many people judged it.", _units(data.item_accuracy, len(trials)), None, n),
        Choice("mean over participants", "Every participant counts alike, however many trials they have.",
               _units(participant_accuracy(trials), len(trials)), None, n),
    ]
    # fmt: on
    first, *others = choices
    return Built(Sensitivity((first, *(_compared(choice, first) for choice in others))))


def _trials(right: Bools) -> OverTrials | None:
    return OverTrials(proportion(right)) if len(right) else None


def _units(values: Floats, n_trials: int) -> OverUnits | None:
    known = values[~np.isnan(values)]
    return OverUnits(n_trials, mean_of(known, SHARES)) if len(known) else None


def _models(correct: Floats) -> Mean | None:
    """Mean over models of the accuracy on the items left to each; None where no model has any."""
    left = correct[~np.isnan(correct).all(axis=1)]
    return mean_of(np.nanmean(left, axis=1), SHARES) if len(left) else None


def _near_ties(data: SourceData) -> Bools:
    near = np.zeros((len(data.models), data.n_items), dtype=bool)
    near[data.full["model"], data.full["item"]] = data.full["is_near_tie"]
    some: Bools = near[data.set_models]
    return some


def _compared(choice: Choice, first: Choice) -> Choice:
    humans, models = choice.humans, choice.models_mean
    return replace(
        choice,
        difference_humans=humans.accuracy - first.humans.accuracy
        if humans and first.humans
        else None,
        difference_models=models.mean - first.models_mean.mean
        if models and first.models_mean
        else None,
    )

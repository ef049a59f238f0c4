"""How sure accuracies are when both the participants and the items could have been others.

Long: three chapters of one theme, one after the other.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import Annotated

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis import columns as c
from analysis.codec import MissingResult
from analysis.data.dataset import Bools, Floats, ModelName, SourceData
from analysis.data.exclusions import undone
from analysis.report.chapter import Built
from analysis.report.chapters.accuracy.results import participant_accuracy
from analysis.stats import NotEnough
from analysis.stats.arrays import Interval
from analysis.stats.crossed_bootstrap import (
    METHOD,
    Resampled,
    crossed_bootstrap,
    interval_with,
    p_with,
    spread,
)
from analysis.stats.estimates import SHARES, Mean, Proportion, mean_of, proportion
from analysis.stats.item_differences import item_differences
from analysis.stats.two_way_clustered import FEWEST_CLUSTERS, Deviations, TwoWay, over_items
from analysis.stats.verdicts import FDR, Concludes, Verdict
from lib.formatting import known
from lib.levels import LEVEL
from lib.points import TIE

# Of rows: who, display_name, method, row
COLUMNS = c.data(
    "who=0",
    "display_name=1",
    "method=2",
    "accuracy=3.accuracy",
    "se=3.errors.se",
    "ci=3.errors.ci95",
    "difference=3.difference",
    "difference=3.difference_errors.ci95",
    "two_way_se=3.errors.two_way_se",
    "two_way=3.errors.two_way_ci95",
    "difference_two_way=3.difference_errors.two_way_ci95",
)


@dataclass(frozen=True)
class Errors:
    """Standard error, and 95% intervals of the crossed bootstrap (brought to that error) and two-way clustered.

    All None below three participants or items. from_parts: both intervals and p are at least those of the shares it consists of,
    of which one has few decisions of the rarer kind.
    """

    se: float | None = None
    ci95: Interval | None = None
    two_way_se: float | None = None
    two_way_ci95: Interval | None = None
    from_parts: bool = False

    @property
    def best_ci95(self) -> Interval | None:
        """The two-way interval, which covers more evenly where items are few (docs/results.md)."""
        return self.two_way_ci95 or self.ci95


NO_ERRORS = Errors()


@dataclass(frozen=True)
class CrossedHumans:
    n_trials: int
    n_participants: int
    n_items: int
    accuracy: float
    errors: Errors


@dataclass(frozen=True)
class CrossedModel(ModelName):
    """`difference`: minus the humans' accuracy, of the same draws of items; None without humans."""

    n_items: int
    accuracy: float
    difference: float | None
    errors: Errors
    difference_errors: Errors


@dataclass(frozen=True)
class CrossedModels:
    """`n`: models."""

    n: int
    mean: float
    errors: Errors


@dataclass(frozen=True)
class Difference:
    """The models' mean minus the humans' accuracy; `n`: models, the p values two-sided."""

    n: int
    mean: float
    p: float | None
    two_way_p: float | None
    errors: Errors
    verdict: Annotated[
        Verdict, Concludes("whether the models, on average, or people are right more often")
    ]


@dataclass(frozen=True)
class Components:
    """Standard errors of the humans' accuracy by what is drawn anew, None of fewer than three, or that do not differ.

    binomial_se: nothing but single answers.

    between_participants_se, trials_se: of the two-way error, what participants add to it beyond single trials, and what these add.
    """

    participants_only_se: float | None
    items_only_se: float | None
    crossed_se: float | None
    two_way_se: float | None
    between_participants_se: float | None
    trials_se: float | None
    binomial_se: float


@dataclass(frozen=True)
class Row:
    """The humans, the mean of the models or a model, beside the others."""

    accuracy: float
    errors: Errors
    difference: float | None = None
    difference_errors: Errors = NO_ERRORS


@dataclass(frozen=True)
class CrossedErrors:
    resamples: int
    seed: int
    humans: CrossedHumans | None
    models: tuple[CrossedModel, ...]
    models_mean: CrossedModels | None
    difference: Difference | None
    components: Components | None
    method: str

    @property
    def human_row(self) -> Row | None:
        return Row(self.humans.accuracy, self.humans.errors) if self.humans else None

    @property
    def mean_row(self) -> Row | None:
        """The mean of the models, with its difference from the humans."""
        mean, gap = self.models_mean, self.difference
        if mean is None:
            return None
        return Row(mean.mean, mean.errors, *((gap.mean, gap.errors) if gap else ()))

    @property
    def has_parts(self) -> bool:
        """True if an interval is at least that of its parts."""
        rows = [self.human_row, self.mean_row, *(row for _model, row in self.model_rows)]
        every = [errors for row in rows if row for errors in (row.errors, row.difference_errors)]
        return any(errors.from_parts for errors in every)

    @property
    def model_rows(self) -> list[tuple[CrossedModel, Row]]:
        return [
            (m, Row(m.accuracy, m.errors, m.difference, m.difference_errors)) for m in self.models
        ]


@dataclass(frozen=True)
class Crossed:
    crossed: CrossedErrors | MissingResult


def build_crossed(data: SourceData) -> Built:
    """Humans, the models of the set, their mean, and models minus humans."""
    members = data.set_models
    if data.trials.empty and not len(members):
        raise NotEnough(*data.no_trials)
    correct = data.model_correct[members]
    used = np.flatnonzero((data.item_counts > 0) | np.isfinite(correct).any(axis=0))
    correct = correct[:, used]
    who = data.trials["participant"].to_numpy()
    item = np.searchsorted(used, data.trials["item"].to_numpy())
    right = data.trials["is_correct"].to_numpy(dtype=float)
    drawn = crossed_bootstrap(who, item, right, correct, resamples=data.resamples, seed=data.seed)
    deviations = None if data.trials.empty else Deviations.of(who, item, right)
    both = deviations.accuracy_error() if deviations else None
    humans, mean, difference = None, None, None
    if both:
        humans = CrossedHumans(
            n_trials=len(data.trials),
            n_participants=data.trials["participant"].nunique(),
            n_items=data.trials["item"].nunique(),
            accuracy=float(data.trials["is_correct"].mean()),
            errors=_share_errors(drawn.humans, both),
        )
    if len(members):
        mean = CrossedModels(
            n=len(correct),
            mean=float(np.nanmean(correct, axis=1).mean()),
            errors=_share_errors(drawn.models.mean(axis=1), over_items(correct)),
        )
    if mean and humans and deviations:
        gap = drawn.models.mean(axis=1) - drawn.humans
        paired = deviations.difference_error(correct)
        errors = _gap_errors(gap, paired)
        difference = Difference(
            n=mean.n,
            mean=mean.mean - humans.accuracy,
            p=p_with(gap, paired),
            two_way_p=known(paired.p),
            errors=errors,
            verdict=Verdict.of_interval(errors.best_ci95, n_clusters=paired.n_clusters),
        )
    found = CrossedErrors(
        resamples=data.resamples,
        seed=data.seed,
        humans=humans,
        models=_crossed_models(data, members, correct, drawn, humans, deviations),
        models_mean=mean,
        difference=difference,
        components=_components(drawn, deviations, right) if deviations else None,
        method=METHOD.format(resamples=data.resamples, seed=data.seed),
    )
    rows = [
        ("humans", None, None, found.human_row),
        ("models_mean", None, None, found.mean_row),
        *((*model.named.values(), row) for model, row in found.model_rows),
    ]
    table = c.tidy(COLUMNS, [row for row in rows if row[-1]])
    return Built(Crossed(found), {"crossed": table})


def _share_errors(resampled: Floats, two_way: TwoWay) -> Errors:
    """Errors of an accuracy."""
    if not two_way.is_known:
        return NO_ERRORS
    varies = two_way.se > 0  # resamples of what does not vary are all alike
    ci95 = interval_with(resampled, two_way, (0.0, 1.0)) if varies else two_way.share_ci95
    return Errors(two_way.se, ci95, two_way.se, two_way.share_ci95, two_way.from_parts)


def _gap_errors(resampled: Floats, two_way: TwoWay | None) -> Errors:
    """Errors of a difference of accuracies."""
    if two_way is None or not two_way.is_known:
        return NO_ERRORS
    ci95 = interval_with(resampled, two_way)
    both = two_way.within(-1.0, 1.0)
    return Errors(two_way.se, ci95, two_way.se, both, two_way.from_parts)


def _crossed_models(
    data: SourceData,
    members: npt.NDArray[np.int64],
    correct: Floats,
    drawn: Resampled,
    humans: CrossedHumans | None,
    deviations: Deviations | None,
) -> tuple[CrossedModel, ...]:
    rows = []
    for k, model in enumerate(members):
        accuracy, n = float(np.nanmean(correct[k])), int(np.isfinite(correct[k]).sum())
        gap = drawn.models[:, k] - drawn.humans
        paired = deviations.difference_error(correct[k]) if deviations and n else None
        rows.append(
            CrossedModel(
                **data.model_name(int(model)),
                n_items=n,
                accuracy=accuracy,
                errors=_share_errors(drawn.models[:, k], over_items(correct[k])),
                difference=accuracy - humans.accuracy if humans else None,
                difference_errors=_gap_errors(gap, paired),
            )
        )
    return tuple(rows)


def _components(drawn: Resampled, deviations: Deviations, right: Floats) -> Components:
    p, both = right.mean(), deviations.accuracy_error()
    people, items = (
        n >= FEWEST_CLUSTERS for n in (deviations.n_people, np.count_nonzero(deviations.n_by_item))
    )
    return Components(
        participants_only_se=spread(drawn.people_only).se if people else None,
        items_only_se=spread(drawn.items_only).se if items else None,
        crossed_se=spread(drawn.humans).se if both.is_known else None,
        two_way_se=known(both.se),
        between_participants_se=deviations.between_people**0.5 if people else None,
        trials_se=known(deviations.at_random**0.5),
        binomial_se=float(np.sqrt(p * (1 - p) / len(right))),
    )


# --- The items on which people and the models of the set differ.

SHOWN = 10


class Ahead(Enum):
    """Side that is right more often."""

    MODELS = "models"
    HUMANS = "humans"


@dataclass(frozen=True)
class ItemDifference:
    """One item: shares that are right, their difference (models minus humans), Benjamini and Hochberg's q, Holm's p."""

    item: str
    subfield: str
    n_trials: int
    humans: float
    n_models: int
    models_mean: float
    difference: float
    p: float
    q: float
    holm_p: float
    ci95: Interval
    ahead: Ahead
    verdict: Annotated[
        Verdict,
        Concludes(
            "whether people and models differ on a test case",
            "all test cases",
            FDR,
            "1 (exact test)",
        ),
    ]


@dataclass(frozen=True)
class ItemDifferences:
    """`items`: the ten most in favour of the models, then the ten most in favour of people; of either side, clear ones first and all."""

    n_items: int
    n_significant_fdr: int
    n_significant_holm: int
    n_models_better_fdr: int
    level: float
    n_models: int
    models_mean_accuracy: float
    humans_mean_accuracy: float
    items: tuple[ItemDifference, ...]
    method: str


@dataclass(frozen=True)
class Differences:
    item_differences: ItemDifferences | MissingResult


def build_item_differences(data: SourceData) -> Built:
    """The table has all tested items."""
    trials, members = data.need_trials(), data.need_models()
    correct = data.model_correct[members]
    n = data.item_counts
    right = np.bincount(
        trials["item"], weights=trials["is_correct"].astype(float), minlength=data.n_items
    )
    tested = np.flatnonzero((n > 0) & np.isfinite(correct).any(axis=0))
    found = item_differences(right[tested], n[tested], correct[:, tested])
    table = pd.DataFrame(
        {
            "item": data.items["key"].to_numpy()[tested],
            "subfield": data.items["subfield"].to_numpy()[tested],
            "n_trials": n[tested].astype(int),
            "humans": found.humans,
            "n_models": found.n_models,
            "models_mean": found.models,
            "difference": found.difference,
            "ci_low": found.ci_low,
            "ci_high": found.ci_high,
            "p": found.p,
            "q": found.q,
            "holm_p": found.holm_p,
            "verdict": [
                Verdict.of(size, q).value for size, q in zip(found.difference, found.q, strict=True)
            ],
        }
    )
    clear = [one for one in table["verdict"] if Verdict(one).is_clear]
    results = ItemDifferences(
        n_items=len(table),
        n_significant_fdr=len(clear),
        n_significant_holm=int((found.holm_p < LEVEL).sum()),
        n_models_better_fdr=clear.count(Verdict.ABOVE.value),
        level=LEVEL,
        n_models=len(members),
        models_mean_accuracy=float(found.models.mean()),
        humans_mean_accuracy=float(found.humans.mean()),
        items=(*_extremes(table, Ahead.MODELS), *_extremes(table, Ahead.HUMANS)),
        method=found.method,
    )
    return Built(Differences(results), {"item_differences": table})


def _extremes(table: pd.DataFrame, ahead: Ahead) -> Iterator[ItemDifference]:
    """All that are clear, and of the others as many as make up SHOWN; the largest first, equal ones by p, then in item order."""
    size = table["difference"] if ahead is Ahead.MODELS else -table["difference"]
    is_clear = [Verdict(one).is_clear for one in table["verdict"]]
    rows = table.assign(size=size, is_clear=is_clear)[size > 0]
    rows = rows.sort_values(
        ["is_clear", "size", "p"], ascending=[False, False, True], kind="stable"
    ).head(max(SHOWN, int(rows["is_clear"].sum())))
    for row in rows.drop(columns=["size", "is_clear"]).to_dict("records"):
        ci95 = row.pop("ci_low"), row.pop("ci_high")
        verdict = Verdict(row.pop("verdict"))
        own = {str(k): v for k, v in row.items()}
        yield ItemDifference(**own, ci95=ci95, ahead=ahead, verdict=verdict)


# --- What the headline accuracies would be, had one choice been made otherwise.


@dataclass(frozen=True)
class OverTrials:
    share: Proportion

    @property
    def accuracy(self) -> float:
        return self.share.accuracy


@dataclass(frozen=True)
class OverUnits:
    """Mean over items or participants, `over.n` of them."""

    n_trials: int
    over: Mean

    @property
    def accuracy(self) -> float:
        return self.over.mean


@dataclass(frozen=True)
class Choice:
    """The headline under one choice of the analysis; None where the choice does not touch it, or has no data for it.

    The differences are to the first row, in shares, of the same models: those that any test case is left to.
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


def build_sensitivity(data: SourceData) -> Built:
    """Raises NotEnough with neither trials nor scores."""
    data.need_trials_or_models()
    trials, whole = data.trials, ~data.items["is_damaged"].to_numpy(dtype=bool)
    correct = data.model_correct[data.set_models]
    is_near = np.zeros((len(data.models), data.n_items), dtype=bool)
    is_near[data.full["model"], data.full["item"]] = data.full["is_near_tie"]
    near = is_near[data.set_models]
    far, halved = (np.where(near, other, correct) for other in (np.nan, TIE))
    n, n_whole = data.n_items, int(whole.sum())
    moved = trials["slider_moved"].to_numpy(dtype=bool)
    right = trials["is_correct"].to_numpy(dtype=bool)
    undamaged, of_whole = right[whole[trials["item"].to_numpy()]], correct[:, whole]
    # fmt: off
    choices = [
        Choice("as analysed", "All trials and every test case that a model judged. A tie counts half.", _trials(right), _sensitivity_models(correct), n),
        Choice("without damaged items", "Test cases with a damaged published text are left out, for people and models.",
               _trials(undamaged), _sensitivity_models(of_whole), n_whole, difference_models=_change(of_whole, correct)),
        Choice("without near-ties", "A model's test cases whose two perplexities differ by less than 0.001 nat are left out for that model; of a model that was asked, those whose log-odds are less than 0.001 nat from 0.",
               None, _sensitivity_models(far), n, difference_models=_change(far, correct)),
        Choice("near-ties half right", "The same test cases count as half right, like a random guess.", None, _sensitivity_models(halved), n, difference_models=_change(halved, correct)),
        Choice("untouched sliders left out", "Trials in which neither slider was moved are left out.", _trials(right[moved]), None, n),
        Choice("mean over items", "Every test case has equal weight, regardless of its number of judgments.", _units(data.item_accuracy, len(trials)), None, n),
        Choice("mean over participants", "Every participant has equal weight, regardless of the number of trials.",
               _units(participant_accuracy(trials), len(trials)), None, n),
    ]
    # fmt: on
    # People's accuracy with exclusions undone; the models' has none
    for other in undone(data.judged):
        kept = data.judged["is_correct"].to_numpy(dtype=bool)[other.kept]
        choices.append(Choice(f"undone: {other.code}", other.what, _trials(kept), None, n))
    first = choices[0]
    rows = [first]
    for choice in choices[1:]:
        if choice.humans and first.humans:
            change = choice.humans.accuracy - first.humans.accuracy
            choice = replace(choice, difference_humans=change)
        rows.append(choice)
    return Built(Sensitivity(tuple(rows)))


def _trials(right: Bools) -> OverTrials | None:
    return OverTrials(proportion(right)) if len(right) else None


def _units(values: Floats, n_trials: int) -> OverUnits | None:
    known = values[~np.isnan(values)]
    return OverUnits(n_trials, mean_of(known, SHARES)) if len(known) else None


def _sensitivity_models(correct: Floats) -> Mean | None:
    """Mean over models of the accuracy on the items left to each; None where no model has any."""
    left = correct[~np.isnan(correct).all(axis=1)]
    return mean_of(np.nanmean(left, axis=1), SHARES) if len(left) else None


def _change(correct: Floats, before: Floats) -> float | None:
    """Change of the mean over the models that any item is left to, from that of the same models before."""
    left = ~np.isnan(correct).all(axis=1)
    changes = np.nanmean(correct[left], axis=1) - np.nanmean(before[left], axis=1)
    return float(changes.mean()) if left.any() else None

"""Moderators of accuracy and switching: logistic models of trials whose errors are clustered by participants and test cases."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from analysis.stats import NotEnough
from analysis.stats.arrays import Floats
from analysis.stats.cr2 import Slope
from analysis.stats.reliance.trials import NO_TRIALS, AdvisedTrials
from analysis.stats.trial_model import METHOD, trial_model
from analysis.stats.verdicts import CHAPTER, HOLM, Concludes, Verdict

ACCURACY = (
    "Log-odds of a right final answer by arm and by whether the advice of the test case is right (0.5) or wrong (-0.5), shown or not, "
    "with their interactions."
)
CONFIDENT = (
    "Log-odds of a right final answer over trials with a first answer and advice: right advice (0.5) against wrong advice (-0.5), own "
    "confidence in the first answer and the adviser's confidence (shown or not), which are standardised over these trials (mean 0, "
    "SD 1), and the interactions of right advice with both. Trials without one of these values are left out, and so are predictors that do not vary."
)
SWITCHING = (
    "Log-odds of switching to the advice, over trials whose first answer was not the advised one: right advice (0.5) against wrong "
    "advice (-0.5), own confidence in the first answer, the adviser's confidence (shown or not), self-rated expertise, and the "
    "position of the trial, which are standardised over these trials (mean 0, SD 1); and the interaction of right advice and position. "
    "Trials without one of these values are left out, and so are predictors that do not vary."
)
# Names of effects, as report.json and the files have them
ADVICE_RIGHT, OWN, ADVISER, EXPERTISE, POSITION = (
    "advice_right",
    "own_confidence",
    "adviser_confidence",
    "expertise",
    "position",
)
LEARNING = f"{ADVICE_RIGHT} x {POSITION}"
INTERCEPT = "intercept"
FEWEST = (
    10  # trials per coefficient, below which maximum likelihood is too far from large-sample theory
)


@dataclass(frozen=True)
class Effect:
    """An effect in log-odds. holm_p, verdict: where the chapter concludes from the model, as one of its family; else None.

    separates: the outcome follows from the effect without exception. `estimate` is then penalised, as are the model's others, and
    slope is None.
    """

    name: str
    estimate: float
    separates: bool
    slope: Slope | None
    holm_p: float | None = None
    verdict: Annotated[
        Verdict | None,
        Concludes(
            "on what switching to the advice depends; other models have no verdicts", CHAPTER, HOLM
        ),
    ] = None


@dataclass(frozen=True)
class Moderators:
    """left_out: effects that did not vary."""

    n_trials: int
    n_participants: int
    n_items: int
    effects: tuple[Effect, ...]
    left_out: tuple[str, ...]
    rule: str
    method: str = METHOD

    def effect(self, name: str) -> Effect | None:
        """None where it was left out."""
        return next((one for one in self.effects if one.name == name), None)

    @property
    def tests(self) -> list[float | None]:
        """The p values of the effects, of which the intercept is none; None where an effect separates."""
        return [one.slope.p if one.slope else None for one in self.effects[1:]]

    def corrected(self, p: Sequence[float | None]) -> "Moderators":
        """With verdicts; p: of `tests`, after the correction for their family."""
        n_clusters = min(self.n_participants, self.n_items)
        effects = [
            replace(one, holm_p=after, verdict=Verdict.of(one.estimate, after, n_clusters))
            for one, after in zip(self.effects[1:], p, strict=True)
        ]
        return replace(self, effects=(self.effects[0], *effects))


def accuracy_model(trials: AdvisedTrials, group: Sequence[str], reference: str) -> Moderators:
    """Final answers by group (n,) against those of `reference`, and right advice: effects `G`, `advice_right`, `advice_right x G`.

    In a group without advice, the effect of right advice is that of test cases that are easy for the adviser too. Raises
    NotEnough with one group, or where the model cannot be fitted.
    """
    names = np.asarray(group, dtype=object)
    others = [name for name in dict.fromkeys(group) if name != reference]
    if not others or reference not in set(group):
        raise NotEnough("All trials were under one condition.", "Two arms are needed.")
    known = np.isfinite(trials.advice_right)
    own, names = trials.of(known), names[known]
    advice = own.advice_right - 0.5
    columns = {name: (names == name).astype(float) for name in others}
    columns |= {ADVICE_RIGHT: advice}
    columns |= {f"{ADVICE_RIGHT} x {name}": columns[name] * advice for name in others}
    return _fitted(own, own.right_after, columns, ACCURACY)


def confident_model(trials: AdvisedTrials) -> Moderators:
    """Final answers after advice by own and adviser's confidence; see CONFIDENT. Raises NotEnough where it cannot be fitted.

    A positive `advice_right x adviser_confidence` says that the adviser's confidence sways people: right advice helps, and wrong
    advice harms, the more confident the adviser is.
    """
    own = trials.with_both()
    measured = {OWN: own.confidence_before, ADVISER: own.p_advice}
    own, measured = _complete(own, measured)
    advice = own.advice_right - 0.5
    columns = {ADVICE_RIGHT: advice, **measured}
    columns |= {f"{ADVICE_RIGHT} x {name}": advice * x for name, x in measured.items()}
    return _fitted(own, own.right_after, columns, CONFIDENT, (OWN, ADVISER))


def switching_model(trials: AdvisedTrials) -> Moderators:
    """Model of switching to the advice; see SWITCHING. Raises NotEnough where the model cannot be fitted.

    A positive `advice_right` is appropriate reliance: right advice is followed more than wrong advice. A positive interaction with
    the position is learning to tell them apart.
    """
    both = trials.with_both()
    own = both.of(both.disagrees)
    if not len(own):
        raise NotEnough(*NO_TRIALS)
    measured = {
        OWN: own.confidence_before,
        ADVISER: own.p_advice,
        EXPERTISE: own.expertise,
        POSITION: own.position,
    }
    own, measured = _complete(own, measured)
    advice = own.advice_right - 0.5
    columns = {ADVICE_RIGHT: advice, **measured}
    columns[LEARNING] = advice * columns[POSITION]
    return _fitted(own, own.follows, columns, SWITCHING, (OWN, ADVISER, EXPERTISE, POSITION))


def _complete(
    trials: AdvisedTrials, measured: Mapping[str, Floats]
) -> tuple[AdvisedTrials, dict[str, Floats]]:
    """The trials that have all of these, and these, with mean 0 and SD 1 (n-1). What nobody was asked is no reason to leave everybody out."""
    asked = {name: x for name, x in measured.items() if np.isfinite(x).any()}
    known = np.ones(len(trials), dtype=bool)
    for x in asked.values():
        known &= np.isfinite(x)
    found = {}
    for name, x in asked.items():
        own = x[known]
        sd = float(own.std(ddof=1)) if len(own) > 1 else 0.0
        # What does not vary is 0 throughout
        found[name] = (own - own.mean()) / sd if sd > 0 else np.zeros(len(own))
    return trials.of(known), found


def _fitted(
    trials: AdvisedTrials,
    outcome: Floats,
    columns: Mapping[str, Floats],
    rule: str,
    wanted: Sequence[str] = (),
) -> Moderators:
    used = {name: x for name, x in columns.items() if len(x) and np.ptp(x) > 0}
    if len(trials) < FEWEST * (1 + len(used)):
        raise NotEnough(
            f"The fit of {len(used)} effects needs at least {FEWEST * (1 + len(used))} trials that meet its conditions; there are {len(trials)}.",
            "Let more participants finish the study.",
        )
    found = trial_model(used, outcome, trials.participant, trials.item)
    n_people, n_items = (len(np.unique(of)) for of in (trials.participant, trials.item))
    return Moderators(
        n_trials=len(trials),
        n_participants=n_people,
        n_items=n_items,
        effects=tuple(
            Effect(one.name or INTERCEPT, one.estimate, one.separates and bool(one.name), one.slope)
            for one in found
        ),
        left_out=tuple(name for name in dict.fromkeys((*columns, *wanted)) if name not in used),
        rule=rule,
    )

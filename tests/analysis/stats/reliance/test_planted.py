"""Effects planted in simulated studies with advice are found again, and intervals hold them as often as they say."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.stats.reliance.moderators import (
    ADVICE_RIGHT,
    ADVISER,
    LEARNING,
    OWN,
    accuracy_model,
    confident_model,
    switching_model,
)
from tests.analysis.stats.reliance.coverage import of_studies, of_weights
from tests.analysis.stats.reliance.planted import TO_RIGHT, TO_WRONG, draw

FEW, MANY = 60, 2000


def shown(found):
    """For `pytest -s`: share of intervals that hold what was planted, and how many there are."""
    return "\n".join(
        f"{holds:.3f} {off:+.1f} {n} {name}" for name, (holds, off, n) in found.items()
    )


def test_estimates_are_about_what_was_planted_in_a_few_studies():
    found = of_studies(range(FEW), with_calibration=False) | of_weights(range(FEW))
    for name, (holds, off, n) in found.items():
        assert holds >= 0.85, name  # fewer than one of 100 so seldom at 95%
        assert abs(off) < 4, name
        assert n >= 0.7 * FEW, name


def test_calibration_is_about_what_was_planted_in_a_few_studies():
    for name, (holds, off, n) in of_studies(range(20)).items():
        assert holds >= 0.75, name
        assert abs(off) < 4, name
        assert n >= 14, name


@pytest.mark.sweep
def test_intervals_hold_what_was_planted_in_93_to_97_percent():
    found = of_studies(range(MANY)) | of_weights(range(MANY))
    print(shown(found))
    for name, (holds, _off, n) in found.items():
        assert 0.93 <= holds <= 0.97, name
        assert n >= 0.7 * MANY, name


def test_an_adviser_whose_confidence_sways_people_is_found_again():
    trials = draw(8).trials
    plain = confident_model(trials)
    assert plain.n_trials == trials.has_both.sum()
    for name in (OWN, ADVISER, f"{ADVICE_RIGHT} x {OWN}", f"{ADVICE_RIGHT} x {ADVISER}"):
        effect = plain.effect(name)
        assert abs(effect.estimate) < 3.5 * effect.slope.se, name  # nothing was planted
    # People who follow whenever the adviser is confident, and keep their answer otherwise
    final = np.where(trials.p_advice > 0.75, trials.advice_right, trials.right_before)
    swayed = replace(trials, right_after=np.where(trials.has_both, final, trials.right_after))
    both = confident_model(swayed).effect(f"{ADVICE_RIGHT} x {ADVISER}")
    assert both.slope.ci95[0] > 0


def test_planted_effects_on_switching_and_accuracy_are_found_again():
    trials = draw(7).trials
    own = switching_model(trials)
    right = own.effect(ADVICE_RIGHT)
    assert abs(right.estimate - (TO_RIGHT - TO_WRONG)) < 3 * right.slope.se
    for name in (OWN, LEARNING):  # nothing was planted
        assert abs(own.effect(name).estimate) < 3 * own.effect(name).slope.se
    whole = accuracy_model(trials, list(trials.arm), "alone")
    assert [one.name for one in whole.effects[1:]] == [
        "advised",
        ADVICE_RIGHT,
        f"{ADVICE_RIGHT} x advised",
    ]
    interaction = whole.effect(f"{ADVICE_RIGHT} x advised")
    assert interaction.slope.ci95[0] > 0
    alone = whole.effect(ADVICE_RIGHT)
    assert abs(alone.estimate) < 3 * alone.slope.se

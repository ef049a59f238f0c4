"""Deferral of written answers, by the rules of two-choice decisions."""

import numpy as np
import pytest

from analysis.teams.domain.deferral import choose_threshold, deferring, who_decides
from analysis.teams.domain.folds import Folds


def drawn(n: int = 600) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A model whose confidence is its chance to be right, and people who are right three times of four."""
    rng = np.random.default_rng(1)
    confidence = rng.random(n)
    return confidence, rng.random(n) < confidence, rng.random(n) < 0.75


def test_the_least_confident_answers_go_to_a_person_first():
    confidence, model, person = drawn()
    item = np.arange(len(model))
    judges = deferring(confidence, model, person)
    by_share = dict(who_decides(item, judges))
    assert by_share[0.0].accuracy == model.mean()
    assert by_share[1.0].accuracy == person.mean()
    asked = by_share[0.5]
    assert confidence[asked.where].max() <= confidence[~asked.where].min()
    assert asked.accuracy > judges.random_accuracy(asked) + 0.05


def test_a_threshold_found_on_other_questions_lies_where_people_are_as_good():
    confidence, model, person = drawn(4000)
    block = np.arange(len(model)) % 10
    judges = deferring(confidence, model, person)
    (found,) = choose_threshold(Folds(block, block, None, "ten blocks"), judges)
    assert 2 * found.threshold - 1 == pytest.approx(0.75, abs=0.15)
    assert found.accuracy > person.mean() + 0.02


def test_what_is_no_confidence_is_refused():
    for wrong in (1.5, -0.1, np.nan):
        with pytest.raises(ValueError, match="confidence"):
            deferring([wrong], [True], [True])

"""No verdict on a team depends on a seed, the order of rows, names, or on a model that is entered twice."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from analysis.stats.verdicts import Verdict
from analysis.teams.domain import logistic
from analysis.teams.domain.evaluation import evaluate
from analysis.teams.domain.evidence import Evidence
from analysis.teams.domain.families import TEAMS, concluded
from analysis.teams.domain.folds import Draws, by_item
from analysis.teams.domain.logistic import Logistic
from analysis.teams.results import Method, TeamResult
from tests.analysis.teams.domain.simulated import make_evidence

SIZES = {"n_items": 80, "per_item": 2, "n_participants": 40}


def result(evidence: Evidence, seed: int = 42, resamples_seed: int = 42) -> TeamResult:
    held = Logistic(seed=seed).held_out(evidence, by_item(evidence, seed=seed))
    draws = Draws.of(evidence, resamples=400, seed=resamples_seed)
    row = evaluate(evidence, held, Method.LOGISTIC, draws)
    sizes = (draws.n_items, draws.n_people)
    question = {"main": Method.LOGISTIC, "question": lambda team: TEAMS, "sizes": sizes}
    return concluded([row], [], [], **question).rows[0]


def others(evidence: Evidence) -> Iterator[TeamResult]:
    for seed in (1, 2, 3):
        yield result(evidence, seed=seed)
        yield result(evidence, resamples_seed=seed)
    yield result(evidence.rows(np.random.default_rng(1).permutation(len(evidence))))
    renamed = tuple(replace(m, name=f"x{9 - k}") for k, m in enumerate(evidence.members))
    yield result(replace(evidence, members=renamed))
    twice = replace(
        evidence,
        members=(*evidence.members, replace(evidence.members[-1], name="copy")),
        **{
            name: np.column_stack([getattr(evidence, name), getattr(evidence, name)[:, -1]])
            for name in ("signed", "as_published")
        },
    )
    yield result(twice)


@pytest.mark.parametrize(
    ("made", "verdict"),
    [
        ({"models": (0.7,) * 5, "n_humans": 0, "rho_models": 0.0, "rho": 0.0}, Verdict.ABOVE),
        ({"models": (0.95, 0.55)}, Verdict.UNCLEAR),
    ],
)
def test_verdicts_stay(made: dict[str, Any], verdict: Verdict) -> None:
    evidence = make_evidence(seed=5, **SIZES, **made)
    assert result(evidence).gain_verdict is verdict
    for other in others(evidence):
        assert other.gain_verdict is verdict


def test_predictions_are_means_over_divisions_and_depend_on_the_seed_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    evidence = make_evidence(models=(0.8, 0.8), n_humans=0, seed=5, **SIZES)

    def spread() -> float:
        log_odds = [_log_odds(Logistic(seed=seed).held_out(evidence, by_item(evidence)).p_original) for seed in range(5)]  # fmt: skip
        return float(np.std(log_odds, axis=0).mean())

    averaged = spread()
    about = Logistic().held_out(evidence, by_item(evidence)).about
    low, high = about.accuracy_by_partition
    assert about.n_partitions == 10
    assert low < high
    monkeypatch.setattr(logistic, "n_partitions", lambda _, **__: 1)
    assert averaged < 0.65 * spread()


def _log_odds(p: np.ndarray) -> np.ndarray:
    return np.log(p / (1 - p))

"""The published logistic analysis, team by team."""

from itertools import combinations

import numpy as np
import pytest

from analysis.teams.domain.folds import by_item
from analysis.teams.domain.runs import ALONE, METHODS
from tests.analysis.teams.domain.conftest import LLAMA_2_CHAT

NAMES = ("human", *LLAMA_2_CHAT)
SHORT = dict(zip(NAMES, ("Human", "7B", "13B", "70B"), strict=True))
TEAMS = [team for size in range(1, 5) for team in combinations(NAMES, size)]


@pytest.mark.shared
@pytest.mark.parametrize("team", TEAMS, ids=lambda team: "+".join(SHORT[m] for m in team))
def test_each_logistic_team_gets_the_reference_number_of_trials_right(
    team, published_evidence, reference
):
    rows = reference["haico_logistic_on_human_items"]
    name = "+".join(SHORT[m] for m in team)
    known, sklearn = (
        next(row for row in rows[way] if row["team"] == name) for way in ("exact_newton", "sklearn")
    )
    evidence = published_evidence.of(team)
    held = (ALONE if len(team) == 1 else METHODS["logistic"]).held_out(evidence, by_item(evidence))
    assert len(evidence) == known["n_trials"]
    assert held.is_right.sum() == known["n_correct"] == sklearn["n_correct"]
    if len(team) > 1:
        assert -np.log(held.p_original).mean() == pytest.approx(known["cv_logloss"], abs=1e-9)
        # The reference signs PPL(B) - PPL(A)
        human = 1 if "human" in team else 0
        theirs = np.array(known["mean_fold_weights_intercept_then_features"])
        theirs[1 + human :] *= -1
        ours = [held.about.intercept, *held.about.weights]
        assert ours == pytest.approx(theirs, abs=1e-7)

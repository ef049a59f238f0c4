"""Teams are tried up to a stated size, or grown by a rule that an honest estimate goes with."""

from dataclasses import replace

import pytest

from analysis.teams.domain.members import panel, subsets
from tests.analysis.teams.domain.simulated import make_evidence


@pytest.mark.parametrize("up_to", [1, 2, 5, 9])
def test_subsets_are_all_teams_up_to_a_size_small_ones_first(up_to):
    names = tuple("abcde")
    everything = [
        team
        for number in range(1, 32)
        if len(team := tuple(x for k, x in enumerate(names) if number >> k & 1)) <= up_to
    ]
    found = list(subsets(names, up_to))
    assert sorted(found) == sorted(everything)
    assert found == sorted(found, key=lambda team: (len(team), team))


def test_the_panel_is_a_human_and_the_three_most_accurate_models():
    evidence = make_evidence(models=(0.2, 1.2, 0.1, 0.8, 1.5), n_humans=2, n_items=150)
    assert panel(evidence) == ("human", "org/model-1", "org/model-3", "org/model-4")
    assert panel(evidence, most=2) == ("human", "org/model-4")
    models = evidence.of(evidence.names[2:])
    same = replace(models, signed=models.signed[:, [0, 0, 0, 0, 4]])
    assert panel(same) == ("org/model-0", "org/model-1", "org/model-4")

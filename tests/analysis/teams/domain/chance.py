"""Teams of members who know nothing: what they reach, and how often a gain looks significant."""

from dataclasses import dataclass

import numpy as np

from analysis.teams.domain.evidence import Evidence
from analysis.teams.domain.folds import Draws, by_item
from analysis.teams.domain.runs import METHODS, Runs
from analysis.teams.results import Member, MemberKind

RESAMPLES = 500


@dataclass(frozen=True)
class ByChance:
    """Over studies. mean, sd: of the team's accuracy; n_above, n_below: gains above or below 0 with p < .05.

    left_out_mean: accuracy where the published scheme predicts all of the same teams.
    """

    n_studies: int
    mean: float
    sd: float
    left_out_mean: float
    n_above: int
    n_below: int


def guessing(n_items: int, seed: int, n_members: int = 2) -> Evidence:
    """Models whose evidence says nothing of the truth, correlated .5; as many originals on either side as can be."""
    rng = np.random.default_rng([n_items, seed])
    among = np.full((n_members, n_members), 0.5) + 0.5 * np.eye(n_members)
    signed = rng.multivariate_normal(np.zeros(n_members), among, n_items)
    truth = rng.permutation(np.where(np.arange(n_items) % 2 == 0, 1.0, -1.0))
    members = tuple(Member(f"m{k}", MemberKind.MODEL, f"M{k}") for k in range(n_members))
    nobody = np.empty((n_items, 0), dtype=np.int64)
    return Evidence(members, np.arange(n_items), truth, signed, nobody, nobody)


def by_chance(method: str, n_items: int, n_studies: int) -> ByChance:
    """As reports do it."""
    accuracies, left_out, above, below = [], [], 0, 0
    for seed in range(n_studies):
        evidence = guessing(n_items, seed)
        runs = Runs(evidence, by_item(evidence), Draws.of(evidence, RESAMPLES))
        runs.add([evidence.names], METHODS[method])
        result = runs.results()[0]
        found = result.near_chance
        usual = found.left_out_accuracy if found else None
        accuracies.append(result.accuracy)
        left_out.append(result.accuracy if usual is None else usual)
        if result.gain_p is not None and result.gain_p < 0.05:
            above, below = above + (result.gain > 0), below + (result.gain < 0)
    return ByChance(
        n_studies,
        float(np.mean(accuracies)),
        float(np.std(accuracies)),
        float(np.mean(left_out)),
        above,
        below,
    )

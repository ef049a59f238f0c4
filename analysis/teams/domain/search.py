"""Which teams to try where there are too many: all up to a size, or members added one by one."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np

from analysis.stats import NotEnough
from analysis.teams.domain.combination import Combination, HeldOut
from analysis.teams.domain.evidence import Evidence, Names
from analysis.teams.domain.folds import Folds, in_blocks
from analysis.teams.results import About, Step

MOST_MEMBERS = 8
N_BLOCKS = 10

GREEDY = (
    "Members are added one by one, each time the one that lowers the held-out log loss most ({folds}), until none lowers "
    "it or the team has {most}. Its members are chosen by the same predictions that it is scored on, which flatters it."
)
NESTED = (
    "The same choice is made anew within the training items of each of {n} outer folds ({folds}); the team chosen there "
    "predicts the items held out, which had no part in choosing it. The best member that it is set against is the best of "
    "all members on these very trials: chosen with hindsight, which favours that member."
)


@dataclass(frozen=True)
class Nested:
    """held: predictions of teams that were chosen without the rows they predict.

    chosen: member -> in how many outer folds it was chosen; teams: the team of each outer fold.
    """

    held: HeldOut
    chosen: Mapping[str, int]
    teams: tuple[Names, ...]


def subsets(names: Sequence[str], up_to: int) -> Iterator[Names]:
    """All teams of 1 to `up_to` members, smaller ones first, then in the order of names.

    >>> list(subsets(("a", "b", "c"), 2))
    [('a',), ('b',), ('c',), ('a', 'b'), ('a', 'c'), ('b', 'c')]
    """
    sizes = range(1, min(up_to, len(names)) + 1)
    return chain.from_iterable(combinations(names, size) for size in sizes)


def panel(evidence: Evidence, most: int = 4) -> Names:
    """The first human, if there is one, and the most - 1 models with most rows right (ties: in order), in member order."""
    right = evidence.is_right.sum(axis=0)
    models = [k for k, m in enumerate(evidence.members) if not m.is_human]
    best = sorted(models, key=lambda k: (-int(right[k]), k))[: most - 1]
    people = [k for k in (0,) if evidence.n_humans]
    return tuple(evidence.names[k] for k in (*people, *sorted(best)))


def greedy(
    evidence: Evidence, method: Combination, folds: Folds, most: int = MOST_MEMBERS
) -> list[Step]:
    """Forward selection by held-out log loss, see GREEDY; ties go to the earlier member.

    People are any people: of several human members the next is tried only once those before it are in. A team that
    `method` cannot fit is passed over. Raises NotEnough where it can fit no single member.
    """
    steps: list[Step] = []
    while len(steps) < min(most, len(evidence.members)):
        team = steps[-1].team.names if steps else ()
        tried = _tried(evidence, method, folds, team)
        if not tried:
            break
        best = min(tried, key=lambda step: step.log_loss_nats)
        if steps and not best.log_loss_nats < steps[-1].log_loss_nats:
            break
        steps.append(best)
    return steps


def _tried(evidence: Evidence, method: Combination, folds: Folds, team: Names) -> list[Step]:
    """The team with each further member."""
    steps, reason = [], None
    for name in _further(evidence, team):
        part = evidence.of((*team, name))
        try:
            held = method.held_out(part, folds)
        except NotEnough as error:
            reason = error
            continue
        loss = float(-np.log(np.maximum(held.p_original, 1e-300)).mean())
        n_correct, n = int(held.is_right.sum()), len(part)
        steps.append(Step(name, part.team, loss, n_correct / n, n_correct, n))
    if not team and not steps and reason is not None:
        raise reason
    return steps


def _further(evidence: Evidence, team: Names) -> list[str]:
    people = [m.name for m in evidence.members if m.is_human and m.name not in team][:1]
    return people + [m.name for m in evidence.members if not m.is_human and m.name not in team]


def greedy_nested(
    evidence: Evidence,
    method: Combination,
    folds: Folds,
    most: int = MOST_MEMBERS,
    *,
    seed: int = 42,
) -> Nested:
    """What greedy choice brings on items that had no part in it, see NESTED; `folds` are the outer ones.

    Inner folds are 10 random blocks of the training items.
    Raises NotEnough as `greedy`, and where training has fewer than two items.
    """
    p = np.empty(len(evidence))
    is_right = np.zeros(len(evidence), dtype=bool)
    teams: list[Names] = []
    known: dict[Names, HeldOut] = {}
    for fold in range(folds.n):
        inner = evidence.rows(folds.train(fold))
        team = greedy(inner, method, in_blocks(inner, N_BLOCKS, seed=seed), most)[-1].team.names
        if team not in known:
            known[team] = method.held_out(evidence.of(team), folds)
        rows = folds.fold == fold
        p[rows], is_right[rows] = known[team].p_original[rows], known[team].is_right[rows]
        teams.append(team)
    times = Counter(name for team in teams for name in team)
    chosen = {name: times[name] for name in evidence.names}
    return Nested(
        HeldOut(p, is_right, About(NESTED.format(n=folds.n, folds=folds.words))),
        chosen,
        tuple(teams),
    )

"""Whom does a team follow where its members disagree?"""

import numpy as np

from analysis.stats import NotEnough
from analysis.stats.arrays import Bools, Ints
from analysis.teams.domain.evidence import Names
from analysis.teams.results import Complementarity, OnlyOne, Pattern, SomeRight, Tried

MOST_NAMED = 6  # members up to which patterns name who is right


def complementarity(names: Names, is_right: Bools, team_right: Bools) -> Complementarity:
    """Trials by which members are right; is_right (n, members), in the order of `names`, team_right (n,).

    Raises NotEnough below two members.

    >>> first, second = [True, True, False, False], [True, False, True, False]
    >>> found = complementarity(("a", "b"), np.array([first, second]).T, np.array([True, True, False, False]))
    >>> found.only_first, found.only_second
    (OnlyOne(n=1, n_team_right=1, member='a'), OnlyOne(n=1, n_team_right=0, member='b'))
    """
    if len(names) < 2:
        raise NotEnough("One member cannot disagree.", "A team of at least two is needed.")
    n_right = is_right.sum(axis=1)
    all_right, none_right = n_right == len(names), n_right == 0
    some = ~all_right & ~none_right
    first, second = (_only(names[k], some & is_right[:, k], team_right) for k in (0, 1))
    is_pair = len(names) == 2
    return Complementarity(
        all_right=_tried(all_right, team_right),
        some_right=_some_right(some, n_right, len(names), team_right),
        none_right=_tried(none_right, team_right),
        only_first=first if is_pair else None,
        only_second=second if is_pair else None,
        patterns=_patterns(names, is_right, team_right),
    )


def _tried(where: Bools, team_right: Bools) -> Tried:
    return Tried(int(where.sum()), int((where & team_right).sum()))


def _only(member: str, where: Bools, team_right: Bools) -> OnlyOne:
    return OnlyOne(int(where.sum()), int((where & team_right).sum()), member)


def _some_right(some: Bools, n_right: Ints, m: int, team_right: Bools) -> SomeRight:
    agreed = some & (2 * n_right != m)
    follows = agreed & ((2 * n_right > m) == team_right)
    tried = _tried(some, team_right)
    return SomeRight(tried.n, tried.n_team_right, int(agreed.sum()), int(follows.sum()))


def _patterns(names: Names, is_right: Bools, team_right: Bools) -> tuple[Pattern, ...]:
    """More members right first, then earlier members first."""
    named = len(names) <= MOST_NAMED
    n_right = is_right.sum(axis=1)
    columns = np.column_stack([n_right, is_right]) if named else n_right[:, None]
    kinds, place = np.unique(-columns.astype(np.int64), axis=0, return_inverse=True)
    n = np.bincount(place.ravel(), minlength=len(kinds))
    n_team = np.bincount(place.ravel(), weights=team_right, minlength=len(kinds))
    return tuple(
        Pattern(
            n=int(count),
            n_team_right=int(right),
            right=tuple(x for x, k in zip(names, kind[1:], strict=True) if k) if named else None,
            n_right=int(-kind[0]),
            share=float(count / len(is_right)),
        )
        for kind, count, right in zip(kinds, n, n_team, strict=True)
    )

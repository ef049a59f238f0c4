"""Differential attrition: a test of whether arms lose different shares of their participants."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from analysis.stats.families import holm
from analysis.stats.item_differences import fisher_p
from analysis.stats.verdicts import HOLM, Concludes, Verdict

METHOD = (
    "Fisher's exact test (two-sided) of each arm against all others together, of the share that left before finishing and of the share of "
    "finishers that are not analysed; with two arms, one test each. p_holm is Holm's correction over all of these tests."
)


@dataclass(frozen=True)
class Loss:
    """`lost` of n participants of an arm at a stage, against n_lost_others of n_others in all other arms."""

    stage: str
    arm: str
    n: int
    lost: int
    n_others: int
    lost_others: int
    p: float
    p_holm: float

    @property
    def share(self) -> float:
        return self.lost / self.n

    @property
    def share_others(self) -> float:
        return self.lost_others / self.n_others

    @property
    def verdict(
        self,
    ) -> Annotated[
        Verdict,
        Concludes(
            "whether an arm lost more participants than the others at a stage",
            "all arms and stages",
            HOLM,
            "1 (exact test)",
        ),
    ]:
        """ABOVE: the arm lost more. An exact test holds its level at any size."""
        return Verdict.of(self.share - self.share_others, self.p_holm)


def losses(
    arms: Sequence[str], stages: Mapping[str, Sequence[tuple[int, int]]]
) -> tuple[Loss, ...]:
    """arms: names; stages: name -> (n, lost) of each arm. As METHOD says; of two arms, the second is against the first.

    Without stages at which an arm, or all others, have nobody to lose.

    >>> [one] = losses(["a", "b"], {"left": [(20, 1), (20, 9)]})
    >>> one.arm, round(one.p, 4), one.verdict.value
    ('b', 0.0084, 'above')
    """
    rows = [
        (stage, arm, n, lost, sum(m for m, _ in counts) - n, sum(k for _, k in counts) - lost)
        for stage, counts in stages.items()
        for arm, (n, lost) in list(zip(arms, counts, strict=True))[1 if len(arms) == 2 else 0 :]
    ]
    rows = [row for row in rows if row[2] and row[4]]
    if not rows or len(arms) < 2:
        return ()
    n, lost, n_others, lost_others = (
        np.array(column) for column in list(zip(*rows, strict=True))[2:]
    )
    p = fisher_p(lost, n, lost_others, n_others)
    return tuple(
        Loss(*row, p=one, p_holm=after)
        for row, one, after in zip(rows, p.tolist(), holm(p).tolist(), strict=True)
    )

"""The assignment of participants to the arms of a study. Pure, as `assignment`, whose rule it follows.

Everybody who consents gets into the arm with the lowest *expected finishers per share*::

    load(arm) = (valid(arm) + sum over live participants in it of P(finish | the page they are on)) / share(arm)

where `valid` counts its valid finishers, and P(finish | page) is that of `assignment.finish_chances` over all arms, so that
an arm that people leave more often is not given fewer. Equal loads are drawn from at random.

Where a number of valid finishers is wanted, nobody is admitted while even the lowest load reaches the arm's share of it.
Few are then under way when the last is admitted, and those who leave make room again. If more of them finish in one arm
than was expected, others are admitted beyond their share until they have caught up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from experiment.domain.assignment import (
    SCORE_DECIMALS,
    finish_chances,
    lowest,
    participant_rng,
)

MOST_SHARE = 100
MOST_ARMS = 12
MOST_BEYOND = 10  # percent of an arm's share of the target, in whole valid finishers
PURPOSE = "arm"


@dataclass(frozen=True, slots=True)
class ArmLoad:
    """An arm as it was read: its share, its valid finishers, and its live participants by the page that they are on."""

    number: int
    share: int
    valid: int = 0
    live: tuple[tuple[int, int], ...] = ()

    def expected(self, chances: Mapping[int, float]) -> float:
        """Expected valid finishers per unit of share.

        >>> ArmLoad(1, share=2, valid=3, live=((5, 2),)).expected({5: 0.5})
        2.0
        """
        finishing = sum(n * chances[page] for page, n in self.live)
        return round((self.valid + finishing) / self.share, SCORE_DECIMALS)


@dataclass(frozen=True, slots=True)
class ArmDraw:
    """The data that an assignment went by, read at one moment; with the participant's seed it gives the same arm again.

    left_at: (page, how many left there), of all arms, as `finished`, which counts excluded finishers too.
    """

    arms: tuple[ArmLoad, ...]
    left_at: tuple[tuple[int, int], ...] = ()
    finished: int = 0

    def loads(self) -> dict[int, float]:
        """Arm number -> expected valid finishers per share.

        >>> ArmDraw((ArmLoad(1, 1, valid=1), ArmLoad(2, 1, live=((0, 1),)))).loads()
        {1: 1.0, 2: 0.5}
        """
        pages = {page for arm in self.arms for page, _ in arm.live}
        chances = finish_chances(dict(self.left_at), self.finished, pages)
        return {arm.number: arm.expected(chances) for arm in self.arms}

    def number(self, seed: int) -> int:
        """The arm of the participant with this seed.

        >>> ArmDraw((ArmLoad(1, 1, valid=1), ArmLoad(2, 1))).number(seed=7)
        2
        """
        return participant_rng(seed, PURPOSE).choice(lowest(self.loads()))

    def is_full(self, wanted: int, *, catches_up: bool = True) -> bool:
        """True if the arm that the next participant would get into has as many expected valid finishers as it may.

        That is its share of `wanted`; or more, where it `catches_up` with an arm that has more valid finishers by their
        shares: until it is expected to be one behind, or `MOST_BEYOND` above its own share of `wanted`. Without that
        limit, all arms would grow as large as one that a rush overfilled.

        >>> draw = ArmDraw((ArmLoad(1, 1, valid=2), ArmLoad(2, 1, valid=1, live=((0, 1),))))
        >>> draw.is_full(3), draw.is_full(4)
        (True, False)
        >>> draw = ArmDraw((ArmLoad(1, 1, valid=12), ArmLoad(2, 1, valid=10)))
        >>> draw.is_full(20), draw.is_full(20, catches_up=False)
        (False, True)
        """
        loads, shares = self.loads(), sum(arm.share for arm in self.arms)
        least, per_share = min(loads.values()), wanted / shares
        if not catches_up:
            return least >= round(per_share, SCORE_DECIMALS)

        def enough(arm: ArmLoad) -> float:
            one_behind = max(
                other.valid / other.share - 1 / min(arm.share, other.share) for other in self.arms
            )
            most = (100 + MOST_BEYOND) * wanted * arm.share // (100 * shares)
            return round(max(per_share, min(one_behind, most / arm.share)), SCORE_DECIMALS)

        # Any of those that are least filled may be drawn
        return any(least >= enough(arm) for arm in self.arms if loads[arm.number] == least)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        """
        >>> ArmDraw.from_json(ArmDraw((ArmLoad(1, 1, live=((3, 2),)),)).as_json()).arms[0].live
        ((3, 2),)
        """
        arms = tuple(ArmLoad(**{**arm, "live": _pairs(arm["live"])}) for arm in kept["arms"])
        return cls(arms, _pairs(kept["left_at"]), kept["finished"])


def _pairs(rows: Sequence[Sequence[int]]) -> tuple[tuple[int, int], ...]:
    return tuple((page, n) for page, n in rows)

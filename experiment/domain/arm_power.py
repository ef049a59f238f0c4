"""What a dry run says of the power to find a difference between two arms. Pure."""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

NORMAL = statistics.NormalDist()
Z = NORMAL.inv_cdf(0.975)
POWER = 0.8  # with which a difference is called detectable
FEWEST = 2  # trials of a test case in each arm, and people in each

Row = tuple[str, int, int, bool]  # arm, participant, test case, whether the answer is right


@dataclass(frozen=True, slots=True)
class ArmContrast:
    """Two arms: the difference of the shares of right answers, second minus first, and what its error is made of.

    n_first, n_second: valid people in them, of n_people in all arms. var_first, var_second: variance between people of a person's share;
    var_items: variance of the difference between test cases beyond chance, over n_items.
    """

    first: str
    second: str
    n_first: int
    n_second: int
    n_people: int
    difference: float
    var_first: float
    var_second: float
    var_items: float
    n_items: int

    def se(self, target: int) -> float:
        """Standard error with so many valid people in all arms, divided as these are, and the same test cases.

        >>> ArmContrast("a", "b", 50, 50, 100, 0.1, 0.02, 0.02, 0.0, 100).se(100).__round__(4)
        0.0283
        """
        each = target / self.n_people
        people = self.var_first / (each * self.n_first) + self.var_second / (each * self.n_second)
        return float((people + self.var_items / self.n_items) ** 0.5)

    @property
    def ci95(self) -> tuple[float, float]:
        """Of the difference, with the people whom the dry run had."""
        margin = Z * self.se(self.n_people)
        return self.difference - margin, self.difference + margin

    def power(self, target: int) -> float:
        """Chance of a two-sided p below .05 for a true difference as large as this one.

        >>> ArmContrast("a", "b", 50, 50, 100, 0.0, 0.02, 0.02, 0.0, 100).power(100).__round__(3)
        0.05
        """
        se = self.se(target)
        if not se:
            return float(self.difference != 0)
        away = abs(self.difference) / se
        return NORMAL.cdf(away - Z) + NORMAL.cdf(-away - Z)

    def detectable(self, target: int) -> float:
        """The difference that is found with a chance of 80%."""
        return (Z + NORMAL.inv_cdf(POWER)) * self.se(target)


def contrasts(rows: Iterable[Row], arms: Sequence[str], reference: str) -> tuple[ArmContrast, ...]:
    """Each arm against the reference; without those in which fewer than two people, or test cases, have enough trials."""
    by_person: dict[str, dict[int, list[bool]]] = {arm: defaultdict(list) for arm in arms}
    by_item: dict[str, dict[int, list[bool]]] = {arm: defaultdict(list) for arm in arms}
    for arm, person, item, is_right in rows:
        by_person[arm][person].append(is_right)
        by_item[arm][item].append(is_right)
    n_people = sum(map(len, by_person.values()))
    found = []
    for arm in arms:
        both = by_person[reference], by_person[arm]
        if arm == reference or min(map(len, both)) < FEWEST:
            continue
        shares = [[statistics.fmean(own) for own in people.values()] for people in both]
        items = _differences(by_item[reference], by_item[arm])
        if len(items) < FEWEST:
            continue
        beyond = statistics.variance(d for d, _ in items) - statistics.fmean(v for _, v in items)
        found.append(
            ArmContrast(
                first=reference,
                second=arm,
                n_first=len(both[0]),
                n_second=len(both[1]),
                n_people=n_people,
                difference=statistics.fmean(shares[1]) - statistics.fmean(shares[0]),
                var_first=statistics.variance(shares[0]),
                var_second=statistics.variance(shares[1]),
                var_items=max(0.0, beyond),
                n_items=len(items),
            )
        )
    return tuple(found)


def _differences(
    first: dict[int, list[bool]], second: dict[int, list[bool]]
) -> list[tuple[float, float]]:
    """Difference of each test case that both arms judged twice, and its variance by chance."""
    found = []
    for item in first.keys() & second.keys():
        both = first[item], second[item]
        if min(map(len, both)) >= FEWEST:
            shares = [statistics.fmean(own) for own in both]
            chance = sum(p * (1 - p) / (len(own) - 1) for p, own in zip(shares, both, strict=True))
            found.append((shares[1] - shares[0], chance))
    return found

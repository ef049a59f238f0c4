"""The ways of combining judgments, by the names under which users choose them."""

from dataclasses import replace

from analysis.teams.domain.baselines import Alone, AverageProbability, Majority, MostConfident
from analysis.teams.domain.bayes.combination import Bayesian
from analysis.teams.domain.combination import Combination
from analysis.teams.domain.improved import ImprovedLogistic
from analysis.teams.domain.logistic import Logistic

ALONE = Alone()
BAYESIAN = Bayesian()
METHODS: dict[str, Combination] = {
    way.name: way
    for way in (
        Logistic(),
        ImprovedLogistic(),
        BAYESIAN,
        Majority(),
        MostConfident(),
        AverageProbability(),
    )
}


def method_named(name: str, seed: int = 42) -> Combination:
    """The method of that name; `seed` is for what the bayesian one draws, and the improved one's blocks of items.

    Raises KeyError for an unknown name.

    >>> method_named("improved", 7).seed
    7
    """
    way = METHODS[name]
    return replace(way, seed=seed) if isinstance(way, (Bayesian, ImprovedLogistic)) else way

"""Which of many pairs become questions: as evenly over strata as these allow, by a seed. Pure."""

import random
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


def sample(
    of: Sequence[T], n: int, stratum: Callable[[T], Hashable], rng: random.Random
) -> list[T]:
    """n of them, in their order; each stratum gives the same number, or all that it has.

    >>> sample(["a1", "b1", "b2"], 2, lambda name: name[0] == "a", random.Random(1))[0]
    'a1'
    """
    strata: dict[Hashable, list[int]] = {}
    for place, one in enumerate(of):
        strata.setdefault(stratum(one), []).append(place)
    sizes = {name: len(places) for name, places in strata.items()}
    counts = allocate(sizes, n, rng)
    chosen = [place for name, k in counts.items() for place in rng.sample(strata[name], k)]
    return [of[place] for place in sorted(chosen)]


def allocate(sizes: Mapping[Hashable, int], n: int, rng: random.Random) -> dict[Hashable, int]:
    """How many each stratum gives: no two that could give more differ by over one; chance says who gives the odd ones.

    >>> allocate({"few": 2, "many": 50}, 10, random.Random(1))
    {'few': 2, 'many': 8}
    """
    counts = dict.fromkeys(sizes, 0)
    left = min(n, sum(sizes.values()))
    while left > 0:
        open_ones = [name for name in sizes if counts[name] < sizes[name]]
        share = min(left // len(open_ones), min(sizes[name] - counts[name] for name in open_ones))
        givers: Iterable[Hashable] = open_ones if share else rng.sample(open_ones, left)
        for name in givers:
            counts[name] += share or 1
            left -= share or 1
    return counts

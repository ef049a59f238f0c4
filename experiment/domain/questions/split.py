"""The split of questions into those for training models and those for testing them. Pure."""

import hashlib
from collections.abc import Hashable, Iterable

COLUMN = "split"  # of an export that was asked for it; imports pass it over
TRAIN, TEST = "train", "test"


def split(questions: Iterable[tuple[str, Hashable]], share: float, seed: int) -> dict[str, str]:
    """TRAIN or TEST for each key: at random by the seed, and of each stratum this share in TEST, as nearly as whole questions allow.

    questions: key and stratum, such as the template and the categories; their order makes no difference. The odd ones of small
    strata add up over all of them, in the order of their names, so that the whole has the share too.

    >>> found = split([(f"q{n}", n % 2) for n in range(20)], 0.2, seed=1)
    >>> sorted((int(key[1:]) % 2, part) for key, part in found.items() if part == TEST)
    [(0, 'test'), (0, 'test'), (1, 'test'), (1, 'test')]
    """
    strata: dict[str, list[str]] = {}
    for key, stratum in questions:
        strata.setdefault(repr(stratum), []).append(key)
    found: dict[str, str] = {}
    seen = taken = 0
    for _, keys in sorted(strata.items()):
        seen += len(keys)
        n_test = int(share * seen + 0.5) - taken
        taken += n_test
        drawn = sorted(keys, key=lambda key: hashlib.sha256(f"{seed} {key}".encode()).digest())
        found |= {key: TEST if n < n_test else TRAIN for n, key in enumerate(drawn)}
    return found

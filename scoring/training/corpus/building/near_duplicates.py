"""Joins near copies: MinHash says which pairs may be, and whether they are is counted exactly. Knows no files.

A text's shingles are its runs of SHINGLE words; two texts are near copies if the Jaccard index of their shingles,
|A and B| / |A or B|, is THRESHOLD or more: in an abstract of 200 words, up to about seven single words changed.

Of each text BANDS x ROWS = 125 minima under random permutations are taken (Broder 1997), and two texts are compared
where all ROWS minima of a band agree. With a Jaccard index s that happens with probability 1 - (1 - s^5)^25: .99 at
s = .7, .99995 at .8, 1 - 4e-10 at .9. So 1 in 100 pairs at the very threshold is missed. None is taken wrongly, as
each pair's shingles are compared.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import numpy as np
import numpy.typing as npt

from scoring.training.corpus.building.groups import Groups
from scoring.training.corpus.building.runs import Hashes, runs

SHINGLE, THRESHOLD = 5, 0.7
BANDS, ROWS = 25, 5
AT_ONCE = 8192  # shingles whose permuted values are in memory together


def shingles(hashes: Hashes) -> Hashes:
    """The distinct shingles of a text's words, sorted."""
    return np.unique(runs(hashes, SHINGLE))


def jaccard(a: Hashes, b: Hashes) -> float:
    """Of two sorted sets of shingles.

    >>> jaccard(np.array([1, 2, 3], np.uint64), np.array([2, 3, 4], np.uint64))
    0.5
    """
    shared = len(np.intersect1d(a, b, assume_unique=True))
    return shared / (len(a) + len(b) - shared)


class Signer:
    """Signatures of texts under one seed's permutations."""

    def __init__(self, seed: int) -> None:
        # With it comes scipy, which commands that make no corpus need not load
        from datasketch import MinHash

        permutations = MinHash(BANDS * ROWS, seed=seed).permutations
        self._sketch = partial(
            MinHash, BANDS * ROWS, permutations=permutations, hashfunc=int, scheme="affine32"
        )

    def bands(self, shingles: Hashes) -> Hashes:
        """A hash for each band of minima."""
        sketch = self._sketch()
        low_bits = shingles.astype(np.uint32)
        for start in range(0, len(low_bits), AT_ONCE):
            sketch.update_batch(low_bits[start : start + AT_ONCE].tolist())
        minima = sketch.hashvalues.reshape(BANDS, ROWS).astype(np.uint64)
        return runs(minima, ROWS)[:, 0]


def join_near_copies(
    bands: Hashes,
    rows: npt.NDArray[np.int64],
    groups: Groups,
    shingles_of: Callable[[int], Hashes],
    on_done: Callable[[int], None],
) -> None:
    """Join each two of these rows that agree in a band and are near copies. `bands`: all rows x BANDS.

    Rows of one group are not compared again, and two rows in the first band in which they agree alone: a thousand copies of
    one text cost a thousand comparisons. `on_done` hears of bands.
    """
    for band in range(BANDS):

        def are_near(one: int, other: int, band: int = band) -> bool:
            first = int(np.argmax(bands[one] == bands[other]))
            return first == band and jaccard(shingles_of(one), shingles_of(other)) >= THRESHOLD

        for bucket in _buckets(bands[rows, band]):
            clusters: dict[int, list[int]] = {}
            for row in rows[bucket].tolist():
                clusters.setdefault(groups.first(row), []).append(row)
            apart: list[list[int]] = []
            for cluster in clusters.values():
                near = [c for c in apart if any(are_near(*pair) for pair in product(cluster, c))]
                for other in near:
                    groups.join(cluster[0], other[0])
                    cluster += other
                apart = [c for c in apart if c not in near] + [cluster]
        on_done(band + 1)


def _buckets(column: Hashes) -> Iterator[npt.NDArray[np.int64]]:
    """Places of equal values, where there are two or more."""
    order = np.argsort(column, kind="stable")
    starts = np.concatenate([[0], np.flatnonzero(np.diff(column[order])) + 1])
    sizes = np.diff(np.append(starts, len(order)))
    for start, size in zip(starts[sizes > 1], sizes[sizes > 1], strict=True):
        yield order[start : start + size]

"""Joins near copies: MinHash says which pairs may be, and whether they are is counted exactly. Knows no files.

A text's shingles are its runs of SHINGLE words; two texts are near copies if the Jaccard index of their shingles,
|A and B| / |A or B|, is THRESHOLD or more: in an abstract of 200 words, up to about seven single words changed.

Of each text BANDS x ROWS = 125 minima under random permutations are taken (Broder 1997), and two texts are compared
where all ROWS minima of a band agree. With a Jaccard index s that happens with probability 1 - (1 - s^5)^25: .99 at
s = .7, .99995 at .8, 1 - 4e-10 at .9. So 1 in 100 pairs at the very threshold is missed. None is taken wrongly, as
each pair's shingles are compared.
"""

import hashlib
import html
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import product

import numpy as np
import numpy.typing as npt

from scoring.training.corpus.document import Document, last_day, plain_doi, plain_pmcid, plain_pmid

# Line ends of other systems, and a page's end, which ends a paragraph too
_LINE_ENDS = re.compile(r"\r\n?|[\x85\u2028]")
_PARAGRAPH_ENDS = re.compile(r"[\x0c\u2029]")
# Written for a typesetter: soft hyphens, joiners of words, marks of direction and of a file's beginning
_UNSEEN = re.compile(r"[\xad\u200b\u200e\u200f\u2060\ufeff]")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]")
_LIGATURES = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}
_SPACES = re.compile(r"[^\S\n]+")
_AROUND_LINE_ENDS = re.compile(r" ?\n ?")  # after _SPACES
_BLANK_LINES = re.compile(r"\n{3,}")


def normalise(text: str) -> str:
    r"""The same text without what only a typesetter or a machine put there; paragraphs stay, by blank lines.

    Unicode's form NFC; ligatures (ﬀ to ﬆ) as letters; soft hyphens and unseen characters gone; control characters
    and runs of spaces as one space. What is normalised stays as it is.

    >>> normalise("The  hippo\u00adcampus is de\ufb01ned.\r\n\r\n\r\n Next\tparagraph. ")
    'The hippocampus is defined.\n\nNext paragraph.'
    """
    text = _PARAGRAPH_ENDS.sub("\n\n", _LINE_ENDS.sub("\n", text))
    text = _CONTROLS.sub(" ", _UNSEEN.sub("", text)).translate(_LIGATURES)
    text = _AROUND_LINE_ENDS.sub("\n", _SPACES.sub(" ", text))
    return unicodedata.normalize("NFC", _BLANK_LINES.sub("\n\n", text)).strip()


def normalised(document: Document) -> Document:
    return replace(
        document,
        text=normalise(document.text),
        title=" ".join(normalise(document.title).split()),
        doi=plain_doi(document.doi),
        pmid=plain_pmid(document.pmid),
        pmcid=plain_pmcid(document.pmcid),
        published=document.published if last_day(document.published) else "",
    )


Hashes = npt.NDArray[np.uint64]
_WORD = re.compile(r"[^\W_]+")
_TAG = re.compile(
    r"""</?[a-z][\w:-]*(?:\s+[\w:-]+\s*=\s*(?:"[^"<>]*"|'[^'<>]*'))*\s*/?>""", re.IGNORECASE
)
_BROKEN = re.compile(r"(?<=[^\W\d_])[-\u2010]\s*\n\s*(?=[^\W\d_])")
_WITHIN_WORDS = frozenset({"Cf", "Mn", "Mc", "Me"})  # unseen characters, and combining marks
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no word's share is lost modulo 2^64


def words(text: str) -> list[str]:
    r"""Letters and digits, without case and accents; a word broken at a line's end is one word.

    >>> words("The μ-opioid “Load” (10²)")
    ['the', 'μ', 'opioid', 'load', '102']
    >>> words("<i>Hippo</i>campal&#x2009;ac-\ntivity")
    ['hippocampal', 'activity']
    """
    text = _BROKEN.sub("", _TAG.sub("", html.unescape(_plain(text))))
    return _WORD.findall(_plain(text))


def _plain(text: str) -> str:
    if text.isascii():
        return text.casefold()
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    dropped = [ord(c) for c in set(text) if unicodedata.category(c) in _WITHIN_WORDS]
    return text.translate(dict.fromkeys(dropped))


def hash_of(text: str) -> int:
    """64 bits, the same on every machine."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


_hash_of_word = lru_cache(maxsize=2**18)(hash_of)


def word_hashes(text: str) -> Hashes:
    """One per word, in the text's order."""
    found = words(text)
    return np.fromiter(map(_hash_of_word, found), np.uint64, len(found))


def runs(hashes: Hashes, n: int) -> Hashes:
    """The hash of each run of n words, in order: sum over k of word[i + k] x factor^(n - 1 - k) modulo 2^64.

    Along the last axis. A text with fewer words is one run; without a word there is none.
    """
    length = hashes.shape[-1]
    n = min(n, length)
    total = np.zeros((*hashes.shape[:-1], length - n + 1 if n else 0), np.uint64)
    for k in range(n):
        total *= _FACTOR
        total += hashes[..., k : k + total.shape[-1]]
    return total


class Groups:
    """Whichever way rows are joined, the same groups come of it.

    >>> groups = Groups()
    >>> groups.join(4, 2); groups.join(4, 9); groups.join(5, 6)
    >>> sorted(groups.groups().items())
    [(2, [2, 4, 9]), (5, [5, 6])]
    """

    def __init__(self) -> None:
        self._above: dict[int, int] = {}

    def first(self, row: int) -> int:
        """The smallest row of a row's group."""
        top = row
        while (above := self._above.get(top, top)) != top:
            top = above
        while row != top:
            self._above[row], row = top, self._above[row]
        return top

    def join(self, one: int, other: int) -> None:
        low, high = sorted((self.first(one), self.first(other)))
        self._above.setdefault(low, low)
        self._above[high] = low

    def groups(self) -> Mapping[int, Sequence[int]]:
        """Groups of two rows and more, by their first."""
        found: dict[int, list[int]] = defaultdict(list)
        for row in sorted(self._above):
            found[self.first(row)].append(row)
        return {first: rows for first, rows in found.items() if len(rows) > 1}


SHINGLE, THRESHOLD = 5, 0.7
BANDS, ROWS = 25, 5
AT_ONCE = 8192  # shingles whose permuted values are in memory together


def shingles(hashes: Hashes) -> Hashes:
    """The distinct shingles of a text's words, sorted."""
    return np.unique(runs(hashes, SHINGLE))


def jaccard(a: Hashes, b: Hashes) -> float:
    """Jaccard's similarity of two sorted sets of shingles.

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

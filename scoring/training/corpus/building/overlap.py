"""A check that a document gives no test case away. It knows test cases by their texts and DOIs alone, and writes no text anywhere.

A document is left out if

1. its DOI is a test case's, or
2. it holds RUN = 13 words in a row of either version of one, whatever their case and punctuation (the rule of GPT-3's
   decontamination, Brown et al. 2020), or
3. it holds SHARE = a fifth of a version's runs of five words, so that a copy with few words changed is found too: at
   every seventh word two of seven runs are left, which is enough, and at every sixth one of six, which is not; at
   least as many as 13 words have, or all of a shorter text's.

No run of 13 words is allowed for being common ("written informed consent was obtained from all participants..."): a paper
too few costs a corpus of thousands nothing, a test case too many costs the test. Such a run shows in the list of what
was left out, as one test case with many documents.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from scoring.training.corpus.building.near_duplicates import (
    SHINGLE,
    Hashes,
    normalise,
    runs,
    shingles,
    word_hashes,
)
from scoring.training.corpus.document import plain_doi
from scoring.training.corpus.manifest import BuiltCorpus, Excluded, Part

RUN, SHARE = 13, 0.2
LEAST = RUN - SHINGLE + 1
By = Literal["test case: DOI", "test case: text"]


@dataclass(frozen=True, slots=True)
class ItemTexts:
    """A version of a test case, as far as a document could give it away."""

    key: str
    doi: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Overlap:
    """The test case that a document gives away, and by what."""

    by: By
    of: str  # the test case's key


def fingerprint(items: Iterable[ItemTexts]) -> str:
    """SHA-256 over texts and DOIs, in whatever order: the same test cases have been looked for."""
    found = sorted({(plain_doi(item.doi), item.texts) for item in items})
    return hashlib.sha256(repr(found).encode()).hexdigest()


def overlaps(
    corpus: BuiltCorpus, items: Iterable[ItemTexts], on_done: Callable[[int], None]
) -> Iterator[Excluded]:
    """The documents of a corpus that give these test cases away; `on_done` hears of documents."""
    against, n = Overlaps(items), 0
    for part in get_args(Part):
        for document_id, title, doi, text in corpus.rows(part, ["id", "title", "doi", "text"]):
            hashes = word_hashes(text)
            if leak := against.of(doi, hashes, shingles(hashes)):
                yield Excluded(document_id, title, leak.by, leak.of)
            n += 1
            on_done(n)


class Overlaps:
    """Compares documents with all test cases at once."""

    def __init__(self, items: Iterable[ItemTexts]) -> None:
        ordered = sorted(items, key=lambda item: item.key)
        self._dois = {plain_doi(item.doi): item.key for item in reversed(ordered) if item.doi}
        pairs = [
            (item.key, word_hashes(normalise(text))) for item in ordered for text in item.texts
        ]
        versions = [(key, hashes) for key, hashes in pairs if len(hashes) >= SHINGLE]
        self._keys = [key for key, _ in versions]
        self._runs = _Owned(
            [np.unique(runs(h, RUN)) if len(h) >= RUN else h[:0] for _, h in versions]
        )
        self._shingles = _Owned([shingles(hashes) for _, hashes in versions])
        n = self._shingles.sizes
        self._needed = np.maximum(np.ceil(SHARE * n), np.minimum(n, LEAST))

    def of(self, doi: str, hashes: Hashes, own: Hashes) -> Overlap | None:
        """The overlap of a document, by its DOI, its words and its shingles: the test case it is of, or shares most with."""
        if key := self._dois.get(plain_doi(doi)) if doi else None:
            return Overlap("test case: DOI", key)
        if not self._keys:
            return None
        if len(hashes) >= RUN and (shared := self._runs.shared(np.unique(runs(hashes, RUN)))).any():
            return Overlap("test case: text", self._keys[int(shared.argmax())])
        shared = self._shingles.shared(own)
        enough = shared >= self._needed
        if enough.any():
            shares = np.where(enough, shared / self._shingles.sizes, 0)
            return Overlap("test case: text", self._keys[int(shares.argmax())])
        return None


class _Owned:
    """Sets of hashes, and how many of each set's another set holds."""

    def __init__(self, sets: Sequence[Hashes]) -> None:
        self.sizes = np.array([len(one) for one in sets], np.int64)
        owners = np.repeat(np.arange(len(sets)), self.sizes)
        hashes = np.concatenate(sets) if sets else np.array([], np.uint64)
        order = np.argsort(hashes, kind="stable")
        self._hashes, self._owners = hashes[order], owners[order]

    def shared(self, others: Hashes) -> npt.NDArray[np.int64]:
        """With each set. `others` are distinct."""
        left = np.searchsorted(self._hashes, others)
        right = np.searchsorted(self._hashes, others, "right")
        owners = [self._owners[a:b] for a, b in zip(left, right, strict=True) if b > a]
        return np.bincount(np.concatenate(owners) if owners else [], minlength=len(self.sizes))

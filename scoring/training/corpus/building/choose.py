"""Which documents stay: one of each paper and of its near copies, and none that gives a test case away.

Documents that share a DOI, PMID or PMCID, and near copies, are joined, and what is joined to those too; whichever the
order, the same groups come of it. Of a group the full text is kept, or else the longest text; of a group in which one
gives a test case away, none.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from scoring.training.corpus.building.groups import Groups
from scoring.training.corpus.building.near_duplicates import join_near_copies, shingles
from scoring.training.corpus.building.overlap import Overlap
from scoring.training.corpus.building.runs import Hashes, word_hashes
from scoring.training.corpus.building.store import Store
from scoring.training.corpus.document import Document
from scoring.training.corpus.manifest import Excluded

FILLED = ("doi", "pmid", "pmcid", "title", "journal", "published")


@dataclass(frozen=True, slots=True)
class Choice:
    """Documents by row: those left out, and of those kept the other forms of the same paper."""

    excluded: Mapping[int, Excluded]
    forms: Mapping[int, Sequence[int]]

    def document(self, store: Store, row: int) -> Document:
        """One that is kept, with what only its paper's other forms say of it."""
        document = store[row]
        for other in sorted((store[form] for form in self.forms.get(row, ())), key=_order):
            missing = {name: getattr(other, name) for name in FILLED if not getattr(document, name)}
            document = replace(document, **missing)
        return document


def choose(store: Store, found: Mapping[int, Overlap], on_done: Callable[[int], None]) -> Choice:
    """`found`: the rows that give a test case away. `on_done` hears of bands compared."""
    papers = Groups()
    for one, other in store.same_papers().tolist():
        papers.join(one, other)
    groups = _with_near_copies(store, deepcopy(papers), on_done)
    excluded = {row: _leak(store[row], overlap) for row, overlap in found.items()}
    forms: dict[int, Sequence[int]] = {}
    for rows in groups.groups().values():
        leaks = [found[row] for row in rows if row in found]
        if leaks:
            of = min(leak.of for leak in leaks)
            copies = {
                row: _left(store[row], "test case: copy", of) for row in rows if row not in found
            }
            excluded |= copies
            continue
        documents = {row: store[row] for row in rows}
        kept = min(rows, key=lambda row: _order(documents[row]))
        paper = papers.first(kept)
        forms[kept] = [row for row in rows if row != kept and papers.first(row) == paper]
        for row in rows:
            if row != kept:
                reason = "same paper" if row in forms[kept] else "near copy"
                excluded[row] = _left(documents[row], reason, documents[kept].id)
    return Choice(excluded, forms)


def _with_near_copies(store: Store, groups: Groups, on_done: Callable[[int], None]) -> Groups:
    _, first, which = np.unique(store.text_hashes(), return_index=True, return_inverse=True)
    for row, same in enumerate(first[which].tolist()):
        if row != same:
            groups.join(row, same)

    @lru_cache(maxsize=1024)
    def shingles_of(row: int) -> Hashes:
        return shingles(word_hashes(store[row].text))

    join_near_copies(store.bands(), first, groups, shingles_of, on_done)
    return groups


def _order(document: Document) -> tuple[bool, int, str, str]:
    """What is kept comes first, whichever file it was in."""
    return document.kind != "fulltext", -len(document.text), document.id, document.text


def _leak(document: Document, overlap: Overlap) -> Excluded:
    return _left(document, overlap.by, overlap.of)


def _left(document: Document, reason: str, of: str) -> Excluded:
    return Excluded(document.id, document.title, reason, of)

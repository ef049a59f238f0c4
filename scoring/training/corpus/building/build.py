"""Makes a corpus of files of documents, in a folder that is the caller's. Knows no database: test cases are given to it.

Which documents stay: one of each paper and of its near copies, and none that gives a test case away.

Documents that share a DOI, PMID or PMCID, and near copies, are joined, and what is joined to those too; whichever the
order, the same groups come of it. Of a group the full text is kept, or else the longest text; of a group in which one
gives a test case away, none. What is retracted, a notice or in another language is left out, of what is retracted the
paper's other forms too.
"""

import hashlib
import json
import shutil
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
import numpy.typing as npt

from lib.files import sha256_of, write_file
from scoring.training.corpus.building import near_duplicates, overlap
from scoring.training.corpus.building.near_duplicates import (
    BANDS,
    Groups,
    Hashes,
    Signer,
    join_near_copies,
    normalised,
    shingles,
    word_hashes,
)
from scoring.training.corpus.building.overlap import ItemTexts, Overlap, Overlaps, fingerprint
from scoring.training.corpus.building.store import (
    Statistics,
    Store,
    TokenCounter,
    identifiers_of,
    write_part,
)
from scoring.training.corpus.document import CorpusError, Document, read_documents
from scoring.training.corpus.manifest import (
    EXCLUDED,
    BuiltCorpus,
    Excluded,
    File,
    Manifest,
    Part,
    open_corpus,
    write_manifest,
)
from scoring.training.corpus.unwanted import DELETED, ENGLISH, RETRACTED, why_unwanted


def work_of(document: Document) -> str:
    """The part of a document that stays the same when another form of the paper is found: its DOI, PMID, PMCID, or else its id."""
    return document.doi or document.pmid or document.pmcid or document.id


def place(seed: int, work: str) -> float:
    """A number from 0 to 1 that seed and work alone decide; documents below the share are held out.

    Of n documents a share h is held out give or take sqrt(h (1 - h) / n): of 10,000 at .1, .1 +- .003.
    """
    digest = hashlib.blake2b(f"{seed}:{work}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") / 2**64


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


def choose(
    store: Store,
    found: Mapping[int, Overlap],
    gone: Mapping[str, Excluded],
    on_done: Callable[[int], None],
) -> Choice:
    """`found`: the rows that give a test case away; `gone`: what is withdrawn, by identifier. `on_done` hears of bands compared."""
    papers = Groups()
    for one, other in store.same_papers().tolist():
        papers.join(one, other)
    groups = _with_near_copies(store, deepcopy(papers), on_done)
    known, excluded = papers.groups(), dict[int, Excluded]()
    for row, identifier in store.rows_of(gone):
        # Retracted are all forms of a paper; most numbers that PubMed deletes are second ones of a paper that is valid
        says = gone[identifier]
        same = [row] if says.reason == DELETED else known.get(papers.first(row), [row])
        excluded |= {form: _left(store[form], says.reason, says.id) for form in same}
    withdrawn = set(excluded)
    excluded |= {row: _left(store[row], leak.by, leak.of) for row, leak in found.items()}
    forms: dict[int, Sequence[int]] = {}
    for group in groups.groups().values():
        rows = [row for row in group if row not in withdrawn or row in found]
        if not rows:
            continue
        leaks = [found[row] for row in rows if row in found]
        if leaks:
            of = min(leak.of for leak in leaks)
            copies = [row for row in rows if row not in found]
            excluded |= {row: _left(store[row], "test case: copy", of) for row in copies}
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
    """The order of documents: what is kept comes first, whichever file it was in."""
    return document.kind != "fulltext", -len(document.text), document.id, document.text


def _left(document: Document, reason: str, of: str = "") -> Excluded:
    return Excluded(document.id, document.title, reason, of)


MIN_WORDS = 20
LIBRARIES = ("datasketch", "numpy", "pyarrow", "tokenizers")
RULES = {
    "min_words": MIN_WORDS,
    "shingle_words": near_duplicates.SHINGLE,
    "near_copy_jaccard": near_duplicates.THRESHOLD,
    "test_case_run_words": overlap.RUN,
    "test_case_share": overlap.SHARE,
}
OnProgress = Callable[[str, int, int], None]  # stage, done, of how many


@dataclass(frozen=True, slots=True)
class Settings:
    name: str
    holdout: float
    seed: int
    created: str  # ISO 8601 with offset
    languages: tuple[str, ...] = (ENGLISH,)  # of texts, as PubMed writes them; none: all


def build(
    folder: Path,
    sources: Sequence[Path],
    items: Sequence[ItemTexts],
    settings: Settings,
    counter: TokenCounter,
    on_progress: OnProgress,
) -> BuiltCorpus:
    """Build a corpus of these files in an empty folder.

    Raises:
        CorpusError: a source is no file of documents, or fewer than two are left to part.
    """
    scratch = folder / "scratch"
    scratch.mkdir()
    with Store(scratch) as store:
        facts, found, gone, excluded = _read(store, sources, Overlaps(items), settings, on_progress)
        _check_enough(settings, len(store), excluded)
        choice = choose(store, found, gone, lambda done: on_progress("comparing", done, BANDS))
        excluded += choice.excluded.values()
        _check_enough(settings, len(store) - len(choice.excluded), excluded)
        statistics, files = _write(folder, store, choice, settings, counter, on_progress)
    shutil.rmtree(scratch)
    ordered = sorted(excluded, key=lambda one: (one.id, one.reason, one.of, one.title))
    lines = (json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in ordered)
    write_file(folder / EXCLUDED, "".join(lines))
    files[EXCLUDED] = _facts(folder / EXCLUDED)
    manifest = Manifest(
        name=settings.name,
        seed=settings.seed,
        holdout=settings.holdout,
        created=settings.created,
        tokenizer=counter.name,
        rules=RULES,
        languages=settings.languages,
        test_cases=fingerprint(items),
        sources=facts,
        files=files,
        train=statistics.parts["train"],
        held_out=statistics.parts["held_out"],
        excluded=_sorted(Counter(one.reason for one in excluded)),
        years=_sorted(statistics.years),
        licences=_sorted(statistics.licences),
        journals=_sorted(statistics.journals),
        first_published=statistics.first_published,
        last_published=statistics.last_published,
        versions={name: version(name) for name in LIBRARIES}
        | {"unicode": unicodedata.unidata_version},
    )
    write_manifest(folder, manifest)
    return open_corpus(folder)


def _check_enough(settings: Settings, n: int, excluded: Sequence[Excluded]) -> None:
    """Raises CorpusError where fewer than two documents are left, with why the others are not."""
    if n < 2:
        reasons = _sorted(Counter(one.reason for one in excluded)).items()
        told = ", ".join(f"{count:,} ({reason})" for reason, count in reasons) or "none"
        raise CorpusError(
            f"{settings.name}: only {n} documents are left, but two are needed, one to hold out. Left out: {told}."
        )


def _read(
    store: Store,
    sources: Sequence[Path],
    overlaps: Overlaps,
    settings: Settings,
    on_progress: OnProgress,
) -> tuple[dict[str, File], dict[int, Overlap], dict[str, Excluded], list[Excluded]]:
    """The files that were read, the rows that give a test case away, what is withdrawn, and what was left out at once."""
    gone: dict[str, Excluded] = {}
    facts = {path.name: _facts(path) for path in sorted(sources, key=lambda path: path.name)}
    total = sum(file.rows for file in facts.values())
    signer, found, excluded, n = Signer(settings.seed), dict[int, Overlap](), list[Excluded](), 0
    for path in sources:
        for document in map(normalised, read_documents(path)):
            n += 1
            on_progress("reading", n, total)
            if reason := why_unwanted(document, settings.languages):
                excluded.append(_left(document, reason))
                if reason == RETRACTED:
                    gone |= dict.fromkeys(identifiers_of(document), excluded[-1])
                elif reason == DELETED:  # never in place of a retraction, which says more
                    gone.setdefault(f"pmid:{document.pmid}", excluded[-1])
                continue
            hashes = word_hashes(document.text)
            if len(hashes) < MIN_WORDS:
                reason = "too short" if document.text else "empty"
                excluded.append(_left(document, reason))
                continue
            own = shingles(hashes)
            digest = hashlib.blake2b(hashes.tobytes(), digest_size=8).digest()
            at = place(settings.seed, work_of(document))
            row = store.append(document, int.from_bytes(digest, "little"), at, signer.bands(own))
            if leak := overlaps.of(document.doi, hashes, own):
                found[row] = leak
    return facts, found, gone, excluded


def _facts(path: Path) -> File:
    with path.open("rb") as file:
        rows = sum(block.count(b"\n") for block in iter(lambda: file.read(2**20), b""))
    return File(sha256_of(path), path.stat().st_size, rows)


def _write(
    folder: Path,
    store: Store,
    choice: Choice,
    settings: Settings,
    counter: TokenCounter,
    on_progress: OnProgress,
) -> tuple[Statistics, dict[str, File]]:
    # The rows kept, in an order that the seed decides; the first are held out: one, if need be
    places = store.places()
    for row in choice.forms:
        places[row] = place(settings.seed, work_of(choice.document(store, row)))
    kept = np.array([row for row in range(len(store)) if row not in choice.excluded], np.int64)
    rows = kept[np.lexsort((store.text_hashes()[kept], places[kept]))]
    below = int(np.searchsorted(places[rows], settings.holdout))
    n_held_out = min(max(below, 1), len(kept) - 1)
    statistics, files = Statistics(), dict[str, File]()
    parts: dict[Part, npt.NDArray[np.int64]] = {
        "held_out": rows[:n_held_out],
        "train": rows[n_held_out:],
    }

    def documents(of_part: npt.NDArray[np.int64], before: int) -> Iterator[Document]:
        for n, row in enumerate(of_part.tolist(), start=before + 1):
            yield choice.document(store, row)
            on_progress("writing", n, len(rows))

    for part, of_part in parts.items():
        before = statistics.parts["held_out"].documents
        files |= write_part(folder, part, documents(of_part, before), counter, statistics)
    return statistics, files


def _sorted(counts: Counter[str]) -> dict[str, int]:
    """The most frequent first."""
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))

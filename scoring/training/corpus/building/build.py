"""Makes a corpus of files of documents, in a folder that is the caller's. Knows no database: test cases are given to it."""

import hashlib
import json
import shutil
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
import numpy.typing as npt

from lib.files import write_file
from scoring.training.corpus.building import near_duplicates, overlap
from scoring.training.corpus.building.choose import Choice, choose
from scoring.training.corpus.building.near_duplicates import BANDS, Signer, shingles
from scoring.training.corpus.building.normalise import normalised
from scoring.training.corpus.building.overlap import ItemTexts, Overlap, Overlaps, fingerprint
from scoring.training.corpus.building.runs import word_hashes
from scoring.training.corpus.building.shards import write_part
from scoring.training.corpus.building.split import place, work_of
from scoring.training.corpus.building.statistics import Statistics, TokenCounter
from scoring.training.corpus.building.store import Store
from scoring.training.corpus.document import CorpusError, Document, read_documents
from scoring.training.corpus.manifest import (
    EXCLUDED,
    BuiltCorpus,
    Excluded,
    File,
    Manifest,
    Part,
    open_corpus,
    sha256,
    write_manifest,
)

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
        read = _read(store, sources, Overlaps(items), settings.seed, on_progress)
        if not len(store):
            raise CorpusError(
                f"There is no text of {MIN_WORDS} words or more to build {settings.name} of."
            )
        choice = choose(store, read.found, lambda done: on_progress("comparing", done, BANDS))
        excluded = [*read.excluded, *choice.excluded.values()]
        statistics, files = _write(folder, store, choice, settings, counter, on_progress)
    shutil.rmtree(scratch)
    files[EXCLUDED] = _write_excluded(folder, excluded)
    manifest = Manifest(
        name=settings.name,
        seed=settings.seed,
        holdout=settings.holdout,
        created=settings.created,
        tokenizer=counter.name,
        rules=RULES,
        test_cases=fingerprint(items),
        sources=read.sources,
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


@dataclass(frozen=True, slots=True)
class _Read:
    sources: Mapping[str, File]
    found: Mapping[int, Overlap]  # rows that give a test case away
    excluded: Sequence[Excluded]


def _read(
    store: Store, sources: Sequence[Path], overlaps: Overlaps, seed: int, on_progress: OnProgress
) -> _Read:
    facts = {path.name: _facts(path) for path in sorted(sources, key=lambda path: path.name)}
    total = sum(file.rows for file in facts.values())
    signer, found, excluded, n = Signer(seed), {}, list[Excluded](), 0
    for path in sources:
        for document in map(normalised, read_documents(path)):
            n += 1
            on_progress("reading", n, total)
            hashes = word_hashes(document.text)
            if len(hashes) < MIN_WORDS:
                reason = "too short" if document.text else "empty"
                excluded.append(Excluded(document.id, document.title, reason))
                continue
            own = shingles(hashes)
            digest = hashlib.blake2b(hashes.tobytes(), digest_size=8).digest()
            at = place(seed, work_of(document))
            row = store.append(document, int.from_bytes(digest, "little"), at, signer.bands(own))
            if leak := overlaps.of(document.doi, hashes, own):
                found[row] = leak
    return _Read(facts, found, excluded)


def _facts(path: Path) -> File:
    with path.open("rb") as file:
        rows = sum(block.count(b"\n") for block in iter(lambda: file.read(2**20), b""))
    return File(sha256(path), path.stat().st_size, rows)


def _write(
    folder: Path,
    store: Store,
    choice: Choice,
    settings: Settings,
    counter: TokenCounter,
    on_progress: OnProgress,
) -> tuple[Statistics, dict[str, File]]:
    rows, n_held_out = _parted(store, choice, settings)
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


def _parted(store: Store, choice: Choice, settings: Settings) -> tuple[npt.NDArray[np.int64], int]:
    """The rows kept, in an order that the seed decides, and how many of the first are held out: one, if need be."""
    places = store.places()
    for row in choice.forms:
        places[row] = place(settings.seed, work_of(choice.document(store, row)))
    kept = np.array([row for row in range(len(store)) if row not in choice.excluded], np.int64)
    if len(kept) < 2:
        raise CorpusError(
            f"{settings.name}: {len(kept)} of {len(store)} documents are left, and two are needed, one to hold out."
        )
    rows = kept[np.lexsort((store.text_hashes()[kept], places[kept]))]
    n = int(np.searchsorted(places[rows], settings.holdout))
    return rows, min(max(n, 1), len(kept) - 1)


def _write_excluded(folder: Path, excluded: Iterable[Excluded]) -> File:
    ordered = sorted(excluded, key=lambda one: (one.id, one.reason, one.of, one.title))
    lines = (json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in ordered)
    write_file(folder / EXCLUDED, "".join(lines))
    return _facts(folder / EXCLUDED)


def _sorted(counts: Counter[str]) -> dict[str, int]:
    """The most frequent first."""
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))

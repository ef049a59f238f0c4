"""A store of documents between reading and writing: texts in a scratch file, a few numbers in memory. Compares nothing."""

import hashlib
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import fields
from datetime import date
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from tokenizers import Tokenizer

from lib.files import sha256_of
from scoring.training.corpus.building.near_duplicates import BANDS, Hashes, hash_of
from scoring.training.corpus.document import CorpusError, Document, last_day, of_line, to_line
from scoring.training.corpus.manifest import SHARD, UNKNOWN, File, Part, PartFacts

AT_ONCE = 32  # texts whose tokens are in memory together


class TokenCounter:
    """Counts with a folder's tokenizer.json, without the special tokens that it would add.

    Raises:
        CorpusError: the folder holds none that can be read.
    """

    def __init__(self, folder: Path, name: str) -> None:
        path = folder / "tokenizer.json"
        try:
            written = path.read_bytes()
            self._tokenizer = Tokenizer.from_str(written.decode())
        except Exception as error:  # the library raises nothing more narrow
            raise CorpusError(f"{path} is not a readable tokenizer ({error}).") from error
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.name = f"{name} {hashlib.sha256(written).hexdigest()[:12]}"

    def count(self, texts: Sequence[str]) -> list[int]:
        counts: list[int] = []
        for start in range(0, len(texts), AT_ONCE):
            batch = list(texts[start : start + AT_ONCE])
            found = self._tokenizer.encode_batch_fast(batch, add_special_tokens=False)
            counts += [len(encoding.ids) for encoding in found]
        return counts


class Statistics:
    """Statistics of the documents that are in."""

    def __init__(self) -> None:
        self.parts: dict[Part, PartFacts] = {"train": PartFacts(), "held_out": PartFacts()}
        self.years, self.licences, self.journals = Counter[str](), Counter[str](), Counter[str]()
        self.first_published = self.last_published = ""

    def add(self, part: Part, document: Document, tokens: int) -> None:
        before = self.parts[part]
        self.parts[part] = PartFacts(
            before.documents + 1,
            before.words + len(document.text.split()),
            before.tokens + tokens,
            before.characters + len(document.text),
        )
        self.years[document.year or UNKNOWN] += 1
        self.licences[document.licence or UNKNOWN] += 1
        self.journals[document.journal or UNKNOWN] += 1
        if day := document.published:
            self.first_published = min(self.first_published or day, day)
            self.last_published = max(self.last_published, day, key=_end)


def _end(published: str) -> tuple[date, str]:
    """ "2022" may be later than "2022-03"."""
    return last_day(published) or date.min, published


def identifiers_of(document: Document) -> list[str]:
    """By which other forms of its paper are known.

    >>> identifiers_of(Document("pmid:1", "", doi="10.1/x", pmid="1"))
    ['doi:10.1/x', 'pmid:1']
    """
    names = ("doi", "pmid", "pmcid")
    return [f"{name}:{value}" for name in names if (value := getattr(document, name))]


class Store(ExitStack):
    """Documents by row, from 0; about 60 bytes of memory each, and 200 more that the system may put aside."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._texts = self.enter_context((folder / "documents.jsonl").open("x+b"))
        self._bands = self.enter_context((folder / "bands.bin").open("x+b"))
        self._starts = array("Q")
        self._identifiers, self._rows = array("Q"), array("Q")
        self._text_hashes, self._places = array("Q"), array("d")

    def __len__(self) -> int:
        return len(self._starts)

    def append(self, document: Document, text_hash: int, place: float, bands: Hashes) -> int:
        row = len(self)
        self._starts.append(self._texts.tell())
        self._texts.write(to_line(document).encode() + b"\n")
        self._bands.write(bands.tobytes())
        self._text_hashes.append(text_hash)
        self._places.append(place)
        for identifier in identifiers_of(document):
            self._identifiers.append(hash_of(identifier))
            self._rows.append(row)
        return row

    def __getitem__(self, row: int) -> Document:
        self._texts.seek(self._starts[row])
        return of_line(self._texts.readline().decode(), f"document {row}")

    def text_hashes(self) -> Hashes:
        """Hashes of the words, by row."""
        return np.frombuffer(self._text_hashes, np.uint64)

    def places(self) -> npt.NDArray[np.float64]:
        """In the split, by row; the caller's own."""
        return np.array(self._places)

    def bands(self) -> Hashes:
        """Rows x BANDS."""
        self._bands.flush()
        return np.memmap(self._bands, np.uint64, "r", shape=(len(self), BANDS))

    def rows_of(self, identifiers: Collection[str]) -> Iterator[tuple[int, str]]:
        """Rows that have one of these, each as "doi:10.1000/x", with it."""
        wanted = {hash_of(identifier): identifier for identifier in identifiers}
        known = np.frombuffer(self._identifiers, np.uint64)
        places = np.flatnonzero(np.isin(known, np.array([*wanted], np.uint64)))
        for place in places.tolist():
            yield self._rows[place], wanted[self._identifiers[place]]

    def same_papers(self) -> npt.NDArray[np.uint64]:
        """Pairs of rows that have a DOI, PMID or PMCID in common; enough of them to join all."""
        identifiers = np.frombuffer(self._identifiers, np.uint64)
        rows = np.frombuffer(self._rows, np.uint64)
        order = np.argsort(identifiers, kind="stable")
        same = np.flatnonzero(np.diff(identifiers[order]) == 0)
        return np.stack([rows[order][same], rows[order][same + 1]], axis=1)


NAMES = [field.name for field in fields(Document)]
SCHEMA = pa.schema([*((name, pa.string()) for name in NAMES), ("tokens", pa.int64())])
GROUP_CHARACTERS, GROUP_DOCUMENTS = 4 * 2**20, 2_000
SHARD_CHARACTERS = 2**29


def write_part(
    folder: Path,
    part: Part,
    documents: Iterable[Document],
    counter: TokenCounter,
    statistics: Statistics,
) -> dict[str, File]:
    """Write the part's shards, count what they hold, and return them by name."""
    groups = _groups(documents)
    written: dict[str, File] = {}
    group = next(groups, None)
    while group is not None:
        name, size, rows = SHARD.format(part=part, number=len(written)), 0, 0
        # Opened here, so that a full disk is the system's error and not the library's
        with (
            (folder / name).open("xb") as file,
            pq.ParquetWriter(file, SCHEMA, compression="zstd", use_dictionary=False) as writer,
        ):
            while group is not None and size < SHARD_CHARACTERS:
                tokens = counter.count([document.text for document in group])
                for document, n in zip(group, tokens, strict=True):
                    statistics.add(part, document, n)
                columns = [[getattr(document, name) for document in group] for name in NAMES]
                writer.write_table(pa.table([*columns, tokens], schema=SCHEMA))
                size += sum(len(document.text) for document in group)
                rows += len(group)
                group = next(groups, None)
        path = folder / name
        written[name] = File(sha256_of(path), path.stat().st_size, rows)
    return written


def _groups(documents: Iterable[Document]) -> Iterator[Sequence[Document]]:
    group: list[Document] = []
    size = 0
    for document in documents:
        group.append(document)
        size += len(document.text)
        if size >= GROUP_CHARACTERS or len(group) == GROUP_DOCUMENTS:
            yield group
            group, size = [], 0
    if group:
        yield group

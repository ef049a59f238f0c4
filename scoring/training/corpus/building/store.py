"""What is kept of documents between reading and writing: texts in a scratch file, a few numbers in memory. Compares nothing."""

from array import array
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import numpy.typing as npt

from scoring.training.corpus.building.near_duplicates import BANDS
from scoring.training.corpus.building.runs import Hashes, hash_of
from scoring.training.corpus.document import Document, of_line, to_line


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
        for name in ("doi", "pmid", "pmcid"):
            if value := getattr(document, name):
                self._identifiers.append(hash_of(f"{name}:{value}"))
                self._rows.append(row)
        return row

    def __getitem__(self, row: int) -> Document:
        self._texts.seek(self._starts[row])
        return of_line(self._texts.readline().decode(), f"document {row}")

    def text_hashes(self) -> Hashes:
        """Of the words, by row."""
        return np.frombuffer(self._text_hashes, np.uint64)

    def places(self) -> npt.NDArray[np.float64]:
        """In the split, by row; the caller's own."""
        return np.array(self._places)

    def bands(self) -> Hashes:
        """Rows x BANDS."""
        self._bands.flush()
        return np.memmap(self._bands, np.uint64, "r", shape=(len(self), BANDS))

    def same_papers(self) -> npt.NDArray[np.uint64]:
        """Pairs of rows that have a DOI, PMID or PMCID in common; enough of them to join all."""
        identifiers = np.frombuffer(self._identifiers, np.uint64)
        rows = np.frombuffer(self._rows, np.uint64)
        order = np.argsort(identifiers, kind="stable")
        same = np.flatnonzero(np.diff(identifiers[order]) == 0)
        return np.stack([rows[order][same], rows[order][same + 1]], axis=1)

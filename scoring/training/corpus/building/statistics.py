"""What a corpus holds in numbers, counted while it is written."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from tokenizers import Tokenizer

from scoring.training.corpus.document import CorpusError, Document, last_day
from scoring.training.corpus.manifest import UNKNOWN, Part, PartFacts

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
            raise CorpusError(f"{path} is no tokenizer that can be read ({error}).") from error
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
    """Of the documents that are in."""

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

"""A document of the literature: one JSON object per line, whichever source it came from."""

import json
import re
from calendar import monthrange
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from datetime import date
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from lib.files import atomic_file

Kind = Literal["abstract", "fulltext", "other"]


class CorpusError(Exception):
    """Why a corpus cannot be gathered, built or read: one sentence for the reader."""


@dataclass(frozen=True, slots=True)
class Document:
    """One paper or text. What is not known is empty."""

    id: str  # "pmid:31411561", "pmcid:PMC7000001", "doi:10.1000/x", "file:notes.txt#3"
    text: str
    title: str = ""
    doi: str = ""  # lower case, without an address before it
    pmid: str = ""
    pmcid: str = ""
    journal: str = ""
    published: str = ""  # as far as it is known: "2019", "2019-08" or "2019-08-12"
    licence: str = ""  # as the source states it: "CC BY", an address
    kind: Kind = "other"
    source: str = ""  # "pubmed", "pmc", "pubget", a file's name
    publication_types: str = (
        ""  # as the source names them: "Journal Article; Retracted Publication"
    )
    language: str = ""  # of the text, as PubMed writes it: "eng"

    @property
    def year(self) -> str:
        return self.published[:4]


def last_day(published: str) -> date | None:
    """The last day that a date as far as it is known can mean; None for what is no date.

    >>> last_day("2019-02"), last_day("2019"), last_day("2019-02-30"), last_day("12/03/2019")
    (datetime.date(2019, 2, 28), datetime.date(2019, 12, 31), None, None)
    """
    match = re.fullmatch(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?", published, re.ASCII)
    if match is None:
        return None
    year, month = int(match[1]), int(match[2] or 12)
    try:
        return date(year, month, int(match[3]) if match[3] else monthrange(year, month)[1])
    except ValueError:
        return None


def plain_doi(text: str | None) -> str:
    """Lower case, without an address before it or a sentence's end after it.

    >>> plain_doi("https://doi.org/10.1000/ABC"), plain_doi("doi: 10.1000/abc")
    ('10.1000/abc', '10.1000/abc')
    >>> plain_doi("www.doi.org/10.1000%2Fabc.")
    '10.1000/abc'
    """
    plain = unquote(text or "").strip().lower()
    return re.sub(r"^(doi:\s*)?((https?://)?((dx|www)\.)?doi\.org/\s*)?", "", plain).rstrip(".,; ")


def plain_pmid(pmid: str) -> str:
    return pmid.strip().lower().removeprefix("pmid:").strip()


def plain_pmcid(pmcid: str) -> str:
    """
    >>> plain_pmcid("7000001"), plain_pmcid("pmc7000001"), plain_pmcid("")
    ('PMC7000001', 'PMC7000001', '')
    """
    number = pmcid.strip().upper().removeprefix("PMCID:").strip().removeprefix("PMC")
    return f"PMC{number}" if number else ""


_FIELDS = {field.name for field in fields(Document)}


def to_line(document: Document) -> str:
    """Without line breaks, and the same for the same document."""
    return json.dumps(asdict(document), ensure_ascii=False)


def of_line(line: str, place: str) -> Document:
    """Read what `to_line` wrote.

    Raises:
        CorpusError: it is no document; `place` says where it stands.
    """
    try:
        found = json.loads(line)
        document = Document(**found)
    except (ValueError, TypeError) as error:
        raise CorpusError(f"{place}: not a document ({error}).") from error
    if not all(isinstance(getattr(document, name), str) for name in _FIELDS):
        raise CorpusError(f"{place}: all fields of a document must be texts.")
    return document


def read_documents(path: Path) -> Iterator[Document]:
    """The documents of a file of lines.

    Raises:
        CorpusError: a line is none, by its file and number.
    """
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield of_line(line, f"{path.name}, line {number}")


def write_documents(path: Path, documents: Iterable[Document]) -> int:
    """Write the file whole or not at all; return how many documents it holds."""
    n = 0
    with atomic_file(path) as file:  # who notes it as done must find it after a power cut
        for document in documents:
            file.write(to_line(document).encode() + b"\n")
            n += 1
    return n

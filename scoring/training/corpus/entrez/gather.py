"""The documents of one slice of one source: searched, parted where there are too many hits, and fetched page by page.

A record is taken once, whatever number of days it is found under (PubMed knows a day in print and one online).
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from scoring.training.corpus.document import CorpusError, Document
from scoring.training.corpus.entrez.client import (
    LARGEST,
    PAGE,
    Client,
    Database,
    Found,
    HistoryLostError,
)
from scoring.training.corpus.entrez.slices import Slice
from scoring.training.corpus.entrez.state import Done
from scoring.training.corpus.read.jats import read_jats
from scoring.training.corpus.read.pubmed import read_pubmed

NAMED = 10  # records of a problem


def number_of(document: Document) -> str:
    """A document's number in its database."""
    return document.pmid if document.kind == "abstract" else document.pmcid.removeprefix("PMC")


@dataclass
class Gathering:
    """Walks over a slice once; `done` says what it held."""

    client: Client
    database: Database
    term: str
    elsewhere: Collection[str]  # numbers that other slices have
    kept: dict[str, None] = field(default_factory=dict)
    without_text: dict[str, None] = field(default_factory=dict)
    books: dict[str, None] = field(default_factory=dict)
    missing: dict[str, None] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def done(self) -> Done:
        lists = (self.kept, self.without_text, self.books, self.missing, self.problems)
        return Done(*map(tuple, lists))

    def documents(self, span: Slice) -> Iterator[Document]:
        """Those of a slice that no other slice has.

        Raises:
            CorpusError: the server refuses, or cannot be reached.
        """
        yield from self._within(span, self.search(span))

    def search(self, span: Slice) -> Found:
        found = self.client.search(self.database, self.term, span)
        # It was passed over: the hits are others than those meant
        if found.unknown and found.count:
            raise CorpusError(f"Entrez does not know {', '.join(found.unknown)} in {self.term}.")
        return found

    def rest(self, span: Slice, found: Found) -> Iterator[Document]:
        """Those of a slice that none of its parts has: journals that name a year alone, for instance."""
        yield from self._fetch_numbers(self._new(found.ids))
        if found.count <= LARGEST:
            return
        # Too many to be listed: a record may count in several parts, so that only numbers tell what is missing
        parts = " OR ".join(f"{p.first:%Y/%m/%d}:{p.last:%Y/%m/%d}[pdat]" for p in span.parts())
        undated = self.client.search(self.database, f"({self.term}) NOT ({parts})", span)
        yield from self._fetch_numbers(self._new(undated.ids))
        listed = {*found.ids, *undated.ids}.union(*map(self._listed, span.parts()))
        if found.count > len(listed):
            self.problems.append(
                f"{span.name}: {found.count - len(listed):,} of {found.count:,} hits could not be listed, nor fetched."
            )

    def _listed(self, span: Slice) -> set[str]:
        """The numbers that searches for a slice and its parts list; a day's last, reported already, by their place."""
        found = self.search(span)
        parts = span.parts() if found.count > LARGEST else ()
        beyond = () if parts else range(len(found.ids), found.count)
        return {*found.ids, *(f"{span.name} {n}" for n in beyond)}.union(*map(self._listed, parts))

    def _within(self, span: Slice, found: Found) -> Iterator[Document]:
        parts = span.parts()
        if found.count > LARGEST and parts:
            for part in parts:
                yield from self._within(part, self.search(part))
            yield from self.rest(span, found)
            return
        yield from self._fetch(found)
        if found.count > LARGEST:
            self.problems.append(
                f"{span.name}: of {found.count:,} hits on this day, only the first {LARGEST:,} could be fetched."
            )

    def _fetch(self, found: Found) -> Iterator[Document]:
        """A search's documents, page by page; what no page held is asked for by number."""
        wanted = self._new(found.ids)
        if not wanted:
            return
        try:
            for start in range(0, len(found.ids), PAGE[self.database]):
                yield from self._take(self.client.page(self.database, found, start), wanted)
        except HistoryLostError:
            pass  # all that is left is asked for by number
        yield from self._fetch_numbers(self._new(wanted))

    def _fetch_numbers(self, numbers: Sequence[str]) -> Iterator[Document]:
        """Records by their numbers; those that are not given are noted."""
        size = PAGE[self.database]
        for start in range(0, len(numbers), size):
            some = numbers[start : start + size]
            yield from self._take(self.client.records(self.database, some), some)
        if missing := self._new(numbers):
            self.missing.update(dict.fromkeys(missing))
            more = f" and {len(missing) - NAMED:,} more" if len(missing) > NAMED else ""
            self.problems.append(f"found and not given: {', '.join(missing[:NAMED])}{more}.")

    def _take(self, root: Any, wanted: Iterable[str]) -> Iterator[Document]:
        records = (read_pubmed if self.database == "pubmed" else read_jats)(root)
        fresh = set(self._new(wanted))
        self.without_text.update(dict.fromkeys(fresh.intersection(records.without_text)))
        self.books.update(dict.fromkeys(fresh.intersection(records.books)))
        for document in records.documents:
            number = number_of(document)
            if number in fresh:
                fresh.remove(number)
                self.kept[number] = None
                yield document

    def _new(self, numbers: Iterable[str]) -> list[str]:
        """Of these, those that no slice has yet."""
        known = (self.elsewhere, self.kept, self.without_text, self.books, self.missing)
        return [number for number in numbers if not any(number in some for some in known)]

"""A literature into a folder: a file for each source and month, written whole or not at all.

What is done is noted month by month: a run that was stopped is gone on with, and a finished one has nothing left to do.
"""

import fcntl
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from scoring.training.corpus.document import CorpusError, Document, write_documents
from scoring.training.corpus.entrez.client import (
    LARGEST,
    PAGE,
    Client,
    Database,
    Found,
    HistoryLostError,
    Slice,
    year_of,
)
from scoring.training.corpus.entrez.sources import Done, Source, State, Wanted, open_states
from scoring.training.corpus.read.xml import read_jats, read_pubmed

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
                f"{span.name}: {found.count - len(listed):,} of {found.count:,} hits could not be listed and fetched."
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
            self.problems.append(f"found but not delivered: {', '.join(missing[:NAMED])}{more}.")

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
        """Those of these that no slice has yet."""
        known = (self.elsewhere, self.kept, self.without_text, self.books, self.missing)
        return [number for number in numbers if not any(number in some for some in known)]


OPEN_ACCESS = "open access[filter]"


@dataclass(frozen=True)
class Order:
    """An order: what is to be fetched, and where to."""

    sources: tuple[Source, ...]
    first_year: int
    last_year: int
    wanted: Wanted
    folder: Path
    limit: int | None = None  # new documents, for a try
    today: date = field(default_factory=date.today)

    @property
    def database(self) -> Database:
        return "pubmed" if self.wanted == "abstracts" else "pmc"

    @property
    def years(self) -> tuple[Slice, ...]:
        return tuple(map(year_of, range(self.first_year, self.last_year + 1)))

    def term(self, source: Source) -> str:
        return source.term if self.database == "pubmed" else f"{source.term} AND {OPEN_ACCESS}"


@dataclass(frozen=True)
class SourceFetched:
    name: str
    folder: str
    documents: int


@dataclass(frozen=True)
class Fetched:
    """The content of the folder for an order's sources and years; `new` documents of it came with this run."""

    sources: tuple[SourceFetched, ...]
    new: int
    without_text: int
    books: int
    problems: tuple[str, ...]

    @property
    def documents(self) -> int:
        return sum(source.documents for source in self.sources)


@contextmanager
def opened(client: Client, order: Order) -> Iterator["Fetching"]:
    """A run of an order that knows how much there is to fetch; no other may fetch into the folder meanwhile.

    Raises:
        CorpusError: the folder holds something else, another run is at work, or the server cannot be asked.
    """
    order.folder.mkdir(parents=True, exist_ok=True)
    with (order.folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CorpusError(f"Another run is fetching into {order.folder}.") from error
        fetching = Fetching(client, order)
        fetching.plan()
        yield fetching


class Fetching:
    """One run of an order; made by `opened`."""

    def __init__(self, client: Client, order: Order) -> None:
        self._client, self._order = client, order
        every = open_states(order.folder, order.sources, order.wanted)
        self._states = every[: len(order.sources)]
        self._seen = {number for state in every for done in state.slices.values() for number in done.numbers}  # fmt: skip
        self._unknown: dict[str, str] = {}  # slug of a source -> what is wrong with it
        self._new = 0
        self.total = self.here = 0  # records there are, and how many of them have been fetched

    def plan(self) -> None:
        """Count the records, and see that Entrez knows each source."""
        spans = self._order.years
        whole = Slice("", spans[0].first, spans[-1].last)
        for state in self._states:
            here = sum(len(done.numbers) for done in self._done(state))
            self.here += here
            count = here
            if any(year.name not in state.slices for year in spans):
                term = self._order.term(state.source)
                found = self._client.search(self._order.database, term, whole, most=0)
                if found.unknown:
                    words = ", ".join(found.unknown)
                    self._unknown[state.source.slug] = f"{state.source.name}: Entrez does not know {words}."  # fmt: skip
                else:
                    count = max(count, found.count)
            self.total += count
        if self._order.limit is not None:
            self.total = min(self.total, self.here + self._order.limit)

    def run(self, on_progress: Callable[[int], None] = lambda records: None) -> Fetched:
        """Fetch what is not here yet; `on_progress` is told how many records are.

        Raises:
            CorpusError: the server refuses, or cannot be reached; another run goes on from here.
        """
        for state in self._states:
            for year in self._order.years:
                is_known = state.source.slug not in self._unknown
                if not is_known or year.name in state.slices or self._is_enough():
                    continue
                found, months = self._gathering(state).search(year), year.parts()
                if not found.count:
                    empty = {span.name: Done() for span in (*months, year)}
                    state.add(empty, is_over=year.last < self._order.today)
                    continue
                for month in months:
                    if month.name not in state.slices and not self._is_enough():
                        self._fetch_slice(state, month, Gathering.documents, on_progress)
                # What was found in the year, and in none of its months
                if not self._is_enough():
                    self._fetch_slice(
                        state, year, partial(Gathering.rest, found=found), on_progress
                    )
        done = [(state, one) for state in self._states for one in self._done(state)]
        problems = (f"{state.source.name}, {said}" for state, one in done for said in one.problems)
        sources = (
            SourceFetched(
                s.source.name, s.source.slug, sum(len(done.kept) for done in self._done(s))
            )
            for s in self._states
        )
        return Fetched(
            tuple(sources),
            self._new,
            sum(len(one.without_text) for _, one in done),
            sum(len(one.books) for _, one in done),
            (*self._unknown.values(), *problems),
        )

    def _fetch_slice(
        self,
        state: State,
        span: Slice,
        documents_of: "Callable[[Gathering, Slice], Iterator[Document]]",
        tell: Callable[[int], None],
    ) -> None:
        """The file of a slice, if it holds a document, and then the note of it."""
        gathering = self._gathering(state)
        limit = self._order.limit
        left = None if limit is None else limit - self._new

        def told() -> Iterator[Document]:
            for n, document in enumerate(islice(documents_of(gathering, span), left), start=1):
                tell(self.here + n)
                yield document

        documents, path = told(), state.folder / f"{span.name}.jsonl"
        first = next(documents, None)
        if first is None:
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(exist_ok=True)
            write_documents(path, chain((first,), documents))
        done = gathering.done
        self.here += len(done.numbers)
        self._new += len(done.kept)
        self._seen.update(done.numbers)
        tell(self.here)
        # A month that is not over, or that the limit has cut, is fetched anew
        is_whole = span.last < self._order.today and not self._is_enough()
        state.add({span.name: done}, is_over=is_whole)

    def _gathering(self, state: State) -> Gathering:
        order = self._order
        return Gathering(self._client, order.database, order.term(state.source), self._seen)

    def _is_enough(self) -> bool:
        return self._order.limit is not None and self._new >= self._order.limit

    def _done(self, state: State) -> list[Done]:
        """The slices of the years that are asked for."""
        asked = {year.name for year in self._order.years}
        return [done for name, done in state.slices.items() if name[:4] in asked]

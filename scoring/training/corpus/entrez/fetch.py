"""A literature into a folder: a file for each source and month, written whole or not at all.

What is done is noted month by month: a run that was stopped is gone on with, and a finished one has nothing left to do.
"""

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from itertools import chain, islice
from pathlib import Path

from scoring.training.corpus.document import CorpusError, Document, write_documents
from scoring.training.corpus.entrez.client import Client, Database
from scoring.training.corpus.entrez.gather import Gathering
from scoring.training.corpus.entrez.slices import Slice, years
from scoring.training.corpus.entrez.sources import Source
from scoring.training.corpus.entrez.state import Done, State, Wanted, open_states

OPEN_ACCESS = "open access[filter]"


@dataclass(frozen=True)
class Order:
    """What is to be fetched, and where to."""

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
        return tuple(years(self.first_year, self.last_year))

    def term(self, source: Source) -> str:
        return source.term if self.database == "pubmed" else f"{source.term} AND {OPEN_ACCESS}"


@dataclass(frozen=True)
class SourceFetched:
    name: str
    folder: str
    documents: int


@dataclass(frozen=True)
class Fetched:
    """What the folder holds of an order's sources and years; `new` documents of it came with this run."""

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
                is_open = state.source.slug not in self._unknown and year.name not in state.slices
                if is_open and not self._is_enough():
                    self._fetch_year(state, year, on_progress)
        return self._result()

    def _fetch_year(self, state: State, year: Slice, tell: Callable[[int], None]) -> None:
        found = self._gathering(state).search(year)
        months = year.parts()
        if not found.count:
            empty = {span.name: Done() for span in (*months, year)}
            state.add(empty, is_over=year.last < self._order.today)
            return
        for month in months:
            if month.name not in state.slices and not self._is_enough():
                self._fetch_slice(state, month, lambda g, span: g.documents(span), tell)
        if self._is_enough():
            return
        self._fetch_slice(state, year, lambda g, span: g.rest(span, found), tell)

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
        """Of the years that are asked for."""
        asked = {year.name for year in self._order.years}
        return [done for name, done in state.slices.items() if name[:4] in asked]

    def _result(self) -> Fetched:
        done = [one for state in self._states for one in self._done(state)]
        sources = (
            SourceFetched(
                s.source.name, s.source.slug, sum(len(done.kept) for done in self._done(s))
            )
            for s in self._states
        )
        found = (
            f"{state.source.name}, {problem}"
            for state in self._states
            for one in self._done(state)
            for problem in one.problems
        )
        return Fetched(
            tuple(sources),
            self._new,
            sum(len(one.without_text) for one in done),
            sum(len(one.books) for one in done),
            (*self._unknown.values(), *found),
        )

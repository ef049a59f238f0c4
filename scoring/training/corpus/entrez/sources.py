"""Sources of documents (journals, or a query's results), and what of them a folder holds already, month by month."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, get_args

from lib.files import write_file
from scoring.training.corpus.document import CorpusError

BRAINGPT = "braingpt"  # names the list of this folder
JOURNALS = Path(__file__).parents[1] / "journals.txt"


@dataclass(frozen=True, slots=True)
class Source:
    """A journal or a query."""

    name: str
    term: str  # in the language of Entrez, without dates
    slug: str  # names the folder of its documents


def of_journal(name: str, about: str = "") -> Source:
    """A journal's articles, all or those about something.

    >>> of_journal("J Neural Transm (Vienna)").slug
    'j-neural-transm-vienna'
    """
    return Source(name, f'"{name}"[Journal]' + (f" AND ({about})" if about else ""), _slug(name))


def of_query(query: str) -> Source:
    """A search; its signs are part of what it means, so that words alone do not name its folder."""
    name = " ".join(query.split())
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return Source(name, f"({name})", f"{_slug(name)[:40]}-{digest}".strip("-"))


def _slug(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")


def of_journals(path: Path) -> tuple[Source, ...]:
    """One journal on a line, by its title or NLM's abbreviation; after a tab, what its articles must be about.

    What follows a # is a comment.

    Raises:
        CorpusError: the file cannot be read, is empty, or a line is wrong.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"{path} is not a readable list of journals ({error}).") from error
    found: dict[str, Source] = {}
    for number, line in enumerate(lines, start=1):
        name, *more = (" ".join(part.split()) for part in line.partition("#")[0].split("\t"))
        keywords = [keyword for keyword in more if keyword]
        if not name and not keywords:
            continue
        if not _slug(name) or '"' in name or len(keywords) > 1:
            raise CorpusError(
                f"{path.name}, line {number}: write a journal's name and, after a tab, one keyword."
            )
        source = of_journal(name, *keywords)
        if source.slug in found:
            raise CorpusError(f"{path.name}, line {number}: {name} occurs twice.")
        found[source.slug] = source
    if not found:
        raise CorpusError(f"{path.name} does not name any journals.")
    return tuple(found.values())


Wanted = Literal["abstracts", "fulltext"]
STATE = ".state.json"
LISTS = ("kept", "without_text", "books", "missing", "problems")
FORMAT, VERSION = "brainbench-live-literature", 1


@dataclass(frozen=True)
class Done:
    """The content of a slice; numbers are PMIDs, or PMCIDs without their letters."""

    kept: tuple[str, ...] = ()
    without_text: tuple[str, ...] = ()
    books: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()  # found, and not given
    problems: tuple[str, ...] = ()

    @property
    def numbers(self) -> tuple[str, ...]:
        return (*self.kept, *self.without_text, *self.books, *self.missing)


@dataclass
class State:
    """The folder of one source."""

    folder: Path
    wanted: Wanted
    source: Source
    slices: dict[str, Done] = field(default_factory=dict)
    passing: set[str] = field(default_factory=set)  # slices that are not over: fetched anew

    def add(self, slices: Mapping[str, Done], *, is_over: bool = True) -> None:
        """Note what slices held; those that more may come to, for this run alone."""
        self.slices.update(slices)
        self.passing.update(() if is_over else slices)
        kept = {
            name: asdict(done) for name, done in self.slices.items() if name not in self.passing
        }
        about = {"format": FORMAT, "version": VERSION, "wanted": self.wanted}
        about |= {"name": self.source.name, "term": self.source.term}
        self.folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps({**about, "slices": kept}, ensure_ascii=False)
        write_file(self.folder / STATE, text)


def open_states(folder: Path, sources: tuple[Source, ...], wanted: Wanted) -> tuple[State, ...]:
    """The states of these sources, and after them those of whatever else was fetched into the folder.

    Raises:
        CorpusError: something else was fetched into a source's folder, or other texts than those that are wanted.
    """
    states = {source.slug: State(folder / source.slug, wanted, source) for source in sources}
    for path in sorted(folder.glob(f"*/{STATE}")):
        found = _read(path)
        if found.wanted != wanted:
            raise CorpusError(
                f"{folder} contains {found.wanted}. Fetch {wanted} into another folder."
            )
        asked = states.get(path.parent.name)
        if asked is not None and asked.source.term != found.source.term:
            raise CorpusError(
                f"{path.parent} contains results of {found.source.term}, not of {asked.source.term}. Choose another folder."
            )
        states[path.parent.name] = found
    return tuple(states.values())


def _read(path: Path) -> State:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if (found["format"], found["version"]) != (FORMAT, VERSION):
            raise ValueError("another format")
        if found["wanted"] not in get_args(Wanted):
            raise ValueError("neither abstracts nor full texts")
        slices = {
            name: Done(*(tuple(done[key]) for key in LISTS))
            for name, done in found["slices"].items()
        }  # fmt: skip
        source = Source(found["name"], found["term"], path.parent.name)
        return State(path.parent, found["wanted"], source, slices)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorpusError(f"{path} is not a file of `corpus fetch` ({error}).") from error

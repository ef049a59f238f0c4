"""What has been fetched into a folder: for each slice the numbers of its records, also where there are none.

A slice is noted after its documents are in their place, so what is not noted is fetched again, and whole.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, get_args

from scoring.training.corpus.document import CorpusError
from scoring.training.corpus.entrez.sources import Source

Wanted = Literal["abstracts", "fulltext"]
STATE = ".state.json"
LISTS = ("kept", "without_text", "books", "missing", "problems")
FORMAT, VERSION = "brainbench-live-literature", 1


@dataclass(frozen=True)
class Done:
    """What a slice held; numbers are PMIDs, or PMCIDs without their letters."""

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
        draft = self.folder / f"{STATE}.part"
        with draft.open("w", encoding="utf-8") as file:
            json.dump({**about, "slices": kept}, file, ensure_ascii=False)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self.folder / STATE)


def open_states(folder: Path, sources: tuple[Source, ...], wanted: Wanted) -> tuple[State, ...]:
    """The states of these sources, and after them those of whatever else was fetched into the folder.

    Raises:
        CorpusError: something else was fetched into a source's folder, or other texts than those that are wanted.
    """
    states = {source.slug: State(folder / source.slug, wanted, source) for source in sources}
    for path in sorted(folder.glob(f"*/{STATE}")):
        found = _read(path)
        if found.wanted != wanted:
            raise CorpusError(f"{folder} holds {found.wanted}: fetch {wanted} into another folder.")
        asked = states.get(path.parent.name)
        if asked is not None and asked.source.term != found.source.term:
            raise CorpusError(
                f"{path.parent} holds what was found by {found.source.term}, not by {asked.source.term}: "
                "choose another folder."
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
        raise CorpusError(f"{path} is not what `corpus fetch` wrote ({error}).") from error

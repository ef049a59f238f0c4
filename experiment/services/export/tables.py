"""Tables beside the trials, made of the same rows: participants and test cases, which join by their names."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter

from experiment.domain.codebook import Column
from experiment.services.export.columns import Row, rows_of
from lib.table_files import Block, in_blocks

OF_PARTICIPANTS = [
    "participant",
    "study",
    "kind",
    "stage",
    "gender",
    "age",
    "country",
    "position_held",
    "experience_years",
    "recruitment_source",
    "published_id",
    "consent_version",
    "consent_sha256",
    "consented_at",
    "practice_attempts",
    "started_at",
    "finished_at",
    "cheated",
    "policy",
    "seed",
    "rules_version",
    "participant_excluded_by",
]
OF_ITEMS = [
    "item_key",
    "item_version",
    "item_sha256",
    "item_source",
    "generator",
    "subfield",
    "doi",
    "publication_date",
    "text",
]


@dataclass(frozen=True)
class Table:
    """Rows of columns that a codebook describes; `dropped`: columns that a public file does without."""

    name: str
    description: str
    columns: Sequence[Column]
    blocks: Iterator[Block]
    dropped: Sequence[str] = ()


@dataclass
class Projection:
    """The distinct rows of some columns of the blocks that pass by; the first `n_keys` of them name a row."""

    columns: Sequence[Column]
    of: Sequence[Column]
    n_keys: int
    found: dict[Row, Row] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [column.name for column in self.of]
        self._places = itemgetter(*(names.index(column.name) for column in self.columns))

    def add(self, block: Block) -> None:
        for row in rows_of(self._places(block)):
            self.found.setdefault(row[: self.n_keys], row)

    def blocks(self) -> Iterator[Block]:
        return in_blocks(self.found.values())


@dataclass
class Held:
    """Which test cases are in the trials that passed by, by key and version; and the keys of each participant's."""

    of: Sequence[Column]
    items: set[tuple[str, int]] = field(default_factory=set)
    given: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        names = [column.name for column in self.of]
        self._places = [names.index(name) for name in ("participant", "item_key", "item_version")]

    def add(self, block: Block) -> None:
        who, keys, versions = (block[place] for place in self._places)
        self.items.update(zip(keys, versions, strict=True))
        for name, key in zip(who, keys, strict=True):
            self.given[name].append(key)

    @cached_property
    def keys(self) -> set[str]:
        """Once all have passed."""
        return {key for key, _ in self.items}

    def has(self, people: Sequence[str], key: str) -> bool:
        """Whether each of these participants was given it; of nobody, whether anybody was."""
        return key in self.keys and all(key in self.given.get(name, ()) for name in people)


def participants(of: Sequence[Column]) -> Projection:
    return Projection(_named(of, OF_PARTICIPANTS), of, 1)


def items(of: Sequence[Column]) -> Projection:
    return Projection(_named(of, OF_ITEMS), of, 2)


def _named(of: Sequence[Column], names: Sequence[str]) -> list[Column]:
    by_name = {column.name: column for column in of}
    return [by_name[name] for name in names if name in by_name]

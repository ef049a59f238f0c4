"""Tables beside the trials, made of the same rows: participants and test cases, which join by their names."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter

from experiment.domain.codebook import Column
from experiment.services.export.columns import Row, rows_of
from lib.table_files import Block

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
ROWS = 2_000


@dataclass(frozen=True)
class Table:
    """Rows of columns that a codebook describes; `key`: the columns that name a row."""

    name: str
    description: str
    columns: Sequence[Column]
    blocks: Iterator[Block]


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
        rows = iter(self.found.values())
        while some := list(islice(rows, ROWS)):
            yield list(zip(*some, strict=True))


def participants(of: Sequence[Column]) -> Projection:
    return Projection(_named(of, OF_PARTICIPANTS), of, 1)


def items(of: Sequence[Column]) -> Projection:
    return Projection(_named(of, OF_ITEMS), of, 2)


def _named(of: Sequence[Column], names: Sequence[str]) -> list[Column]:
    by_name = {column.name: column for column in of}
    return [by_name[name] for name in names if name in by_name]

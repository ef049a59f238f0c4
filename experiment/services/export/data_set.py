"""Tables beside the trials, made of the same rows; all of them as a data set of Psych-DS (psych-ds.github.io): a folder in a zip, with a dictionary of all columns."""

import json
import re
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter
from typing import Any, BinaryIO, cast

from experiment.domain import export_columns
from experiment.domain.export_columns import Column
from experiment.domain.release import Form
from experiment.domain.survey import COLUMN
from experiment.domain.trial_query import TrialQuery
from experiment.models import Study
from experiment.services.curation.reviews import not_reviewed
from experiment.services.export.values import ITEM_COLUMNS, Row, rows_of
from lib.markdown import blocks, bullets
from lib.names import escaped
from lib.table_files import Block, Digesting, in_blocks, writing

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
    "arm",
    "seed",
    "rules_version",
    "participant_excluded_by",
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
    """The test cases in the trials that passed by, by key and version; and the keys of each participant's."""

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
        """True if each of these participants was given it; of nobody, whether anybody was."""
        return key in self.keys and all(key in self.given.get(name, ()) for name in people)


def participants_table(of: Sequence[Column]) -> Projection:
    answers = [column.name for column in of if column.name.startswith(COLUMN)]
    return Projection(_named(of, [*OF_PARTICIPANTS, *answers]), of, 1)


def items_table(of: Sequence[Column]) -> Projection:
    return Projection(_named(of, ITEM_COLUMNS), of, 2)


def _named(of: Sequence[Column], names: Sequence[str]) -> list[Column]:
    by_name = {column.name: column for column in of}
    return [by_name[name] for name in names if name in by_name]


MoreTables = Callable[[Held], Iterable[Table]]


@dataclass(frozen=True)
class Addition:
    """Tables that an app above has about a study.

    tables: finds now whatever is found outside the database; its result is called once the trials are written.
    state: a name for all that these tables are made of.
    """

    tables: Callable[[Study, TrialQuery, Form], MoreTables]
    state: Callable[[Study], str]


ADDITIONS: list[Addition] = []  # filled by these apps as they start, since imports run one way


def more_tables(study: Study, query: TrialQuery, form: Form) -> MoreTables:
    """The tables of all additions."""
    found = [addition.tables(study, query, form) for addition in ADDITIONS]

    def tables(held: Held) -> Iterator[Table]:
        for more in found:
            yield from more(held)

    return tables


def no_tables(_: Held) -> Iterable[Table]:
    return ()


def states(study: Study) -> list[str]:
    return [addition.state(study) for addition in ADDITIONS]


LEVEL = 1  # of compression: of rows that repeat a text, little is gained beyond
CONTEXT = "https://schema.org"
UNITS = {"boolean": "true or false", "date": "YYYY-MM-DD", "time": "ISO 8601 with offset"}


def data_file(study: Study, table: str) -> str:
    """
    The name of a table's file: values of keywords hold letters and digits alone.
    """
    return f"data/study-{_plain(study.slug)}_description-{_plain(table)}_data.csv"


@dataclass(frozen=True, slots=True)
class Written:
    """A table in its file."""

    table: Table
    file: str
    rows: int
    sha256: str


def write_tables(archive: zipfile.ZipFile, study: Study, tables: Iterable[Table]) -> list[Written]:
    """Write the data files, one table after the other: the next one is asked for when the last one is there."""
    written = []
    for table in tables:
        name, n = data_file(study, table.name), 0
        with archive.open(name, "w", force_zip64=True) as file:
            target = Digesting(cast("BinaryIO", file))
            with writing("csv", cast("BinaryIO", target), table.columns) as append:
                for block in table.blocks:
                    append(block)
                    n += len(block[0])
        written.append(Written(table, name, n, target.digest.hexdigest()))
    return written


def describe(
    archive: zipfile.ZipFile,
    study: Study,
    written: Sequence[Written],
    manifest: dict[str, Any],
) -> None:
    """Describes the data: for programs, for people, and as of when."""
    columns: dict[str, Column] = {}
    for table, column in ((one.table, column) for one in written for column in one.table.columns):
        known = columns.setdefault(column.name, column)
        nulls = dict.fromkeys(null for null in (known.null, column.null) if null)
        meaning = known.meaning
        if meaning in column.meaning:
            meaning = column.meaning
        elif column.meaning not in meaning:
            meaning += f" In {table.name}: {column.meaning}"
        columns[column.name] = replace(known, meaning=meaning, null="; ".join(nulls))
    text = _about(study, manifest)
    description = {
        "@context": CONTEXT,
        "@type": "Dataset",
        "name": study.title or study.slug,
        "description": text,
        "schemaVersion": "Psych-DS 0.4.0",
        "inLanguage": study.abstract_language,
        "dateCreated": manifest["made_at"],
        "version": manifest["made_at"][:10],
        "keywords": [word for word in ("psychology", "forecasting", study.field) if word],
        "variableMeasured": list(map(variable, columns.values())),
    }
    archive.writestr("dataset_description.json", _json(description))
    archive.writestr("README.md", _readme(study, manifest, text, written))
    code, codebook = escaped(manifest["code"]), escaped(str(manifest["codebook"]))
    day = manifest["made_at"][:10]
    change = f"- {day}: exported from BrainBench Live {code}, codebook {codebook}."
    archive.writestr("CHANGES.md", blocks(("# Changes", change)))
    archive.writestr("documentation/manifest.json", _json(manifest))
    archive.writestr("documentation/codebook.md", export_columns.as_markdown())


HOW_TO_JOIN = (
    "Tables join by `participant`, and by `item_key` with `item_version`. `dataset_description.json` describes every column, and\n"
    "`documentation/codebook.md` the columns of trials with the reasons for exclusion. `documentation/manifest.json` records the filters, the\n"
    "rules and the code of this export."
)
HOW_TO_READ = (
    "Only an empty cell is a missing value; `NA` is Namibia. Read the tables with\n"
    '`pandas.read_csv(FILE, keep_default_na=False, na_values=[""])`, in R with `read.csv(FILE, na.strings = "")`.'
)


def _about(study: Study, manifest: Mapping[str, Any]) -> str:
    asked = {
        "questions": "Answers to questions",
        "both": "Judgments of pairs of abstracts, and answers to questions,",
    }.get(study.tasks, "Judgments of pairs of abstracts")
    items = "questions" if study.tasks == "questions" else "test cases"
    included = (
        "These are the trials of the analysis: none is excluded."
        if manifest["set"] == "analysis"
        else "All completed trials that were asked for, with the reasons for which some are excluded."
    )
    released = manifest.get("released")
    coarsened = (
        " Prepared for public release: answers about participants are coarsened, so that each combination fits at least "
        f"{released['k']} people."
        if released
        else ""
    )
    return (
        f"{asked} in the study “{study.title}”: {manifest['rows']} trials of {manifest['participants']} {manifest['kind']} participants on "
        f"{manifest['items']} {items}. {included}{coarsened}"
    )


def _readme(
    study: Study, manifest: Mapping[str, Any], about: str, written: Sequence[Written]
) -> str:
    left_out = ""
    if released := manifest.get("released"):
        dropped = escaped(", ".join(released["dropped"]))
        suppressed = ", ".join(f"{escaped(name)} {n}" for name, n in released["suppressed"].items())
        left_out = f"Left out for the release: the columns {dropped}. Answers that read `suppressed`: {suppressed} (participants)."
    return blocks(
        (
            f"# {escaped(study.title)}",
            escaped(about),
            not_reviewed(study.accepted_items),
            f"Written by BrainBench Live {escaped(manifest['code'])} at {manifest['made_at']}.",
            bullets(f"`{one.file}`: {escaped(one.table.description)}" for one in written),
            HOW_TO_JOIN,
            HOW_TO_READ,
            left_out,
        )
    )


def variable(column: Column) -> dict[str, Any]:
    """A column as schema.org's PropertyValue."""
    said = {
        "@type": "PropertyValue",
        "name": column.name,
        "description": column.meaning
        + (f" One of: {', '.join(column.levels)}." if column.levels else "")
        + (f" Empty: {column.null}." if column.null else ""),
    }
    unit = column.unit or UNITS.get(column.type, "")
    return said | ({"unitText": unit} if unit else {})


def _plain(text: str) -> str:
    """
    >>> _plain("memory-2_b")
    'memory2b'
    """
    return re.sub(r"[^A-Za-z0-9]", "", text) or "study"


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"

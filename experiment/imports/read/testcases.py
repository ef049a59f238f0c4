"""The published files of test cases. Plain Python: no database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path

from experiment.domain.markup import MarkupError, parse, render
from experiment.imports.read import repair
from experiment.imports.read.tables import Cells, Problem, Row, read_array, read_table
from lib import names
from lib.tables import shown

FILES = {
    "human": "testcases/BrainBench_Human_v0.1.csv",
    "machine": "testcases/BrainBench_GPT-4_v0.1.csv",
}
GENERATORS = {"human": "", "machine": "GPT-4"}
DATES_FILE = "data/publication_dates_human_abstracts.npy"
COLUMNS = ("doi", "journal_section", "original_abstract", "incorrect_abstract", "combined_abstract")
MAX_SUBFIELD = 80

# An item is identified by its source and its work: both sets use the same works.
Identity = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Damage:
    """Why a text is not what its authors meant, and what can be done: a certain repair, or a suggestion."""

    reason: str
    repaired: str | None
    suggestion: str | None


@dataclass(frozen=True, slots=True)
class PublishedItem:
    """A test case; `markup` gives exactly the published versions, as people and models saw them."""

    row: Row
    source: str
    doi: str
    subfield: str
    markup: str
    original: str
    damage: Damage | None = None
    publication_date: date | None = None

    @property
    def identity(self) -> Identity:
        return self.source, self.doi.lower()

    @property
    def key(self) -> str:
        return f"brainbench-{self.source}-{self.row.number + 1:03d}"


def read_items(root: Path, present: Sequence[str], problems: list[Problem]) -> list[PublishedItem]:
    """The items of the files that are there, in the files' order, damage found and dates filled in."""
    items: list[PublishedItem] = []
    n_human = 0
    for source, name in FILES.items():
        if name in present:
            rows = read_table(root, name, COLUMNS, problems)
            n_human += len(rows) if source == "human" else 0
            items += [item for row in rows if (item := _read_item(row, source, problems))]
    seen: dict[Identity, PublishedItem] = {}
    for item in items:
        first = seen.setdefault(item.identity, item)
        if first is not item:
            message = f"{shown(item.doi)} is already in line {first.row.line}"
            problems.append(item.row.problem(message, "doi"))
    whole = {item.identity: item.original for item in items if item.damage is None}
    other = {"human": "machine", "machine": "human"}
    for n, item in enumerate(items):
        if item.damage is not None:
            combined = item.row.cells["combined_abstract"]
            counterpart = whole.get((other[item.source], item.doi.lower()))
            repaired = repair.repair(combined, counterpart)
            suggestion = None if repaired else repair.close_bracket(combined)
            damage = Damage(item.damage.reason, repaired, suggestion)
            items[n] = replace(item, damage=damage)
    if DATES_FILE in present and FILES["human"] in present:
        human = {item.row.number: item for item in items if item.source == "human"}
        dates = _read_dates(root, human, n_human, problems)
        items = [replace(item, publication_date=dates.get(item.doi.lower())) for item in items]
    return items


def _read_item(row: Row, source: str, problems: list[Problem]) -> PublishedItem | None:
    doi, subfield = Cells(row, problems).doi("doi"), row.cells["journal_section"].strip()
    if not subfield or len(subfield) > MAX_SUBFIELD:
        problems.append(
            row.problem(f"a section has 1 to {MAX_SUBFIELD} characters", "journal_section")
        )
        return None
    if unprintable := names.fault(subfield):
        message = f"a section is one line, without {unprintable.point}"
        problems.append(row.problem(message, "journal_section"))
        return None
    original, altered, combined = (row.cells[column] for column in COLUMNS[2:])
    markup, damage = combined, None
    if not repair.reads_as(combined, original, altered):
        try:
            markup = render(parse(combined, original, altered).segments)
        except MarkupError as error:
            published = repair.published_markup(combined, original, altered)
            if published is None:
                problems.append(row.problem(str(error), "combined_abstract"))
                return None
            reason = (
                "commas inside a passage: the published versions contain only its first two pieces"
                if error.code == "ambiguous"
                else f"a bracket is missing ({error.reason}, column {error.column}), so the published versions continue behind it"
            )
            markup, damage = published, Damage(reason, None, None)
    return (
        None if doi is None else PublishedItem(row, source, doi, subfield, markup, original, damage)
    )


def _read_dates(
    root: Path, human: Mapping[int, PublishedItem], n_rows: int, problems: list[Problem]
) -> Mapping[str, date]:
    """DOI -> date. The file has a date for each human-created item, in the order of their rows."""
    file = read_array(root, DATES_FILE, problems)
    if file is None:
        return {}
    texts = file.values
    if texts.ndim != 1 or texts.dtype.kind != "U":
        problems.append(Problem(DATES_FILE, "is not a list of texts"))
        return {}
    if len(texts) != n_rows:
        problems.append(
            Problem(DATES_FILE, f"has {len(texts)} dates for the {n_rows} rows of {FILES['human']}")
        )
        return {}
    dates: dict[str, date] = {}
    for row, text in enumerate(texts.tolist()):
        try:
            # Without zero padding: 2023-8-2.
            value = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).date()
        except ValueError:
            problems.append(Problem(DATES_FILE, f"{shown(text)} is not a date", row=row))
            continue
        if row in human:
            dates[human[row].doi.lower()] = value
    return dates

"""The published answers about a person, in this project's codes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiment.imports.read.tables import Cells, Problem, Row, read_table
from experiment.imports.read.testcases import Identity
from lib.tables import shown

GENDERS = {
    "Female": "female",
    "Male": "male",
    "Gender Variant/Non-Conforming": "gender_variant",
    "Prefer Not to Answer": "prefer_not_to_say",
}
POSITIONS = {
    "Predoctoral student": "predoctoral_student",
    "Doctoral student": "doctoral_student",
    "Postdoctoral researcher": "postdoctoral_researcher",
    "Faculty/Academic staff": "faculty",
    "Research scientist": "research_scientist",
    "__other": "other",
    "Prefer Not to Answer": "prefer_not_to_say",
}
# Where the experiment host's list of countries uses another name than ISO 3166 and its usual variants.
COUNTRIES = {
    "Czech Republic": "CZ",
    "Ireland {Republic}": "IE",
    "Turkey": "TR",
    "United States": "US",
    "Prefer Not to Answer": "prefer_not_to_say",
}


# ISO 3166 alpha-2 codes by a country's English name, in lower case
CountryCodes = Mapping[str, str]


def read_demographics(cells: Cells, codes: CountryCodes) -> dict[str, str] | None:
    """Answers by this project's names; None if one of them cannot be read."""
    name = cells.row.cells["country"]
    country = COUNTRIES.get(name) or codes.get(name.lower(), "")
    if not country:
        cells.fail("country", "a known country")
    answers = {
        "gender": cells.level("sex", GENDERS),
        "age": cells.number("age", 0, 120),
        "country": country or None,
        "position": cells.level("current position", POSITIONS),
        "experience_years": cells.number("experience", 0, 90),
    }
    known = {name: answer for name, answer in answers.items() if answer is not None}
    return known if len(known) == len(answers) else None


FOLDER = "human_results"
FILE = f"{FOLDER}/data/participant_data.csv"
IDS_FILE = f"{FOLDER}/abstract_id_doi.csv"  # which test case was judged
DEMOGRAPHIC_COLUMNS = ("sex", "age", "country", "current position", "experience")
COLUMNS = (
    "",  # the row's index before the publication's exclusions
    "pid",
    "expertise",
    "confidence",
    "click_outside",
    "correct",
    "rt",
    "abstract_id",
    "journal_section",
    "click_slider",
    "recognised",
    *DEMOGRAPHIC_COLUMNS,
)
# Six human-created and three machine-created test cases each; the file holds no catch trials.
TRIALS_PER_PERSON = 9
MAX_MS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class PublishedTrial:
    """One row of the file."""

    row: Row
    pid: int
    index: int
    source: str
    subfield: str
    doi: str
    correct: bool
    confidence: int
    expertise: int
    moved: bool
    recognised: bool
    rt_ms: int
    demographics: Mapping[str, str]

    @property
    def identity(self) -> Identity:
        return self.source, self.doi.lower()

    @property
    def block(self) -> int:
        """The number of the person whose rows it is among."""
        return self.index // TRIALS_PER_PERSON

    @property
    def position(self) -> int:
        return self.index % TRIALS_PER_PERSON + 1


@dataclass(frozen=True, slots=True)
class PublishedParticipant:
    """A person with their trials, in the order in which they came."""

    pid: int
    trials: Sequence[PublishedTrial]

    @property
    def demographics(self) -> Mapping[str, str]:
        return self.trials[0].demographics


@dataclass(frozen=True, slots=True)
class Excluded:
    """The data that the publication left out: whole participants, and trials of the others."""

    participants: int = 0
    trials: int = 0


def read_participants(
    root: Path, problems: list[Problem], codes: CountryCodes
) -> tuple[list[PublishedParticipant], Excluded]:
    # The file's third column was written without proper quoting; it is not needed
    columns = ("DOI", "abstract_id")
    dois: dict[int, str] = {}
    for row in read_table(root, IDS_FILE, columns, problems, delimiter=";", quoted=False):
        cells = Cells(row, problems)
        doi, number = cells.doi("DOI"), cells.whole("abstract_id", 1, 1_000_000)
        if doi is None or number is None:
            continue
        if number in dois:
            problems.append(row.problem(f"{number} occurs twice here", "abstract_id"))
        dois[number] = doi
    rows = read_table(root, FILE, COLUMNS, problems)
    trials = [trial for row in rows if (trial := _read_trial(row, dois, problems, codes))]
    by_pid: dict[int, list[PublishedTrial]] = {}
    for trial in trials:
        by_pid.setdefault(trial.pid, []).append(trial)
    for own in by_pid.values():
        _check_person(own, problems)
    owners: dict[int, PublishedTrial] = {}  # of blocks, which two people never share
    for trial in trials:
        owner = owners.setdefault(trial.block, trial)
        if owner.pid != trial.pid:
            message = f"is among the rows of participant {owner.pid} (line {owner.row.line})"
            problems.append(trial.row.problem(message, ""))
            owners[trial.block] = trial
    people = [
        PublishedParticipant(pid, sorted(own, key=lambda trial: trial.position))
        for pid, own in by_pid.items()
    ]
    return people, count_excluded(trials)


def count_excluded(trials: Sequence[PublishedTrial]) -> Excluded:
    """Read from the gaps in the index: a block with no row is a person, a lone gap a trial."""
    blocks = {trial.block for trial in trials}
    if not blocks:
        return Excluded()
    return Excluded(max(blocks) + 1 - len(blocks), TRIALS_PER_PERSON * len(blocks) - len(trials))


def _read_trial(
    row: Row, dois: Mapping[int, str], problems: list[Problem], codes: CountryCodes
) -> PublishedTrial | None:
    cells = Cells(row, problems)
    source, _, subfield = row.cells["journal_section"].partition("_")
    if source not in ("human", "machine"):
        cells.fail("journal_section", "a section that begins with human_ or machine_")
        source = ""
    number = cells.whole("abstract_id", 1, 1_000_000)
    doi = None if number is None else dois.get(number)
    if number is not None and doi is None:
        cells.fail("abstract_id", f"an ID in {IDS_FILE}")
    values: dict[str, Any] = {
        "pid": cells.whole("pid", 0, 10**15),
        "index": cells.whole("", 0, 10**9),
        "source": source or None,
        "doi": doi,
        "clicked": cells.level("click_outside", {"": "no", "clicked": "yes"}),
        "correct": cells.flag("correct"),
        "confidence": cells.whole("confidence", 1, 100),
        "expertise": cells.whole("expertise", 1, 100),
        "moved": cells.flag("click_slider"),
        "recognised": cells.flag("recognised"),
        "rt_ms": cells.whole("rt", 0, MAX_MS),
        "demographics": read_demographics(cells, codes),
    }
    if None in values.values():
        return None
    del values["clicked"]
    return PublishedTrial(row=row, subfield=subfield, **values)


def _check_person(own: Sequence[PublishedTrial], problems: list[Problem]) -> None:
    """A person's rows agree with one another, and show nothing twice."""
    first, items, places = own[0], dict[Identity, Row](), dict[int, Row]()
    for trial in own:
        row = trial.row
        if trial.block != first.block:
            message = f"is outside the {TRIALS_PER_PERSON} rows of participant {trial.pid} (line {first.row.line})"
            problems.append(row.problem(message, ""))
        elif (seen := places.setdefault(trial.position, row)) is not row:
            problems.append(
                row.problem(f"{shown(row.cells[''])} is already in line {seen.line}", "")
            )
        if (seen := items.setdefault(trial.identity, row)) is not row:
            message = f"participant {trial.pid} judged this {trial.source} test case in line {seen.line} already"
            problems.append(row.problem(message, "abstract_id"))
        for column in DEMOGRAPHIC_COLUMNS:
            if row.cells[column] != first.row.cells[column]:
                message = f"{shown(row.cells[column])} differs from the same participant's line {first.row.line}"
                problems.append(row.problem(message, column))

"""Reads a directory in the layout of the public results repository. Plain Python: no database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from experiment.imports.read import testcases, trials
from experiment.imports.read.tables import Problem
from experiment.imports.read.testcases import Identity, PublishedItem
from experiment.imports.read.trials import CountryCodes, Excluded, PublishedParticipant
from lib.folders import strays

KNOWN_FILES = (*testcases.FILES.values(), testcases.DATES_FILE, trials.IDS_FILE, trials.FILE)
FOLDERS = tuple(dict.fromkeys(name.split("/")[0] for name in KNOWN_FILES))
ENDINGS = (".csv", ".npy")


@dataclass(frozen=True)
class Published:
    """The content of a directory. Nothing of it is to be stored while `problems` is not empty."""

    present: Sequence[str]
    absent: Sequence[str]
    items: Sequence[PublishedItem] = ()
    participants: Sequence[PublishedParticipant] = ()
    excluded: Excluded = field(default_factory=Excluded)
    notes: Sequence[str] = ()
    problems: list[Problem] = field(default_factory=list)

    def has_items_of(self, source: str) -> bool:
        return testcases.FILES[source] in self.present


def read_published(root: Path, codes: CountryCodes, others: Sequence[str] = ()) -> Published:
    """Read all that is there; what is absent is named, what is wrong is collected.

    `others` are what a directory may hold for others to read: one of them there is enough to go on.
    """
    present = [name for name in KNOWN_FILES if (root / name).is_file()]
    # A folder that is missing is named once, for all that would be in it
    missing = [(name, name.split("/")[0]) for name in KNOWN_FILES if name not in present]
    named = (name if (root / folder).is_dir() else f"{folder}/" for name, folder in missing)
    absent = list(dict.fromkeys(named))
    if wrong := [Problem(name, why) for name, why in strays(root, FOLDERS, ENDINGS)]:
        return Published(present, absent, problems=wrong)
    if not present and not any((root / name).exists() for name in others):
        names = ", ".join((*KNOWN_FILES, *others))
        known = f"does not contain any of the published files ({names})"
        problem = Problem(str(root), known if root.is_dir() else "is not a directory")
        return Published(present, absent, problems=[problem])
    problems: list[Problem] = []
    notes: list[str] = []
    items = testcases.read_items(root, present, problems)
    if testcases.DATES_FILE in present and testcases.FILES["human"] not in present:
        notes.append(
            f"{testcases.DATES_FILE} was not read, because it refers to the rows of {testcases.FILES['human']}."
        )
    people: list[PublishedParticipant] = []
    excluded = Excluded()
    before = len(problems)
    if trials.FILE in present and trials.IDS_FILE in present:
        people, excluded = trials.read_participants(root, problems, codes)
        notes += _check_against_items(people, items, present, problems)
    if not people and len(problems) == before and (root / trials.FOLDER).is_dir():
        # A folder of people's answers without any is a copy gone wrong, never what was meant
        lacks = [name for name in (trials.FILE, trials.IDS_FILE) if name not in present]
        no_rows = f"{trials.FILE} does not have any rows"
        why = f"there is no {' and no '.join(lacks)}" if lacks else no_rows
        message = (
            f"does not contain participants: {why}. Without this folder, everything else is read."
        )
        problems.append(Problem(f"{root}/{trials.FOLDER}/", message))
    return Published(present, absent, items, people, excluded, notes, problems)


def _check_against_items(
    people: Sequence[PublishedParticipant],
    items: Sequence[PublishedItem],
    present: Sequence[str],
    problems: list[Problem],
) -> list[str]:
    """Every trial is about a published item; notes where the two files name different sections.

    Items of a file that is absent may be in the database already: that is looked up there.
    """
    known: Mapping[Identity, PublishedItem] = {item.identity: item for item in items}
    notes: dict[Identity, str] = {}
    # What could not be read is named already; the trials about it would only repeat it.
    unread = {problem.file for problem in problems}
    for trial in sorted((t for person in people for t in person.trials), key=lambda t: t.row.line):
        file, item = testcases.FILES[trial.source], known.get(trial.identity)
        if item is None:
            if file in present and file not in unread:
                message = f"{trial.doi} is not among the {trial.source} test cases of {file}"
                problems.append(trial.row.problem(message, "abstract_id"))
        elif item.subfield != trial.subfield and trial.identity not in notes:
            notes[trial.identity] = (
                f"{trial.row.file}, line {trial.row.line}: abstract_id {trial.row.cells['abstract_id'].removesuffix('.0')} "
                f"({trial.source}) is in the section “{trial.subfield}” there and in “{item.subfield}” in "
                f"{file}, row {item.row.number}; the latter was kept."
            )
    return list(notes.values())

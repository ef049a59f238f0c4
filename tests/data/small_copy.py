"""A small directory in the published layout, written for the tests, to be damaged by them."""

import csv
from pathlib import Path

import numpy as np

HUMAN = "testcases/BrainBench_Human_v0.1.csv"
MACHINE = "testcases/BrainBench_GPT-4_v0.1.csv"
IDS = "human_results/abstract_id_doi.csv"
TRIALS = "human_results/data/participant_data.csv"
DATES = "data/publication_dates_human_abstracts.npy"

DOI = "https://doi.org/10.1000/"
SECTION = "Systems/Circuits"
ITEM_HEADER = [
    "doi",
    "journal_section",
    "original_abstract",
    "incorrect_abstract",
    "combined_abstract",
]
PERSON = {
    "age": "40",
    "country": "United States",
    "current position": "__other",
    "experience": "2.5",
    "sex": "Male",
}
TRIAL_HEADER = [
    *("", "pid", "expertise", "confidence", "click_outside", "correct", "rt", "abstract_id"),
    *("journal_section", "click_slider", "recognised", *PERSON),
]


def item(doi: str, word: str) -> list[str]:
    return [DOI + doi, SECTION, f"{word} rose.", f"{word} fell.", f"{word} [[rose, fell]]."]


def trial(
    index: int, pid: int, abstract_id: int, source: str = "human", **changes: str
) -> dict[str, str]:
    return {
        "": str(index),
        "pid": f"{pid}.0",
        "expertise": "1",
        "confidence": "100",
        "click_outside": "",
        "correct": "1",
        "rt": "5072",
        "abstract_id": f"{abstract_id}.0",
        "journal_section": f"{source}_{SECTION}",
        "click_slider": "1",
        "recognised": "0",
        **PERSON,
        **changes,
    }


class SmallCopy:
    """Three human-created items, one machine-created one, two participants with three trials."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.human = [item("a", "Firing"), item("b", "Growth"), item("c", "Sleep")]
        self.machine = [item("b", "Branching")]
        self.ids = [
            f'{DOI}{doi};{n};first "It rose; or fell' for n, doi in enumerate("abc", start=1)
        ]
        # The second block of nine, and of the others all but three rows, fell to the exclusions.
        self.trials = [trial(0, 7, 1), trial(2, 7, 2, "machine"), trial(19, 8, 1, correct="0")]
        self.dates = ["2023-8-2", "2023-10-11", "2022-1-31"]

    def write(self) -> Path:
        self.write_csv(HUMAN, [ITEM_HEADER, *self.human])
        self.write_csv(MACHINE, [ITEM_HEADER, *self.machine])
        self.path(IDS).write_text(
            "\n".join(["DOI;abstract_id;abstract", *self.ids]) + "\n", encoding="utf-8"
        )
        self.write_csv(
            TRIALS, [TRIAL_HEADER, *([row[name] for name in TRIAL_HEADER] for row in self.trials)]
        )
        np.save(self.path(DATES), np.array(self.dates))
        return self.root

    def write_csv(self, name: str, rows: list[list[str]]) -> None:
        with self.path(name).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)

    def path(self, name: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def replace(self, name: str, old: bytes, new: bytes) -> None:
        """Change the bytes of a file that was written."""
        data = self.path(name).read_bytes()
        assert old in data
        self.path(name).write_bytes(data.replace(old, new, 1))

"""A small directory in the published layout, written for the tests, to be damaged by them."""

import csv
from pathlib import Path

import numpy as np

SECTION = "Systems/Circuits"
DOI = "https://doi.org/10.1000/"
ITEM_COLUMNS = (
    *("doi", "journal_section", "original_abstract", "incorrect_abstract", "combined_abstract"),
)
PERSON = {
    "age": "40",
    "country": "United States",
    "current position": "__other",
    "experience": "2.5",
    "sex": "Male",
}
HUMAN = "testcases/BrainBench_Human_v0.1.csv"
MACHINE = "testcases/BrainBench_GPT-4_v0.1.csv"
IDS = "human_results/abstract_id_doi.csv"
TRIALS = "human_results/data/participant_data.csv"
DATES = "data/publication_dates_human_abstracts.npy"

RESULTS = "model_results"
CHAT = f"{RESULTS}/meta-llama--Llama-2-7b-chat-hf"
OTHER = f"{RESULTS}/org--other"  # a model that is not among the published ones
FULL = f"{CHAT}/human_abstracts/PPL_A_and_B.npy"
LABELS = f"{CHAT}/human_abstracts/labels.npy"
LENGTHS = f"{CHAT}/human_abstracts/ZLIB_A_and_B.npy"
ISOLATED = f"{CHAT}/human_abstracts/PPL_A_and_B_iso.npy"
MASK = f"{CHAT}/human_abstracts/abstract_mask_iso.npy"
ANCHOR = f"{CHAT}/gettysburg_address/PPL.npy"

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


def model_arrays() -> dict[str, np.ndarray]:
    """File -> array: of one published model everything, of another only what every model has."""
    arrays = {
        # Right, right, a tie, which is wrong
        FULL: np.array([[9.0, 10.0], [12.0, 11.0], [8.0, 8.0]]),
        LABELS: np.array([0, 1, 0]),
        LENGTHS: np.array([[101, 102], [103, 104], [105, 106]]),
        # Of the first test case two sentences, of the second one, of the third two
        ISOLATED: np.array([[2.0, 3.0], [5.0, 4.0], [6.0, 7.0], [3.0, 2.0], [1.5, 2.5]]),
        f"{CHAT}/human_abstracts/labels_iso.npy": np.array([0, 1, 1, 0, 0]),
        MASK: np.array([0, 0, 1, 2, 2]),
        f"{CHAT}/human_abstracts/PPL_A_and_B_normalized.npy": np.ones((3, 2)),
        ANCHOR: np.array([1.25]),
        f"{CHAT}/gettysburg_address/ZLIB.npy": np.array([700]),
        f"{CHAT}/letters/PPL.npy": np.array([5.0, 8.0]),
        f"{CHAT}/letters/ZLIB.npy": np.array([400, 500]),
    }
    for folder, rows in ((f"{CHAT}/llm_abstracts", 1), (f"{OTHER}/human_abstracts", 3)):
        arrays[f"{folder}/PPL_A_and_B.npy"] = np.tile([20.0, 30.0], (rows, 1))
        arrays[f"{folder}/labels.npy"] = np.ones(rows, dtype=np.int64)
    for seed in (42, 1234):
        folder = f"{CHAT}/human_abstracts/swap_seed{seed}"
        arrays[f"{folder}/PPL_A_and_B.npy"] = np.array([[9.0, 10.0], [9.0, 10.0], [9.0, 10.0]])
        arrays[f"{folder}/labels.npy"] = np.array([0, 0, seed % 2])
    return arrays


class SmallCopy:
    """Three human-created items, one machine-created one, two participants with three trials; models on demand."""

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
        self.arrays = model_arrays()

    def write(self) -> Path:
        self.write_csv(HUMAN, [ITEM_COLUMNS, *self.human])
        self.write_csv(MACHINE, [ITEM_COLUMNS, *self.machine])
        self.path(IDS).write_text(
            "\n".join(["DOI;abstract_id;abstract", *self.ids]) + "\n", encoding="utf-8"
        )
        self.write_csv(
            TRIALS, [TRIAL_HEADER, *([row[name] for name in TRIAL_HEADER] for row in self.trials)]
        )
        np.save(self.path(DATES), np.array(self.dates))
        return self.root

    def write_models(self) -> Path:
        for name, array in self.arrays.items():
            np.save(self.path(name), array)
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

"""The published layout: test cases, participants' data and models' results, by what `import_brainbench` calls."""

import csv
import io
import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.trust.fuzz.breaking.arrays import as_npy, broken_array
from benchmarks.trust.fuzz.breaking.content import broken
from benchmarks.trust.fuzz.breaking.tables import broken_table
from benchmarks.trust.fuzz.breaking.values import hostile
from benchmarks.trust.fuzz.imports.readers import Files, Reader, check, said
from experiment.imports.read.brainbench import read_published
from experiment.imports.store.published import Created, ImportRefusedError, country_code
from experiment.models import Item
from scoring.imports.read.published import FOLDER, read_results
from scoring.imports.store.published import ImportedAll, import_all

SECTION = "Systems/Circuits"
DOI = "https://doi.org/10.1000/"
ITEM_COLUMNS = (
    "doi",
    "journal_section",
    "original_abstract",
    "incorrect_abstract",
    "combined_abstract",
)
PERSON = {
    "age": "40",
    "country": "United States",
    "current position": "__other",
    "experience": "2.5",
    "sex": "Male",
}
HUMAN, MACHINE = "testcases/BrainBench_Human_v0.1.csv", "testcases/BrainBench_GPT-4_v0.1.csv"
IDS, TRIALS = "human_results/abstract_id_doi.csv", "human_results/data/participant_data.csv"
DATES = "data/publication_dates_human_abstracts.npy"
MODEL = f"{FOLDER}/meta-llama--Llama-2-7b-chat-hf"


def item(doi: str, word: str) -> list[str]:
    return [DOI + doi, SECTION, f"{word} rose.", f"{word} fell.", f"{word} [[rose, fell]]."]


def _trial(index: int, pid: int, abstract: int, source: str) -> dict[str, str]:
    said_of = {
        "expertise": "1",
        "confidence": "100",
        "click_outside": "",
        "correct": "1",
        "rt": "5072",
    }
    return {
        "": str(index),
        "pid": f"{pid}.0",
        **said_of,
        "abstract_id": f"{abstract}.0",
        "journal_section": f"{source}_{SECTION}",
        "click_slider": "1",
        "recognised": "0",
        **PERSON,
    }


def _table(rows: list[list[str]]) -> bytes:
    file = io.StringIO(newline="")
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue().encode()


def _arrays() -> dict[str, Any]:
    human, machine = f"{MODEL}/human_abstracts", f"{MODEL}/llm_abstracts"
    return {
        DATES: np.array(["2023-8-2", "2023-10-11", "2022-1-31"]),
        f"{human}/PPL_A_and_B.npy": np.array([[9.0, 10.0], [12.0, 11.0], [8.0, 8.0]]),
        f"{human}/labels.npy": np.array([0, 1, 0]),
        f"{human}/ZLIB_A_and_B.npy": np.array([[101, 102], [103, 104], [105, 106]]),
        f"{human}/PPL_A_and_B_iso.npy": np.array([[2.0, 3.0], [5.0, 4.0], [6.0, 7.0]]),
        f"{human}/labels_iso.npy": np.array([0, 1, 1]),
        f"{human}/abstract_mask_iso.npy": np.array([0, 0, 1]),
        f"{human}/swap_seed42/PPL_A_and_B.npy": np.tile([9.0, 10.0], (3, 1)),
        f"{human}/swap_seed42/labels.npy": np.array([0, 0, 1]),
        f"{machine}/PPL_A_and_B.npy": np.array([[20.0, 30.0]]),
        f"{machine}/labels.npy": np.array([1]),
        f"{MODEL}/gettysburg_address/PPL.npy": np.array([1.25]),
        f"{MODEL}/gettysburg_address/ZLIB.npy": np.array([700]),
    }


def good_files() -> Files:
    trials = [_trial(0, 7, 1, "human"), _trial(2, 7, 2, "machine"), _trial(19, 8, 1, "human")]
    ids = [f"{DOI}{doi};{n};It rose; or fell" for n, doi in enumerate("abc", start=1)]
    return {
        HUMAN: _table(
            [[*ITEM_COLUMNS], item("a", "Firing"), item("b", "Growth"), item("c", "Sleep")]
        ),
        MACHINE: _table([[*ITEM_COLUMNS], item("b", "Branching")]),
        IDS: ("\n".join(["DOI;abstract_id;abstract", *ids]) + "\n").encode(),
        TRIALS: _table([[*trials[0]], *([*trial.values()] for trial in trials)]),
        **{name: as_npy(array) for name, array in _arrays().items()},
    }


def reader() -> Reader:
    good = good_files()

    def make(rng: random.Random) -> Files:
        name = rng.choice([*good])
        if rng.random() < 0.05:
            return {key: data for key, data in good.items() if key != name}
        if rng.random() < 0.05:
            return {key.replace(MODEL, _folder(rng)): data for key, data in good.items()}
        is_table = name.endswith(".csv") and rng.random() < 0.7
        mark = ";" if name == IDS else ","
        content = (
            broken_array(rng, good[name])
            if name.endswith(".npy")
            else broken_table(rng, good[name], mark)
            if is_table
            else broken(rng, good[name])
        )
        return {**good, name: content}

    def read(files: Files, rng: random.Random) -> bool:
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            write(Path(folder), files)
            try:
                imported = _import(Path(folder), rng)
                check(
                    rng.random() > 0.2 or _writes_nothing(Path(folder), rng),
                    "imported again, it is written again",
                )
            except ImportRefusedError as refused:
                return said([str(problem) for problem in refused.problems])
        check(imported.people.study.slug == "published", "another study")
        return True

    return Reader("published", 8, make, read)


def _folder(rng: random.Random) -> str:
    name = hostile(rng).replace("/", "-").replace("\x00", "").strip(".")[:60]
    return f"{FOLDER}/org--{name}"


def write(root: Path, files: Files) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _import(root: Path, rng: random.Random) -> ImportedAll:
    data = read_published(root, country_code, others=[FOLDER])
    texts = rng.choice((Item.Texts.REPAIRED.value, Item.Texts.AS_PUBLISHED.value))
    return import_all(data, read_results(root), "published", texts)


def _writes_nothing(root: Path, rng: random.Random) -> bool:
    data = read_published(root, country_code, others=[FOLDER])
    imported = import_all(data, read_results(root), "published", Item.Texts.REPAIRED)
    again = import_all(data, read_results(root), "published", Item.Texts.REPAIRED)
    return bool(imported) and again.people.created == Created()

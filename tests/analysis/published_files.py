"""The published human-created items as SourceData, read straight from the files: a way that shares nothing with the import."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.data.dataset import SourceData
from scoring.domain.known_models import MODELS, Membership, name_of, training_facts

POSITIONS = (
    "Predoctoral student",
    "Doctoral student",
    "Postdoctoral researcher",
    "Faculty/Academic staff",
    "Research scientist",
    "__other",
)


def read(shared: Path) -> SourceData:
    root = shared / "brainbench_results"
    order = json.loads((shared / "reference/published_human_items.json").read_text())["meta"][
        "models_order"
    ]
    items = _items(root)
    trials, participants = _trials(root)
    names = order + sorted(
        name_of(f.name) for f in (root / "model_results").iterdir() if name_of(f.name) not in order
    )
    models = pd.DataFrame([_model(name, name in order) for name in names])
    scores = {kind: [] for kind in ("full", "isolated", "swapped")}
    corpora = []
    for code, name in enumerate(names):
        folder = root / "model_results" / name.replace("/", "--")
        _add_scores(scores, code, folder / "human_abstracts")
        corpora += _corpora(code, folder)
    return SourceData(
        source="human",
        items=items,
        participants=participants,
        trials=trials,
        models=models,
        **{kind: pd.concat(frames, ignore_index=True) for kind, frames in scores.items()},
        corpora=pd.concat(corpora, ignore_index=True),
        position_order=POSITIONS,
        is_brainbench=True,
    )


def _items(root: Path) -> pd.DataFrame:
    rows = pd.read_csv(root / "testcases/BrainBench_Human_v0.1.csv")
    dates = np.load(root / "data/publication_dates_human_abstracts.npy", allow_pickle=False)
    parts = [[int(x) for x in str(date).split("-")] for date in dates]
    return pd.DataFrame(
        {
            "key": [f"brainbench-human-{n + 1:03d}" for n in range(len(rows))],
            "subfield": rows["journal_section"],
            "published": [pd.Timestamp(*p) for p in parts],
            "is_damaged": np.arange(len(rows)) == 62,
        }
    )


def _trials(root: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    rows = pd.read_csv(root / "human_results/data/participant_data.csv")
    people = rows.drop_duplicates("pid").reset_index(drop=True)
    number = {pid: n for n, pid in enumerate(people["pid"])}
    participants = pd.DataFrame(
        {
            "gender": people["sex"],
            "country": people["country"],
            "career": people["current position"],
            "experience_years": pd.to_numeric(people["experience"], errors="coerce"),
            "age": pd.to_numeric(people["age"], errors="coerce"),
            "minutes": np.nan,
        }
    )
    rows = rows[rows["journal_section"].str.startswith("human_")]
    trials = pd.DataFrame(
        {
            "participant": rows["pid"].map(number).astype("int64"),
            "item": rows["abstract_id"].astype("int64") - 1,
            "is_correct": rows["correct"].astype(bool),
            "confidence": rows["confidence"].astype(float),
            "expertise": rows["expertise"].astype(float),
            "slider_moved": rows["click_slider"].astype(bool),
            "rt_ms": rows["rt"].astype(float),
            "side": "",
            "original_side": "",
            "trial_position": rows.iloc[:, 0].astype("int64") % 9 + 1,
        }
    ).reset_index(drop=True)
    return trials, participants


def _model(name: str, in_set: bool) -> dict[str, object]:
    known = MODELS[name]
    return {
        "name": name,
        "display_name": known.display_name,
        "family": known.family,
        "is_chat": known.is_chat,
        "n_parameters": float(known.n_parameters),
        "base_partner": known.base_partner,
        "tuned_from": known.tuned_from,
        "is_demo": False,
        "cutoff": np.datetime64(training_facts(name).cutoff or "NaT", "D"),
        "released": np.datetime64(training_facts(name).released or "NaT", "D"),
        "in_set": in_set,
    }


def _add_scores(scores: dict[str, list[pd.DataFrame]], code: int, folder: Path) -> None:
    labels = np.load(folder / "labels.npy")
    item = np.arange(len(labels))
    zlib = folder / "ZLIB_A_and_B.npy"
    full = _pairs(
        np.load(folder / "PPL_A_and_B.npy"), labels, np.load(zlib) if zlib.exists() else None
    )
    scores["full"].append(full.assign(model=code, item=item, unit=0))
    if (folder / "PPL_A_and_B_iso.npy").exists():
        owner = np.load(folder / "abstract_mask_iso.npy")
        iso = _pairs(
            np.load(folder / "PPL_A_and_B_iso.npy"), np.load(folder / "labels_iso.npy"), None
        )
        iso = iso.assign(model=code, item=owner.astype(int))
        iso["unit"] = iso.groupby("item").cumcount()
        scores["isolated"].append(iso)
    for seed in (42, 1234):
        swap = folder / f"swap_seed{seed}"
        if swap.exists():
            rows = _pairs(np.load(swap / "PPL_A_and_B.npy"), np.load(swap / "labels.npy"), None)
            scores["swapped"].append(rows.assign(model=code, item=item, unit=0, seed=seed))


def _pairs(ppl: np.ndarray, labels: np.ndarray, zlib: np.ndarray | None) -> pd.DataFrame:
    row, original = np.arange(len(labels)), labels.astype(int)
    first, second = (ppl[row, side].astype(float) for side in (original, 1 - original))
    lengths = np.full(ppl.shape, np.nan) if zlib is None else zlib.astype(float)
    return pd.DataFrame(
        {
            "ppl_original": first,
            "ppl_altered": second,
            "is_correct": first < second,
            "is_tie": first == second,
            "is_near_tie": np.abs(np.log(second / first)) < 0.001,
            "zlib_original_bytes": lengths[row, original],
            "zlib_altered_bytes": lengths[row, 1 - original],
            "run": 0,
            "original_side": np.where(original == 0, "A", "B"),
        }
    )


def _corpora(code: int, folder: Path) -> list[pd.DataFrame]:
    return [
        pd.DataFrame(
            {
                "model": code,
                "corpus": corpus.name,
                "prompt": "none",
                "in_training": training_facts(name_of(folder.name))
                .corpora.get(corpus.name, Membership.UNKNOWN)
                .value,
                "is_anchor": corpus.name == "gettysburg_address",
                "row": np.arange(1, len(np.load(corpus / "PPL.npy")) + 1),
                "ppl": np.load(corpus / "PPL.npy").astype(float),
                "zlib_bytes": np.load(corpus / "ZLIB.npy").astype(float),
            }
        )
        for corpus in sorted(folder.iterdir())
        if corpus.is_dir() and corpus.name != "human_abstracts"
    ]

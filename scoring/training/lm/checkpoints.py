"""Checkpoints of a training: what they are made of, which is the newest, which remain. Knows no Trainer.

A checkpoint is a folder `step-000123` that is opened as any model or adapter is; within it, `resume` holds what only the
training needs to go on. States are safetensors and JSON: reading them runs no code.
"""

import json
import random
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from scoring.training.lm.tokenizer import remove
from scoring.training.settings import kept_folder

RESUME = "resume"
STATE = "trainer_state.json"  # the Trainer's own name for it
_NAME = re.compile(r"step-(\d{6,})")


def steps_in(folder: Path) -> list[int]:
    """The steps whose weights are there, in order."""
    found = (_NAME.fullmatch(path.name) for path in folder.glob("step-*"))
    return sorted(int(name[1]) for name in found if name)


def newest(folder: Path) -> Path | None:
    """The checkpoint to go on from."""
    steps = (step for step in steps_in(folder) if (kept_folder(folder, step) / RESUME).is_dir())
    return kept_folder(folder, last) if (last := max(steps, default=0)) else None


def tidy(folder: Path, kept: Collection[int], newest_step: int) -> None:
    """Keep the newest checkpoint whole, and the weights of those in `kept`; the rest goes."""
    for step in steps_in(folder):
        path = kept_folder(folder, step)
        if step == newest_step:
            continue
        remove(path / RESUME if step in kept else path)
        if step in kept:
            (path / STATE).unlink(missing_ok=True)


def save_optimizer(state: dict[str, Any], folder: Path) -> None:
    """Write an optimiser's `state_dict`: its tensors, and the rest as JSON."""
    tensors = {
        f"{index}.{name}": value.contiguous()
        for index, values in state["state"].items()
        for name, value in values.items()
    }
    save_file(tensors, folder / "optimizer.safetensors")
    (folder / "optimizer.json").write_text(json.dumps(state["param_groups"]), encoding="utf-8")


def load_optimizer(folder: Path) -> dict[str, Any]:
    state: dict[int, dict[str, Any]] = {}
    for key, tensor in load_file(folder / "optimizer.safetensors").items():
        index, _, name = key.partition(".")
        state.setdefault(int(index), {})[name] = tensor
    groups = json.loads((folder / "optimizer.json").read_text(encoding="utf-8"))
    return {"state": state, "param_groups": groups}


def save_random(path: Path) -> None:
    """Write where this process's random numbers stand: Python's, NumPy's, torch's on each device."""
    version, state, gauss = random.getstate()
    name, keys, position, has_gauss, cached = np.random.get_state(legacy=True)
    devices = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    states = {
        "python": [version, list(state), gauss],
        "numpy": [name, np.asarray(keys).tolist(), position, has_gauss, cached],
        "torch": torch.get_rng_state().tolist(),
        "cuda": [device.tolist() for device in devices],
    }
    path.write_text(json.dumps(states), encoding="utf-8")


def load_random(path: Path) -> None:
    states = json.loads(path.read_text(encoding="utf-8"))
    version, state, gauss = states["python"]
    random.setstate((version, tuple(state), gauss))
    np.random.set_state(tuple(states["numpy"]))
    torch.set_rng_state(torch.tensor(states["torch"], dtype=torch.uint8))
    if torch.cuda.is_available() and len(states["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(
            [torch.tensor(device, dtype=torch.uint8) for device in states["cuda"]]
        )

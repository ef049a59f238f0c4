"""Which training its two folders are of, and the writing of its result. Knows no model."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from lib.files import write_file
from scoring.backends.tokenizers import tokenizer_hash
from scoring.training.corpus.manifest import BuiltCorpus, sha256
from scoring.training.lm import checkpoints
from scoring.training.lm.staging import staged_folder
from scoring.training.progress import Trained, kept_folder
from scoring.training.settings import TrainingError, TrainingSettings

ABOUT = "training.json"  # beside checkpoints: which training they are of; beside the result: how it came about


def about_of(settings: TrainingSettings, corpus: BuiltCorpus, tokenizer: Any) -> dict[str, Any]:
    """What decides a training, besides the model that it starts from."""
    return {
        "settings": asdict(settings),
        "corpus": {"name": corpus.manifest.name, "sha256": corpus.sha256},
        "tokenizer": tokenizer_hash(tokenizer),
    }


def claim(folder: Path, output: Path, about: Mapping[str, Any]) -> None:
    """See that both folders are this training's own or new, before hours of work rather than after.

    Raises:
        TrainingError: they are another's.
    """
    folder.mkdir(parents=True, exist_ok=True)
    output.parent.mkdir(parents=True, exist_ok=True)
    for left_over in (*folder.glob(".step-*"), *folder.glob("step-*/.*.gone")):
        shutil.rmtree(left_over)
    wanted = json.loads(json.dumps(about))
    for path in (folder, output):
        if path.exists() and any(path.iterdir()) and _found(path, about) != wanted:
            raise TrainingError(f"{path} holds something else: name a folder that is empty or new.")
    write_file(folder / ABOUT, json.dumps(about, indent=2) + "\n")


def _found(folder: Path, about: Mapping[str, Any]) -> Any:
    try:
        found = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        return {name: found[name] for name in about}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def written(trained: Trained, about: Mapping[str, Any], folder: Path, output: Path) -> Trained:
    """Write the best step's weights to their place, with how they came about; return it with their hashes."""
    best = kept_folder(folder, trained.best_step)
    with staged_folder(output) as part:
        for path in best.iterdir():
            if path.is_file() and path.name != checkpoints.STATE:
                shutil.copy2(path, part)
        told = {name: value for name, value in asdict(trained).items() if name != "files"}
        (part / ABOUT).write_text(json.dumps({**about, **told}, indent=2) + "\n", encoding="utf-8")
    files = {path.name: sha256(path) for path in sorted(output.iterdir())}
    return replace(trained, files=files)

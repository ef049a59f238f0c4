"""Reads the published results of language models, a directory's `model_results/`. Plain Python: no database.

Each model has a folder, `org--name`. In it are `human_abstracts/` and `llm_abstracts/`, the test cases by who created
them, and a folder for each reference corpus; folders.py reads them.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from experiment.imports.read.brainbench import ENDINGS
from experiment.imports.read.tables import Problem
from lib.folders import strays
from scoring.domain.known_models import MODELS
from scoring.imports.read.folders import SOURCES, read_model, subfolders
from scoring.imports.read.numbers import NumberFiles
from scoring.imports.read.results import PublishedResults

FOLDER = "model_results"
MAX_UNKNOWN_NAMED = 10

# Published files that hold nothing to import, and why
_NORMALIZED = (
    "a perplexity divided by the text's number of tokens, for the abstracts of another pass than "
    "the one whose perplexities were published"
)
IGNORED = {
    "PPL_A_and_B_normalized.npy": _NORMALIZED,
    "PPL_normalized.npy": _NORMALIZED,
    "labels_machine_filter.npy": "it marks the human-created test cases of which there is a "
    "GPT-4-created one too, and the DOIs tell that",
}


def read_results(root: Path) -> PublishedResults:
    """Read all that is there; what is absent is named, what is wrong is collected."""
    if wrong := [Problem(name, why) for name, why in strays(root, [FOLDER], ENDINGS)]:
        return PublishedResults(problems=wrong)
    if not (root / FOLDER).is_dir():
        return PublishedResults(absent=[f"{FOLDER}/"])
    problems: list[Problem] = []
    try:
        return _read_folders(NumberFiles(root, problems))
    except OSError as error:
        problems.append(Problem(FOLDER, f"cannot be read: {error.strerror or error}"))
        return PublishedResults(problems=problems)


def _read_folders(files: NumberFiles) -> PublishedResults:
    found = subfolders(files.root / FOLDER)
    known = [model.folder for model in MODELS.values()]
    absent = [f"{FOLDER}/{folder}/" for folder in known if folder not in found]
    # The published ones in their own order, then others
    folders = [*(f for f in known if f in found), *(f for f in found if f not in known)]
    models = [read_model(files, FOLDER, folder, absent) for folder in folders]
    for source in SOURCES:
        if not any((files.root / FOLDER / folder / source).is_dir() for folder in found):
            absent.append(f"{FOLDER}/*/{source}/")
    notes = list(_unread(files))
    return PublishedResults([model for model in models if model], absent, notes, files.problems)


def _unread(files: NumberFiles) -> Iterator[str]:
    """Notes on the files that were left alone."""
    paths = sorted(path for path in (files.root / FOLDER).rglob("*") if path.is_file())
    ignored = Counter(path.name for path in paths)
    for name, why in IGNORED.items():
        if ignored[name]:
            yield f"{FOLDER}: {ignored[name]} files {name} were not read: {why}."
    names = [path.relative_to(files.root).as_posix() for path in paths if path.name not in IGNORED]
    unknown = [name for name in names if name not in files.tried]
    if unknown:
        listed = [name if name.isprintable() else ascii(name) for name in unknown]
        if len(listed) > MAX_UNKNOWN_NAMED:
            listed[MAX_UNKNOWN_NAMED:] = [f"{len(listed) - MAX_UNKNOWN_NAMED} more"]
        yield f"{FOLDER}: of no use to the import, and not read: {', '.join(listed)}."

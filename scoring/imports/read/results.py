"""Published results of language models, once read, and what they say of themselves. Plain data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import PlainValidator

from experiment.imports.read.tables import Problem

# Also from lists of numbers, as another process writes them
Floats = Annotated[npt.NDArray[np.float64], PlainValidator(partial(np.asarray, dtype=np.float64))]
Integers = Annotated[npt.NDArray[np.int64], PlainValidator(partial(np.asarray, dtype=np.int64))]
# Relative name of a file -> its sha256, shape and dtype
FileFacts = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class PublishedScores:
    """One model on the test cases of one source under one condition; n pairs of texts."""

    folder: str  # relative, as problems name it
    source: str
    condition: str
    seed: int | None
    ppl: Floats  # (n, 2) of A and B
    labels: Integers  # (n,) the column of the original
    rows: Integers  # (n,) of the test cases' file, from 0
    units: Integers  # (n,) the published sentences of an abstract, from 0
    zlib_bytes: Integers | None  # (n, 2) of A and B
    files: FileFacts
    rows_file: str  # where the rows are from

    def original(self, values: npt.NDArray[Any]) -> list[Any]:
        """The values of an (n, 2) array that belong to the original."""
        return list(values[np.arange(len(values)), self.labels].tolist())

    def altered(self, values: npt.NDArray[Any]) -> list[Any]:
        return list(values[np.arange(len(values)), 1 - self.labels].tolist())


@dataclass(frozen=True, slots=True)
class PublishedCorpus:
    """One model on the n texts of a reference corpus."""

    folder: str
    corpus: str
    ppl: Floats  # (n,)
    zlib_bytes: Integers  # (n,)
    files: FileFacts


@dataclass(frozen=True, slots=True)
class PublishedModel:
    folder: str
    name: str
    scores: Sequence[PublishedScores]
    corpora: Sequence[PublishedCorpus]


@dataclass(frozen=True)
class PublishedResults:
    """The models' results in a directory. Nothing of it is to be stored while `problems` is not empty."""

    models: Sequence[PublishedModel] = ()
    absent: Sequence[str] = ()
    notes: Sequence[str] = ()
    problems: list[Problem] = field(default_factory=list)


HARNESS = "the publication's own code, based on lm-evaluation-harness; one text per forward pass"
TOKENS = "every token but the first counts, including the prompt's"
TOKENS_OF_CORPUS = "every token but the first counts; no prompt"
UNITS = "the published sentences of an abstract, numbered from 0 in their order"

# The published lengths show what a model was given: they are of the prompt and the abstract, compressed
_SENTENCE = (
    "the paper's sentence, a space and the abstract, according to the published compressed lengths"
)
PROMPTS = {
    "Galactica": _SENTENCE,
    "GPT-2": _SENTENCE,
    "Llama-2": (
        "the paper's sentence in Llama 2's chat format, which spells <s>, for base and chat models, according to the "
        "published compressed lengths"
    ),
    "Falcon": (
        "more than the paper's sentence: the published compressed lengths are about 23 bytes longer, but the imported "
        "files do not contain the prompt"
    ),
}
PROMPT_UNKNOWN = (
    "the paper names its sentence and the models' own templates; the imported files do not say which one this "
    "model received"
)


def read_the_sentence(scores: PublishedScores, family: str) -> bool:
    """True if the model is known to have read the paper's sentence and the abstract, and nothing else."""
    return scores.zlib_bytes is not None and PROMPTS.get(family) == _SENTENCE


def of_scores(scores: PublishedScores, family: str) -> dict[str, Any]:
    known = scores.zlib_bytes is not None
    about: dict[str, Any] = {
        "backend": "imported",
        "numbers": f"published perplexities: {TOKENS}",
        "harness": HARNESS,
        "prompt": PROMPTS.get(family, PROMPT_UNKNOWN) if known else PROMPT_UNKNOWN,
        "files": dict(scores.files),
    }
    if scores.condition == "isolated":
        about["units"] = UNITS
    return about


def of_corpus(corpus: PublishedCorpus) -> dict[str, Any]:
    return {
        "backend": "imported",
        "numbers": f"published perplexities: {TOKENS_OF_CORPUS}",
        "harness": HARNESS,
        "files": dict(corpus.files),
    }

"""What an imported run says of itself: which files its numbers are from, and what these numbers are."""

from typing import Any

from scoring.imports.read.results import PublishedCorpus, PublishedScores

HARNESS = "the publication's own, after lm-evaluation-harness; one text per forward pass"
TOKENS = "every token but the first counts, those of the prompt too"
TOKENS_OF_CORPUS = "every token but the first counts; no prompt"
UNITS = "the published sentences of an abstract, numbered from 0 in their order"

# The published lengths show what a model was given: they are of the prompt and the abstract, compressed
_SENTENCE = (
    "the paper's sentence, a space and the abstract: so say the published compressed lengths"
)
PROMPTS = {
    "Galactica": _SENTENCE,
    "GPT-2": _SENTENCE,
    "Llama-2": (
        "the paper's sentence in Llama 2's chat format, which spells <s>, for base and chat models alike: "
        "so say the published compressed lengths"
    ),
    "Falcon": (
        "more than the paper's sentence: the published compressed lengths are about 23 bytes longer; "
        "what it was is not published"
    ),
}
PROMPT_UNKNOWN = (
    "the paper names its sentence and templates of the models' own; which one this model was given is "
    "not published"
)


def read_the_sentence(scores: PublishedScores, family: str) -> bool:
    """Whether the model is known to have read the paper's sentence and the abstract, and nothing else."""
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

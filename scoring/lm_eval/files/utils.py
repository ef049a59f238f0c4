"""Decides by mean negative log-likelihood per token; made for lm-evaluation-harness 0.4.

The harness gives a task sums of log-likelihoods without the number of tokens in them, and the two versions of a text
differ in theirs. So this file asks the model at work, which it finds among its callers, to count them.
"""

import inspect
import json
from math import exp
from pathlib import Path

import datasets
from lm_eval.api.model import LM, CachingLM

FOLDER = Path(__file__).parent
VERSIONS = ("original", "altered")
NEAR_TIE_NATS = 0.001
AS_IT_IS = (
    "this task must be run without chat template, system instruction, examples or cached requests"
)


def dataset(documents, examples=None, **_):
    """The items, from the task's files beside this one, wherever the folder is."""
    files = {"test": documents} | ({"examples": examples} if examples else {})
    texts = {split: (FOLDER / file).read_text(encoding="utf-8") for split, file in files.items()}
    return {
        split: datasets.Dataset.from_list([json.loads(line) for line in text.split("\n") if line])
        for split, text in texts.items()
    }


def context(doc):
    """What stands before the scored tokens; the same for both versions."""
    return doc["prompt"] if doc["counted"] == "text" else _before_second_token(doc)


def choices(doc):
    """What is scored, of the original and of the altered text; and a space where it is to be taken off again."""
    before = context(doc)
    rests = [_string(doc, version)[len(before) :] for version in VERSIONS]
    return [*rests, " "] if any(_led_by_space(doc, version) for version in VERSIONS) else rests


def results(doc, log_likelihoods):
    """Right if the original has the lower perplexity; a tie counts half."""
    before, *rests = context(doc), *choices(doc)
    if [request.args for request in _caller()["requests"]] != [(before, rest) for rest in rests]:
        raise ValueError(AS_IT_IS)
    of_space = log_likelihoods[-1][0]
    means = []
    for version, rest, (total, _) in zip(VERSIONS, rests, log_likelihoods, strict=False):
        n = _tokens_scored(before, rest)
        if _led_by_space(doc, version):
            total, n = total - of_space, n - 1
        means.append(-total / n)
    original, altered = means
    return {
        "acc": 0.5 if original == altered else float(original < altered),
        "near_tie": float(abs(original - altered) < NEAR_TIE_NATS),
        "ppl_original": exp(original),
        "ppl_altered": exp(altered),
    }


def _string(doc, version):
    return f"{doc['prompt']} {doc[version]}"


def _before_second_token(doc):
    """The strings' common beginning up to where every token but the first is still to come."""
    if (caller := _caller()) is None:
        return ""  # nobody scores: the task is only looked at
    lm, string = caller["lm"], _string(doc, "original")
    ids = lm.tok_encode(string)
    if ids == [lm.prefix_token_id, *lm.tok_encode(string, add_special_tokens=False)]:
        return ""  # the harness itself puts the start token before it
    for end in range(1, string.index(" ") + 1):
        if lm.tok_encode(string[:end]) == ids[:1]:
            return string[:end]
    raise ValueError("the model's tokenizer adds tokens that the harness cannot leave out")


def _led_by_space(doc, version):
    """Whether the space before the text is a token of its own, and so none of the text's."""
    if doc["counted"] != "text" or (caller := _caller()) is None:
        return False
    tok_encode = caller["lm"].tok_encode
    with_space = tok_encode(doc["prompt"] + " ")
    return tok_encode(_string(doc, version))[: len(with_space)] == with_space


def _tokens_scored(before, rest):
    """As many as the harness summed over."""
    lm = _caller()["lm"]
    given, scored = (
        lm._encode_pair(before, rest)
        if before
        else ([lm.prefix_token_id], lm.tok_encode(rest, add_special_tokens=False))
    )
    if len(given) + len(scored) > lm.max_length:
        raise ValueError(
            f"a text has {len(given) + len(scored)} tokens; the model reads {lm.max_length}"
        )
    return len(scored)


def _caller():
    """What the harness's function knows that this file was called from: `lm`, the model at work; later `requests`."""
    frame = inspect.currentframe()
    while frame := frame.f_back:
        if isinstance(frame.f_locals.get("lm"), LM | CachingLM):
            return frame.f_locals
    return None

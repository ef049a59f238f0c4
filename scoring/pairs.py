"""Scores pairs of texts from Python, for notebooks: no database, no settings, the same numbers as the command.

docs/models.md shows it at work.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from experiment.domain.markup import Abstract, Alternation, MarkupError, Plain
from scoring.backends.opening import open_backend
from scoring.backends.reading import Reading
from scoring.backends.registry import HF, SCORERS, kind_of
from scoring.domain.backend import Backend, GroupResult, ScoringError, TextError, TokenText
from scoring.domain.conditions import (
    CONDITIONS,
    ConditionError,
    ConditionItem,
    TextPair,
    parsed,
    text_pairs,
)
from scoring.domain.encoding import Encoded
from scoring.domain.perplexity import (
    VERSIONS,
    Decision,
    TextScore,
    decide,
    encode_versions,
    score_versions,
)
from scoring.domain.prompts import KINDS as PROMPTS
from scoring.domain.prompts import Prompt, PromptError

DEFAULT_SEED = 42  # of swaps, as the command has it
# A text with [[original, altered]], or both versions of it
Pair = str | tuple[str, str]


@dataclass(frozen=True, slots=True)
class ScoredToken:
    """A token: its log-probability in nats, None for the first, and its characters in the text (negative: the prompt's)."""

    token: str
    logprob: float | None
    start: int
    end: int
    in_text: bool
    in_alternation: bool


@dataclass(frozen=True, slots=True)
class ScoredText:
    """One version: its perplexity, the sum and number of the tokens that it counts, and all tokens that the model read."""

    ppl: float
    nll_nats: float
    n_tokens: int
    tokens: tuple[ScoredToken, ...]


@dataclass(frozen=True, slots=True)
class ScoredPair:
    """Both versions of a text, by the pair's name; `unit` is the sentence's number from 0 in condition isolated."""

    name: str
    unit: int
    original: ScoredText
    altered: ScoredText
    decision: Decision


def score_pairs(
    pairs: Sequence[Pair] | Mapping[str, Pair],
    model: str | PathLike[str] | Backend,
    prompt: str = "paper",
    condition: str = "full",
    *,
    seed: int = DEFAULT_SEED,
    batch_tokens: int | None = None,
    **model_args: Any,
) -> list[ScoredPair]:
    """Scores both versions of each text: PPL = exp(-(1/t) sum log p(x_i | x_<i)), where the lower one surprises the model less.

    Args:
        pairs: texts with [[original, altered]], or (original, altered), which only condition `full` takes. A mapping
            gives them names; others are called by their number, from 1.
        model: a model's folder, or its name on the Hub; `embedded`; `completions`, with base_url, tokenizer and
            model_name; or a backend that is open (scoring.backends.opening.open_backend), and stays so.
        prompt: none, paper, clean, chat, or a text that says `<choice abstract>` once.
        condition: full, isolated or swapped; for the last all texts are of one field, each of a work of its own.
        seed: of the swaps.
        batch_tokens: how many tokens are scored at once; None lets the backend choose.
        model_args: as in `--model_args` of the command `score`: dtype, peft, device, max_length, overlong, ...
    Returns:
        A result for each pair, or for each sentence that holds an alternation, in the pairs' order.
    Raises:
        ScoringError: something is wrong with a text, an argument or the model; the first problem in one sentence.
    """
    is_known = prompt in PROMPTS and prompt != "custom"
    try:
        asked = Prompt.of(prompt) if is_known else Prompt.of("custom", prompt)
    except PromptError as error:
        raise ScoringError(f"The prompt cannot be used: {error}.") from error
    texts = _texts(pairs, condition, seed)
    opened, args = _opened(model, model_args)
    with opened as backend:
        encoded, results = _scored(texts, backend, asked, batch_tokens, args)
    scored = []
    for pair, both, result in zip(texts, encoded, results, strict=True):
        try:
            scores = score_versions(_name(pair), VERSIONS, both, result, asked.counts_itself)
        except TextError as error:
            raise ScoringError(f"{_name(pair)}, {error}.") from error
        original, altered = (
            _text(score, one, np.asarray(logprobs), asked.counts_itself)
            for score, one, logprobs in zip(scores, both, result, strict=True)
        )
        decision = decide(original.ppl, altered.ppl)
        scored.append(ScoredPair(pair.item_key, pair.unit, original, altered, decision))
    return scored


def _texts(pairs: Sequence[Pair] | Mapping[str, Pair], condition: str, seed: int) -> list[TextPair]:
    if not isinstance(pairs, Mapping):
        width = len(str(len(pairs)))
        pairs = {f"{n:0{width}}": pair for n, pair in enumerate(pairs, start=1)}
    if condition != "full" and any(not isinstance(pair, str) for pair in pairs.values()):
        raise ScoringError(
            f"Condition {condition} needs texts with marked differences, [[original, altered]]."
        )
    items = []
    for name, pair in pairs.items():
        if isinstance(pair, str):
            try:
                abstract = parsed(pair)
            except MarkupError as error:
                raise ScoringError(f"Pair {name}: {error}.") from error
        else:
            original, altered = pair
            if original == altered:
                raise ScoringError(f"Pair {name}: the two versions are the same.")
            # What both begin and end with is plain
            shared = min(len(original), len(altered))
            start = next((n for n in range(shared) if original[n] != altered[n]), shared)
            left = shared - start
            end = next((n for n in range(left) if original[-1 - n] != altered[-1 - n]), left)
            ends = (len(original) - end, len(altered) - end)
            differs = Alternation(original[start : ends[0]], altered[start : ends[1]])
            abstract = Abstract((Plain(original[:start]), differs, Plain(original[ends[0] :])))
        items.append(ConditionItem(name, "", name, abstract))
    try:
        texts, problems = text_pairs(condition, items, seed)
    except ConditionError as error:
        raise ScoringError(f"{error} (of {', '.join(CONDITIONS)}).") from error
    if problems:
        raise ScoringError(f"Pair {problems[0].item_key} {problems[0].reason}.")
    if not texts:
        raise ScoringError("There are no pairs to score.")
    return texts


def _opened(model: Any, model_args: Mapping[str, Any]) -> tuple[Any, dict[str, str]]:
    """The backend as a context that closes it if it was opened here, and its arguments as texts."""
    args = {name: str(value) for name, value in model_args.items() if value is not None}
    if not isinstance(model, str | PathLike):
        if args:
            raise ScoringError("A model that is already open does not accept arguments.")
        return nullcontext(model), {"overlong": getattr(model, "overlong", "")}
    kind = kind_of(str(model))
    if kind not in SCORERS:
        kind, args = HF, {"pretrained": str(model), **args}
    # `model` is taken in Python
    if kind.named_by == "model" and "model_name" in args:
        args["model"] = args.pop("model_name")
    return closing(open_backend(kind.name, args)), args


def _scored(
    texts: Sequence[TextPair],
    backend: Backend,
    prompt: Prompt,
    batch_tokens: int | None,
    args: Mapping[str, str],
) -> tuple[list[tuple[Encoded, ...]], list[GroupResult]]:
    """The tokens of each pair as the model reads them, and their log-probabilities."""
    truncate, window = args.get("overlong") == "truncate", backend.context_tokens
    encoded, groups = [], []
    for pair in texts:
        versions = (pair.original, pair.altered)
        try:
            both = encode_versions(backend.tokenizer, prompt, VERSIONS, versions, window, truncate)
        except TextError as error:
            raise ScoringError(f"{_name(pair)}, {error}.") from error
        named = zip(VERSIONS, both, strict=True)
        encoded.append(both)
        groups.append([TokenText(f"{_name(pair)}, {v}", e.ids) for v, e in named])
    backend.prepare(groups)
    found: dict[int, GroupResult] = {}
    at_once = batch_tokens or Reading.of(args).batch_tokens(groups)
    for batch in backend.plan(groups, at_once):
        found |= zip(batch, backend.score([groups[n] for n in batch]), strict=True)
    return encoded, [found[n] for n in range(len(groups))]


def _text(score: TextScore, encoded: Encoded, logprobs: Any, counts_prompt: bool) -> ScoredText:
    tokens = tuple(
        ScoredToken(piece, None if n == 0 else float(logprob), start, end, in_text, differs)
        for n, (piece, logprob, (start, end), in_text, differs) in enumerate(
            zip(
                encoded.pieces,
                logprobs,
                encoded.spans.tolist(),
                encoded.in_text.tolist(),
                encoded.in_alternation.tolist(),
                strict=True,
            )
        )
    )
    nll = score.nll_all_nats if counts_prompt else score.nll_text_nats
    n_tokens = score.tokens_all if counts_prompt else score.tokens_text
    return ScoredText(score.ppl, nll, n_tokens, tokens)


def _name(pair: TextPair) -> str:
    return f"Pair {pair.item_key}"

"""From a prompt and a text to token ids, and which of them are the text's. Knows no model.

Prompt and text are one string, tokenised together and split by character offsets afterwards. What a tokenizer adds in
front of its own accord stays, so that `paper` is exactly `tokenizer(string)["input_ids"]`; in all other kinds a start
token that the template spells is not given twice. What it adds behind, an end token, is no part of what was read and is
cut off. A start token that neither the tokenizer adds nor the template spells is not invented.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from scoring.domain.backend import ScoringError, TextError, TokenIds
from scoring.domain.conditions import MarkedText
from scoring.domain.prompts import Prompt, applied

Spans = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# Stands for the text where a chat template is tried out
SPECIMEN = "The rats slept."


@dataclass(frozen=True)
class Encoded:
    """A text as a model reads it, T tokens with the prompt's.

    `spans` are characters of the text, 0 its first: a token of the prompt has negative ones, a token that the
    tokenizer added an empty one. `in_text` marks tokens that cover at least one character of the text, also when
    they begin in the prompt (a space that leads the first word); `in_alternation` those that touch a passage.
    """

    ids: TokenIds  # (T,)
    pieces: tuple[str, ...]  # (T,)
    spans: Spans  # (T, 2)
    in_text: Mask  # (T,)
    in_alternation: Mask  # (T,)

    def only(self, used: TokenIds) -> "Encoded":
        """With these of its tokens."""
        return Encoded(
            ids=self.ids[used],
            pieces=tuple(self.pieces[at] for at in used),
            spans=self.spans[used],
            in_text=self.in_text[used],
            in_alternation=self.in_alternation[used],
        )


def encode(tokenizer: Any, prompt: Prompt, marked: MarkedText) -> Encoded:
    """Tokenise a text behind its prompt; nothing is ever truncated.

    Args:
        tokenizer: a fast Hugging Face tokenizer.
    Raises:
        TextError: this text cannot be encoded faithfully.
        ScoringError: no text can, with this tokenizer and prompt.
    """
    if not getattr(tokenizer, "is_fast", False):
        raise ScoringError(
            f"{_name(tokenizer)} is not a fast tokenizer and cannot say which characters a token stands for"
        )
    if not marked.text.strip():
        raise TextError("is empty")
    string, start = _string(tokenizer, prompt, marked.text)
    try:
        string.encode()
    except UnicodeEncodeError as error:
        raise TextError("contains half of a character pair (a surrogate)") from error
    encoded = tokenizer(
        string,
        return_offsets_mapping=True,
        return_special_tokens_mask=True,
        truncation=False,
        padding=False,
        verbose=False,
    )
    ids = np.array(encoded["input_ids"], np.int64)  # (T,)
    added = np.array(encoded["special_tokens_mask"], np.bool_)  # (T,) by the tokenizer
    spans = np.array(encoded["offset_mapping"], np.int64).reshape(-1, 2)  # of the string
    spans = _with_trimmed_space(spans, added) - start
    core = marked.text.strip()
    begin = marked.text.index(core)
    in_text = _covered(spans, [(begin, begin + len(core))]) & ~added
    if not in_text.any():
        raise TextError("has no token")
    first, last = np.flatnonzero(in_text)[[0, -1]]
    # A token without characters of its own, between those of the text, was made from the text as well
    in_text[first:last] |= ~added[first:last]
    _refuse_control_tokens(tokenizer, ids[in_text], spans[in_text] + start, string)
    spans[added] = 0
    if prompt.kind == "paper":
        used = np.arange(np.flatnonzero(~added)[-1] + 1)
    else:
        # A start token of the tokenizer's that the template spells again is left out
        n_added = int(np.argmin(added))
        is_doubled = n_added > 0 and ids[n_added - 1] == ids[n_added]
        used = np.arange(int(is_doubled), last + 1)
    pieces = tuple(tokenizer.convert_ids_to_tokens(ids.tolist()))
    return Encoded(ids, pieces, spans, in_text, _covered(spans, marked.spans) & in_text).only(used)


def cut(versions: Sequence[Encoded], window: int) -> tuple[Encoded, ...]:
    """Versions of a text without their beginning, so that the longest has `window` tokens.

    All lose the same number of tokens, so that what they have in common is read alike. A start token that the tokenizer
    added stays. The first token that is left has no predecessor and does not count.

    Raises:
        TextError: nothing of a version's text would be left to score.
    """
    too_many = max(len(encoded.ids) for encoded in versions) - window
    if too_many <= 0:
        return tuple(versions)
    shorter = []
    for encoded in versions:
        # What the tokenizer added has an empty span, and all else of prompt and text has none
        n_added = int(np.argmin(~encoded.spans.any(axis=1) & ~encoded.in_text))
        used = np.r_[:n_added, n_added + too_many : len(encoded.ids)]
        if not encoded.in_text[used][1:].any():
            raise TextError("is truncated like the other version, and nothing remains")
        shorter.append(encoded.only(used))
    return tuple(shorter)


def _name(tokenizer: Any) -> str:
    return getattr(tokenizer, "name_or_path", "") or type(tokenizer).__name__


def _string(tokenizer: Any, prompt: Prompt, text: str) -> tuple[str, int]:
    """The text that the model reads, up to its end, and where the text's first character stands in it."""
    if prompt.kind != "chat":
        return prompt.place(text)
    core = text.strip()
    before, found, _ = _rendered(tokenizer, prompt, SPECIMEN).rpartition(SPECIMEN)
    if not found:
        raise ScoringError(
            f"the chat template of {_name(tokenizer)} changes texts. Choose another prompt"
        )
    if not _rendered(tokenizer, prompt, core).startswith(before + core):
        raise TextError("is changed by the model's chat template")
    return before + core, len(before) - text.index(core)


def _rendered(tokenizer: Any, prompt: Prompt, text: str) -> str:
    """A chat in the model's own template; where that has no system turn, its text goes into the user's."""
    if not getattr(tokenizer, "chat_template", None):
        raise ScoringError(
            f"{_name(tokenizer)} does not have a chat template. Choose another prompt"
        )
    turns = prompt.turns(text)
    try:
        rendered = _apply(tokenizer, turns)
        if turns[0]["role"] != "system" or turns[0]["content"] in rendered:
            return rendered
    except ScoringError:
        if turns[0]["role"] != "system":
            raise
    system, user, *rest = turns
    merged = {"role": "user", "content": f"{system['content']} {user['content']}"}
    return _apply(tokenizer, [merged, *rest])


def _apply(tokenizer: Any, turns: Sequence[dict[str, str]]) -> str:
    from jinja2 import TemplateError

    try:
        return applied(tokenizer, turns)
    except (TemplateError, ValueError, TypeError) as error:
        raise ScoringError(
            f"the chat template of {_name(tokenizer)} cannot be used: {error}"
        ) from error


def _with_trimmed_space(spans: Spans, added: Mask) -> Spans:
    """Give a token of nothing but spaces the characters that tokenizers trimming their offsets took from it.

    Such a token stands as (k, k), where k is its end; it begins where the one before it ended.
    """
    filled = spans.copy()
    end = 0
    for n in np.flatnonzero(~added):
        if filled[n, 0] == filled[n, 1]:
            filled[n, 0] = min(end, filled[n, 1])
        end = filled[n, 1]
    return filled


def _covered(spans: Spans, ranges: Sequence[tuple[int, int]]) -> Mask:
    """(T,) whether a token shares a character with one of the ranges."""
    covered = np.zeros(len(spans), np.bool_)
    for start, end in ranges:
        covered |= np.maximum(spans[:, 0], start) < np.minimum(spans[:, 1], end)
    return covered


def _refuse_control_tokens(tokenizer: Any, ids: TokenIds, spans: Spans, string: str) -> None:
    """Text that spells a control token, `</s>` say, would be read as one; an unknown character may become one."""
    control = _control_tokens(tokenizer, len(tokenizer))
    for n, (start, end) in zip(ids.tolist(), spans.tolist(), strict=True):
        if n in control and string[max(start, 0) : end].strip() == control[n].strip():
            raise TextError(
                f"contains “{control[n].strip()}”, which this model reads as a control token"
            )


@lru_cache(maxsize=8)
def _control_tokens(tokenizer: Any, n_tokens: int) -> dict[int, str]:
    """Spelling of each control token; `n_tokens` changes when some are added (some tokenizers have thousands)."""
    added = {n: str(t.content) for n, t in tokenizer.added_tokens_decoder.items() if t.special}
    return added | dict(zip(tokenizer.all_special_ids, tokenizer.all_special_tokens, strict=True))


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens [start, stop) of a text, read at once; those from `scored` on get their probability here."""

    start: int
    stop: int
    scored: int


def rolling_windows(n_tokens: int, size: int) -> list[Window]:
    """Windows of at most `size` tokens in which each token but the first is scored once.

    The first window is the text's first W = `size` tokens. Each next one ends min(W - 1, what is left) tokens after the
    one before, is W tokens long, and scores the tokens that are new. So log p(x_i | x_<i) becomes
    log p(x_i | x_s .. x_i-1), where s is the start of the window: the first new token has one token before it, the last
    up to W - 1, and the last window reaches back as far as it can. These are the windows of lm-evaluation-harness's
    `loglikelihood_rolling` (context_len 1, max_seq_len W - 1), with the text's first token in the place of its prefix
    token.

    Raises:
        ValueError: a window holds less than two tokens.

    >>> rolling_windows(8, 4)
    [Window(start=0, stop=4, scored=1), Window(start=3, stop=7, scored=4), Window(start=4, stop=8, scored=7)]
    >>> rolling_windows(4, 4)
    [Window(start=0, stop=4, scored=1)]
    """
    if size < 2:
        raise ValueError(f"a window of {size} tokens predicts none")
    windows = [Window(0, min(size, n_tokens), 1)]
    while (scored := windows[-1].stop) < n_tokens:
        stop = min(scored + size - 1, n_tokens)
        windows.append(Window(stop - size, stop, scored))
    return windows

"""Checks, before anything is scored, whether a completions server's numbers can be trusted. Knows nothing of HTTP.

Entry i of `token_logprobs` has to be log p(token i | the tokens before it). A server whose numbers stand one place
off answers in the same form as a right one; only what it says about one prompt x with different tokens after it
gives it away. With g the token that it generates after x as the most probable one, and h any other:

- what stands by the tokens of x is the same in x + g and x + h;
- at the end of x + h stands another number than at the end of x + g, and not a greater one;
- what it said of g while generating it, and what echo says of g at the end of x + g, are the same number.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scoring.backends.completions.answers import Answer, AnswerError, all_logprobs
from scoring.backends.completions.checks import (
    NEEDED,
    SENTENCES,
    SINGLE,
    check_beginnings,
    check_repeats,
    check_texts_differ,
    remarks,
    same_nats,
)
from scoring.backends.completions.tokens import Spelling
from scoring.domain.backend import LogProbs

Ids = list[int]
# Scores all of these; the second argument says whether tokens are wanted spelt out rather than by id.
Ask = Callable[[Sequence[Ids], bool], list[Answer]]

FEWEST_PROMPTS = 3
# More ids may be spelt alike where a token is less than a character; they are tried if there is no better prompt
FEW_CANDIDATES, MOST_CANDIDATES = 4, 300


@dataclass(frozen=True)
class Start:
    """A prompt of n tokens, the answer to it, the ids that its generated token may have, and other tokens."""

    prompt: Ids
    answer: Answer
    candidates: Ids
    others: Ids


@dataclass(frozen=True)
class _Continued:
    """Natural logarithms (n + 1,) by echo of x + g, and of each x + h; and what was said of g as generated."""

    generated: float
    greedy: LogProbs
    others: list[LogProbs]


def probe(ask: Ask, tokenizer: Any, longest: Ids | None = None) -> list[str]:
    """Check the server; what comes back are remarks for the person who scores with it.

    Args:
        ask: scores lists of token ids.
        tokenizer: the one that the texts are encoded with.
        longest: the longest of the texts to come; asked for twice, and once with another end.
    Raises:
        AnswerError: the server cannot be used: what it did, and what it would have to do.
        ScoringError: from `ask`.
    """
    prompts: list[Ids] = [[int(i) for i in tokenizer(s)["input_ids"]] for s in SENTENCES]
    repeated = longest or prompts[0]
    n_same = 2 * len(repeated) // 3
    other_end = [*repeated[:n_same], *reversed(repeated[n_same:])]
    *answers, once, again, varied = ask([*prompts, repeated, repeated, other_end], False)
    values = [all_logprobs(answer)[:-1] for answer in answers]
    check_texts_differ(values)
    noise = check_repeats(once, again)
    check_beginnings(once, varied, n_same)
    spelling = Spelling(tokenizer)
    sample = spelling.sample() or prompts[0]
    spelt = ask([*prompts, sample], True)
    spelling.check(spelt[:-1], prompts)
    spelling.check(spelt[-1:], [sample])
    starts = [
        Start(prompt, answer, spelling.candidates(answer), _others(n, prompts, answer))
        for n, (prompt, answer) in enumerate(zip(prompts, answers, strict=True))
    ]
    _check_alignment(ask, starts, same_nats(values, noise))
    return remarks(noise)


def _others(n: int, prompts: Sequence[Ids], answer: Answer) -> Ids:
    """Two tokens from other prompts; that one of them was generated is next to impossible, and would do no harm."""
    return [prompts[(n + step) % len(prompts)][step] for step in (1, 2)]


def _check_alignment(ask: Ask, starts: Sequence[Start], limit_nats: float) -> None:
    """Have the continued prompts scored, and compare; `limit_nats` apart, in the median, counts as the same."""
    usable = _usable(starts)
    if not usable:
        raise AnswerError(
            "does not say which token it generated; it must name it in choices[0].token_ids when asked with "
            "return_token_ids, or spell it in choices[0].logprobs.tokens as the tokenizer given does"
        )
    answers = ask([[*s.prompt, i] for s in usable for i in (*s.candidates, *s.others)], False)
    rows = (all_logprobs(answer)[:-1] for answer in answers)
    continued = [_continued(start, rows) for start in usable]
    _check_earlier_tokens(continued, limit_nats)
    _check_other_tokens(continued, limit_nats)
    _check_greedy_token(continued, limit_nats)


def _usable(starts: Sequence[Start]) -> list[Start]:
    known = [s for s in starts if 0 < len(s.candidates) <= MOST_CANDIDATES]
    few = [s for s in known if len(s.candidates) <= FEW_CANDIDATES]
    if len(few) >= FEWEST_PROMPTS:
        return few
    return sorted(known, key=lambda s: len(s.candidates))[:FEWEST_PROMPTS]


def _continued(start: Start, rows: Iterator[LogProbs]) -> _Continued:
    generated = all_logprobs(start.answer)[-1]
    greedy = [next(rows) for _ in start.candidates]
    others = [next(rows) for _ in start.others]
    # Of several tokens spelt alike, the likeliest to have been meant
    return _Continued(generated, min(greedy, key=lambda row: abs(row[-1] - generated)), others)


def _check_earlier_tokens(continued: Sequence[_Continued], limit_nats: float) -> None:
    pairs = [(c.greedy, other) for c in continued for other in c.others]
    all_earlier = np.concatenate([np.abs(g[1:-1] - h[1:-1]) for g, h in pairs])
    last_earlier = [abs(g[-2] - h[-2]) for g, h in pairs]
    moved = max(np.median(all_earlier), np.median(last_earlier))
    if moved > limit_nats:
        raise AnswerError(
            f"gave the same tokens other log-probabilities (by {moved:.2g} nat) when another token came after them; "
            f"{NEEDED}"
        )


def _check_other_tokens(continued: Sequence[_Continued], limit_nats: float) -> None:
    ahead = [c.greedy[-1] - other[-1] for c in continued for other in c.others]
    if np.median(np.abs(ahead)) <= limit_nats:
        raise AnswerError(
            f"gave the last token of a prompt the same log-probability whichever token it was; {NEEDED}"
        )
    if min(ahead) < -SINGLE * limit_nats:
        raise AnswerError(
            "generated a token at temperature 0 and found another more probable in its place "
            f"(by {-min(ahead):.2g} nat); {NEEDED}"
        )


def _check_greedy_token(continued: Sequence[_Continued], limit_nats: float) -> None:
    gaps = [abs(c.generated - c.greedy[-1]) for c in continued]
    if np.median(gaps) > limit_nats or max(gaps) > SINGLE * limit_nats:
        worst = continued[int(np.argmax(gaps))]
        raise AnswerError(
            f"gave a token that it generated the log-probability {worst.generated:.4g}, and the same token, appended to the "
            f"prompt and scored by echo, {worst.greedy[-1]:.4g}; {NEEDED}"
        )

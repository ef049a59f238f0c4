"""Checks, before anything is scored, whether a completions server's numbers can be trusted. Knows nothing of HTTP.

Entry i of `token_logprobs` has to be log p(token i | the tokens before it). A server whose numbers stand one place
off answers in the same form as a right one; only what it says about one prompt x with different tokens after it
gives it away. With g the token that it generates after x as the most probable one, and h any other:

- what stands by the tokens of x is the same in x + g and x + h;
- at the end of x + h stands another number than at the end of x + g, and not a greater one;
- what it said of g while generating it, and what echo says of g at the end of x + g, are the same number.

A server that is asked with strings (`probe_strings`): its numbers are right by definition where it gives a token the same one,
echoed in a text, as when it generates that token after the text before it. So sentences are cut in several places, the token
that comes next is forced, and its number compared with the echoed one; another token in its place must get another number.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from scoring.backends.completions.answers import (
    Answer,
    AnswerError,
    Spelling,
    all_logprobs,
    text_logprobs,
)
from scoring.backends.completions.asking import ByStrings
from scoring.domain.backend import LogProbs

SENTENCES = (
    "Light falls on the retina, and the cells there turn it into signals.",
    "A short walk before breakfast can lift the mood for many hours.",
    "The committee met on Tuesday, though nobody remembered who had called it.",
    "Water boils at a lower temperature on a high mountain, so that cooking takes longer.",
    "He put the old violin back into its case and closed the window.",
)
# Two numbers are the same within this share of the spread of all. In bfloat16 the last bit of a logit of 16 to 32 is
# worth 0.125 nat, and the spread 2 to 3; in a random float32 model the spread is 0.1 and the noise nothing.
SAME_SHARE = 0.05
SAME_NATS = 1e-4
LARGEST_MEAN_NOISE_NATS = 0.05
NOISE_TO_REMARK_NATS = 1e-6
# One number may be so many times further off than the median of all
SINGLE = 5
NEEDED = (
    "entry i of token_logprobs must be the log-probability of token i given the tokens before it (these are off by "
    "one, or not log-probabilities)"
)


def same_nats(values: Sequence[LogProbs], noise: LogProbs) -> float:
    """How far apart, in nats, two numbers may be that should be the same."""
    spread = float(np.std(np.concatenate([row[1:] for row in values])))
    return max(SAME_NATS, SAME_SHARE * spread, 3 * float(noise.mean()))


def check_texts_differ(values: Sequence[LogProbs]) -> None:
    for one, other in combinations(values, 2):
        n = min(len(one), len(other))
        if np.array_equal(one[1:n], other[1:n]):
            raise AnswerError(
                "gave two different texts the same log-probabilities; it must compute them from the tokens that it receives"
            )


def _apart(one: Answer, other: Answer, tokens: int) -> LogProbs:
    """How far apart, in nats, two answers are in their first tokens; only where both are numbers."""
    # Whether each is a number at all is a question about this text, and asked when it is scored
    pair = np.array([one.logprobs[1:tokens], other.logprobs[1:tokens]], np.float64)  # None -> NaN
    pair = pair[:, np.isfinite(pair).all(axis=0)]
    return np.abs(pair[0] - pair[1]) if pair.size else np.zeros(1)


def check_beginnings(one: Answer, varied: Answer, tokens: int) -> None:
    """A text's beginning has the same numbers whatever follows; a server that caches beginnings may get them wrong."""
    apart = _apart(one, varied, tokens - 1)  # numbers that are off by one are found elsewhere
    if apart.mean() > LARGEST_MEAN_NOISE_NATS:
        raise AnswerError(
            f"gave the first {tokens} tokens of a text other log-probabilities (by {apart.mean():.2g} nat per token) when "
            "the end of the text changed; it must compute them only from earlier tokens (prefix caching may be the cause; "
            "switch it off)"
        )


def check_repeats(once: Answer, again: Answer) -> LogProbs:
    """How far apart, in nats, the numbers of one text are that was sent twice."""
    noise = _apart(once, again, len(once.logprobs) - 1)
    if noise.mean() > LARGEST_MEAN_NOISE_NATS:
        raise AnswerError(
            f"gave one text, sent twice, log-probabilities that differ by {noise.mean():.2g} nat per token; it must give "
            "the same text the same numbers"
        )
    return noise


def remarks(noise: LogProbs) -> list[str]:
    if noise.max() <= NOISE_TO_REMARK_NATS:
        return []
    remark = (
        "The server's numbers are only approximately reproducible: one text, sent twice, differed by up to "
        f"{noise.max():.2g} nat per token ({noise.mean():.2g} on average). Scores of another run can differ by as much."
    )
    return [remark]


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
    starts = []
    for n, (prompt, answer) in enumerate(zip(prompts, answers, strict=True)):
        # Two tokens from other prompts; that one of them was generated is next to impossible, and would do no harm
        others = [prompts[(n + step) % len(prompts)][step] for step in (1, 2)]
        starts.append(Start(prompt, answer, spelling.candidates(answer), others))
    _check_alignment(ask, starts, same_nats(values, noise))
    return remarks(noise)


def _check_alignment(ask: Ask, starts: Sequence[Start], limit_nats: float) -> None:
    """Have the continued prompts scored, and compare; `limit_nats` apart, in the median, counts as the same.

    Raises:
        AnswerError: the server does not say what it generated, or its numbers do not stand where they should.
    """
    # Few tokens are spelt like the generated one, or else as few as can be had
    known = [s for s in starts if 0 < len(s.candidates) <= MOST_CANDIDATES]
    usable = [s for s in known if len(s.candidates) <= FEW_CANDIDATES]
    if len(usable) < FEWEST_PROMPTS:
        usable = sorted(known, key=lambda s: len(s.candidates))[:FEWEST_PROMPTS]
    if not usable:
        raise AnswerError(
            "does not say which token it generated; it must name it in choices[0].token_ids for return_token_ids, or spell "
            "it in choices[0].logprobs.tokens like the given tokenizer"
        )
    answers = ask([[*s.prompt, i] for s in usable for i in (*s.candidates, *s.others)], False)
    rows = (all_logprobs(answer)[:-1] for answer in answers)
    continued = []
    for start in usable:
        generated = all_logprobs(start.answer)[-1]
        alike = [next(rows) for _ in start.candidates]
        others = [next(rows) for _ in start.others]
        # Of several tokens spelt alike, the likeliest to have been meant
        greedy = min(alike, key=lambda row: abs(row[-1] - generated))
        continued.append(_Continued(generated, greedy, others))
    pairs = [(c.greedy, other) for c in continued for other in c.others]
    _check_last_tokens(pairs, limit_nats)
    # As generated and by echo, the same token has the same number
    gaps = [abs(c.generated - c.greedy[-1]) for c in continued]
    if np.median(gaps) > limit_nats or max(gaps) > SINGLE * limit_nats:
        worst = continued[int(np.argmax(gaps))]
        raise AnswerError(
            f"gave a token that it generated the log-probability {worst.generated:.4g}, and the same token, appended to the "
            f"prompt and scored by echo, {worst.greedy[-1]:.4g}; {NEEDED}"
        )


def _check_last_tokens(pairs: Sequence[tuple[LogProbs, LogProbs]], limit_nats: float) -> None:
    """Compare prompts that end in the generated token with those that end in another; raises AnswerError."""
    # What comes before it has the same numbers
    all_earlier = np.concatenate([np.abs(g[1:-1] - h[1:-1]) for g, h in pairs])
    last_earlier = [abs(g[-2] - h[-2]) for g, h in pairs]
    moved = max(np.median(all_earlier), np.median(last_earlier))
    if moved > limit_nats:
        raise AnswerError(
            f"gave the same tokens other log-probabilities (by {moved:.2g} nat) when another token came after them; "
            f"{NEEDED}"
        )
    # The last token has another number, and no greater one
    ahead = [g[-1] - h[-1] for g, h in pairs]
    if np.median(np.abs(ahead)) <= limit_nats:
        raise AnswerError(
            f"gave the last token of a prompt the same log-probability for every token; {NEEDED}"
        )
    if min(ahead) < -SINGLE * limit_nats:
        raise AnswerError(
            "generated a token at temperature 0 and found another more probable in its place "
            f"(by {-min(ahead):.2g} nat); {NEEDED}"
        )


# Scores all of these
Echo = Callable[[Sequence[Ids]], list[Answer]]
# The log-probability of each token as the one generated after the ids
Force = Callable[[Sequence[tuple[Ids, int]]], list[float]]


CUTS = (0.3, 0.6, 0.9)  # of a sentence
FEWEST_PLACES = 6


def probe_strings(echo: Echo, force: Force, strings: ByStrings, longest: Ids | None) -> list[str]:
    """Check the server; what comes back are remarks for the person who scores with it.

    Args:
        strings: which ids a string becomes, and which string stands for ids.
        longest: the longest of the texts to come; asked for twice, and once with another end.
    Raises:
        AnswerError: the server cannot be used: what it did, and what it would have to do.
        TextError: a sentence has no number somewhere.
        ScoringError: from `echo` and `force`.
    """
    prompts: list[Ids] = [strings.ids_of(s) for s in SENTENCES]
    repeated = longest or prompts[0]
    # A text that begins as these ids do and ends in another way, and how many tokens they share
    words = strings.text_of(repeated).split(" ")
    cut = " ".join(words[: max(1, 2 * len(words) // 3)])
    varied = strings.ids_of(f"{cut} {SENTENCES[1]}")
    n_same = min(len(repeated), len(varied))
    differ = np.flatnonzero(np.array(repeated[:n_same]) != np.array(varied[:n_same]))
    n_same = int(differ[0]) if differ.size else n_same
    *answers, once, again, other = echo([*prompts, repeated, repeated, varied])
    values = [text_logprobs(answer) for answer in answers]
    check_texts_differ(values)
    noise = check_repeats(once, again)
    check_beginnings(once, other, n_same)
    places = [
        (n, at)
        for n, prompt in enumerate(prompts)
        for at in sorted({int(len(prompt) * cut) for cut in CUTS})
        if at > 1 and strings.is_text(prompt[:at])
    ]
    if len(places) < FEWEST_PLACES:
        raise AnswerError(
            "does not accept token IDs, and the given tokenizer makes other tokens from a truncated sentence, so it cannot "
            "be checked"
        )
    limit_nats = same_nats(values, noise)
    echoed = np.array([values[n][at] for n, at in places])
    right = force([(prompts[n][:at], prompts[n][at]) for n, at in places])
    gaps = np.abs(echoed - right)
    if not (np.median(gaps) <= limit_nats and gaps.max() <= SINGLE * limit_nats):
        worst = int(np.argmax(gaps))
        raise AnswerError(
            f"gave a token that it generated the log-probability {right[worst]:.4g}, and the same token, scored by echo in "
            f"its place, {echoed[worst]:.4g}; {NEEDED}"
        )
    # The token before it stands for any other
    wrong = force([(prompts[n][:at], prompts[n][at - 1]) for n, at in places])
    if np.median(np.abs(echoed - wrong)) <= limit_nats:
        raise AnswerError(
            f"gave the generated token the same log-probability for every token; {NEEDED}"
        )
    return remarks(noise)

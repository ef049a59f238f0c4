"""What any server's numbers must be, however they are asked for. Knows nothing of HTTP."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from scoring.backends.completions.answers import Answer, AnswerError
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
    "entry i of token_logprobs must be the log-probability of token i given the tokens before it, and of no other "
    "(these are off by one, or not log-probabilities)"
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
                "gave two different texts the same log-probabilities; it must compute them from the tokens that it is sent"
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
            f"gave the first {tokens} tokens of a text other log-probabilities (by {apart.mean():.2g} nat a token) when "
            "it ended in another way; it must compute a token's from the tokens before it alone (prefix caching may be to "
            "blame: switch it off)"
        )


def check_repeats(once: Answer, again: Answer) -> LogProbs:
    """How far apart, in nats, the numbers of one text are that was sent twice."""
    noise = _apart(once, again, len(once.logprobs) - 1)
    if noise.mean() > LARGEST_MEAN_NOISE_NATS:
        raise AnswerError(
            f"gave one text, sent twice, log-probabilities that differ by {noise.mean():.2g} nat a token; it must give the "
            "same text the same numbers"
        )
    return noise


def remarks(noise: LogProbs) -> list[str]:
    if noise.max() <= NOISE_TO_REMARK_NATS:
        return []
    remark = (
        f"The server repeats its numbers only nearly: one text, sent twice, differed by up to {noise.max():.2g} nat in a "
        f"token ({noise.mean():.2g} on average). Scores of this run can differ as much from those of another."
    )
    return [remark]

"""The odds of side A against side B by the likeliest tokens that a server or a log names, and whether these can be true. Pure.

Numbers that contradict each other, or the answer beside them, decide nothing: servers were seen that repeat one list at every
place, or list an answer's letter twice. The side that was written then decides alone.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from scoring.domain.choosing.reading import SIDES
from scoring.domain.generating import Token

# In nats, and of a sum of probabilities: what rounding may add, in bfloat16 or where a server sends few digits
ROUNDING = 1e-3
# What OpenAI and vLLM write for a probability of 0, which has no logarithm: such an entry is as good as none
NOTHING = -9999.0
_IN_JSON = re.compile(r'"side"\s*:\s*"([ABab])"')
_ALONE = re.compile(r"\W*([AB])\W*")

# Why odds are not used, in words that go on after "in so many answers,"
FAULTS: Mapping[str, str] = {
    "range": "a probability is not above 0 and at most 1",
    "sum": "the probabilities of one place add up to more than 1",
    "unlisted": "the token that was written is not listed in its own place with its own probability",
    "other": "the tokens are not those of the answer",
    "repeated": "the same list stands in several places",
    "contradicts": "the other side is the likelier one, although the temperature is 0",
}


@dataclass(frozen=True, slots=True)
class Odds:
    """log_odds: natural logarithm of the odds of A against B; None where they are not known, or not used. fault: of FAULTS."""

    log_odds: float | None = None
    fault: str = ""


def read_tokens(logprobs: Any) -> tuple[Token, ...]:
    """The tokens of an answer in OpenAI's form, as they came; none where it has another form. What is no number is NaN.

    >>> top = [{"token": "A", "logprob": -0.5}, {"token": "A", "logprob": -2}]
    >>> read_tokens({"content": [{"token": "A", "logprob": -0.5, "top_logprobs": top}]})[0].likeliest
    (('A', -0.5), ('A', -2.0))
    """
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    try:
        return tuple(
            Token(
                str(one["token"]),
                _number(one.get("logprob")),
                tuple((str(t["token"]), _number(t["logprob"])) for t in one["top_logprobs"] or ()),
            )
            for one in content or ()
        )
    except (KeyError, TypeError, AttributeError):
        return ()


def _number(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    try:
        return float(value) if is_number else math.nan
    except OverflowError:
        return math.nan


def read_odds(tokens: Sequence[Token], side: str, *, is_greedy: bool) -> Odds:
    """The odds in the place where the side is named, if they can be true.

    Tokens that differ only in the letter, and those of one text, are added up for each side. A side that is not among the likeliest
    tokens counts as much as the least likely that is: the odds are then a bound, on the cautious side.

    Args:
        side: that the answer names.
        is_greedy: whether the temperature was 0, so that the likelier side is the one that was written.

    >>> at = Token("A", math.log(0.8), (("A", math.log(0.8)), ("B", math.log(0.2))))
    >>> said = [Token('{"side": "', -0.1, ()), at, Token('"}', -0.1, ())]
    >>> round(read_odds(said, "A", is_greedy=True).log_odds, 9), read_odds(said[1:2], "A", is_greedy=True).log_odds is None
    (1.386294361, False)
    >>> read_odds([said[0], Token("A", -0.1, at.likeliest), said[2]], "A", is_greedy=True)
    Odds(log_odds=None, fault='unlisted')
    """
    # The side is named in the last object that does, or where its letter stands alone
    text = "".join(token.text for token in tokens)
    named = [*_IN_JSON.finditer(text)] or [*filter(None, [_ALONE.fullmatch(text)])]
    if not named:
        return Odds()
    at = named[-1].start(1)
    ends = accumulate(len(token.text) for token in tokens)
    n, end = next((n, end) for n, end in enumerate(ends) if at < end)
    token = tokens[n]
    at -= end - len(token.text)
    if not token.likeliest:
        return Odds()
    if token.text[at].upper() != side:
        return Odds(fault="other")
    if fault := _fault(tokens, n):
        return Odds(fault=fault)
    odds = _between(token, at)
    if is_greedy and odds is not None and odds * (1 if side == "A" else -1) < -ROUNDING:
        return Odds(fault="contradicts")
    return Odds(odds)


def _fault(tokens: Sequence[Token], n: int) -> str:
    """The first of FAULTS in the token's list; empty where there is none."""
    token = tokens[n]
    numbers = [token.logprob, *(logprob for _, logprob in token.likeliest)]
    if not all(math.isfinite(number) and number <= ROUNDING for number in numbers):
        return "range"
    if math.fsum(math.exp(logprob) for _, logprob in token.likeliest) > 1 + ROUNDING:
        return "sum"
    own = (logprob for text, logprob in token.likeliest if text == token.text)
    if token.logprob <= NOTHING or not any(abs(o - token.logprob) <= ROUNDING for o in own):
        return "unlisted"
    is_repeated = any(
        other.likeliest == token.likeliest for k, other in enumerate(tokens) if k != n
    )
    return "repeated" if is_repeated else ""


def _between(token: Token, at: int) -> float | None:
    """None where fewer than two tokens are possible there, or none of them is a side."""
    before, after = token.text[:at], token.text[at + 1 :]
    possible = [(text, min(p, 0.0)) for text, p in token.likeliest if p > NOTHING]
    by_side: dict[str, list[float]] = {side: [] for side in SIDES}
    for text, logprob in possible:
        is_alike = text.startswith(before) and text[at + 1 :] == after
        if is_alike and (side := text[at : at + 1].upper()) in by_side:
            by_side[side].append(logprob)
    if len(possible) < len(SIDES) or not any(by_side.values()):
        return None
    least = min(logprob for _, logprob in possible)
    a, b = (_log_sum(found) if found else least for found in by_side.values())
    return a - b


def _log_sum(logprobs: Sequence[float]) -> float:
    """
    >>> round(_log_sum([math.log(0.25), math.log(0.25)]), 9) == round(math.log(0.5), 9)
    True
    """
    most = max(logprobs)
    return most + math.log(sum(math.exp(one - most) for one in logprobs))

"""Whether a text fits models that read 1,024 tokens, GPT-2's. Pure: without a tokenizer.

Byte-level tokenizers first cut a text into words, numbers and marks, and never join two of these: their number is a
lower bound. How many tokens a long word takes is estimated; tests hold the estimate against GPT-2's own count.
"""

import math
import re
from collections.abc import Iterator

from experiment.domain.item_checks.findings import Finding, Level
from experiment.domain.markup import Abstract

MAX_TOKENS = 1024
_PIECES = re.compile(r"'(?:s|t|re|ve|m|ll|d)| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")
# Letters to a token beyond the first so many, as the published abstracts have them
WHOLE_WORD = 8
LETTERS_PER_TOKEN = 4
REASON = "GPT-2 and others of its kind read at most 1,024 tokens at once: they could not be given this text."


def least_tokens(text: str) -> int:
    """Fewer are not possible.

    >>> least_tokens("Rats slept (n = 3).")
    7
    """
    return sum(1 for _ in _PIECES.finditer(text))


def estimated_tokens(text: str) -> int:
    """About how many, rather a few too many."""
    return sum(_tokens_of(found[0].strip()) for found in _PIECES.finditer(text))


def _tokens_of(piece: str) -> int:
    n_bytes = len(piece.encode(errors="surrogatepass"))
    if n_bytes > len(piece):  # letters beyond ASCII are joined seldom
        return n_bytes
    return 1 + math.ceil(max(0, n_bytes - WHOLE_WORD) / LETTERS_PER_TOKEN)


def check_tokens(abstract: Abstract) -> Iterator[Finding]:
    """An error where the bound is passed, a warning where the estimate is.

    >>> from experiment.domain.markup import parse
    >>> [f.code for f in check_tokens(parse("rats " * 1023 + "[[slept, ran]]!"))]
    ['too_many_tokens']
    """
    texts = abstract.original, abstract.altered
    least, estimated = max(map(least_tokens, texts)), max(map(estimated_tokens, texts))
    if least > MAX_TOKENS:
        message = f"at least {least:,} tokens, more than {MAX_TOKENS:,}"
        yield Finding("too_many_tokens", Level.ERROR, message, REASON)
    elif estimated > MAX_TOKENS:
        message = f"about {estimated:,} tokens by an estimate without a tokenizer, more than {MAX_TOKENS:,}"
        yield Finding("maybe_too_many_tokens", Level.WARNING, message, REASON)

"""How much a model may know a text by heart: compressed length over perplexity (the paper's equation 3).

A text that a model finds easier than its redundancy explains may have been learned word by word. The published
compressed lengths are of the string that the model read: for the test cases with their prompt, for a reference corpus
and the anchor text, which were scored without a prompt, of the text alone.
"""

import math
import zlib


def zlib_bytes(text: str) -> int:
    """Length in bytes of the UTF-8 text under zlib's default compression.

    Python's zlib gives the published lengths; one built on another implementation (zlib-ng) may be a few bytes off.

    >>> zlib_bytes("a" * 1000) < 20 < zlib_bytes("Rats slept, mice swam, and flies did not.")
    True
    """
    return len(zlib.compress(text.encode()))


def ratio(zlib_bytes: float, ppl: float) -> float:
    """Compressed length over perplexity, in bytes; high values are what memorised texts have.

    Raises:
        ValueError: the perplexity is no positive number.

    >>> ratio(714, 1.02)
    700.0
    """
    if not (math.isfinite(ppl) and ppl > 0):
        raise ValueError(f"{ppl} is not a perplexity")
    return zlib_bytes / ppl

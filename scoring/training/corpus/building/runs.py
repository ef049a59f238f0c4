"""Texts as hashes of words and of runs of words, which is how texts are compared. Knows no document.

Two texts that differ in case, accents, punctuation, spaces, tags, entities or Unicode's forms have the same words. Hashes
have 64 bits: of k runs compared with m others, k x m / 2^64 match by chance, one in 200,000 for a thousand million with a hundred thousand.
"""

import hashlib
import html
import re
import unicodedata
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]
_WORD = re.compile(r"[^\W_]+")
_TAG = re.compile(
    r"""</?[a-z][\w:-]*(?:\s+[\w:-]+\s*=\s*(?:"[^"<>]*"|'[^'<>]*'))*\s*/?>""", re.IGNORECASE
)
_BROKEN = re.compile(r"(?<=[^\W\d_])[-\u2010]\s*\n\s*(?=[^\W\d_])")
_WITHIN_WORDS = frozenset({"Cf", "Mn", "Mc", "Me"})  # unseen characters, and combining marks
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no word's share is lost modulo 2^64


def words(text: str) -> list[str]:
    r"""Letters and digits, without case and accents; a word broken at a line's end is one word.

    >>> words("The μ-opioid “Load” (10²)")
    ['the', 'μ', 'opioid', 'load', '102']
    >>> words("<i>Hippo</i>campal&#x2009;ac-\ntivity")
    ['hippocampal', 'activity']
    """
    text = _BROKEN.sub("", _TAG.sub("", html.unescape(_plain(text))))
    return _WORD.findall(_plain(text))


def _plain(text: str) -> str:
    if text.isascii():
        return text.casefold()
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    dropped = [ord(c) for c in set(text) if unicodedata.category(c) in _WITHIN_WORDS]
    return text.translate(dict.fromkeys(dropped))


def hash_of(text: str) -> int:
    """64 bits, the same on every machine."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


_hash_of_word = lru_cache(maxsize=2**18)(hash_of)


def word_hashes(text: str) -> Hashes:
    """One per word, in the text's order."""
    found = words(text)
    return np.fromiter(map(_hash_of_word, found), np.uint64, len(found))


def runs(hashes: Hashes, n: int) -> Hashes:
    """The hash of each run of n words, in order: sum over k of word[i + k] x factor^(n - 1 - k) modulo 2^64.

    Along the last axis. A text with fewer words is one run; without a word there is none.
    """
    length = hashes.shape[-1]
    n = min(n, length)
    total = np.zeros((*hashes.shape[:-1], length - n + 1 if n else 0), np.uint64)
    for k in range(n):
        total *= _FACTOR
        total += hashes[..., k : k + total.shape[-1]]
    return total

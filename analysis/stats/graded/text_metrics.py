"""How much an answer's words overlap with the expert's: BLEU, ROUGE-2 and ROUGE-L, as others report them.

ROUGE's numbers are rouge-score's, from its words; the longest common sequence is RapidFuzz's, as that package's own, in Python,
takes longer than all else. What computes is loaded when it is first asked. ROUGE knows the letters a to z and digits alone.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from rapidfuzz.distance import LCSseq

from analysis.stats.arrays import Floats

NAMES = ("BLEU", "ROUGE-2", "ROUGE-L")
COLUMNS = ("bleu", "rouge_2", "rouge_l")
MOST_WORDS = 100_000  # whose stems are kept
METHOD = (
    "Each answer is compared with the expert's on a scale from 0 to 1: sentence BLEU (sacreBLEU: tokens 13a, "
    "exponential smoothing, effective order), and F measures of ROUGE-2 and ROUGE-L (as rouge-score, stemmed)."
)


@dataclass(frozen=True)
class Overlap:
    """Overlap of one answer with the expert's, each measure 0 (no word in common) to 1 (the same)."""

    bleu: float
    rouge_2: float
    rouge_l: float


def overlap(answer: str, expert: str) -> Overlap:
    """BLEU (Papineni et al. 2002; Post 2018) and F measures of ROUGE-2 and ROUGE-L (Lin 2004) of a text beside another.

    ROUGE-2: pairs of neighbouring words that both have; ROUGE-L: the longest sequence of words, in order but not side by
    side, that both have; F = 2 x common / (number of the answer's + number of the expert's). Checked against rouge-score.

    >>> overlap("APOE raises the risk.", "APOE raises the risk."), overlap("", "APOE")
    (Overlap(bleu=1.0, rouge_2=1.0, rouge_l=1.0), Overlap(bleu=0.0, rouge_2=0.0, rouge_l=0.0))
    """
    bleu, words = _tools()
    own, wanted = words(answer), words(expert)
    # 100 comes as 100.00000000000004
    share = min(1.0, float(bleu.sentence_score(answer, [expert]).score) / 100)
    pairs, others = Counter(pairwise(own)), Counter(pairwise(wanted))
    both = (pairs & others).total()
    longest = int(LCSseq.similarity(own, wanted))
    return Overlap(
        share,
        _f_measure(both, pairs.total() + others.total()),
        _f_measure(longest, len(own) + len(wanted)),
    )


def overlaps(pairs: Iterable[tuple[str, str]]) -> Floats:
    """(n, 3) BLEU, ROUGE-2 and ROUGE-L of each answer and expert answer."""
    found = [(one.bleu, one.rouge_2, one.rouge_l) for one in (overlap(*pair) for pair in pairs)]
    return np.asarray(found, dtype=np.float64).reshape(-1, len(NAMES))


def _f_measure(common: int, total: int) -> float:
    return 2 * common / total if total else 0.0


@cache
def _tools() -> tuple[Any, Callable[[str], Sequence[str]]]:
    """The tools that give BLEU, and rouge-score's words of a text."""
    from nltk.stem.porter import PorterStemmer
    from rouge_score.tokenize import tokenize
    from sacrebleu.metrics.bleu import BLEU

    class Stems:
        stem = staticmethod(lru_cache(MOST_WORDS)(PorterStemmer().stem))

    return BLEU(effective_order=True), lambda text: tokenize(text, Stems)

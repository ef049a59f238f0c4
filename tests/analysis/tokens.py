"""Token records of made-up texts with alternations."""

from itertools import pairwise

import numpy as np
import pandas as pd

# A word begins with a space or one of these
WORD_STARTS = {" ", *(chr(0x4E00 + n) for n in range(0, 1000, 3))}
# Plain text and alternations by turns; an alternation is a pair
Text = list[str | tuple[str, str]]
RISE: Text = ["Rats ran", (" far", " not far"), " away. Mice", (" slept", " swam"), " too. So."]


def tokens_of(text: Text, version: int, *, item=0, size=3, seed=0) -> pd.DataFrame:
    """Cut a version into tokens: where a word begins, and after `size` characters; tokens may straddle segments."""
    pieces = [s if isinstance(s, str) else s[version] for s in text]
    ends = np.cumsum([len(p) for p in pieces])
    whole = "".join(pieces)
    cuts = [0]
    for at in range(1, len(whole) + 1):
        if at == len(whole) or whole[at] in WORD_STARTS or at - cuts[-1] == size:
            cuts.append(at)
    spans = list(pairwise(cuts))
    changed = [
        (end - len(p), end)
        for p, s, end in zip(pieces, text, ends, strict=True)
        if not isinstance(s, str)
    ]
    rng = np.random.default_rng([seed, version, item])
    return pd.DataFrame(
        {
            "item": item,
            "unit": 0,
            "version": ("original", "altered")[version],
            "position": np.arange(len(spans)),
            "token": [whole[a:b] for a, b in spans],
            "start": [a for a, _ in spans],
            "end": [b for _, b in spans],
            "logprob": [np.nan, *-rng.exponential(1, len(spans) - 1)],
            "in_text": True,
            "in_alternation": [any(a < y and b > x for x, y in changed) for a, b in spans],
        }
    )


def both_versions(text: Text, **others) -> pd.DataFrame:
    return pd.concat([tokens_of(text, v, **others) for v in (0, 1)], ignore_index=True)

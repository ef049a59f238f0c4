"""Machines: the perplexity of the same items under language models.

`from scoring import score_pairs` scores texts from Python, without a database; what it needs is loaded when it is named.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scoring.pairs import ScoredPair, ScoredText, ScoredToken, score_pairs

__all__ = ("ScoredPair", "ScoredText", "ScoredToken", "score_pairs")


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from scoring import pairs

    return getattr(pairs, name)

"""Accuracy that is left to a model when it reads single sentences, or results in a foreign abstract."""

import pandas as pd

from lib.points import RIGHT, TIE


def isolated_accuracies(isolated: pd.DataFrame) -> pd.DataFrame:
    """Accuracy on single sentences, per model, from rows of model, item, points (1, 1/2 a tie, 0; one per sentence).

    Returns columns n_sentences, n_items, pooled (mean over all sentences) and item_mean (mean of each item's sentences first, then the mean over items: every abstract weighs the same). Indexed by model.

    >>> rows = pd.DataFrame({"model": 0, "item": [0, 0, 0, 1], "points": [1, 1, 1, 0]})
    >>> isolated_accuracies(rows)[["pooled", "item_mean"]].to_numpy().tolist()
    [[0.75, 0.5]]
    """
    by_model = isolated.groupby("model")["points"]
    shares = isolated.groupby(["model", "item"])["points"].mean().groupby("model")
    return pd.DataFrame(
        {
            "n_sentences": by_model.size(),
            "n_items": shares.size(),
            "pooled": by_model.mean(),
            "item_mean": shares.mean(),
        }
    )


def swapped_accuracies(swapped: pd.DataFrame) -> pd.DataFrame:
    """Accuracy in foreign contexts from rows of model, seed, points: columns model, seed, n, n_correct, n_ties, accuracy.

    >>> rows = pd.DataFrame({"model": 0, "seed": [1, 1, 2], "points": [1, 0.5, 1]})
    >>> swapped_accuracies(rows)["accuracy"].tolist()
    [0.75, 1.0]
    """
    own = swapped.assign(right=swapped["points"] == RIGHT, tied=swapped["points"] == TIE)
    found = own.groupby(["model", "seed"]).agg(
        n=("points", "size"),
        n_correct=("right", "sum"),
        n_ties=("tied", "sum"),
        accuracy=("points", "mean"),
    )
    return found.reset_index()

"""The tokens of items' two versions side by side: which token of one stands at the same place as which of the other.

Two versions share their plain text and differ in their alternations; a tokenizer may cut the shared text differently
just beside an alternation. A *stretch* is the plain text after one alternation and before the next. Its tokens are the
same from its start up to the first that differs, and from its end back to the last that differs.
"""

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.stats.arrays import Floats, Ints

VERSIONS = ("original", "altered")


class Streams:
    """Token records of one model, one row per token of the text, ordered by item, version and position.

    Args:
        tokens: item, version ("original", "altered"), position, token, start, end (characters), logprob (natural
            logarithm, NaN for a first token without predecessor, which counts as certain), in_text, in_alternation;
            and, where they are there, unit, of which only 0 is read, and counted: the tokens that the run's
            perplexities count, which may be a prompt's too (by default the text's). What is counted before the text is
            in all running sums, what is counted after it in the last one.
    Items of which a version is missing are left out.
    """

    def __init__(self, tokens: pd.DataFrame) -> None:
        keep = tokens["version"].isin(VERSIONS).to_numpy()
        if "unit" in tokens:
            keep = keep & (tokens["unit"].to_numpy() == 0)
        rows = tokens.loc[keep]
        altered = (rows["version"] == "altered").to_numpy()
        item = rows["item"].to_numpy(dtype=np.int64)
        in_text = rows["in_text"].to_numpy(dtype=bool)
        both = np.intersect1d(item[altered & in_text], item[~altered & in_text])
        keep = np.isin(item, both)
        order = np.lexsort((rows["position"].to_numpy()[keep], altered[keep], item[keep]))
        rows, in_text = rows.loc[keep].iloc[order], in_text[keep][order]
        self.items: Ints = both
        text = np.searchsorted(both, item[keep][order]) * 2 + altered[keep][order]
        logprob = rows["logprob"].to_numpy(dtype=np.float64)
        counted = rows["counted"].to_numpy(dtype=bool) if "counted" in rows else in_text
        counted = counted & ~np.isnan(logprob)
        nats = np.where(counted, -logprob, 0.0)
        of_text = pd.DataFrame({"nats": nats, "n": counted.astype(np.int64)}).groupby(text)
        running = of_text.cumsum()[in_text]
        # At a text's end, sums are exactly rounded, as those of perplexities are: so they take the same decisions
        is_last = np.append(np.diff(text[in_text]) > 0, True)[: len(running)]
        running.loc[is_last, "nats"] = of_text["nats"].agg(math.fsum).to_numpy()
        running.loc[is_last, "n"] = of_text["n"].sum().to_numpy()
        self.running_nats: Floats = running["nats"].to_numpy()
        self.running_tokens: Ints = running["n"].to_numpy()
        rows = rows.loc[in_text]
        self.item: Ints = item[keep][order][in_text]
        self.is_altered = altered[keep][order][in_text]
        self.text: Ints = text[in_text]
        self.changed = rows["in_alternation"].to_numpy(dtype=bool)
        self.token = pd.factorize(rows["token"])[0]
        # A token without characters of its own ends where the one before it does
        ends = pd.Series(rows["end"].to_numpy(dtype=np.int64))
        self.end: Ints = ends.groupby(self.text).cummax().to_numpy()

    @cached_property
    def bounds(self) -> Ints:
        """(2 items + 1,) the row at which each text starts, original and altered by turns; then the number of rows."""
        return np.searchsorted(self.text, np.arange(2 * len(self.items) + 1))

    @cached_property
    def running_ppl(self) -> Floats:
        """(rows,) perplexity of the text up to each token, exp(-(1/t) sum log p) over its t counted tokens; 1 at t = 0."""
        ppl: Floats = np.exp(self.running_nats / np.maximum(self.running_tokens, 1))
        return ppl

    @cached_property
    def first_different(self) -> Ints:
        """(items, 2) rows of the first token that is not the same in both, original and altered.

        The rows stand equally far in their texts; past the end of a text that is the beginning of the other.
        """
        found = []
        of_item = np.column_stack([self.bounds[:-1:2], self.bounds[1::2], self.bounds[2::2]])
        for low, middle, high in of_item.tolist():
            same = min(middle - low, high - middle)
            one, other = self.token[low : low + same], self.token[middle : middle + same]
            differs = np.flatnonzero(one != other)
            at = int(differs[0]) if len(differs) else same
            found.append((low + at, middle + at))
        return np.array(found).reshape(-1, 2)

    def rows_at(self, item: int, version: str, ends: Sequence[int]) -> Ints:
        """The last token that ends at or before each of these characters (the first token where none does).

        The last of the characters is taken for the text's end.
        """
        low, high = self.bounds_of(item, version)
        rows = low + np.searchsorted(self.end[low:high], np.asarray(ends), side="right") - 1
        rows[-1:] = high - 1
        return np.maximum(rows, low)

    def bounds_of(self, item: int, version: str) -> tuple[int, int]:
        """The rows of a text: its first, and the one after its last."""
        text = 2 * int(np.searchsorted(self.items, item)) + (version == "altered")
        return int(self.bounds[text]), int(self.bounds[text + 1])

    def first_different_of(self, item: int) -> tuple[int, int]:
        """An item's row of `first_different`."""
        original, altered = self.first_different[np.searchsorted(self.items, item)].tolist()
        return original, altered

    def paired_tokens(self) -> tuple[Ints, Ints]:
        """Rows of the original and of the altered version to compare token by token, from the first that differs.

        First comes the first token that differs, with its counterpart. From then on tokens that end at the same place
        of the text are a pair (`common_places`); between two such pairs the k-th token of one version goes with the k-th
        of the other, and what the longer one has beyond that is counted at the next pair. Last come the two texts' last
        tokens. Where one version lacks a passage, `common_places` knows only what follows the last alternation.
        """
        last = np.column_stack([self.bounds[1::2], self.bounds[2::2]]) - 1
        first = self.first_different
        # Of two texts of which one begins the other only the ends can be compared
        start = np.where(np.any(first > last, axis=1, keepdims=True), last, first)
        pairs = np.column_stack(self.common_places())
        pairs = pairs[(pairs >= start[self.text[pairs[:, 0]] // 2]).all(axis=1)]
        pairs = np.unique(np.concatenate([start[self._differs], pairs]), axis=0)
        text = self.text[pairs[:, 0]]
        between = np.where(text[1:] == text[:-1], np.diff(pairs, axis=0).min(axis=1) - 1, 0)
        between = np.maximum(between, 0)
        k = np.arange(between.sum()) - np.repeat(np.cumsum(between) - between, between)
        inner = pairs[:-1].repeat(between, axis=0) + k[:, None] + 1
        pairs = np.unique(np.concatenate([pairs, inner]), axis=0)
        return pairs[:, 0], pairs[:, 1]

    def common_places(self) -> tuple[Ints, Ints]:
        """Rows of the original and of the altered version that end at the same place, after the first alternation."""
        start, end = self._matches(from_end=False), self._matches(from_end=True)
        # Where the first token of a stretch is the same in both, the alternation before it ends at the same place
        first = start[start["rank"] == 0]
        before = first[["row", "row_altered"]] - 1
        last = pd.DataFrame(
            {"row": self.bounds[1::2] - 1, "row_altered": self.bounds[2::2] - 1},
        )[self._differs]
        pairs = pd.concat([before, last, end, start])[["row", "row_altered"]]
        pairs = pairs.drop_duplicates("row").drop_duplicates("row_altered").sort_values("row")
        return pairs["row"].to_numpy(), pairs["row_altered"].to_numpy()

    @property
    def _differs(self) -> npt.NDArray[np.bool_]:
        """(items,) whether the versions are not the same."""
        ends = np.column_stack([self.bounds[1::2], self.bounds[2::2]])
        return np.asarray((self.first_different < ends).any(axis=1))

    @cached_property
    def _stretches(self) -> pd.DataFrame:
        """Plain tokens after an alternation: row, item, is_altered, stretch, token.

        `stretch` counts the alternations before. Where the versions have other numbers of them (one that is empty in a
        version, or that melts into the next), only what follows the last one can be compared: it is stretch -1.
        """
        previous = np.concatenate([[False], self.changed[:-1]])
        previous[self.bounds[:-1]] = False
        begun = np.cumsum(self.changed & ~previous)
        begun -= (begun - (self.changed & ~previous))[self.bounds[:-1]][self.text]
        totals = begun[self.bounds[1:] - 1].reshape(-1, 2)
        equal = np.repeat(totals[:, 0] == totals[:, 1], 2)[self.text]
        is_last = begun == totals.ravel()[self.text]
        keep = ~self.changed & np.where(equal, begun > 0, is_last)
        return pd.DataFrame(
            {
                "row": np.flatnonzero(keep),
                "item": self.item[keep],
                "is_altered": self.is_altered[keep],
                "stretch": np.where(equal, begun, -1)[keep],
                "token": self.token[keep],
            }
        )

    def _matches(self, *, from_end: bool) -> pd.DataFrame:
        """Pairs of rows that hold the same token, counted from the start or the end up to the first difference."""
        rows = self._stretches
        groups = rows.groupby(["item", "is_altered", "stretch"], sort=False)
        rows = rows.assign(rank=groups.cumcount(ascending=not from_end))
        keys = ["item", "stretch", "rank"]
        pairs = rows[~rows["is_altered"]].merge(
            rows[rows["is_altered"]], on=keys, suffixes=("", "_altered")
        )
        # An alternation that is empty in one version has no tokens there: its stretch is found from the end alone
        usable = from_end | (pairs["stretch"] > 0)
        differs = (pairs["token"] != pairs["token_altered"]) | ~usable
        pairs = pairs.assign(differs=differs).sort_values(keys)
        differences = pairs.groupby(["item", "stretch"], sort=False)["differs"].cumsum()
        return pairs[differences == 0]

"""The tokens of items' two versions side by side: which token of one stands at the same place as which of the other.

Two versions share their plain text and differ in their alternations; a tokenizer may cut the shared text differently
just beside an alternation. A *stretch* is the plain text after one alternation and before the next. Its tokens are the
same from its start up to the first that differs, and from its end back to the last that differs.
"""

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
            and unit, of which only 0 is read, if it is there.
    Items of which a version is missing are left out.
    """

    def __init__(self, tokens: pd.DataFrame) -> None:
        keep = tokens["in_text"].to_numpy(dtype=bool)
        if "unit" in tokens:
            keep = keep & (tokens["unit"].to_numpy() == 0)
        rows = tokens.loc[keep & tokens["version"].isin(VERSIONS).to_numpy()]
        altered = (rows["version"] == "altered").to_numpy()
        item = rows["item"].to_numpy(dtype=np.int64)
        both = np.intersect1d(item[altered], item[~altered])
        keep = np.isin(item, both)
        order = np.lexsort((rows["position"].to_numpy()[keep], altered[keep], item[keep]))
        rows = rows.loc[keep].iloc[order]
        self.items: Ints = both
        self.item: Ints = item[keep][order]
        self.is_altered = altered[keep][order]
        self.text: Ints = np.searchsorted(both, self.item) * 2 + self.is_altered
        self.changed = rows["in_alternation"].to_numpy(dtype=bool)
        self.token = pd.factorize(rows["token"])[0]
        nats = pd.Series(-rows["logprob"].fillna(0.0).to_numpy(dtype=np.float64))
        self.running_nats: Floats = nats.groupby(self.text).cumsum().to_numpy()
        # A token without characters of its own ends where the one before it does
        ends = pd.Series(rows["end"].to_numpy(dtype=np.int64))
        self.end: Ints = ends.groupby(self.text).cummax().to_numpy()

    @cached_property
    def bounds(self) -> Ints:
        """(2 items + 1,) the row at which each text starts, original and altered by turns; then the number of rows."""
        return np.searchsorted(self.text, np.arange(2 * len(self.items) + 1))

    def rows_at(self, item: int, version: str, ends: Sequence[int]) -> Ints:
        """The last token that ends at or before each of these characters (the first token where none does).

        The last of the characters is taken for the text's end.
        """
        low, high = self._bounds_of(item, version)
        rows = low + np.searchsorted(self.end[low:high], np.asarray(ends), side="right") - 1
        rows[-1:] = high - 1
        return np.maximum(rows, low)

    def first_changed(self, item: int, version: str) -> int:
        """The row of the first token of the first alternation; past the text's end where there is none."""
        low, high = self._bounds_of(item, version)
        changed = np.flatnonzero(self.changed[low:high])
        return low + int(changed[0]) if len(changed) else high

    def common_places(self) -> tuple[Ints, Ints]:
        """Rows of the original and of the altered version that end at the same place, after the first alternation."""
        start, end = self._matches(from_end=False), self._matches(from_end=True)
        # Where the first token of a stretch is the same in both, the alternation before it ends at the same place
        first = start[start["rank"] == 0]
        before = first[["row", "row_altered"]] - 1
        last = pd.DataFrame(
            {"row": self.bounds[1::2] - 1, "row_altered": self.bounds[2::2] - 1},
        )[self._has_changes()]
        pairs = pd.concat([before, last, end, start])[["row", "row_altered"]]
        pairs = pairs.drop_duplicates("row").drop_duplicates("row_altered").sort_values("row")
        return pairs["row"].to_numpy(), pairs["row_altered"].to_numpy()

    def _bounds_of(self, item: int, version: str) -> tuple[int, int]:
        text = 2 * int(np.searchsorted(self.items, item)) + (version == "altered")
        return int(self.bounds[text]), int(self.bounds[text + 1])

    def _has_changes(self) -> npt.NDArray[np.bool_]:
        """(items,) whether one of the versions has a token in an alternation."""
        return np.isin(np.arange(len(self.items)), self.text[self.changed] // 2)

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

"""Rows that belong together, by union and find. Memory grows with the rows that were joined alone."""

from collections import defaultdict
from collections.abc import Mapping, Sequence


class Groups:
    """Whichever way rows are joined, the same groups come of it.

    >>> groups = Groups()
    >>> groups.join(4, 2); groups.join(4, 9); groups.join(5, 6)
    >>> sorted(groups.groups().items())
    [(2, [2, 4, 9]), (5, [5, 6])]
    """

    def __init__(self) -> None:
        self._above: dict[int, int] = {}

    def first(self, row: int) -> int:
        """The smallest row of a row's group."""
        top = row
        while (above := self._above.get(top, top)) != top:
            top = above
        while row != top:
            self._above[row], row = top, self._above[row]
        return top

    def join(self, one: int, other: int) -> None:
        low, high = sorted((self.first(one), self.first(other)))
        self._above.setdefault(low, low)
        self._above[high] = low

    def groups(self) -> Mapping[int, Sequence[int]]:
        """Groups of two rows and more, by their first."""
        found: dict[int, list[int]] = defaultdict(list)
        for row in sorted(self._above):
            found[self.first(row)].append(row)
        return {first: rows for first, rows in found.items() if len(rows) > 1}

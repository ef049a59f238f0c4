"""What is kept of a draw: enough to make it again, in at most 200 bytes."""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

# Of the tied items, as many as are kept beside the drawn one: 48 ids take at most 5 + 47 * 3 bytes up to id 2 million
WINDOW = 48


@dataclass(frozen=True, slots=True)
class DrawRecord:
    """A draw at random from items of equal score.

    n_before: items of the stratum that had been assigned in the study before; says which state of the counters was read.
    n_tied: items with the lowest score, one of which was drawn.
    window: of their ids in ascending order, the stretch of `WINDOW` that holds the drawn one; all of them where they are
    no more than that.
    """

    n_before: int
    n_tied: int
    window: tuple[int, ...]

    @classmethod
    def of(cls, tied: Sequence[int], key: str, n_before: int = 0) -> Self:
        """A new draw from these ids, in ascending order.

        >>> DrawRecord.of([4, 9, 11], "7/draw/1").window
        (4, 9, 11)
        """
        start = _place(key, len(tied)) // WINDOW * WINDOW
        return cls(n_before, len(tied), tuple(tied[start : start + WINDOW]))

    def item_id(self, key: str) -> int:
        """The item that the generator seeded with `key` draws, every id with the same chance.

        >>> DrawRecord.of([4], "any").item_id("any")
        4
        """
        return self.window[_place(key, self.n_tied) % WINDOW]

    def pack(self) -> bytes:
        """Two numbers, the first id and the distances between ids, each in groups of seven bits.

        >>> DrawRecord(300, 3, (4, 9, 11)).pack().hex()
        'ac0203040502'
        """
        first, *rest = self.window
        distances = (b - a for a, b in zip(self.window, rest, strict=False))
        return b"".join(map(_packed, (self.n_before, self.n_tied, first, *distances)))

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """The record from its bytes.

        >>> DrawRecord.unpack(bytes.fromhex("ac0203040502"))
        DrawRecord(n_before=300, n_tied=3, window=(4, 9, 11))
        """
        n_before, n_tied, *distances = _numbers(data)
        ids, last = [], 0
        for distance in distances:
            last += distance
            ids.append(last)
        return cls(n_before, n_tied, tuple(ids))


def _place(key: str, n: int) -> int:
    return random.Random(key).randrange(n)


def _packed(number: int) -> bytes:
    groups = bytearray()
    while number >= 0x80:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    groups.append(number)
    return bytes(groups)


def _numbers(data: Iterable[int]) -> Iterator[int]:
    number = shift = 0
    for byte in data:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield number
            number = shift = 0

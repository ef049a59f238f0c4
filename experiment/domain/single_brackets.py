"""Pairs in single brackets, `[reduced, increased]`, that were meant as alternations. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

# After a letter or digit, it is an index or an argument; beside another bracket, an alternation
_SINGLE = re.compile(r"(?<![\w\[\\])\[([^\[\]\\]{3,400})\](?!\])")
_PIPE = re.compile(r"\s\|\s")
_WORD = re.compile(r"[^\W\d_]{2,}")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
# What authors put into brackets themselves: statistics, references, explanations
_OF_AUTHORS = re.compile(
    r"[=<>≤≥±~]|\b(?:CI|CrI|HDI|SD|SE|SEM|SEs|SDs|IQR|OR|HR|RR|ORs|HRs|df|range|mean|median|vs|ref|refs|reference|references|see"
    r"|fig|figs|figure|figures|table|tables|supplementary|et al|ie|i\.e|eg|e\.g|cf|doi|isbn|https?|respectively)\b"
)
_GOES_ON = re.compile(
    r"(?:and|or|but|nor|which|who|whose|that|where|when|as|such|including|namely|with|without)\b",
    re.I,
)
_LONGER, _LONGER_BY = 3, 20  # as of a lopsided alternation


@dataclass(frozen=True, slots=True)
class SinglePair:
    """start, end: of the brackets in the text."""

    start: int
    end: int
    written: str

    @property
    def doubled(self) -> str:
        return f"[{self.written}]"


def single_pairs(text: str) -> Iterator[SinglePair]:
    """Two wordings in single brackets, as far as they do not look like what authors write there.

    >>> [pair.doubled for pair in single_pairs("It [reduced, increased] recall [95% CI, 1.2 to 3.4] in rats [12, 13].")]
    ['[[reduced, increased]]']
    """
    for found in _SINGLE.finditer(text):
        if _is_pair(found[1]):
            yield SinglePair(*found.span(), found[0])


def _is_pair(inside: str) -> bool:
    sides = [side.strip() for side in _PIPE.split(inside)]
    if len(sides) == 1:
        sides = [side.strip() for side in inside.split(",")]
    if len(sides) != 2 or sides[0] == sides[1] or not all(map(_WORD.search, sides)):
        return False
    if _OF_AUTHORS.search(inside) or _GOES_ON.match(sides[1]):
        return False
    # `fMRI` beside its long form, and two doses or groups of n: one wording is no other one of the same
    numbers, capitals = zip(
        *((_NUMBER.findall(side), any(map(str.isupper, side[1:]))) for side in sides), strict=True
    )
    short, long = sorted(map(len, sides))
    is_lopsided = long > _LONGER * short and long - short >= _LONGER_BY
    return numbers[0] == numbers[1] and capitals[0] == capitals[1] and not is_lopsided

# ruff: noqa: RUF001, RUF002, RUF003  # letters that look like others are what it is about
"""How texts look: what a person who compares two of them cannot see, or takes for an artefact of typing. Pure."""

import re
import unicodedata

from experiment.domain.item_checks.characters import INVISIBLE, code_point
from lib.names import LIKE

# Of what people take for one another in names, what readers of an abstract tell apart: β is no B, and α no a
_TOLD_APART = "αγικρυχк"
_SIGNS = (
    ("ν", "v"),
    ("∑∏∆∼⋅•‧∙", "ΣΠΔ~····"),
    ("´‚‛‹›ʻʽˈ", "'" * 8),
    ("“”„‟«»″〝〞", '"' * 9),
    ("﹘﹣－", "-" * 3),
)
# Compatibility would make 10² the same as 102, which anybody can tell apart
_RAISED = {"<super>": "^", "<sub>": "_"}
_TABLE = {
    ord(a): b
    for theirs, ours in (*LIKE, *_SIGNS)
    for a, b in zip(theirs, ours, strict=True)
    if a not in _TOLD_APART
} | {
    n: f"{mark}{unicodedata.normalize('NFKC', chr(n))}"
    for n in range(0xA0, 0xAC00)
    if (mark := _RAISED.get(unicodedata.decomposition(chr(n)).split(" ")[0]))
}
_BLANKS = re.compile(r"[\s\u2800]+")
MOST_NAMED = 3  # characters


def looks(text: str) -> str:
    """The same for texts that look the same.

    Blanks, quotation marks, and hyphens with dashes are each one; ligatures are taken apart, and marks set on their letters; letters of
    another script stand for the Latin ones that they look like.

    >>> looks("ﬁxed “naïve”\u00a0 3–5") == looks('fixed "nai\u0308ve" 3-5')
    True
    >>> looks("10²") == looks("102"), looks("β") == looks("B")
    (False, False)
    """
    seen = unicodedata.normalize("NFKC", INVISIBLE.sub("", text).translate(_TABLE))
    return _BLANKS.sub(" ", seen.translate(_TABLE))


def typed_with(one: str, other: str) -> str:
    """By which characters two texts differ that look the same.

    >>> typed_with("nai\u0308ve", "naïve")
    'U+0308 COMBINING DIAERESIS, U+00EF LATIN SMALL LETTER I WITH DIAERESIS'
    >>> typed_with("a  b", "a b")
    'the number of spaces'
    """
    only = [char for char in dict.fromkeys(one + other) if (char in one) != (char in other)]
    # A plain letter or space is no news: the other character is
    only = [char for char in only if not char.isascii()] or only
    names = (f"{code_point(c)} {unicodedata.name(c, '')}".strip() for c in only[:MOST_NAMED])
    return ", ".join(names) or "the number of spaces"

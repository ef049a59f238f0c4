"""Lines that a PDF or a mail broke, joined to one, with the words that were divided at their ends. Pure.

static/js/editor/pasting.js does the same where a text is typed.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

# A word is tried from its first letter only, and once
_DIVIDED = re.compile(r"(?<!\w)(\w++)([-\u2010\u00ad])[ \t]*+\n\s*+(\w++)")
_WORD = re.compile(r"\w++")
_HYPHENATED = re.compile(r"(?<!\w)\w++-(?=(\w++))")
# First parts of compounds, which keep their hyphen wherever a line ends
_COMPOUND = frozenset(
    [
        "age",
        "all",
        "cost",
        "cross",
        "dose",
        "double",
        "five",
        "four",
        "full",
        "half",
        "high",
        "ill",
        "large",
        "long",
        "low",
        "medium",
        "non",
        "one",
        "open",
        "part",
        "post",
        "pre",
        "real",
        "risk",
        "self",
        "short",
        "single",
        "six",
        "small",
        "so",
        "state",
        "task",
        "three",
        "time",
        "two",
        "up",
        "well",
    ]
)


@dataclass(frozen=True)
class Words:
    """The words of a text, in lower case: `hyphenated` are its pairs, `of-the` of `state-of-the-art` too, in order."""

    whole: frozenset[str]
    hyphenated: Sequence[str]

    @classmethod
    def of(cls, text: str) -> Self:
        text = text.lower()
        pairs = {found[0] + found[1] for found in _HYPHENATED.finditer(text)}
        return cls(frozenset(_WORD.findall(text)), sorted(pairs))

    def has_beginning(self, pair: str) -> bool:
        """True if a pair begins with this one: `T-cell` of `T-cells`."""
        at = bisect_left(self.hyphenated, pair)
        return self.hyphenated[at : at + 1] != [] and self.hyphenated[at].startswith(pair)


def joined(text: str, around: Words | None = None) -> tuple[str, list[str]]:
    """The text on one line, and what was done for it, in words.

    A hyphen at a line's end stays where the word has one elsewhere or is known to, else it goes; each is named, because only a person
    knows. around: where else the words may be.

    >>> joined("Long-\\nterm hippo-\\ncampal\\nchanges [[rose, fell]].")[0]
    'Long-term hippocampal changes [[rose, fell]].'
    """
    known = around or Words.of(text)
    words: list[str] = []

    def together(found: re.Match[str]) -> str:
        first, hyphen, last = found.groups()
        kept = hyphen != "\u00ad" and _keeps(first, last, known)
        words.append(f"{first}-{last}" if kept else first + last)
        return words[-1]

    n_lines = len([line for line in text.split("\n") if line.strip()])
    line = " ".join(_DIVIDED.sub(together, text).split())
    said = [f"{n_lines} lines were joined"] if n_lines > 1 else []
    if words:
        said.append(f"at the ends of lines, these words were put together: {', '.join(words)}")
    return line, said


def _keeps(first: str, last: str, known: Words) -> bool:
    """Names and numbers keep their hyphen: `T-cell`, `5-HT`, `CA1-projecting`."""
    if (first + last).lower() in known.whole:
        return False
    is_name = not last[0].islower() or not first[1:].islower()
    is_known = first.lower() in _COMPOUND or known.has_beginning(f"{first}-{last}".lower())
    return is_name or is_known

"""Lines that a PDF or a mail broke, joined to one, with the words that were divided at their ends. Pure.

static/js/editor/pasting.js does the same where a text is typed.
"""

import re

_BREAK = re.compile(r"[ \t]*\n\s*")
_DIVIDED = re.compile(r"(\w+)([-\u2010\u00ad])[ \t]*\n\s*(\w+)")
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


def joined(text: str, around: str = "") -> tuple[str, list[str]]:
    """The text on one line, and what was done for it, in words.

    A hyphen at a line's end stays where the word has one elsewhere or is known to, else it goes; each is named, because only a person
    knows. around: where else the words may be.

    >>> joined("Long-\\nterm hippo-\\ncampal\\nchanges [[rose, fell]].")[0]
    'Long-term hippocampal changes [[rose, fell]].'
    """
    whole = _BREAK.sub(" ", around or text)
    words: list[str] = []

    def together(found: re.Match[str]) -> str:
        first, hyphen, last = found.groups()
        kept = hyphen != "\u00ad" and _keeps(first, last, whole)
        words.append(f"{first}-{last}" if kept else first + last)
        return words[-1]

    n_lines = len([line for line in text.split("\n") if line.strip()])
    line = " ".join(_DIVIDED.sub(together, text).split())
    said = [f"{n_lines} lines were joined"] if n_lines > 1 else []
    if words:
        said.append(f"at the ends of lines, these words were put together: {', '.join(words)}")
    return line, said


def _keeps(first: str, last: str, text: str) -> bool:
    """Names and numbers keep their hyphen: `T-cell`, `5-HT`, `CA1-projecting`."""
    if re.search(rf"\b{first}{last}\b", text, re.I):
        return False
    is_name = not last[0].islower() or not first[1:].islower()
    return is_name or first.lower() in _COMPOUND or f"{first}-{last}".lower() in text.lower()

"""Where an abstract's sentences begin and end. The splitter is sentencex; docs/decisions/0006 says why, and our rules.

Our rules, for what scientific abstracts are full of:

1. `<` and `>` are signs of comparison. sentencex reads `<6 h … (n = 3)` as a bracket that is left uncut.
2. An acronym ends a sentence before a capital letter (`in the SC. Together …`). sentencex takes some for abbreviations.
3. There is no new sentence without whitespace before it (`Brn3a.Cre`).
"""

import re

from sentencex import get_sentence_boundaries

LANGUAGE = "en"
_COMPARISONS = str.maketrans("<>", "~~")  # one for one: every offset stays
_ACRONYM_END = re.compile(r"(?<![\w.])[A-Z][A-Z0-9]+\.\s+(?=[A-Z])")


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of every sentence, in characters, without the whitespace around it; nothing else is left out.

    >>> text = "Rats slept. Mice, however, did not."
    >>> [text[start:end] for start, end in sentence_spans(text)]
    ['Rats slept.', 'Mice, however, did not.']
    >>> len(sentence_spans("Those who slept <6 h were fine (n = 3). Others projected to the SC. They were not."))
    3
    """
    found = get_sentence_boundaries(LANGUAGE, text.translate(_COMPARISONS))
    starts = {int(sentence["start_index"]) for sentence in found}
    starts |= {match.end() for match in _ACRONYM_END.finditer(text)}
    inside = (at for at in starts if 0 < at < len(text))
    cuts = sorted(at for at in inside if text[at].isspace() or text[at - 1].isspace())
    pieces = zip([0, *cuts], [*cuts, len(text)], strict=True)
    return [span for start, end in pieces if (span := _trimmed(text, start, end))]


def _trimmed(text: str, start: int, end: int) -> tuple[int, int] | None:
    piece = text[start:end]
    if not (core := piece.strip()):
        return None
    start += piece.index(core)
    return start, start + len(core)

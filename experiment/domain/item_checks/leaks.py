"""Words of the original that stand elsewhere in the unaltered text, where the altered ones do not. Pure.

A reader who knows nothing of the field finds the answer by looking for the word that comes again.
"""

from collections.abc import Iterator

from experiment.domain.item_checks.context import Context
from experiment.domain.item_checks.findings import Finding, Level, Place
from experiment.domain.item_checks.layout import placed, unaltered
from experiment.domain.item_checks.words import Word, content_words, has_direction, is_name
from experiment.domain.markup import Abstract

# A name is the same thing everywhere. Other words, and most of all `increased`, are said of many things in one
# abstract: they count where so many words around them are the same.
MIN_SHARED_OF_WORD, MIN_SHARED_OF_DIRECTION = 1, 2
REASON = (
    "Whoever finds the same word again in the unaltered text knows the answer without knowing the field: "
    "change that place too, or choose other words."
)


def check_leaks(abstract: Abstract) -> Iterator[Finding]:
    """Warnings, one for an alternation, at the place elsewhere.

    >>> from experiment.domain.markup import parse
    >>> text = "We recorded. Activity was in the [[amygdala, insula]]. So amygdala activity matters."
    >>> [(f.quote, f.place.start) for f in check_leaks(parse(text))]
    [('amygdala', 46)]
    """
    every = [
        Word(word.text, word.stem, word.start + at)
        for at, text in unaltered(abstract)
        for word in content_words(text)
    ]
    stems = {word.stem for word in every}
    context = Context(abstract.original)
    for one in placed(abstract):
        mine, other = ({w.stem for w in content_words(side)} for _, side in one.sides)
        # With a word of the altered passage in the text too, either version may be the one that fits
        if (other - mine) & stems:
            continue
        near = context.around(one.original.start, one.original.end)
        for word in every:
            if word.stem not in mine - other:
                continue
            shared = near & context.around(word.start, word.end)
            if len(shared) >= _least_shared(word):
                yield _finding(one.n, word)
                break


def _least_shared(word: Word) -> int:
    if is_name(word.text):
        return 0
    return MIN_SHARED_OF_DIRECTION if has_direction(word) else MIN_SHARED_OF_WORD


def _finding(n: int, word: Word) -> Finding:
    message = (
        f"alternation {n}: “{word.text}” stands in the unaltered text too, the altered words do not"
    )
    at = Place("original", word.start, word.end)
    return Finding("decodable", Level.WARNING, message, REASON, word.text, at)

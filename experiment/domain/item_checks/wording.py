"""Passages that give the answer away by their words: articles, ends of sentences, verbs, words that stand elsewhere. Pure."""

import re
from collections.abc import Iterator

from experiment.domain.item_checks.findings import (
    Context,
    Finding,
    Level,
    Place,
    Placed,
    placed,
    unaltered,
    versions,
)
from experiment.domain.item_checks.words import (
    AUXILIARIES,
    FUNCTION_WORDS,
    NEGATIONS,
    REPORTING,
    Word,
    content_words,
    has_direction,
    is_name,
    is_verb_of_direction,
    words,
)
from experiment.domain.markup import Abstract

# A capital A within a sentence is a label, as in `group A`
_ARTICLE = re.compile(r"((?<![\w.-])an?|(?:(?<=^)|(?<=[.!?]\s))An?)\s+[“\"'(]?([^\W_][\w.-]*)")
# Sounds, not letters: `a uniform`, `a one-way`, `an hour`, `an 8-week`
_LIKE_YOU = re.compile(
    r"uni(?!n|m[pmb]|dent)|use|usu|usab|usag|uti|uter|urin|ura|ubiq|eu|ewe|one\b|once|one-|ure",
    re.I,
)
_SILENT_H = re.compile(r"hour|honest|honou?r|heir", re.I)
_NUMBER_WITH_VOWEL = re.compile(r"8|1[18](?:\D|$|\d{3}(?:\D|$))")
# Of a letter that is read out; the others are read alike as a letter and as a word
_UNSURE_LETTERS = "FHLMNRSUX"


def check_articles(abstract: Abstract) -> Iterator[Finding]:
    """Warnings: an article that fits one passage alone gives the answer away.

    >>> from experiment.domain.markup import parse
    >>> [f.quote for f in check_articles(parse("We saw a [[rise, increase]] and an effect."))]
    ['a increase']
    """
    alternations = placed(abstract)
    for side, (name, text) in enumerate(versions(abstract)):
        places = [one.sides[side][0] for one in alternations]
        for found in _ARTICLE.finditer(text):
            is_near = any(at.start < found.end() and found.start() < at.end for at in places)
            wanted = article_of(found[2])
            if is_near and wanted and found[1].lower() != wanted:
                yield Finding(
                    "article",
                    Level.WARNING,
                    f"“{found[0]}” in the {name} version; it should be “{wanted}”",
                    "An article that fits only one of the passages reveals the answer.",
                    found[0],
                    Place("original" if side == 0 else "altered", found.start(), found.end()),
                )


def article_of(word: str) -> str:
    """`a` or `an`; empty where people differ, as about an abbreviation.

    >>> [article_of(word) for word in ("increase", "uniform", "hour", "8-week", "PFC", "mRNA")]
    ['an', 'a', 'an', 'an', 'a', '']
    """
    if word[0].isdigit():
        return "an" if _NUMBER_WITH_VOWEL.match(word) else "a"
    head = re.split(r"[-.]", word)[0]
    if len(head) == 1 or any(char.isupper() for char in head[1:]):
        if head[0].islower() or head[0] in _UNSURE_LETTERS:
            return ""
        return "an" if head[0] in "AEIO" else "a"
    if not word[0].isascii():
        return ""
    if _LIKE_YOU.match(word):
        return "a"
    return "an" if word[0].lower() in "aeiou" or _SILENT_H.match(word) else "a"


# Where a program cuts alternations wrongly, as at every comma, it leaves passages like these
_SENTENCE_END = re.compile(r"(?:^|[.!?][)\]”\"']*\s+)$")
_ENDS = re.compile(r"[.!?][)\]”\"']*$")
_FIRST = re.compile(r"[(\[“\"']*([^\W_][\w-]*)")
_JOINING = frozenset({"and", "or", "but", "nor", "while", "whereas"})
_BORDER = re.compile(r"^[,;:.)\]]|[,;:(\[]$")
REASON = "An incomplete sentence reveals the altered version without knowledge of the field."


def check_boundaries(abstract: Abstract) -> Iterator[Finding]:
    """Warnings: a sentence that begins small, an end in one passage alone, a passage cut at a comma.

    >>> from experiment.domain.markup import parse
    >>> [f.code for f in check_boundaries(parse("Rats slept. [[In all, we]] they ran."))]
    ['sentence_start']
    >>> [f.code for f in check_boundaries(parse("However, [[rats, but not mice]], slept."))]
    ['cut_passage']
    """
    for one in placed(abstract):
        yield from _starts(one, abstract)
        one_ends, other_ends = (bool(_ENDS.search(side)) for _, side in one.sides)
        if one_ends != other_ends:
            yield one.warning(
                "sentence_end", "only one of the passages ends with its sentence", REASON
            )
        starts = [_FIRST.match(side) for _, side in one.sides]
        joins = [first is not None and first[1].lower() in _JOINING for first in starts]
        borders = [_BORDER.findall(side) for _, side in one.sides]
        if joins[0] != joins[1] or borders[0] != borders[1]:
            yield one.warning(
                "cut_passage",
                "one passage begins or ends in the middle of a phrase, the other does not",
                REASON,
            )


def _starts(one: Placed, abstract: Abstract) -> Iterator[Finding]:
    for (at, side), (name, text) in zip(one.sides, versions(abstract), strict=True):
        first = _FIRST.match(side)
        if first is None or not first[1][0].islower() or is_name(first[1]):
            continue
        # Without letters before a hyphen, as in `p53` or `β-catenin`, it is spelled so everywhere
        if not first[1].split("-")[0].isascii() or len(first[1].split("-")[0]) == 1:
            continue
        if _SENTENCE_END.search(text[: at.start]):
            message = (
                f"alternation {one.n}: in the {name} version a sentence begins with “{first[1]}”"
            )
            yield Finding("sentence_start", Level.WARNING, message, REASON, side, at)


_NOUN_ENDINGS = ("ion", "ions", "or", "ors", "ory", "ive", "ment", "ments")


def check_verbs(abstract: Abstract) -> Iterator[Finding]:
    """Warnings: a verb of reporting became another; or nothing but verbs was changed in the whole text.

    >>> from experiment.domain.markup import parse
    >>> text = "The results [[suggest, indicate]] that rats [[slept, ran]]."
    >>> [(f.code, f.quote) for f in check_verbs(parse(text))]
    [('trivial_verb', 'suggest | indicate')]
    """
    alternations = placed(abstract)
    of_verbs = []
    for one in alternations:
        differing = _differing(one)
        small = {word.text.lower() for word in differing}
        if small & REPORTING and small <= REPORTING | FUNCTION_WORDS and not small & NEGATIONS:
            yield one.warning(
                "trivial_verb",
                "only the verb of reporting changes, not the finding",
                "A test case asks about the finding, which another verb of reporting does not change.",
            )
        is_of_verbs = all(
            word.text.lower() in AUXILIARIES | REPORTING
            or (is_verb_of_direction(word) and not word.text.lower().endswith(_NOUN_ENDINGS))
            for word in differing
        )
        of_verbs.append(bool(differing) and is_of_verbs)
    if of_verbs and all(of_verbs):
        quotes = "; ".join(one.quote for one in alternations)
        yield Finding(
            "only_verbs",
            Level.WARNING,
            "in the whole text, only verbs of increase and decrease or of reporting, or negations, were changed",
            "Swapping a verb is the easiest alteration to make and to detect. Experts should be asked about more than that.",
            quotes,
        )


def _differing(one: Placed) -> list[Word]:
    """Words of either passage that the other has not."""
    sides = [words(side) for _, side in one.sides]
    small = [{word.text.lower() for word in side} for side in sides]
    return [
        w
        for side, other in zip(sides, small[::-1], strict=True)
        for w in side
        if w.text.lower() not in other
    ]


# A name is the same thing everywhere. Other words, and most of all `increased`, are said of many things in one
# abstract: they count where so many words around them are the same.
MIN_SHARED_OF_WORD, MIN_SHARED_OF_DIRECTION = 1, 2
LEAK_REASON = (
    "Readers who find the same word in the unaltered text know the answer without knowing the field. Change that "
    "place too, or choose other words."
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
            # A name says alone what is meant; other words say it with words that both places have
            least = MIN_SHARED_OF_DIRECTION if has_direction(word) else MIN_SHARED_OF_WORD
            if is_name(word.text) or len(shared) >= least:
                yield Finding(
                    "decodable",
                    Level.WARNING,
                    f"alternation {one.n}: “{word.text}” also occurs in the unaltered text, but the altered words do not",
                    LEAK_REASON,
                    word.text,
                    Place("original", word.start, word.end),
                )
                break

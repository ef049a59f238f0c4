r"""Rebuilds published texts that a faulty parser damaged, and repairs what can be repaired with certainty.

The published versions were made by taking each `\[\[(.*?)\]\]` and the first two pieces of a split at
*every* comma. An abstract with a comma inside a passage, or with a bracket missing, came out damaged: what
people and models judged is not what its authors meant.
"""

import re
from collections.abc import Iterator

from experiment.domain.markup import Alternation, MarkupError, Plain, Segment, parse, render

ALTERNATION = re.compile(r"\[\[(.*?)\]\]", re.DOTALL)
HALF_CLOSED = re.compile(r"\[\[([^\[\]]*)\](?!\])")


def as_published(combined: str) -> tuple[Segment, ...] | None:
    """The segments that the faulty parser made; None where it made no two passages.

    >>> as_published("It was [[now, then, then, now]].")[1]
    Alternation(original='now', altered='then')
    """
    segments: list[Segment] = []
    for text, inside in _pieces(combined):
        if not inside:
            segments.append(Plain(text))
            continue
        passages = [passage.strip() for passage in text.split(",")]
        if len(passages) < 2:
            return None
        segments.append(Alternation(passages[0], passages[1]))
    return tuple(segments)


def published_markup(combined: str, original: str, altered: str) -> str | None:
    """Markup of the versions as published, if the known fault of their parser explains them."""
    segments = as_published(combined)
    if segments is None:
        return None
    markup = render(segments)
    return markup if reads_as(markup, original, altered) else None


def reads_as(markup: str, original: str, altered: str) -> bool:
    """True if it gives these versions by itself."""
    try:
        abstract = parse(markup)
    except MarkupError:
        return False
    return (abstract.original, abstract.altered) == (original, altered)


def repair(combined: str, counterpart: str | None) -> str | None:
    """Markup with every split explicit, where the splits are certain; else None.

    Where the other set has the same abstract, `counterpart` is its original: exactly one choice of splits has
    to give it. Without it only an odd number of commas is certain: both passages hold equally many.

    >>> repair("It was [[no, not now, yes, quite now]].", None)
    'It was [[no, not now | yes, quite now]].'
    >>> repair("It [[did, but late, did not]].", None)
    >>> repair("It [[did, but late, did not]].", "It did, but late.")
    'It [[did, but late | did not]].'
    """
    try:
        return render(parse(combined).segments)
    except MarkupError as error:
        if error.code != "ambiguous":
            return None  # where a bracket is wrong, nothing inside it is certain
    options: list[list[Segment]] = [
        _splits(text) if inside else [Plain(text)] for text, inside in _pieces(combined)
    ]
    if counterpart is not None:
        choices = _choices_giving(counterpart, options)
        return _checked(choices[0]) if len(choices) == 1 else None
    if all(len(choice) % 2 for choice in options):
        return _checked([choice[len(choice) // 2] for choice in options])
    return None


def close_bracket(combined: str) -> str | None:
    """The text with its half-closed alternations closed, if that makes it readable: a suggestion, no more.

    >>> close_bracket("It [[fell, rose] at first, then [[rose, fell]].")
    'It [[fell, rose]] at first, then [[rose, fell]].'
    """
    closed = HALF_CLOSED.sub(r"[[\1]]", combined)
    try:
        parse(closed)
    except MarkupError:
        return None
    return closed


def _pieces(combined: str) -> Iterator[tuple[str, bool]]:
    """Stretches of text, and whether each is the inside of an alternation."""
    for n, text in enumerate(ALTERNATION.split(combined)):
        if n % 2 or text:
            yield text, bool(n % 2)


def _splits(inside: str) -> list[Segment]:
    """Every split, in the order of its comma: the middle one is in the middle."""
    pieces = inside.split(",")
    return [
        Alternation(",".join(pieces[:i]).strip(), ",".join(pieces[i:]).strip())
        for i in range(1, len(pieces))
    ]


def _choices_giving(original: str, options: list[list[Segment]]) -> list[list[Segment]]:
    """All choices of splits whose original is this one."""
    # Paths are (choices so far, characters of the original they account for).
    paths: list[tuple[list[Segment], int]] = [([], 0)]
    for choice in options:
        paths = [
            ([*chosen, segment], at + len(text))
            for chosen, at in paths
            for segment in choice
            if original.startswith(text := _original(segment), at)
        ]
    return [chosen for chosen, at in paths if at == len(original)]


def _original(segment: Segment) -> str:
    return segment.text if isinstance(segment, Plain) else segment.original


def _checked(segments: list[Segment]) -> str | None:
    """Markup that reads back to the same segments."""
    markup = render(segments)
    try:
        return markup if parse(markup).segments == tuple(segments) else None
    except MarkupError:
        return None

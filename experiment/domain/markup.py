r"""An abstract with alternations, `[[original, altered]]`, and the two versions it stands for.

Grammar::

    text        = (plain | alternation)*
    alternation = "[[" passage separator passage "]]"
    separator   = "," (only when the alternation holds exactly one)  |  " | " (whitespace on both sides)

A pipe separator wins over commas. A backslash makes `[`, `]`, `|`, `,` or `\` an ordinary character and is
itself ordinary before anything else. Single brackets are ordinary text; of three brackets in a row the outer
two are the markup. Passages are trimmed of surrounding whitespace.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice
from typing import Literal

from experiment.domain.assignment import Side
from experiment.domain.single_brackets import single_pairs

WHITESPACE = " \t\r\n"
_ESCAPE = r"\\([\[\]|,\\])"
# An escape is matched first, so that what it escapes is no bracket and no separator
_ESCAPES = re.compile(_ESCAPE)
_BRACKETS = re.compile(rf"{_ESCAPE}|\[\[+|\]\]+")
_PIPES = re.compile(rf"{_ESCAPE}|(?<=[{WHITESPACE}])\|(?=[{WHITESPACE}])")
_COMMAS = re.compile(rf"{_ESCAPE}|,")
MAX_CHARACTERS = 20_000
MAX_CANDIDATES_SHOWN = 6  # enough to show a person what the choice is between
_MOST_PATHS = 20  # that lead through a text of known versions; one of a person has one or two


class MarkupError(ValueError):
    """The text cannot be read; `code`, `line` and `column` (both from 1) say what and where."""

    def __init__(
        self,
        code: str,
        message: str,
        line: int,
        column: int,
        candidates: Sequence["Alternation"] = (),
    ) -> None:
        self.code, self.reason, self.line, self.column = code, message, line, column
        self.candidates = tuple(candidates)
        shown = "".join(
            f"\n  {n}. original “{c.original}” / altered “{c.altered}”"
            for n, c in enumerate(self.candidates[:MAX_CANDIDATES_SHOWN], start=1)
        )
        super().__init__(f"line {line}, column {column}: {message}{shown}")


@dataclass(frozen=True, slots=True)
class Plain:
    """Text common to both versions."""

    text: str


@dataclass(frozen=True, slots=True)
class Alternation:
    """A place where the versions differ."""

    original: str
    altered: str


Segment = Plain | Alternation


@dataclass(frozen=True)
class Abstract:
    """A parsed text.

    >>> parse("Rats [[slept, ran]] more.").altered
    'Rats ran more.'
    """

    segments: tuple[Segment, ...]

    @cached_property
    def original(self) -> str:
        return "".join(s.text if isinstance(s, Plain) else s.original for s in self.segments)

    @cached_property
    def altered(self) -> str:
        return "".join(s.text if isinstance(s, Plain) else s.altered for s in self.segments)

    @property
    def alternations(self) -> tuple[Alternation, ...]:
        return tuple(s for s in self.segments if isinstance(s, Alternation))


@dataclass(frozen=True, slots=True)
class _Raw:
    """A stretch of text, escapes and separators as they were written; `start` is its offset in the markup."""

    text: str
    start: int
    is_alternation: bool


def parse(markup: str, original: str | None = None, altered: str | None = None) -> Abstract:
    """Read a text with alternations.

    Args:
        markup: the text.
        original, altered: the two versions, where they are known from elsewhere; they settle splits
            that the markup leaves open, and must be reproduced exactly.
    Raises:
        MarkupError: empty_text, too_long, unbalanced, nested, no_alternation, no_separator, ambiguous,
            empty_passage, equal_passages, mismatch.

    >>> parse("It was [[1,000 | 2,000]] cells.").original
    'It was 1,000 cells.'
    >>> parse("[[no, but some, some, but no]] cells", "no, but some cells", "some, but no cells").altered
    'some, but no cells'
    """
    if not markup.strip():
        raise MarkupError("empty_text", "the text is empty", 1, 1)
    if len(markup) > MAX_CHARACTERS:
        message = f"{len(markup):,} characters are more than {MAX_CHARACTERS:,}"
        raise _error("too_long", message, markup, MAX_CHARACTERS)
    if (original is None) != (altered is None):
        raise TypeError("give both versions or neither")
    raws = list(_scan(markup))
    if not any(raw.is_alternation for raw in raws):
        raise _none(markup)
    if original is None or altered is None:
        chosen = []
        for raw in raws:
            first, *others = islice(_splits(raw, markup), 2)
            if others:
                raise _ambiguous(raw, markup, "several separators; write [[original | altered]]")
            chosen.append(first)
    else:
        chosen = _reproduce(raws, markup, original, altered)
    for segment, raw in zip(chosen, raws, strict=True):
        _check_passages(segment, raw, markup)
    return Abstract(tuple(chosen))


def render(segments: Sequence[Segment]) -> str:
    """Write segments as markup that `parse` reads back to the same segments.

    The comma spelling is used where no passage holds a comma, the pipe spelling otherwise.

    >>> render([Plain("a "), Alternation("b", "c")]), render([Alternation("1,0", "2")])
    ('a [[b, c]]', '[[1,0 | 2]]')
    """
    parts = []
    for n, segment in enumerate(segments):
        if isinstance(segment, Plain):
            parts.append(_escape_plain(segment.text, after=n > 0, before=n + 1 < len(segments)))
        else:
            separator = " | " if "," in segment.original + segment.altered else ", "
            sides = (
                _escape(side, [i for i, char in enumerate(side) if char == "|"])
                for side in (segment.original, segment.altered)
            )
            parts.append(f"[[{separator.join(sides)}]]")
    return "".join(parts)


def place(markup: str, offset: int) -> tuple[int, int]:
    """Line and column, both from 1, of an offset.

    >>> place("ab\\ncd", 4)
    (2, 2)
    """
    before = markup[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def offset(markup: str, line: int, column: int) -> int:
    """The offset of a line and column, both from 1: the inverse of `place`.

    >>> offset("ab\\ncd", 2, 2)
    4
    """
    return sum(len(text) + 1 for text in markup.split("\n")[: line - 1]) + column - 1


def written_at(
    markup: str, version: Literal["original", "altered"], start: int, end: int
) -> tuple[int, int]:
    r"""Where a stretch of one version stands in a markup that `parse` reads: of an alternation, the whole of it.

    >>> written_at("It [[rose, fell]] by 2.", "altered", 3, 10), written_at(r"a\[b [[c, d]]", "original", 2, 3)
    ((3, 20), (3, 4))
    """
    raws = list(_scan(markup))
    ends = [*(raw.start for raw in raws[1:]), len(markup)]
    found: list[int] = []
    at = 0
    for raw, raw_end, segment in zip(raws, ends, parse(markup).segments, strict=True):
        text = segment.text if isinstance(segment, Plain) else getattr(segment, version)
        if start < at + len(text) and end > at:
            if raw.is_alternation:
                found += (raw.start, raw_end)
            else:
                inner = max(start - at, 0), min(end - at, len(text))
                found += (raw.start + _with_escapes(raw.text, n) for n in inner)
        at += len(text)
    return (found[0], found[-1]) if found else (len(markup), len(markup))


def _with_escapes(text: str, n: int) -> int:
    """The offset, in what was written, of the nth character that is read."""
    for escape in _ESCAPES.finditer(text):
        if escape.start() >= n:
            break
        n += 1
    return n


def _error(
    code: str, message: str, markup: str, offset: int, candidates: Sequence[Alternation] = ()
) -> MarkupError:
    return MarkupError(code, message, *place(markup, offset), candidates)


def _none(markup: str) -> MarkupError:
    """No alternation, but perhaps one in single brackets."""
    message = "no [[original, altered]] in the text"
    if pair := next(single_pairs(markup), None):
        message += f", only single brackets: write “{pair.doubled}” in place of “{pair.written}”"
        return _error("no_alternation", message, markup, pair.start)
    return MarkupError("no_alternation", message, 1, 1)


def _scan(markup: str) -> Iterator[_Raw]:
    """Cut the markup at its double brackets."""
    start = begun = 0  # of the stretch, and of its content
    is_open = False
    for found in _BRACKETS.finditer(markup):
        i, run = found.start(), found.end() - found.start()
        if markup[i] == "[":
            if is_open or run > 3:
                message = "[[ inside an alternation; the one before was not closed"
                raise _error("nested", message, markup, i if is_open else i + 2)
            if begun < i:
                yield _Raw(markup[begun:i], start, is_alternation=False)
            start, begun, is_open = i, i + 2, True
        elif markup[i] == "]":
            if not is_open:
                message = "]] without [[ (write \\] for a bracket that belongs to the text)"
                raise _error("unbalanced", message, markup, i)
            if run > 3:
                raise _error("unbalanced", f"{run} closing brackets in a row", markup, i)
            yield _Raw(markup[begun : i + run - 2], start, is_alternation=True)
            start = begun = i + run
            is_open = False
    if is_open:
        raise _error("unbalanced", "[[ is never closed", markup, start)
    if begun < len(markup):
        yield _Raw(markup[begun:], start, is_alternation=False)


def _splits(raw: _Raw, markup: str) -> Iterator[Segment]:
    """Every way to read a stretch; one where it is unambiguous. Built one by one: commas alone give as many as there are."""
    text = _ESCAPES.sub(r"\1", raw.text)
    if not raw.is_alternation:
        yield Plain(text)
        return
    marks = _places(_PIPES, raw.text) or _places(_COMMAS, raw.text)
    if not marks:
        message = "an alternation needs “, ” or “ | ” (with the spaces) between its passages"
        raise _error("no_separator", message, markup, raw.start)
    for i in marks:
        yield Alternation(text[:i].strip(WHITESPACE), text[i + 1 :].strip(WHITESPACE))


def _places(separator: re.Pattern[str], text: str) -> list[int]:
    """Where, in the text without its backslashes, a separator stands that is not escaped."""
    marks = [*separator.finditer(text)]
    n_escapes = accumulate(bool(mark[1]) for mark in marks)
    return [m.start() - n for m, n in zip(marks, n_escapes, strict=True) if not m[1]]


def _ambiguous(raw: _Raw, markup: str, message: str) -> MarkupError:
    options = islice(_splits(raw, markup), MAX_CANDIDATES_SHOWN)
    candidates = [option for option in options if isinstance(option, Alternation)]
    return _error("ambiguous", message, markup, raw.start, candidates)


_Chain = tuple["_Chain", Segment] | None  # the choices so far, the last one outermost


def _reproduce(raws: list[_Raw], markup: str, original: str, altered: str) -> list[Segment]:
    """The one choice of splits that gives both versions."""
    several = "several splits give the original and altered texts"
    # By the characters consumed of each version, two ways to come so far; plain text prunes wrong ones at once.
    paths: dict[tuple[int, int], list[_Chain]] = {(0, 0): [None]}
    for raw in raws:
        grown: dict[tuple[int, int], list[_Chain]] = {}
        for segment in _splits(raw, markup):
            one = segment.text if isinstance(segment, Plain) else segment.original
            other = segment.text if isinstance(segment, Plain) else segment.altered
            for (i, j), chains in paths.items():
                if original.startswith(one, i) and altered.startswith(other, j):
                    reached = grown.setdefault((i + len(one), j + len(other)), [])
                    reached += [(chain, segment) for chain in chains][: 2 - len(reached)]
            if len(grown) > _MOST_PATHS:
                raise _ambiguous(raw, markup, several)
        if not grown:
            if len([*islice(_splits(raw, markup), 2)]) > 1:
                message = "several separators, and no split gives the original and altered texts"
                raise _ambiguous(raw, markup, message)
            message = "from here on, the original and altered texts differ from those of the markup"
            raise _error("mismatch", message, markup, raw.start)
        paths = grown
    complete = [_choices(chain) for chain in paths.get((len(original), len(altered)), [])]
    if not complete:
        message = "the original or altered text continues after the end of the markup"
        raise _error("mismatch", message, markup, len(markup))
    if len(complete) > 1:
        n = next(n for n in range(len(raws)) if complete[0][n] != complete[1][n])
        raise _ambiguous(raws[n], markup, several)
    return complete[0]


def _choices(chain: _Chain) -> list[Segment]:
    found: list[Segment] = []
    while chain is not None:
        chain, segment = chain
        found.append(segment)
    return found[::-1]


def _check_passages(segment: Segment, raw: _Raw, markup: str) -> None:
    if isinstance(segment, Plain):
        return
    if not segment.original or not segment.altered:
        raise _error("empty_passage", "a passage is empty", markup, raw.start)
    if segment.original == segment.altered:
        message = f"both passages read “{segment.original}”"
        raise _error("equal_passages", message, markup, raw.start)


def _escape(text: str, also: Iterable[int] = ()) -> str:
    """Put a backslash before the characters at `also` and before all that would read as markup anywhere."""
    marked = set(also)
    marked.update(m.start() for m in re.finditer(r"\\(?=[\[\]|,\\]|\Z)", text))
    for run in re.finditer(r"\[{2,}|\]{2,}", text):
        marked.update(range(*run.span()))
    if not marked:
        return text
    return "".join("\\" + char if i in marked else char for i, char in enumerate(text))


def _escape_plain(text: str, *, after: bool, before: bool) -> str:
    """Escape plain text; a bracket that touches an alternation would join its brackets."""
    touching = []
    if after and text.startswith("]"):
        touching.append(0)
    if before and text.endswith("["):
        touching.append(len(text) - 1)
    return _escape(text, touching)


@dataclass(frozen=True, slots=True)
class ShownSegment:
    """Plain text, or the two passages of an alternation by side."""

    text: str = ""
    side_a: str = ""
    side_b: str = ""

    @property
    def is_alternation(self) -> bool:
        return bool(self.side_a)


def by_side(segments: Iterable[Segment], original_side: Side) -> list[ShownSegment]:
    """Put the original passages on `original_side` and the altered ones on the other.

    >>> from experiment.domain.markup import parse
    >>> [s.side_a or s.text for s in by_side(parse("It [[rose, fell]].").segments, "B")]
    ['It ', 'fell', '.']
    """
    shown = []
    for segment in segments:
        if isinstance(segment, Plain):
            shown.append(ShownSegment(text=segment.text))
        else:
            sides = (segment.original, segment.altered)
            shown.append(ShownSegment("", *(sides if original_side == "A" else sides[::-1])))
    return shown

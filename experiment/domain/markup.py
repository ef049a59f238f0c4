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

ESCAPABLE = "[]|,\\"
WHITESPACE = " \t\r\n"
# Enough to show a person what the choice is between.
MAX_CANDIDATES_SHOWN = 6


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
class _Char:
    """One character of content; an escaped one is never markup."""

    char: str
    escaped: bool


@dataclass(slots=True)
class _Raw:
    """A stretch of text before its separators are looked at; `start` is its offset in the markup."""

    chars: list[_Char]
    start: int
    is_alternation: bool


def parse(markup: str, original: str | None = None, altered: str | None = None) -> Abstract:
    """Read a text with alternations.

    Args:
        markup: the text.
        original, altered: the two versions, where they are known from elsewhere; they settle splits
            that the markup leaves open, and must be reproduced exactly.
    Raises:
        MarkupError: empty_text, unbalanced, nested, no_alternation, no_separator, ambiguous,
            empty_passage, equal_passages, mismatch.

    >>> parse("It was [[1,000 | 2,000]] cells.").original
    'It was 1,000 cells.'
    >>> parse("[[no, but some, some, but no]] cells", "no, but some cells", "some, but no cells").altered
    'some, but no cells'
    """
    if not markup.strip():
        raise MarkupError("empty_text", "the text is empty", 1, 1)
    if (original is None) != (altered is None):
        raise TypeError("give both versions or neither")
    raws = list(_scan(markup))
    if not any(raw.is_alternation for raw in raws):
        raise MarkupError("no_alternation", "no [[original, altered]] in the text", 1, 1)
    options: list[list[Segment]] = [
        _splits(raw, markup) if raw.is_alternation else [Plain(_text(raw.chars))] for raw in raws
    ]
    if original is None or altered is None:
        chosen = [_only(choice, raw, markup) for choice, raw in zip(options, raws, strict=True)]
    else:
        chosen = _reproduce(options, raws, markup, original, altered)
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
            sides = (_escape_passage(side) for side in (segment.original, segment.altered))
            parts.append(f"[[{separator.join(sides)}]]")
    return "".join(parts)


def place(markup: str, offset: int) -> tuple[int, int]:
    """Line and column, both from 1, of an offset.

    >>> place("ab\\ncd", 4)
    (2, 2)
    """
    before = markup[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def _error(
    code: str, message: str, markup: str, offset: int, candidates: Sequence[Alternation] = ()
) -> MarkupError:
    return MarkupError(code, message, *place(markup, offset), candidates)


def _scan(markup: str) -> Iterator[_Raw]:
    """Cut the markup at its double brackets."""
    current = _Raw([], 0, is_alternation=False)
    i = 0
    while i < len(markup):
        char = markup[i]
        if char == "\\" and markup[i + 1 : i + 2] and markup[i + 1] in ESCAPABLE:
            current.chars.append(_Char(markup[i + 1], escaped=True))
            i += 2
            continue
        run = _run(markup, i) if char in "[]" else 1
        if run < 2:
            current.chars.append(_Char(char, escaped=False))
            i += 1
        elif char == "[":
            if current.is_alternation:
                raise _error(
                    "nested", "[[ inside an alternation; the one before was not closed", markup, i
                )
            yield from _flush(current)
            current = _Raw([], i, is_alternation=True)
            i += 2
        else:
            if not current.is_alternation:
                raise _error(
                    "unbalanced", "]] without [[ (write \\] for a bracket that is text)", markup, i
                )
            if run > 3:
                raise _error("unbalanced", f"{run} closing brackets in a row", markup, i)
            current.chars.extend([_Char("]", escaped=False)] * (run - 2))
            yield current
            i += run
            current = _Raw([], i, is_alternation=False)
    if current.is_alternation:
        raise _error("unbalanced", "[[ is never closed", markup, current.start)
    yield from _flush(current)


def _run(markup: str, i: int) -> int:
    """Length of the run of equal characters that starts at `i`."""
    return len(markup[i:]) - len(markup[i:].lstrip(markup[i]))


def _flush(raw: _Raw) -> Iterator[_Raw]:
    if raw.chars:
        yield raw


def _text(chars: Sequence[_Char]) -> str:
    return "".join(c.char for c in chars)


def _splits(raw: _Raw, markup: str) -> list[Segment]:
    """Every way to read an alternation; one where it is unambiguous."""
    chars = raw.chars
    pipes = [
        i
        for i in range(1, len(chars) - 1)
        if chars[i] == _Char("|", escaped=False)
        and chars[i - 1].char in WHITESPACE
        and chars[i + 1].char in WHITESPACE
    ]
    marks = pipes or [i for i, c in enumerate(chars) if c == _Char(",", escaped=False)]
    if not marks:
        raise _error(
            "no_separator",
            "an alternation needs “, ” or “ | ” (with the spaces) between its passages",
            markup,
            raw.start,
        )
    return [
        Alternation(_text(chars[:i]).strip(WHITESPACE), _text(chars[i + 1 :]).strip(WHITESPACE))
        for i in marks
    ]


def _only(options: list[Segment], raw: _Raw, markup: str) -> Segment:
    if len(options) > 1:
        raise _ambiguous(options, raw, markup, "several separators; write [[original | altered]]")
    return options[0]


def _ambiguous(options: list[Segment], raw: _Raw, markup: str, message: str) -> MarkupError:
    candidates = [option for option in options if isinstance(option, Alternation)]
    return _error("ambiguous", message, markup, raw.start, candidates)


def _reproduce(
    options: list[list[Segment]], raws: list[_Raw], markup: str, original: str, altered: str
) -> list[Segment]:
    """The one choice of splits that gives both versions."""
    # A path is (choices so far, characters consumed of each version); plain text prunes wrong ones at once.
    paths: list[tuple[list[Segment], int, int]] = [([], 0, 0)]
    for choice, raw in zip(options, raws, strict=True):
        grown = []
        for chosen, at_original, at_altered in paths:
            for segment in choice:
                one = segment.text if isinstance(segment, Plain) else segment.original
                other = segment.text if isinstance(segment, Plain) else segment.altered
                if original.startswith(one, at_original) and altered.startswith(other, at_altered):
                    grown.append(
                        ([*chosen, segment], at_original + len(one), at_altered + len(other))
                    )
        if not grown:
            if len(choice) > 1:
                message = "several separators, and no split gives the original and altered texts"
                raise _ambiguous(choice, raw, markup, message)
            message = "the original and altered texts are not what the markup gives from here on"
            raise _error("mismatch", message, markup, raw.start)
        paths = grown
    complete = [path for path, i, j in paths if i == len(original) and j == len(altered)]
    if not complete:
        raise _error(
            "mismatch",
            "the original or altered text goes on after the markup ends",
            markup,
            len(markup),
        )
    if len(complete) > 1:
        n = next(n for n in range(len(raws)) if complete[0][n] != complete[1][n])
        raise _ambiguous(
            options[n], raws[n], markup, "several splits give the original and altered texts"
        )
    return complete[0]


def _check_passages(segment: Segment, raw: _Raw, markup: str) -> None:
    if isinstance(segment, Plain):
        return
    if not segment.original or not segment.altered:
        raise _error("empty_passage", "a passage is empty", markup, raw.start)
    if segment.original == segment.altered:
        raise _error(
            "equal_passages", f"both passages read “{segment.original}”", markup, raw.start
        )


def _escape(text: str, also: Iterable[int] = ()) -> str:
    """Put a backslash before the characters at `also` and before all that would read as markup anywhere."""
    marked = set(also)
    marked.update(m.start() for m in re.finditer(r"\\(?=[\[\]|,\\]|\Z)", text))
    for run in re.finditer(r"\[{2,}|\]{2,}", text):
        marked.update(range(*run.span()))
    return "".join("\\" + char if i in marked else char for i, char in enumerate(text))


def _escape_plain(text: str, *, after: bool, before: bool) -> str:
    """Escape plain text; a bracket that touches an alternation would join its brackets."""
    touching = []
    if after and text.startswith("]"):
        touching.append(0)
    if before and text.endswith("["):
        touching.append(len(text) - 1)
    return _escape(text, touching)


def _escape_passage(text: str) -> str:
    return _escape(text, [i for i, char in enumerate(text) if char == "|"])

"""Abstracts that somebody pastes into a page, as a file that an import reads, and what was read otherwise than it was pasted. Plain Python: no database."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from experiment.domain.item_checks.form import MAX_WORDS
from experiment.domain.item_columns import VERSIONS
from experiment.domain.joined_lines import Words, joined
from experiment.domain.markup import MAX_CHARACTERS
from experiment.domain.single_brackets import single_pairs
from experiment.imports.read.items import NAMES, TEXT
from experiment.imports.read.rows import FileRefusedError
from lib.csv_lines import line_of
from lib.tables import folded, shown

_PARAGRAPHS = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
# Spreadsheets quote a cell with line breaks or tabs as a whole; any other quotation mark is one of the text
_CELL = re.compile(r'"([^"]*(?:""[^"]*)*)"(?=[\t\n]|\Z)|([^\t\n]*)')
_NUMBER = re.compile(r"\s*(?:[(\[](\d{1,3})[)\]]|(\d{1,3})[.):])(?:[ \t]+|\Z)")
_ENDS = re.compile(r"[.!?][)\]”\"']*\s*\Z")
HEADER = [*VERSIONS]
# Of lines that a PDF broke: characters of the longest, alternations counted; and of a usual one, what only a paragraph's last line is below
LONGEST_LINE, SHORT = 200, 0.7


@dataclass(frozen=True)
class Pasted:
    """data: a table as imports read it. said: by number from 1, what was read otherwise than it was pasted."""

    data: bytes
    said: Mapping[int, Sequence[str]] = field(default_factory=dict)


def read_pasted(text: str) -> Pasted:
    r"""Two columns of a spreadsheet, with names of columns or without; else paragraphs of markup.

    Raises:
        FileRefusedError: it is not clear where an abstract begins, or which of its versions is which.

    >>> read_pasted("Rats slept.\tRats ran.").data
    b'original,altered\nRats slept.,Rats ran.\n'
    >>> read_pasted("1. Rats [[slept, ran]].\n\n2. Mice [[ate, hid]].").said
    {1: ['the list number “1.” was left out'], 2: ['the list number “2.” was left out']}
    """
    text = text.replace("\f", "\n").strip()
    rows = _rows(text)
    names = {*map(folded, (*NAMES, *TEXT))}
    if any(folded(cell) in names for cell in rows[0]) and len(rows[0]) > 1:
        return Pasted(b"".join(map(line_of, rows)))
    if len(rows[0]) > 1 and "[[" not in text:
        return _side_by_side(rows)
    said: dict[int, Sequence[str]] = {}
    lines = []
    for number, (abstract, changes) in enumerate(abstracts_of(text, _items), 1):
        abstract, mended = _doubled(abstract)
        changes += mended
        lines.append(f"{json.dumps({'markup': abstract})}\n")
        said |= {number: changes} if changes else {}
    return Pasted("".join(lines).encode(), said)


def abstracts_of(
    text: str, items: Callable[[str, int], list[str]] = lambda part, _: [part]
) -> list[tuple[str, list[str]]]:
    """Abstracts with an empty line between them, each on one line and without its number in a list; and what was changed of each, in words.

    items: where a part holds a list's items without empty lines, these; told of the number that the first would have.
    """
    parts: list[str] = []
    for part in _PARAGRAPHS.split(text.strip()):
        parts += items(part, len(parts) + 1) if part.strip() else []
    found = []
    around = Words.of(text)
    for number, part in enumerate(parts, 1):
        rest, changes = _without_number(part, number)
        # What is too long for an abstract is refused, and stays as it is
        line, joins = joined(rest, around) if len(rest) <= MAX_CHARACTERS else (rest, [])
        found.append((line, [*changes, *joins]))
    return found


def _doubled(abstract: str) -> tuple[str, list[str]]:
    """The abstract with two wordings in single brackets as an alternation, where it has none in double ones; and what was changed.

    >>> _doubled("Recall [rose, fell] in rats [12, 13].")
    ('Recall [[rose, fell]] in rats [12, 13].', ['“[rose, fell]” was read as “[[rose, fell]]”'])
    """
    if "[[" in abstract or len(abstract) > MAX_CHARACTERS:
        return abstract, []
    pairs = [*single_pairs(abstract)]
    for pair in reversed(pairs):
        abstract = abstract[: pair.start] + pair.doubled + abstract[pair.end :]
    return abstract, [f"{shown(one.written)} was read as {shown(one.doubled)}" for one in pairs]


def _has_pair(text: str) -> bool:
    return "[[" in text or any(single_pairs(text))


def _without_number(part: str, number: int) -> tuple[str, list[str]]:
    """An abstract whose own points are numbered keeps these."""
    mark = _NUMBER.match(part)
    if mark is None or int(mark[1] or mark[2]) != number:
        return part, []
    has_next = re.search(rf"(?:^|\s)[(\[]?{number + 1}[.)\]:]\s", part)
    if has_next:
        return part, []
    return part[mark.end() :], [f"the list number {shown(mark[0].strip())} was left out"]


def _items(part: str, first: int) -> list[str]:
    """The items of a numbered list, each with an alternation; else the part, where it is one abstract.

    Raises:
        FileRefusedError: another abstract may begin on a line of its own, as it may between two alternations.
    """
    lines = part.split("\n")
    starts: list[int] = []
    for n, line in enumerate(lines):
        mark = _NUMBER.match(line)
        if mark and int(mark[1] or mark[2]) == first + len(starts):
            starts.append(n)
    ends = pairwise([*starts, len(lines)])
    items = ["\n".join(lines[start:end]) for start, end in ends]
    if len(items) > 1 and starts[0] == 0 and all(map(_has_pair, items)):
        return items
    brackets = "[[" if "[[" in part else "["
    marked = [
        n for n, line in enumerate(lines) if "[[" in line or (brackets == "[" and _has_pair(line))
    ]
    if not marked:
        return [part]
    # A line that begins in lower case goes on with the sentence before it, and so do lines of about one length, as a PDF breaks them
    pairs = list(zip(lines[marked[0] :], lines[marked[0] + 1 : marked[-1] + 1], strict=False))
    short = SHORT * median(map(len, lines))
    begins = [before for before, line in pairs if not re.match(r"\s*[a-zß-öø-ÿ]", line)]
    is_broken = (
        max(map(len, lines)) <= LONGEST_LINE
        and sum(len(line.split()) for line in lines) <= MAX_WORDS
        and len(marked) < len(lines)
        and not all(map(_ENDS.search, lines))
        and not any(_ENDS.search(one) and len(one) < short for one in begins)
    )
    if begins and not is_broken:
        raise FileRefusedError(
            f"Several lines of abstract {first} contain “{brackets}”, so it is not clear where the next abstract begins. Leave an empty line "
            "between abstracts."
        )
    return [part]


def _side_by_side(rows: Sequence[list[str]]) -> Pasted:
    """The original on the left, the altered version on the right, perhaps with a number before them."""
    said: dict[int, Sequence[str]] = {}
    is_numbered = all(
        len(row) == 3 and re.fullmatch(rf"[(\[]?{n}[.)\]:]?", row[0].strip())
        for n, row in enumerate(rows, 1)
    )
    if is_numbered:
        said = {
            n: [f"the list number {shown(row[0])} was left out"] for n, row in enumerate(rows, 1)
        }
        rows = [row[1:] for row in rows]
    versions = []
    for n, row in enumerate(rows, 1):
        if len(row) != 2:
            texts = "1 text" if len(row) == 1 else f"{len(row)} texts beside each other"
            raise FileRefusedError(
                f"Abstract {n} has {texts}. Paste two: the original abstract and the altered one."
            )
        without = [_without_number(cell, n) for cell in row]
        if all(changes for _, changes in without):
            row, said[n] = [cell for cell, _ in without], without[0][1]
        versions.append(row)
    return Pasted(b"".join(map(line_of, (HEADER, *versions))), said)


def _rows(text: str) -> list[list[str]]:
    rows: list[list[str]] = [[]]
    at = 0
    while found := _CELL.match(text, at):
        quoted, plain = found.groups()
        rows[-1].append(plain if quoted is None else quoted.replace('""', '"'))
        at = found.end() + 1
        if at > len(text):
            break
        if text[at - 1] == "\n":
            rows.append([])
    return rows

"""The cells of a CSV file that a spreadsheet would run, with any separator of cells, and with or without quotation marks."""

import re
from itertools import chain
from unicodedata import category

MARKS = (",", ";", "\t", "|", ",;", ",;\t|")
_FORMULA = re.compile(r"[=+\-@＝＋－＠]")  # noqa: RUF001
_NUMBER = re.compile(r"\s*[+-]?[0-9.]+([eE][+-]?[0-9]+)?\s*")


def formulas(written: str, marks: str) -> list[str]:
    """Cells that are formulas; a negative number is none."""
    bare = re.split(f"[{re.escape(marks)}\r\n]", written.replace('"', ""))
    found = chain(cells(written, marks), bare)
    return [cell for cell in found if _FORMULA.match(_seen(cell)) and not _NUMBER.fullmatch(cell)]


def _seen(cell: str) -> str:
    """From the first sign that takes room: some spreadsheets leave out the others."""
    seen = (char for char in cell if not char.isspace() and category(char) not in ("Cc", "Cf"))
    return cell[cell.index(next(seen, "")) :]


def cells(written: str, marks: str) -> list[str]:
    """As a spreadsheet takes them: quotation marks count where a cell begins with one; else they are text."""
    found: list[list[str]] = [[]]
    is_quoted, place = False, 0
    while place < len(written):
        char = written[place]
        if is_quoted and char == '"':
            is_quoted = written[place + 1 : place + 2] == '"'
            if is_quoted:
                found[-1].append(char)
                place += 1
        elif not is_quoted and char == '"' and not "".join(found[-1]).strip():
            is_quoted = True
        elif not is_quoted and char in f"{marks}\r\n":
            found.append([])
        else:
            found[-1].append(char)
        place += 1
    return ["".join(cell) for cell in found]

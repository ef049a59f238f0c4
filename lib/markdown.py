"""Files of Markdown: lines, lists and tables. Pure."""

from collections.abc import Iterable, Sequence

Row = Sequence[str]


def table(head: Row, rows: Iterable[Row], sides: str = "") -> str:
    """A table; sides: a letter for each column, `:` for numbers, all texts if empty.

    >>> print(table(("verdict", "rows"), [("agrees", "12")], "-:"))
    | verdict | rows |
    |---|---:|
    | agrees | 12 |
    """
    rule = "|".join("---:" if side == ":" else "---" for side in sides or "-" * len(head))
    return "\n".join((_line(head), f"|{rule}|", *map(_line, rows)))


def _line(cells: Row) -> str:
    return f"| {' | '.join(cells)} |"


def bullets(items: Iterable[str]) -> str:
    """A list; an empty item is left out.

    >>> bullets(["a", "", "b"])
    '- a\\n- b'
    """
    return "\n".join(f"- {item}" for item in items if item)


def blocks(parts: Iterable[str]) -> str:
    """A file of these blocks; an empty one is left out."""
    return "\n\n".join(part for part in parts if part) + "\n"

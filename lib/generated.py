"""Parts of a page in docs that a command writes, between two comments that name the command."""


def between_marks(text: str, command: str, content: str) -> str:
    """The text with this content between the command's marks.

    Raises:
        ValueError: the text does not have each mark once, the first before the second.

    >>> page = "Before.\\n<!-- begin: manage.py c -->\\nold\\n<!-- end: manage.py c -->\\nAfter."
    >>> print(between_marks(page, "c", "new\\n"))
    Before.
    <!-- begin: manage.py c -->
    new
    <!-- end: manage.py c -->
    After.
    """
    begin, end = (f"<!-- {edge}: manage.py {command} -->\n" for edge in ("begin", "end"))
    before, found, rest = text.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found or not found_end or begin in rest or end in before or end in after:
        raise ValueError(f"it does not have “{begin.strip()}” and “{end.strip()}” once each")
    return f"{before}{begin}{content}{end}{after}"

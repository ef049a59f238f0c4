from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

from experiment.domain import export_columns, presets
from experiment.lab import routes


def protocol(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    return between_marks(text, "write_docs protocol", presets.as_markdown())


def openapi(_: Path) -> str:
    written = StringIO()
    call_command("spectacular", validate=True, fail_on_warn=True, stdout=written)
    return written.getvalue()


# Name -> file in docs, and what it is to hold
DOCS: dict[str, tuple[str, Callable[[Path], str]]] = {
    "codebook": ("codebook.md", lambda _: export_columns.as_markdown()),
    "protocol": ("participants.md", protocol),
    "rights": ("rights.md", lambda _: routes.as_markdown()),
    "openapi": ("openapi.yaml", openapi),
}


class Command(BaseCommand):
    help = "Write the generated pages, or parts of pages, in docs/: all of them, or only the named ones."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(DOCS))

    def handle(self, *args: Any, **options: Any) -> None:
        names = options["names"] or list(DOCS)
        if unknown := sorted({*names} - {*DOCS}):
            raise CommandError(f"“{unknown[0]}” is not one of the pages ({', '.join(DOCS)}).")
        for name in names:
            file, content = DOCS[name]
            path = settings.BASE_DIR / "docs" / file
            path.write_text(content(path), encoding="utf-8")
            self.stdout.write(f"{path} written.")


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

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

from analysis.stats.verdicts import Concludes
from experiment.domain import export_columns, presets
from experiment.lab import routes

FOLDER: Path = settings.BASE_DIR / "docs"


def protocol() -> str:
    text = (FOLDER / "participants.md").read_text(encoding="utf-8")
    return between_marks(text, "write_docs protocol", presets.as_markdown())


HEAD = (
    "| where | verdict | concludes | family | correction | needs at least |",
    "|---|---|---|---|---|---|",
)


def concluded() -> str:
    """The page with the table of what is concluded. Raises ValueError where a verdict has no family."""
    paths: dict[tuple[str, Concludes], list[str]] = {}
    for where, path, about in every_conclusion():
        if about is None:
            raise ValueError(f"{path} has no family: write Annotated[Verdict, Concludes(…)]")
        paths.setdefault((where, about), []).append(f"`{path}`")
    lines = [
        f"| {where} | {', '.join(own)} | {about.what} | {about.tests} | {about.correction} | {about.needs} |"
        for (where, about), own in paths.items()
    ]
    text = (FOLDER / "results.md").read_text(encoding="utf-8")
    return between_marks(text, "write_docs conclusions", "\n".join((*HEAD, *lines)) + "\n")


def every_conclusion() -> list[tuple[str, str, Concludes | None]]:
    """Where it is said, the path of its verdict and the family: each path once."""
    # They load what computes
    from analysis.report.conclusions import conclusions
    from analysis.report.contents import CHAPTERS
    from analysis.report.headline import Headline
    from analysis.report.services.compare import Compared
    from analysis.teams.results import TeamsDocument

    places = [
        ("headline", "headline", Headline),
        *((f"`{one.name}`", "", one.results) for one in CHAPTERS),
        ("teams page, `team`", "", TeamsDocument),
    ]
    found = [(where, *one) for where, path, kind in places for one in conclusions(kind, path)]
    # Its sides are reports
    found += [("Compare", *one) for one in conclusions(Compared) if "." not in one.path]
    return list(dict.fromkeys(found))


def openapi() -> str:
    written = StringIO()
    call_command("spectacular", validate=True, fail_on_warn=True, stdout=written)
    return written.getvalue()


def report_schema() -> str:
    from analysis.report.report import json_schema  # it loads what computes

    return json.dumps(json_schema(), indent=1) + "\n"


def interface() -> str:
    from analysis.management.interface import whole  # it loads what computes

    return whole.interface_text(FOLDER)


def migrations() -> str:
    from analysis.management.interface import whole  # it loads what computes

    return whole.migrations_text(FOLDER)


# Name -> file in docs, and what it is to hold. The repository holds the pages of which a part is written, and what was promised
# (each raises CommandError where it would break a promise), and leaves out the files that are written as a whole (.gitignore)
PARTS: dict[str, tuple[str, Callable[[], str]]] = {
    "protocol": ("participants.md", protocol),
    "conclusions": ("results.md", concluded),
    "interface": ("interface.json", interface),
    "migrations": ("migrations.json", migrations),
}
DOCS: dict[str, tuple[str, Callable[[], str]]] = PARTS | {
    "codebook": ("codebook.md", export_columns.as_markdown),
    "rights": ("rights.md", routes.as_markdown),
    "openapi": ("openapi.yaml", openapi),
    "report_schema": ("report.schema.json", report_schema),
}


class Command(BaseCommand):
    help = (
        "Write what is generated of docs/, pages and parts of pages: all of it, or only the named."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(DOCS))

    def handle(self, *args: Any, **options: Any) -> None:
        names = options["names"] or list(DOCS)
        if unknown := sorted({*names} - {*DOCS}):
            raise CommandError(f"“{unknown[0]}” is not one of the pages ({', '.join(DOCS)}).")
        for name in names:
            file, content = DOCS[name]
            (FOLDER / file).write_text(content(), encoding="utf-8")
            self.stdout.write(f"{FOLDER / file} written.")


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

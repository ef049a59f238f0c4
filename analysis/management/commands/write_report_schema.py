import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from analysis.stats.verdicts import Concludes
from experiment.management.commands.write_docs import between_marks

DOCS = settings.BASE_DIR / "docs"
PATH, RESULTS = DOCS / "report.schema.json", DOCS / "results.md"


class Command(BaseCommand):
    help = "Write the types of report.json to docs/report.schema.json, and what it concludes to docs/results.md."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--output", type=Path, default=PATH)

    def handle(self, *args: Any, **options: Any) -> None:
        from analysis.report.report import json_schema  # it loads what computes

        path: Path = options["output"]
        path.write_text(json.dumps(json_schema(), indent=1) + "\n", encoding="utf-8")
        self.stdout.write(f"{path} written.")
        if path == PATH:
            text = RESULTS.read_text(encoding="utf-8")
            RESULTS.write_text(with_conclusions(text), encoding="utf-8")
            self.stdout.write(f"{RESULTS} written.")


HEAD = (
    "| where | verdict | concludes | family | correction | needs at least |",
    "|---|---|---|---|---|---|",
)


def with_conclusions(text: str) -> str:
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
    return between_marks(text, "write_report_schema", "\n".join((*HEAD, *lines)) + "\n")


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

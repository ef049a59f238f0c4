import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser


class Bench(BaseCommand):
    help = (
        "Score random models of many families, compare each with a plain loop in float64, and write the worst error and "
        "strategy of each to docs/model-families.md. The exit status is 1 if a score is wrong."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--output",
            type=Path,
            default=settings.BASE_DIR / "docs" / "model-families.md",
            help="page to write (default: docs/model-families.md)",
        )
        parser.add_argument(
            "--only",
            nargs="+",
            metavar="TYPE",
            help="measure only these model types, and do not write the page",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        from benchmarks.families import measuring, page
        from benchmarks.families.families import FAMILIES

        only = options["only"]
        families = [f for f in FAMILIES if not only or f.model_type in only]
        if not families:
            raise CommandError(f"No family of the sweep has the model type {', '.join(only)}.")
        groups = measuring.texts()
        results = []
        for n, measured in enumerate(measuring.sweep(families, groups), start=1):
            results.append(measured)
            line = next(page.lines([measured]))
            self.stdout.write(f"{n}/{len(families)} {line}")
            self.stdout.flush()
        self.stdout.write(page.summary(results))
        if not only:
            lengths = [len(ids) for group in groups for ids in group]
            checked = page.Checked(
                versions=f"transformers {version('transformers')}, torch {version('torch')}",
                date=datetime.now(UTC).date().isoformat(),
                commit=_commit(),
                shortest=min(lengths),
                longest=max(lengths),
            )
            options["output"].write_text(page.as_markdown(results, checked), encoding="utf-8")
        if wrong := [m.family.name for m in results if not page.is_right(m)]:
            raise CommandError(f"Wrong scores for {len(wrong)} configurations: {'; '.join(wrong)}.")


def _commit() -> str:
    """The commit that is checked out, `+` behind it where files differ; "unknown" outside a repository."""
    command = ["git", "-C", str(settings.BASE_DIR)]
    try:
        head = subprocess.run(
            [*command, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
        )
        changed = subprocess.run(
            [*command, "status", "--porcelain", "--untracked-files=no"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head.stdout.strip() + ("+" if changed.stdout.strip() else "")

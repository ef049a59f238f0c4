import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from benchmarks.databases import scratch_postgres, scratch_sqlite, using
from benchmarks.experiment.crowd import TRIALS_EACH, add_people
from benchmarks.web.material import make_items
from benchmarks.web.site import SLUG, make_study
from experiment.domain.exclusion import Rules
from experiment.models import Study
from experiment.services.study_versions import freeze, revise
from lib.commands import ReportingCommand, add_json_argument, table_lines

LEAST_ROWS_PER_CPU_S, MOST_S_PER_MILLION, MOST_MB = 10_000, 120, 300
# Set, format, and the version of the rules where it is not the newest
EXPORTS = (
    ("all", "csv"),
    ("analysis", "csv"),
    ("all", "csv", "1"),
    ("all", "jsonl"),
    ("all", "parquet"),
    ("all", "psych-ds"),
)
FIRST = ("all", "csv", "newest")
DATABASES = {"postgresql": scratch_postgres, "sqlite": scratch_sqlite}


@dataclass(frozen=True)
class Measured:
    """The cost of one export to its process, beyond the start; `database_cpu_s` is PostgreSQL's own, None where unknown."""

    set: str
    format: str
    rules: str
    rows: int
    megabytes: float
    cpu_s: float
    wall_s: float
    database_cpu_s: float | None
    peak_mb: float

    @property
    def rows_per_cpu_s(self) -> float:
        return self.rows / self.cpu_s


class Bench(ReportingCommand):
    help = (
        "Measure exports of trials: rows per CPU second and peak memory, on a simulated study with a tenth of the rows and "
        "with all. The command uses new PostgreSQL and SQLite databases, deletes them afterwards, and does not change the "
        "site's database."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--rows", type=int, default=100_000, metavar="N", help="trials (default: 100000)"
        )
        parser.add_argument(
            "--databases",
            nargs="+",
            choices=DATABASES,
            default=list(DATABASES),
            help="databases to measure on (default: both)",
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        people = -(-options["rows"] // TRIALS_EACH)
        if people < 1:
            raise CommandError("--rows must be at least 1.")
        measured: dict[str, list[Measured]] = {}
        for name in options["databases"]:
            with DATABASES[name]() as url:
                if url is not None:
                    measured[name] = list(self._measure(name, url, people))
        self.report(options, as_json(measured), lines(measured))

    def _measure(self, name: str, url: str, people: int) -> Iterator[Measured]:
        make_study(url, make_items())
        with using(url):
            study = Study.objects.get(slug=SLUG)
            freeze(study, timezone.now())
            revise(study, rules=Rules(min_rt_ms=10_000), reason="Nobody reads so fast.")
        for n in sorted({people // 10, people} - {0}):
            self.stderr.write(f"{name}: simulating {n * TRIALS_EACH:,} trials")
            with using(url):
                add_people(study, n - study.participants.count())
            for set_name, format_name, *rules in EXPORTS:
                self.stderr.write(
                    f"{name}: exporting {set_name} as {format_name} {' '.join(rules)}"
                )
                found = in_own_process(url, set_name, format_name, *rules)
                by = "other" if rules else "newest"
                yield Measured(set=set_name, format=format_name, rules=by, **found)


def in_own_process(url: str, *words: str) -> dict[str, Any]:
    """The output of benchmarks/experiment/process.py, with the settings of this site and that database.

    Raises:
        CommandError: it failed; it has said why.
    """
    environment = {
        **os.environ,
        "DATABASE_URL": url,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "SECRET_KEY": settings.SECRET_KEY,
    }
    command = [sys.executable, "-m", "benchmarks.experiment.process", *words]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, cwd=settings.BASE_DIR)
    if done.returncode != 0:
        raise CommandError(f"{' '.join(words)} failed with status {done.returncode}.")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def as_json(measured: Mapping[str, list[Measured]]) -> dict[str, Any]:
    """The figures of each database, and above them PostgreSQL's, or SQLite's alone: of all rows, in full."""
    groups = {name: _group(rows) for name, rows in measured.items()}
    first = next(iter(groups.values()), {})
    return {key: first.get(key) for key in ("rows_per_cpu_s", "peak_mb")} | groups


def _group(rows: list[Measured]) -> dict[str, Any]:
    full = [row for row in rows if (row.set, row.format, row.rules) == FIRST][-1]
    each = [{**asdict(row), "rows_per_cpu_s": row.rows_per_cpu_s} for row in rows]
    peak = max(row.peak_mb for row in rows)
    return {"rows_per_cpu_s": full.rows_per_cpu_s, "peak_mb": peak, "exports": each}


def lines(measured: Mapping[str, list[Measured]]) -> Iterator[str]:
    """A table, and the aims."""
    rows = [
        {
            "database": name,
            "set": one.set,
            "format": one.format,
            "rules": one.rules,
            "rows": f"{one.rows:,}",
            "rows per CPU s": f"{one.rows_per_cpu_s:,.0f}",
            "peak MiB": f"{one.peak_mb:.0f}",
            "CPU s": f"{one.cpu_s:.2f}",
            "database CPU s": "" if one.database_cpu_s is None else f"{one.database_cpu_s:.2f}",
            "wall s": f"{one.wall_s:.2f}",
            "MB": f"{one.megabytes:.1f}",
        }
        for name, found in measured.items()
        for one in found
    ]
    yield from table_lines(rows, left=["database", "set", "format", "rules"])
    yield (
        f"Targets: {LEAST_ROWS_PER_CPU_S:,} rows per CPU second as CSV by the newest rules, a million in {MOST_S_PER_MILLION} s, "
        f"and {MOST_MB} MiB at any size. CPU time excludes the start of the process; memory includes it."
    )

"""Run by `bench export` in a process of its own, so that its time and memory are the export's: fill, or export once.

    python -m benchmarks.experiment.process fill PEOPLE ITEMS
    python -m benchmarks.experiment.process export SET FORMAT [RULES_VERSION]

The database is DATABASE_URL's. The last line of standard output is a JSON object.
"""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import django

CLOCK_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def fill(people: int, items: int) -> dict[str, Any]:
    """Bring the study to that many participants; it is made where there is none."""
    from django.core.management import call_command

    from benchmarks.experiment import crowd
    from experiment.models import Study
    from lib.commands import progress

    call_command("migrate", verbosity=0)
    study = Study.objects.filter(slug=crowd.SLUG).first() or crowd.make_study(items)
    missing = people - study.participants.count()
    with progress("simulating participants", missing, "participants") as update:
        crowd.add_people(study, missing, update)
    return {}


def export(set_name: str, format_name: str, rules: int | None) -> dict[str, Any]:
    """What one export costs; nothing is kept of it."""
    from django.db import connection

    from benchmarks.cost import Stopwatch, highest_mb
    from benchmarks.experiment import crowd
    from experiment.domain.release import Form
    from experiment.domain.trial_query import TrialQuery
    from experiment.models import Study
    from experiment.services.export.files import export_to_file

    study = Study.objects.get(slug=crowd.SLUG)
    before_s = _backend_s(connection)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        path = Path(folder) / "trials"
        watch = Stopwatch()
        made = export_to_file(study, TrialQuery(set_name, "real", rules), path, Form(format_name))
        spent = watch.lap()
        size = path.stat().st_size
    after_s = _backend_s(connection)
    return {
        "rows": made.rows,
        "megabytes": size / 1e6,
        "cpu_s": spent.cpu_s,
        "wall_s": spent.wall_s,
        "database_cpu_s": None if before_s is None or after_s is None else after_s - before_s,
        "peak_mb": highest_mb(),
    }


def _backend_s(connection: Any) -> float | None:
    """CPU seconds so far of the server's process for this connection; None on SQLite, or where it runs elsewhere."""
    if connection.vendor != "postgresql":
        return None
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS_PER_S


def main() -> None:
    task, *words = sys.argv[1:]
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    if task == "fill":
        result = fill(int(words[0]), int(words[1]))
    else:
        result = export(words[0], words[1], int(words[2]) if len(words) > 2 else None)
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()

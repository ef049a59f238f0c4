"""An export in a process of its own, so that time and memory are the export's: its costs, as JSON on standard output.

    python -m benchmarks.experiment.process SET FORMAT [RULES_VERSION]

The database is DATABASE_URL's.
"""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import django
import psutil


def export(set_name: str, format_name: str, rules: int | None) -> dict[str, Any]:
    """The cost of one export; nothing is kept of it."""
    from django.db import connection

    from benchmarks.cost import Stopwatch, highest_mb
    from benchmarks.web.site import SLUG
    from experiment.domain.release import Form
    from experiment.domain.trial_query import TrialQuery
    from experiment.models import Study
    from experiment.services.export.files import export_to_file

    study = Study.objects.get(slug=SLUG)
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
        return float(sum(psutil.Process(pid).cpu_times()[:2]))
    except psutil.NoSuchProcess:
        return None


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    set_name, format_name, *version = sys.argv[1:]
    json.dump(export(set_name, format_name, int(version[0]) if version else None), sys.stdout)

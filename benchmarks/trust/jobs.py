"""Jobs that a check asks for in its own process, and what their rows and files must be in the end."""

import hashlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.web.site import SLUG, wait_until
from experiment.domain.trial_query import TrialQuery
from experiment.models import Study, TrialExport
from experiment.services.export.jobs import ensure_exported
from lib.jobs.models import Job
from scoring.models import ItemScore, ScoringRun
from scoring.services.open_model import default_name, language_model
from scoring.services.runs import create_run

SHORT_BATCHES = 300  # tokens: a pair of texts each, so that there is much to be struck in
FINISHED_WITHIN_S = 300.0  # on a busy machine: workers are nice


def ask_for_scores(limit: int, backend: str = "embedded", **model_args: str) -> ScoringRun:
    """The study's first items under the model that comes with the project, or another one."""
    return create_run(
        study=Study.objects.get(slug=SLUG),
        language_model=language_model(backend, default_name(backend, model_args)),
        backend=backend,
        model_args=model_args,
        limit=limit,
        batch_tokens=SHORT_BATCHES,
    )


def ask_for_export(slug: str) -> TrialExport:
    return ensure_exported(Study.objects.get(slug=slug), TrialQuery())


def wait_for(job: Job, *, done: int = 0, status: str = "") -> None:
    """Until a job has come so far, or to this end.

    Raises:
        RuntimeError: it has come to another end.
    """

    def has_come() -> bool:
        job.refresh_from_db()
        if job.status == status or (done and job.done >= done):
            return True
        if not job.is_open:
            raise RuntimeError(f"{job.label} is {job.status}: {job.error}")
        return False

    wait_until(has_come, FINISHED_WITHIN_S)


def scores(run: ScoringRun) -> list[tuple[object, ...]]:
    names = [
        f.attname for f in ItemScore._meta.concrete_fields if f.attname not in ("id", "run_id")
    ]
    return list(run.item_scores.order_by("item", "unit").values_list(*names))


def records(run: ScoringRun, files: Path) -> pa.Table:
    """Every token of a run, without the run's own name."""
    parts = sorted((files / "scoring" / str(run.uuid)).glob("part-*.parquet"))
    return pa.concat_tables(pq.read_table(part).drop_columns("run") for part in parts)


def differences(run: ScoringRun, whole: ScoringRun, files: Path) -> list[str]:
    """How a run that was struck differs from one that was not: to the last bit it must not."""
    run.refresh_from_db()
    found = []
    if (run.status, run.done) != ("finished", run.total):
        found.append(f"{run.label} is {run.status} at {run.done} of {run.total}: {run.error}")
    if scores(run) != scores(whole):
        found.append(f"{run.label} has other scores than an undisturbed run")
    if not records(run, files).equals(records(whole, files)):
        found.append(f"{run.label} has other token records than an undisturbed run")
    if drafts := list((files / "scoring" / str(run.uuid)).glob(".*")):
        found.append(f"{len(drafts)} half-written files remain")
    return found


def export_problems(job: TrialExport, rows: int, files: Path) -> list[str]:
    """Problems of the file of a finished export, which holds so many rows."""
    job.refresh_from_db()
    path = files / "results" / job.path
    others = [file.name for file in path.parent.iterdir() if file != path]
    found = [f"{name} is next to the export" for name in others]
    if job.manifest["sha256"] != hashlib.sha256(path.read_bytes()).hexdigest():
        found.append("the export's bytes are not those that its manifest names")
    if job.rows != rows:
        found.append(f"the export has {job.rows} rows, the study {rows}")
    return found

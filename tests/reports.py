"""A study of graded answers whose report is computed once a run. For reading."""

from pathlib import Path
from typing import Any

from analysis.data.filters import ReportOptions
from analysis.report.services.make import make_report, n_steps
from analysis.report.services.save import save_report
from analysis.services.compute import Asked
from experiment.models import Study
from scoring.services.made_up import make_up
from tests import databases
from tests.analysis.data.graded_rows import make_questions
from tests.storages import store_files_in

OPTIONS = ReportOptions()


def of_questions(settings: Any, run_folder: Path) -> Study:
    """Have the study in the empty database, with its report of `OPTIONS` in the site's storage, where its page finds it."""
    store_files_in(settings, run_folder / "questions-files")
    slug = databases.fill("questions-report", _made, run_folder)
    return Study.objects.get(slug=slug)


def _made() -> str:
    study = make_questions(24, is_demo=True)
    make_up(study)
    steps: list[str] = []
    report = make_report(study, OPTIONS, steps.append)
    Asked(study, OPTIONS).keep(lambda row: save_report(row, report, steps.append))
    # A bar would end before its work, or the work before its bar
    assert len(steps) == n_steps(study, OPTIONS)
    return study.slug

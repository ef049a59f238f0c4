"""Studies whose report is computed, once a run: of the published data, of the demo, and of graded answers. For reading."""

from collections.abc import Callable
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

from django.core.management import call_command

from analysis.data.filters import ReportOptions
from analysis.report.services.make import make_report
from analysis.report.services.save import save_report
from analysis.services.compute import Asked
from experiment.models import Study
from scoring.services.made_up import make_up
from tests import databases, published
from tests.analysis.data.graded_rows import make_questions
from tests.storages import store_files_in

OPTIONS = ReportOptions(source="human")


def with_report(name: str, settings: Any, run_folder: Path, results: Path | None = None) -> Study:
    """Have in the empty database the study `published`, `demo` or `questions` with its report in the site's storage.

    The report is that of `OPTIONS`: `Asked(study, OPTIONS).find()` and the results page find it.
    """
    makers: dict[str, Callable[[], Study]] = {
        "published": partial(_published, results),
        "demo": _demo,
        "questions": _questions,
    }
    store_files_in(settings, run_folder / f"{name}-files")
    slug = databases.fill(f"{name}-report", lambda: _computed(makers[name]()).slug, run_folder)
    return Study.objects.get(slug=slug)


def _computed(study: Study) -> Study:
    Asked(study, OPTIONS).keep(lambda row: save_report(row, make_report(study, OPTIONS)))
    return study


def _published(results: Path | None) -> Study:
    assert results is not None
    published.run_import(results)
    return Study.objects.get(slug="brainbench")


def _demo() -> Study:
    call_command("load_demo", stdout=StringIO())
    return Study.objects.get(slug="demo")


def _questions() -> Study:
    study = make_questions(24, is_demo=True)
    make_up(study)
    return study

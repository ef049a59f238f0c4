"""The benchmark of the report runs through on a simulated study, and leaves the site's database alone."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from analysis.report.contents import CHAPTERS
from experiment.models import Study


@pytest.mark.sweep
@pytest.mark.django_db
def test_a_simulated_study_is_measured_chapter_by_chapter_in_a_database_of_its_own() -> None:
    out, before = StringIO(), connection.settings_dict["NAME"]
    options = ("--trials", "90", "--items", "20", "--models", "3")
    call_command("bench_analysis", *options, "--json", stdout=out, stderr=StringIO())
    (row,) = json.loads(out.getvalue())["rows"]
    assert (row["n_trials"], row["n_items"], row["n_models"]) == (90, 20, 3)
    assert sum(row["chapters"].values()) == pytest.approx(row["cpu_s"])
    assert len(row["chapters"]) > 10
    assert connection.settings_dict["NAME"] == before
    assert not Study.objects.exists()


@pytest.mark.sweep
@pytest.mark.django_db
def test_the_whole_report_is_measured_without_models_with_figures_and_files() -> None:
    out, said = StringIO(), StringIO()
    options = ("--trials", "90", "--items", "20", "--whole", "--json")
    call_command("bench_analysis", *options, stdout=out, stderr=said)
    (row,) = json.loads(out.getvalue())["rows"]
    assert row["n_models"] == 0
    assert {"naming the data", "reading", "figures", "files"} <= row["chapters"].keys()
    assert row["peak_mb"] > 0
    assert all(part in said.getvalue() for part in row["chapters"])


@pytest.mark.sweep
@pytest.mark.django_db
def test_a_study_of_questions_is_measured_with_its_five_chapters() -> None:
    out, said = StringIO(), StringIO()
    options = ("--trials", "--questions", "30", "--models", "3", "--whole", "--json")
    call_command("bench_analysis", *options, stdout=out, stderr=said)
    (row,) = json.loads(out.getvalue())["rows"]
    assert (row["n_trials"], row["n_answers"]) == (0, 90)
    assert {str(chapter.title) for chapter in CHAPTERS if "graded" in chapter.id} <= set(
        row["chapters"]
    )


def test_a_folder_that_is_not_there_is_a_sentence() -> None:
    with pytest.raises(CommandError, match="is not a directory"):
        call_command("bench_analysis", "--published", "nowhere", stdout=StringIO())

"""The benchmark of exports runs through on databases of its own, and leaves the site's alone."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from benchmarks.experiment import crowd
from experiment.models import Judgment, Participant, Study
from experiment.services.export import row_counts, trial_blocks
from experiment.services.trial_fields import HEADER


@pytest.mark.django_db
def test_an_export_is_measured_in_a_database_of_its_own() -> None:
    out, engine = StringIO(), connection.vendor
    options = ("--rows", "40", "--items", "40", "--databases", engine)
    call_command("bench_export", *options, "--json", stdout=out, stderr=StringIO())
    found = json.loads(out.getvalue())
    assert found["rows_per_cpu_s"] == found[engine]["rows_per_cpu_s"] > 0
    assert found["peak_mb"] == found[engine]["peak_mb"] > 10
    rows = [(one["set"], one["rules"], one["rows"]) for one in found[engine]["exports"]]
    assert rows[::2] == [("all", "newest", 44), ("all", "other", 44)]
    assert not Study.objects.exists()


@pytest.mark.django_db
def test_every_column_of_the_crowd_has_values() -> None:
    study = crowd.make_study(40)
    crowd.add_people(study, 10)
    crowd.add_people(study, 2)
    assert Participant.objects.count() == 12
    assert Judgment.objects.count() == row_counts(study, "real")["all"] == 12 * 11
    (block,) = trial_blocks(study, "real", "all")
    empty = {
        name
        for name, column in zip(HEADER, zip(*block, strict=True), strict=True)
        if not any(column)
    }
    assert empty == {"ethics_number", "ethics_body", "ethics_contact", "flags"}


def test_a_study_of_no_rows_is_refused_in_a_sentence() -> None:
    with pytest.raises(CommandError, match="at least 1"):
        call_command("bench_export", "--rows", "0", stdout=StringIO())

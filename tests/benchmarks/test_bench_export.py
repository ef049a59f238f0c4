"""The benchmark of exports runs through on databases of its own, and leaves the site's alone."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from benchmarks.experiment import crowd
from experiment.domain.trial_query import TrialQuery
from experiment.models import Judgment, Participant, Study
from experiment.services.export.columns import HEADER
from experiment.services.export.trials import count, trials


@pytest.mark.sweep
@pytest.mark.django_db
def test_an_export_is_measured_in_a_database_of_its_own() -> None:
    out, engine = StringIO(), connection.vendor
    options = ("--rows", "40", "--items", "40", "--databases", engine)
    call_command("bench_export", *options, "--json", stdout=out, stderr=StringIO())
    found = json.loads(out.getvalue())
    assert found["rows_per_cpu_s"] == found[engine]["rows_per_cpu_s"] > 0
    assert found["peak_mb"] == found[engine]["peak_mb"] > 10
    parts = ("set", "format", "rules", "rows")
    rows = [tuple(one[part] for part in parts) for one in found[engine]["exports"]]
    assert rows[::2] == [
        ("all", "csv", "newest", 44),
        ("all", "csv", "other", 44),
        ("all", "parquet", "newest", 44),
    ]
    assert not Study.objects.exists()


@pytest.mark.django_db
def test_every_column_of_the_crowd_has_values() -> None:
    study = crowd.make_study(40)
    crowd.add_people(study, 10)
    crowd.add_people(study, 2)
    assert Participant.objects.count() == 12
    assert Judgment.objects.count() == count(study, TrialQuery("all", "real")) == 12 * 11
    (block,) = trials(study, TrialQuery("all", "real"))
    empty = {
        name
        for name, column in zip(HEADER, block, strict=True)
        if all(value is None for value in column)
    }
    assert empty == {*["ethics_number", "ethics_body", "ethics_contact", "flags", "published_id"]}


def test_a_study_of_no_rows_is_refused_in_a_sentence() -> None:
    with pytest.raises(CommandError, match="at least 1"):
        call_command("bench_export", "--rows", "0", stdout=StringIO())

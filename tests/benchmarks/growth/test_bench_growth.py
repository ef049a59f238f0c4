"""The benchmark of growth fills studies as a site does, measures the site's own views, and leaves its rows alone."""

import json
import math
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from benchmarks.growth.filling import Crowd
from benchmarks.growth.measuring import WORKS, Growth, measure_works
from experiment.models import Judgment, Participant, Study, Trial
from experiment.services.recounting import check
from tests.factories import make_study


def ran(*options: str) -> str:
    out = StringIO()
    call_command("bench_growth", *options, stdout=out, stderr=StringIO())
    return out.getvalue()


@pytest.mark.sweep
@pytest.mark.django_db
def test_every_work_is_measured_at_every_size_in_a_database_of_its_own() -> None:
    engine = connection.vendor
    found: dict[str, Any] = json.loads(
        ran(
            *("--sizes", "10", "30", "--repeats", "3", "--items", "40"),
            *("--database", engine, "--json"),
        )
    )
    assert found["import"]["items"] == 40
    assert min(found["import"]["cpu_s"], *found["start_cpu_s"].values()) > 0
    assert found["cpu_ms"] == found[engine]["cpu_ms"]
    assert set(found["cpu_ms"]) == set(WORKS)
    for by_size in found["cpu_ms"].values():
        assert set(by_size) == {"10", "30"}
        assert min(by_size.values()) > 0
    assert (found["bytes_per_trial"] is None) == (engine == "sqlite")
    assert not Study.objects.exists()


@pytest.mark.sweep
@pytest.mark.django_db
def test_copies_are_participants_like_the_others_and_are_counted() -> None:
    study = make_study(recruitment="open")
    crowd = Crowd(study, 10)
    crowd.grow(50)
    people = Participant.objects.of(study, "real")
    assert (people.finished().count(), people.exclude(left_at=None).count()) == (50, 10)
    assert Trial.objects.values("participant").distinct().count() == people.count() == 60
    assert Judgment.objects.filter(trial__participant__stage="finished").count() == 50 * 11
    assert check([study]) == []
    # Who came since is gone at the next size, and keys are free for who comes then
    measure_works(study, 2)
    crowd.grow(60)
    assert people.count() == 72
    measure_works(study, 2)
    assert check([study]) == []


def test_cost_that_grows_with_the_root_of_the_size_has_half_an_exponent() -> None:
    growth = Growth()
    growth.cpu_ms["draw"] = {100: 2.0, 1_000: 6.0, 10_000: 20.0}
    assert growth.ratio("draw") == 10
    assert math.isclose(growth.exponent("draw"), 0.5)


@pytest.mark.parametrize(
    "options",
    [("--sizes", "20", "10"), ("--sizes", "10", "25"), ("--sizes", "0"), ("--repeats", "2")],
)
def test_numbers_that_make_no_sense_are_a_sentence(options: tuple[str, ...]) -> None:
    with pytest.raises(CommandError, match="must"):
        ran(*options)

"""`bench_answers`: processes are killed amid answers and grades, and nothing is lost."""

import json
import sys
from io import StringIO

import pytest
from django.core.management import call_command


@pytest.mark.sweep
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_it_counts_what_is_lost_and_asked_twice_over_kills() -> None:
    out = StringIO()
    options = ("--questions", "40", "--models", "2", "--concurrency", "2", "--json")
    call_command("bench_answers", *options, stdout=out)

    answers, grades = json.loads(out.getvalue())["works"]
    for work, n, kills in ((answers, 80, 2), (grades, 80, 1)):
        assert (work["n"], work["lost"], work["kills"]) == (n, 0, kills)
        assert work["requests"] == n + work["repeated"]
        assert work["repeated"] <= work["most_repeated"] == 2 * kills
        assert 20 < work["first_mib"] <= work["peak_mib"] < 500

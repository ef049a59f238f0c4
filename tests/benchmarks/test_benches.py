"""Each benchmark runs through in a database of its own, and says what it measured; how fast the machine is, is no test's matter."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from benchmarks.families import measuring, page
from benchmarks.families.families import FAMILIES
from experiment.models import Study

pytestmark = [pytest.mark.sweep, pytest.mark.filterwarnings("ignore")]


def ran(name: str, *options: str) -> dict[str, Any]:
    out = StringIO()
    call_command("bench", name, *options, "--json", stdout=out, stderr=StringIO())
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "options", "sized"),
    [
        ("analysis", ("--trials", "90", "--items", "20", "--models", "3"), "rows"),
        ("analysis", ("--trials", "90", "--items", "20", "--whole"), "rows"),
        ("export", ("--rows", "40", "--databases", "sqlite"), "rows_per_cpu_s"),
        ("growth", ("--sizes", "10", "30", "--repeats", "3"), "cpu_ms"),
        ("teams", ("--quick",), "rows"),
    ],
)
def test_a_benchmark_measures_in_a_database_of_its_own(
    name: str, options: tuple[str, ...], sized: str
) -> None:
    assert ran(name, *options)[sized]
    assert not Study.objects.exists()


def test_the_three_ways_to_score_agree(shared_dir: Any) -> None:
    tokenizer = shared_dir / "tokenizers" / "gpt2"
    args = f"config=gpt2,tokenizer={tokenizer}"
    found = ran("scoring", "--model_args", args, "--limit", "2", "--no_memory")
    assert set(found["cpu_ratio"]) == {"published", "lm_eval"}
    assert found["max_rel_error_float64"] < 1e-6
    assert found["decisions_changed"] == 0


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("export", ("--rows", "0")),
        ("growth", ("--sizes", "20", "10")),
        ("scoring", ("--linear", "many")),
        ("teams", ("--largest", "99")),
    ],
)
def test_an_impossible_measurement_is_refused_in_a_sentence(
    name: str, options: tuple[str, ...]
) -> None:
    with pytest.raises(CommandError):
        ran(name, *options)


@pytest.fixture(scope="module")
def groups() -> Any:
    return measuring.texts()


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_family_is_scored_as_the_plain_loop_scores_it(family: Any, groups: Any) -> None:
    found = next(iter(measuring.sweep([family], groups)))
    line = next(page.lines([found]))
    print(line)
    assert page.is_right(found), line


def test_a_wrong_figure_or_a_changed_decision_is_wrong() -> None:
    fine = measuring.Measured(FAMILIES[0], 1.0, worst_error=1e-9)
    assert page.is_right(fine)
    assert not page.is_right(measuring.Measured(FAMILIES[0], 1.0, worst_error=1e-3))
    assert not page.is_right(
        measuring.Measured(FAMILIES[0], 1.0, worst_error=1e-9, decisions_changed=1)
    )

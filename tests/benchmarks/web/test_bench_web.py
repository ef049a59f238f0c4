"""The benchmark of the pages runs through on servers of its own, and says what it measured."""

import ast
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from benchmarks.management.commands.bench_web import as_json, lines
from benchmarks.web import otree
from benchmarks.web.material import make_items
from benchmarks.web.measuring import Measured, together
from benchmarks.web.running import Results
from experiment.domain.markup import parse
from experiment.models import Participant, Study
from experiment.participant.forms import TrialForm


def ran(*options: str) -> str:
    out = StringIO()
    call_command("bench_web", *options, stdout=out, stderr=StringIO())
    return out.getvalue()


@pytest.mark.sweep
@pytest.mark.django_db
def test_whole_journeys_go_through_on_both_databases_and_the_site_keeps_its_own_rows() -> None:
    few = ("--journeys", "1", "--blocks", "1", "--participants", "3", "--think", "0.01")
    more = ("--starts", "3", "--sqlite", "3", "--no-otree", "--json")
    found: dict[str, Any] = json.loads(ran(*few, *more))
    assert found["dropped"] == 0
    assert found["p95_ms"] > 0
    assert found["p95_ms"] == pytest.approx(found["load"]["p95_ms"], abs=0.06)
    parts = [found["load"], found["starts"], found["sqlite"], *found["journeys"].values()]
    assert [part["journeys"] for part in parts] == [3, 3, 3, 1, 1]
    assert all(part["cpu_s"] > 0 for part in parts)
    assert {part["failed"] + part["errors"] + part["dropped"] for part in parts} == {0}
    # Consent, about you, practice, start, eleven trials, debrief: each is sent; the browser asks for most
    assert min(part["requests_per_journey"] for part in parts) >= 16
    assert found["sqlite"]["locked"] == 0
    assert found["cpu_ratio"] == {}
    assert not Study.objects.exists()
    assert not Participant.objects.exists()


def measured(cpu_s: float, **changes: Any) -> Measured:
    times = dict.fromkeys(("p50_ms", "p95_ms", "max_ms", "page_p50_ms", "page_p95_ms"), 10.0)
    counts = dict.fromkeys(("failed", "dropped", "reopened", "errors"), 0)
    values = {"journeys": 4, "requests": 128, "cpu_s": cpu_s, "wall_s": 2.0}
    return Measured(**(times | counts | values | changes))


def test_ratios_come_first_and_are_of_sums_over_blocks() -> None:
    names = ("script", "plain", "otree", "otree_sockets")
    journeys = {name: measured(s) for name, s in zip(names, (1, 1.5, 2, 4), strict=True)}
    ratios = {"otree": [0.4, 0.6], "otree_plain": [0.75], "otree_sockets": [0.25]}
    results = Results(journeys, ratios, load=measured(1, p95_ms=250.0, dropped=2))
    found = as_json(results)
    assert found["cpu_ratio"] == {"otree": 0.5, "otree_plain": 0.75, "otree_sockets": 0.25}
    assert (found["p95_ms"], found["dropped"]) == (250.0, 2)
    assert found["journeys"]["otree"]["cpu_ms_per_journey"] == 500
    first, *_ = lines(results)
    assert "0.50" in first
    assert "0.40 to 0.60" in first


def test_blocks_add_up() -> None:
    both = together([measured(1, dropped=1, p95_ms=10.0), measured(3, errors=2, p95_ms=30.0)])
    assert (both.cpu_s, both.journeys, both.dropped, both.errors) == (4, 8, 1, 2)
    assert both.p95_ms == 20.0
    assert both.cpu_ms_per_journey == 500


@pytest.mark.parametrize("options", [("--journeys", "0"), ("--think", "-1"), ("--sqlite", "0")])
def test_numbers_that_make_no_sense_are_a_sentence(options: tuple[str, str]) -> None:
    with pytest.raises(CommandError, match="begin at"):
        ran(*options)


def test_items_are_as_long_as_abstracts_and_can_be_parsed() -> None:
    items = make_items()
    assert make_items() == items
    for item in items:
        n_alternations = sum(not isinstance(part, str) for part in item.parts)
        assert 2 <= n_alternations <= 4
        assert 1_200 < len(item.markup) < 1_800
        assert len(parse(item.markup).alternations) == n_alternations


def test_the_otree_app_asks_what_a_trial_here_asks_and_shows_the_same_texts(tmp_path: Path) -> None:
    otree.write_project(tmp_path / "app", make_items())
    material = json.loads((tmp_path / "app" / "material.json").read_text())
    assert len(material["items"]) == len(make_items())
    assert min(len(material[name]) for name in ("countries", "briefing", "consent")) > 1
    for source in (tmp_path / "app").rglob("*.py"):
        ast.parse(source.read_text())
    trials = ast.parse((tmp_path / "app" / "trials" / "__init__.py").read_text())
    player = next(n for n in trials.body if isinstance(n, ast.ClassDef) and n.name == "Player")
    asked = {
        target.id
        for line in player.body
        if isinstance(line, ast.Assign)
        for target in line.targets
        if isinstance(target, ast.Name)
    }
    assert asked >= {*TrialForm.QUESTIONS, *TrialForm.MEASURES}

"""The benchmark of teams runs through, and says what it measured."""

import json
from io import StringIO
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from benchmarks.analysis.teams import Measured, make_judgments
from benchmarks.management.commands.bench_teams import lines, studies


def ran(*options: str) -> str:
    out = StringIO()
    call_command("bench_teams", *options, stdout=out, stderr=StringIO())
    return out.getvalue()


@pytest.mark.sweep
def test_every_measurement_names_its_size_and_cost_and_text_shows_them() -> None:
    found: dict[str, Any] = json.loads(ran("--quick", "--refit", "--json"))
    rows = found["rows"]
    names = [row["name"] for row in rows]
    assert len(set(names)) == len(names)
    for start in ("15 logistic teams", "their intervals"):
        assert any(name.startswith(start) for name in names)
    for words in ("reweighted", "refitted"):
        assert any(name.startswith(f"Bayesian, {words}") for name in names)
    for way in ("logistic", "average", "improved", "bayesian pair"):
        assert f"{way}, 100 trials" in names
    for row in rows:
        assert row["cpu_s"] >= 0
        assert row["n_trials"] == 100
        assert min(row["n_items"], row["n_members"], row["peak_mb"]) > 0
    assert len(found["teams"]) == 15
    assert {team["n_trials"] for team in found["teams"]} == {100}
    head, *table = lines([Measured(**row) for row in rows])
    assert head.split()[-2:] == ["peak", "MB"]
    shown = zip(table, names, strict=False)
    assert all(line.startswith(name) for line, name in shown)
    assert "3 CPU s for the 15 logistic teams" in table[-1]


@pytest.mark.parametrize("largest", [100, 1_500, 50_000, 1_000_000])
def test_no_simulated_study_is_larger_than_was_asked_for(largest: int) -> None:
    in_trials, in_items, for_members = studies(largest)
    found = [*in_trials, *in_items, for_members]
    assert max(n_trials for n_trials, _ in found) <= largest
    assert all(n_trials >= 2 * n_items > 0 for n_trials, n_items in found)
    assert in_trials[-1][0] == 10 ** int(np.log10(largest))
    assert len(in_items) == {100: 0, 1_500: 2}.get(largest, 4)


def test_no_study_at_all_is_a_sentence() -> None:
    with pytest.raises(CommandError, match="at least 100"):
        ran("--largest", "99")


def test_a_folder_that_is_not_there_is_a_sentence() -> None:
    with pytest.raises(CommandError, match="is not a directory"):
        ran("--published", "nowhere")


def test_simulated_people_judge_different_items_and_do_better_than_chance() -> None:
    evidence = make_judgments(9_000, 300, 4)
    pairs = np.column_stack([evidence.participant[:, 0], evidence.item])
    assert len(np.unique(pairs, axis=0)) == 9_000
    accuracy = evidence.is_right.mean(axis=0)
    assert ((accuracy > 0.6) & (accuracy < 0.9)).all()
    assert len(np.unique(evidence.item)) == 300

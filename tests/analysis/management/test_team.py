"""`team`: what it prints and writes, and what it says of teams that there cannot be."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from analysis.management.team_text import lines
from analysis.services.compute import Asked
from analysis.teams.options import TeamOptions
from analysis.teams.results import FEWEST_ITEMS
from benchmarks.analysis.crowd import make_crowd
from experiment.models import Study
from tests.analysis.data.choosing import choose
from tests.analysis.teams.made_teams import document, tried
from tests.factories import make_participant, make_study
from tests.scoring.lab.rows import ask, finish
from tests.storages import store_files_in

pytestmark = pytest.mark.django_db
FEW = ("--resamples", "200")


@pytest.fixture(autouse=True)
def result_folder(settings: Any, tmp_path_factory: Any) -> None:
    settings.VAR_DIR = tmp_path_factory.mktemp("var")
    store_files_in(settings, settings.VAR_DIR)


@pytest.fixture
def crowd() -> Study:
    """270 trials of 30 people on 24 items, and 4 models."""
    return make_crowd(270, 24, 4)


def team(capsys: Any, *arguments: object) -> str:
    capsys.readouterr()
    call_command("team", *map(str, arguments), *FEW)
    out: str = capsys.readouterr().out
    return out


def test_the_text_is_an_aligned_table_and_sentences(crowd: Study, capsys: Any) -> None:
    said = team(capsys, crowd.slug, "--members", "human", "model-00").splitlines()
    head = next(n for n, line in enumerate(said) if line.startswith("team "))
    assert len({len(row) for row in said[head + 1 : head + 4]}) == 1
    assert "on 24 test cases is not yet informative" in " ".join(said[:head])
    assert any("270 trials of 24 test cases by 30 participants." in line for line in said)
    assert not any("None" in line or "nan" in line for line in said)


@pytest.fixture
def asked() -> Study:
    """A person, a model that was scored, and the same model asked: it ties on every fourth test case."""
    study = make_study()
    make_participant(study)
    finish(ask(study, "lab/one"), right=5)
    choose(study, "lab/one", lambda n, original, sample: {"side": original if n % 4 else "A"})
    return study


def test_a_model_that_is_a_member_in_both_ways_is_said_to_be_one_and_ties_are_counted(
    asked: Study, capsys: Any, tmp_path: Path
) -> None:
    members, folder = "human,lab/one,lab/one (asked)", tmp_path / "team"
    said = team(
        capsys, asked.slug, "--members", members, "--method", "majority", "--output", folder
    )
    assert "one and one (asked) are one language model, which is a member twice" in said
    assert json.loads((folder / "teams.json").read_text())["tried"]["taken_twice"] == ["lab/one"]
    said = team(capsys, asked.slug, "--members", "human,lab/one (asked)", "--method", "majority")
    assert "twice" not in said
    assert "Ties count half. one (asked) ties on 1 of 6 trials. A member that ties has no" in said
    rows = [line for line in said.splitlines() if line.startswith(("team ", "one (asked) "))]
    assert [re.split(r"\s{2,}", row)[3] for row in rows] == ["ties", "1"]


def test_many_teams_are_cut_to_the_whole_the_members_and_the_most_accurate() -> None:
    said = lines(document(tried(4, 2, "majority")))
    head = next(n for n, line in enumerate(said) if line.startswith("team "))
    rows = said[head + 1 : said.index("", head)]
    assert len(rows) == 40
    assert [row.split("  ")[0] for row in rows[:3]] == ["2 humans + 4 models", "Human", "Model 0"]
    accuracies = [float(re.findall(r" ([01]\.\d{4})", row)[0]) for row in rows[6:]]
    assert accuracies == sorted(accuracies, reverse=True)


def test_a_folder_holds_numbers_tables_and_figures_and_the_page_has_them_too(
    crowd: Study, capsys: Any, tmp_path: Path
) -> None:
    said = team(capsys, crowd.slug, "--members", "human,model-00", "--output", tmp_path / "team")
    written = {str(p.relative_to(tmp_path / "team")) for p in tmp_path.rglob("*.*")}
    assert {
        "teams.json",
        "tables/teams.csv",
        "tables/predictions.csv",
        "figures/teams.svg",
    } <= written
    assert f"{len(written)} files in {tmp_path / 'team'}" in said
    values = json.loads((tmp_path / "team" / "teams.json").read_text())
    assert values["tried"]["few_items"] == {"n_items": 24, "fewest": FEWEST_ITEMS}
    options = TeamOptions(members=("human", "model-00"), resamples=200)
    found = Asked(crowd, options).find()
    assert found is not None
    assert values == found.values


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere",), "There is no study “nowhere”"),
        (
            ("memory", "--members", "human,org/none"),
            "“org/none” is not a language model of this study",
        ),
        (("memory", "--seed", "-3"), "seed: -3"),
        (("memory", "--up-to", "2"), "--up-to needs --all-subsets"),
        (
            ("memory", "--predictions", "/nowhere/new/x.csv"),
            "the folder /nowhere/new does not exist",
        ),
        (("memory", "--output", "/nowhere/new"), "--output: the folder /nowhere does not exist"),
    ],
)
def test_impossible_arguments_are_refused_in_a_sentence(
    arguments: tuple[str, ...], said: str
) -> None:
    make_participant(make_study())
    with pytest.raises(CommandError, match=said):
        call_command("team", *arguments)

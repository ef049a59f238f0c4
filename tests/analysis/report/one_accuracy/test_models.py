"""One model, one accuracy: wherever this site says how often a model was right, with ties."""

import json
import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
from django.test import Client

from analysis.data_set import short_name
from analysis.management.report_text import lines
from analysis.report.report import StoredReport
from analysis.report.services.compare import compare, side
from analysis.report.services.save import save_report
from analysis.services.compute import Asked
from analysis.teams.domain.trying import try_teams
from analysis.teams.options import TeamOptions
from scoring.domain.backend import ScoringError
from scoring.lm_eval.results import write_results
from scoring.management.asked_models import AskedModel, AskedPrompt
from scoring.management.results import as_json, score_lines
from scoring.management.scoring_command import Evaluation
from scoring.models import ChoiceRun, ModelChoice, ScoringRun
from tests.analysis.made import make_data
from tests.analysis.report.one_accuracy.readings import (
    SENTENCES,
    Reading,
    in_figure,
    in_json,
    in_lines,
    in_page,
    in_sentences,
    printed,
)
from tests.analysis.report.one_accuracy.walked import (
    ASKED,
    CHAT,
    CHOOSING,
    DEFAULT,
    EVERY,
    HUMAN,
    MACHINE,
    NAMES,
    ONE,
    SCORED,
    TUNED,
    Site,
    of_tables,
    printed_by,
    shown,
    words_of,
)
from tests.api_client import Program
from tests.factories import make_user

pytestmark = pytest.mark.django_db


def test_a_report_has_one_accuracy_in_its_numbers_tables_figures_sentences_and_api(
    site: Site, ruth: Client
) -> None:
    result = Asked(site.study, DEFAULT).keep(lambda row: save_report(row, site.report))
    assert site.check(in_json(site.report.to_json(), NAMES, HUMAN), source="human") == EVERY
    tables = {stem: result.table_file(stem) for stem in result.tables}
    assert site.check(of_tables(tables), source="human") == EVERY
    figures = {f.stem: result.figure_file(f.stem, "svg").decode() for f in result.figures}
    read = [one for stem, svg in figures.items() for one in in_figure(svg, NAMES, stem)]
    assert site.check(read, source="human") == EVERY
    assert len({one.place for one in read}) > 5
    page = shown(ruth, "results", query="?source=human")
    assert site.check(in_page(page, NAMES, HUMAN, "results"), source="human") == EVERY
    said = list(in_sentences(page, NAMES, "results"))
    site.check(said, source="human")
    assert {one.place.removeprefix("results: ") for one in said} == set(SENTENCES)
    # The adviser's choices, of which half of its ties are right
    words = words_of(page)
    of_adviser = re.findall(
        r"The adviser, shown to participants as “a model”, was right on ([\d.]+)%", words
    )
    site.check([printed("adviser", ONE, number) for number in of_adviser], source="human")
    assert of_adviser
    program = Program(make_user("program", site.study))
    values = program.get("studies/memory/report/", source="human").json()
    assert site.check(in_json(values, NAMES, HUMAN), source="human") == EVERY
    file = shown(ruth, "results_report", query="?source=human")
    assert site.check(in_json(json.loads(file), NAMES, HUMAN), source="human") == EVERY
    file = shown(ruth, "results_html", query="?source=human")
    assert site.check(in_page(file, NAMES, HUMAN, "report.html"), source="human") == EVERY
    assert list(in_sentences(file, NAMES, "report.html"))
    site.check(in_sentences(file, NAMES, "report.html"), source="human")
    # Of two reports that are compared
    one = side("One", StoredReport(result, "human"), "human")
    rows = compare(one, one, same_people=True).models
    read = [Reading("compare", NAMES.called[row.label], v) for row in rows for v in (row.before, row.after) if v is not None]  # fmt: skip
    assert site.check(read, source="human") == EVERY


def test_each_model_counts_once_in_the_mean_of_models(site: Site) -> None:
    once = [ONE, TUNED, CHAT, f"{ASKED} (asked)"]
    means = [
        np.mean([p for key, p in site.points[name].items() if "human" in key]) for name in once
    ]
    (line,) = [
        line for line in lines(site.report, None, site.folder) if line.startswith("  models  ")
    ]
    assert f"accuracy {np.mean(means):.4f} " in line
    assert "(4 models)" in line
    (found,) = site.report.to_json()["sources"].values()
    assert found["crossed"]["models_mean"]["mean"] == pytest.approx(np.mean(means))


def test_teams_have_one_accuracy_on_their_page_by_the_command_and_the_api(
    site: Site, ruth: Client
) -> None:
    members = ("human", ONE, f"{ONE} (asked)", CHAT, f"{ASKED} (asked)", TUNED)
    asked = ("--resamples", "50", "--method", "majority", "--all-subsets", "--up-to", "2")
    command = ("team", "memory", "--members", *members, *asked)
    assert site.check(in_lines(printed_by(*command), NAMES, "team"), source="human") == EVERY
    values = json.loads(printed_by(*command, "--json"))
    assert site.check(in_json(values, NAMES, HUMAN), source="human") == EVERY
    chosen = "&".join(["?combined_by=majority", *(f"members={name}" for name in members)])
    page = shown(ruth, "results_teams", query=chosen)
    assert site.check(in_page(page, NAMES, HUMAN, "teams"), source="human") == EVERY
    site.check(in_sentences(page, NAMES, "teams"), source="human")
    offered = re.findall(r'model-name">([^<]+)</span> <small class="model-share">([\d.]+)%', page)
    ticks = [printed("ticks", NAMES.called[name], number) for name, number in offered]
    assert site.check(ticks, source="human") == EVERY
    tables = re.findall(r'href="([^"]+/tables/[^"]+)"', page)
    files = {href: b"".join(ruth.get(href.replace("&amp;", "&"))) for href in tables}
    assert site.check(of_tables(files), source="human") == EVERY


def test_runs_have_one_accuracy_on_their_pages_and_in_lists(site: Site, ruth: Client) -> None:
    """On all test cases that the study shows, and no other."""
    n = HUMAN + MACHINE
    assert site.check(in_page(shown(ruth, "scoring"), NAMES, n, "models")) == SCORED
    assert site.check(in_page(shown(ruth, "choosing"), CHOOSING, n, "choices")) == EVERY - SCORED
    dots = re.findall(
        r'id="dot-\d+"[^>]*>([^<]+)</a>.*?dot-value">([\d.]+)%', shown(ruth, "scoring"), re.S
    )
    assert site.check([printed("dots", NAMES.called[name], x) for name, x in dots]) == SCORED
    for run in ScoringRun.objects.filter(condition="full"):
        words = words_of(shown(ruth, "scoring_run", run.pk))
        (right,) = re.findall(r"Right ([\d.]+)%", words)
        site.check([printed("run", run.language_model.name, right)])
        if run.language_model.name == ONE:
            assert "14 of 20, and 4 ties" in words
    for choices in ChoiceRun.objects.all():
        words = words_of(shown(ruth, "choice_run", choices.pk))
        (right,) = re.findall(r"Accuracy ([\d.]+)% of 20 judged test cases", words)
        site.check([printed("choice run", f"{choices.language_model.name} (asked)", right)])
        assert "The run gave 2 more answers" in words
    (right,) = re.findall(r"Correct advice ([\d.]+)%", words_of(shown(ruth, "setup_advice")))
    site.check([printed("advice", ONE, right)])
    for more in ([], ["--study", "memory"]):
        listed = printed_by("score", "ls", *more)
        assert site.check(in_lines(listed, NAMES, "score ls")) == SCORED
        values = json.loads(printed_by("score", "ls", "--json", *more))
        assert site.check(in_json(values, NAMES, n)) == SCORED
        chose = ("score", "ls", "--method", "choice", *more)
        assert site.check(in_lines(printed_by(*chose), CHOOSING, "score ls")) == EVERY - SCORED
        values = json.loads(printed_by(*chose, "--json"))
        assert site.check(in_json(values, CHOOSING, n)) == EVERY - SCORED
    program = Program(make_user("program", site.study))
    assert site.check(in_json(program.all_pages("studies/memory/runs/"), NAMES, n)) == SCORED


def test_a_run_has_one_accuracy_as_it_ends_and_in_the_form_of_the_harness(
    site: Site, tmp_path: Path
) -> None:
    n = HUMAN + MACHINE
    for run in ScoringRun.objects.filter(condition="full"):
        name = run.language_model.name
        ended = Evaluation(AskedModel("hf", {}, name, name), AskedPrompt("paper"), [], [run])
        assert site.check(in_lines("\n".join(score_lines([ended])), NAMES, "score")) == {name}
        found = as_json([ended])
        assert found["n_items"] == n
        site.check([Reading("score --json", name, found["accuracy"])])
    # The others' file would hold a test case that the study no longer shows: it is refused
    run = ScoringRun.objects.get(language_model__name=CHAT)
    (results, _samples) = write_results([run], tmp_path)
    (metrics,) = json.loads(results.read_text())["results"].values()
    site.check([Reading("harness", CHAT, metrics["acc,none"])])
    with pytest.raises(ScoringError, match="the study's texts have changed"):
        write_results(
            [ScoringRun.objects.get(language_model__name=ONE, condition="full")], tmp_path
        )


def test_choices_imported_from_elsewhere_have_the_same_accuracy(site: Site, tmp_path: Path) -> None:
    choices = ModelChoice.objects.filter(run__language_model__name=ASKED)
    rows = choices.filter(item__study_items__study=site.study)
    lines = [
        {"item": key, "order": order, "side": chosen}
        for key, order, chosen in rows.values_list("item__key", "original_side", "side")
    ]
    file = tmp_path / "choices.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    said = printed_by("import_choices", str(file), "--study", "memory", "--name", "lab/again")
    (right,) = re.findall(
        r"Of 20 test cases with an answer in both orders, ([\d.]+)% are right", said
    )
    site.check([printed("import_choices", f"{ASKED} (asked)", right)])


def test_each_test_case_has_one_accuracy_in_exports_and_the_api(site: Site, tmp_path: Path) -> None:
    place = tmp_path / "all.zip"
    printed_by("export_dataset", "memory", "--set", "all", "--output", str(place))
    archive = ZipFile(place)
    files = {name.split("-")[-1].partition("_")[0]: name for name in archive.namelist() if name.endswith(".csv")}  # fmt: skip
    scores = pd.read_csv(archive.open(files["itemscores"]))
    scores = scores[scores["condition"] == "full"].copy()
    scores["name"] = scores["model"].where(
        scores["model_method"] != "choice", scores["model"] + " (asked)"
    )
    found = {name: dict(zip(own["item_key"], own["model_correct"], strict=True)) for name, own in scores.groupby("name")}  # fmt: skip
    assert found == site.points
    trials = pd.read_csv(archive.open(files["trialsmodels"])).set_index("item_key")
    trials = trials[trials.index.str.contains("human|machine")]
    for name, points in site.points.items():
        kind = "choice_correct" if name.endswith("(asked)") else "model_correct"
        column = trials[f"{kind}__{short_name(name.removesuffix(' (asked)'))}"]
        assert (column == [points[key] for key in column.index]).all()
    api = defaultdict(dict)
    for row in Program(make_user("program", site.study)).all_pages(
        "studies/memory/scores/", condition="full"
    ):
        api[row["model"]][row["item_key"]] = row["correct"]
    assert api == {name: points for name, points in site.points.items() if name in SCORED}


def test_a_team_gains_nothing_by_having_its_members_ties_broken() -> None:
    """A member that only ties adds nothing, and neither does a copy."""
    data = make_data(n_items=12, n_participants=9, trials_each=12, n_models=3, seed=4, resamples=60)
    names = list(data.models["name"])
    full = data.full.copy()
    full.loc[full["model"] == 0, ["margin_nats", "points"]] = [0.0, 0.5]
    full.loc[full["model"] == 0, "ppl_altered"] = full.loc[full["model"] == 0, "ppl_original"]
    tied = replace(data, full=full)
    options = TeamOptions(members=("human", names[0]), method="majority")
    found, _tables = try_teams(tied, options, lambda _: None)
    results = {row.team.label: row for row in found.teams}
    human, model = (results[label] for label in ("human", names[0]))
    (both,) = (row for row in found.teams if len(row.team) == 2)
    assert (model.accuracy, model.n_ties, model.n_correct) == (0.5, model.n_trials, 0)
    assert both.accuracy == human.accuracy
    assert both.gain == 0

"""One accuracy, test case by test case and of people: pages of the lab, exports and the API against the report."""

import io
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
from django.test import Client
from django.urls import reverse
from lxml import html

from analysis.management.report_text import lines
from analysis.report.headline import headline
from experiment.models import Item, Judgment, ResearchField
from experiment.services.study_versions import compare_rules
from scoring.models import ScoringRun
from tests.analysis.report.one_accuracy.readings import in_json
from tests.analysis.report.one_accuracy.walked import (
    EVERY,
    HUMAN,
    NAMES,
    SCORED,
    Site,
    printed_by,
    shown,
)
from tests.api_client import Program
from tests.factories import make_research_field, make_user

pytestmark = pytest.mark.django_db
LISTED = "Accuracy, 95% interval"
WORDS = {"right": 1.0, "wrong": 0.0, "a tie": 0.5, "tie": 0.5}


def own_points(site: Site) -> dict[str, list[float]]:
    """By this file's own count: of each test case, the answers that people gave without advice, or before it."""
    found = defaultdict(list)
    judged = Judgment.objects.filter(trial__participant__study=site.study)
    for judgment in judged.exclude(trial__stratum="catch").select_related("trial__item"):
        advised = getattr(judgment.trial, "advised", None)
        side = advised.first_side if advised else judgment.side
        found[judgment.trial.item.key].append(float(side == judgment.trial.original_side))
    return found


@pytest.fixture
def people(site: Site) -> Mapping[str, list[float]]:
    found = own_points(site)
    assert 0 < np.mean([p for own in found.values() for p in own]) < 1
    return found


@pytest.fixture
def field(site: Site, ruth: Client) -> ResearchField:
    """The field of the study's test cases, which Ruth curates."""
    site.study.items.filter(kind=Item.Kind.TEST).update(field="memory")
    found: ResearchField = make_research_field("memory")
    found.members.add(*site.study.members.all())
    return found


def of_humans(points: Mapping[str, list[float]], source: str = "human") -> list[float]:
    return [point for key, own in points.items() if source in key for point in own]


def in_field(client: Client, name: str, field: ResearchField, *args: Any) -> str:
    response = client.get(reverse(f"lab:{name}", args=[field.slug, *args]))
    assert response.status_code == 200
    return str(response.content.decode())


def rows_of(page: str, head: str) -> Iterable[dict[str, str]]:
    """Head of a column -> cell, of each row of the tables whose first head is this one."""
    for table in html.fromstring(page).iter("table"):
        heads = [" ".join(cell.text_content().split()) for cell in table.xpath("(.//tr)[1]/*")]
        if head in heads:
            for row in table.xpath(".//tbody/tr"):
                cells = [" ".join(cell.text_content().split()) for cell in row]
                yield dict(zip(heads, cells, strict=True))


def share_of(cell: str) -> float:
    """The percentage that a cell begins with, as a share."""
    return float(cell.split("%")[0]) / 100


def test_a_test_case_has_one_accuracy_on_its_page_and_in_its_fields_list(
    site: Site, ruth: Client, field: ResearchField, people: Mapping[str, list[float]]
) -> None:
    items = {item.key: item for item in site.study.items.filter(kind=Item.Kind.TEST)}
    assert items.keys() == people.keys()
    listed = {row["Test case"].split()[0]: row for row in rows_of(in_field(ruth, "field", field), "Times judged")}  # fmt: skip
    for key, item in items.items():
        page = in_field(ruth, "item_statistics", field, item.pk)
        decided = {
            NAMES.called[row["Model"].split(" before")[0]]: WORDS[row["Decision"]]
            for row in rows_of(page, "Decision")
        }
        assert decided == {name: site.points[name][key] for name in SCORED}
        (own,) = rows_of(page, "Times judged")
        for row, head in ((own, "Accuracy (95% interval)"), (listed[key], LISTED)):
            assert int(row["Times judged"]) == len(people[key])
            assert share_of(row[head]) == pytest.approx(np.mean(people[key]), abs=0.005)
        n, of = listed[key]["Models right"].split(" of ")
        assert (float(n), int(of)) == (sum(decided.values()), len(SCORED))
    of_study = {row["Test case"].split()[0]: row for row in rows_of(shown(ruth, "test_cases"), LISTED)}  # fmt: skip
    for key, own in people.items():
        assert share_of(of_study[key][LISTED]) == pytest.approx(np.mean(own), abs=0.005)


def test_each_test_case_has_one_accuracy_in_a_runs_file_and_its_pairs(
    site: Site, ruth: Client
) -> None:
    for run in ScoringRun.objects.filter(condition="full"):
        points = site.points[run.language_model.name]
        file = ruth.get(reverse("lab:scoring_scores", args=["memory", run.pk]))
        table = pd.read_csv(io.BytesIO(b"".join(file)))
        assert dict(zip(table["item"], table["correct"], strict=True)) == points
        pairs = rows_of(shown(ruth, "scoring_run", run.pk), "Choice")
        assert {
            row["Test case"]: WORDS[row["Choice"].removesuffix(" near-tie")] for row in pairs
        } == points


def test_teams_have_one_accuracy_in_files_of_predictions_and_by_the_api(
    site: Site, tmp_path: Path
) -> None:
    file = tmp_path / "predictions.csv"
    members = ("human", *sorted(EVERY))
    asked = ("--resamples", "50", "--method", "majority", "--all-subsets", "--up-to", "1")
    printed_by("team", "memory", "--members", *members, *asked, "--predictions", str(file))
    table = pd.read_csv(file)
    alone = {
        NAMES.called[team]: dict(zip(own["item"], own["points"], strict=False))
        for team, own in table.groupby("team")
        if team in NAMES.called
    }
    assert alone == {name: {k: p for k, p in own.items() if "human" in k} for name, own in site.points.items()}  # fmt: skip
    program = Program(make_user("program", site.study))
    query = urlencode({"members": members, "method": "majority", "source": "human"}, doseq=True)
    assert program.post(f"studies/memory/teams/start/?{query}").status_code in (200, 202)
    values = program.get(f"studies/memory/teams/?{query}").json()
    assert site.check(in_json(values, NAMES, HUMAN), source="human") == EVERY


def test_people_have_one_accuracy_in_the_report_its_files_exports_and_the_api(
    site: Site, ruth: Client, people: Mapping[str, list[float]], tmp_path: Path
) -> None:
    own = of_humans(people)
    found = site.report.to_json()["sources"]["human"]
    assert found["humans"]["trials"]["n"] == len(own)
    for value in (
        found["humans"]["trials"]["accuracy"],
        found["headline"]["humans"]["value"],
        found["crossed"]["humans"]["accuracy"],
        headline(site.report.sources["human"]).humans.value,
    ):
        assert value == pytest.approx(np.mean(own))
    (line,) = [one for one in lines(site.report, None, tmp_path) if one.startswith("  humans  ")]
    assert f"accuracy {np.mean(own):.4f} " in line
    file = tmp_path / "trials.csv"
    printed_by("export_trials", "memory", "--set", "analysis", "--output", str(file))
    rows = {"export_trials": pd.read_csv(file)}
    program = Program(make_user("program", site.study))
    rows["api"] = pd.DataFrame(list(program.all_pages("studies/memory/trials/", set="analysis")))
    place = tmp_path / "all.zip"
    printed_by("export_dataset", "memory", "--set", "all", "--output", str(place))
    archive = ZipFile(place)
    for name in archive.namelist():
        if "trials" in name and name.endswith(".csv"):
            rows[name] = pd.read_csv(archive.open(name))
    for where, table in rows.items():
        kept = table[table["item_source"] == "human"] if "item_source" in table else table
        kept = kept[kept["item_key"].str.contains("human")]
        first = kept["first_correct"].astype("float")
        points = first.where(first.notna(), kept["correct"].astype("float"))
        points = points[kept["advice_procedure"] != "before"]
        assert sorted(points) == sorted(own), where


def test_people_have_one_accuracy_under_the_rules_of_a_study(
    site: Site, people: Mapping[str, list[float]]
) -> None:
    """As the page that previews a change and the command `study_versions` print it."""
    own = [point for points in people.values() for point in points]
    compared = compare_rules(site.study, "real", site.study.exclusion_rules)
    for found in (compared.before, compared.after):
        assert (found.trials, found.correct) == (len(own), sum(own))
        assert found.accuracy == pytest.approx(np.mean(own))

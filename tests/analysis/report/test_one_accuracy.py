"""One model, one accuracy: wherever this site says how often a model was right, with ties."""

import io
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from django.urls import reverse

from analysis.data.filters import ReportOptions
from analysis.management.report_text import lines
from analysis.report.report import Report, StoredReport
from analysis.report.services.compare import compare, side
from analysis.report.services.make import make_report
from analysis.report.services.save import save_report
from analysis.services.compute import Asked
from analysis.teams.domain.trying import try_teams
from analysis.teams.options import TeamOptions
from experiment.models import Item, Study
from scoring.domain.backend import ScoringError
from scoring.lm_eval.results import write_results
from scoring.management.results import as_json, score_lines
from scoring.management.scoring_command import AskedModel, AskedPrompt, Evaluation
from scoring.models import ChoiceRun, ItemScore, LanguageModel, ModelChoice, ScoringRun
from tests.analysis.data.advising import advise
from tests.analysis.data.choosing import choose
from tests.analysis.made import make_data
from tests.analysis.report.accuracies import (
    SENTENCES,
    Names,
    Reading,
    in_figure,
    in_json,
    in_lines,
    in_page,
    in_sentences,
    in_table,
    printed,
)
from tests.api_client import Program
from tests.factories import make_arms, make_item, make_participant, make_study, make_user
from tests.scoring.lab.rows import ask, store, study_items
from tests.storages import store_files_in

pytestmark = pytest.mark.django_db
HUMAN, MACHINE = 12, 8
DEFAULT = ReportOptions(source="human")
# A model that is asked too and gives advice, one that was tuned from it, its chat partner; one that was only asked
ONE, TUNED, CHAT, ASKED = "lab/one", "lab/tuned", "lab/chat", "lab/asked"
TITLES = {ONE: "Model One", TUNED: "Model Tuned", CHAT: "Model Chat", ASKED: "Model Asked"}
Points = Mapping[str, Mapping[str, float]]  # name in results -> key of a test case -> points


@dataclass(frozen=True)
class Site:
    """points: by this file's own count."""

    study: Study
    points: Points
    report: Report
    folder: Path

    def check(self, readings: Iterator[Reading] | list[Reading], *, source: str = "") -> set[str]:
        """Each is the accuracy of its model, on the test cases of the source; the models that were read."""
        models, wrong = set(), []
        for one in readings:
            own = [p for key, p in self.points[one.model].items() if source in key]
            models.add(one.model)
            if abs(one.value - np.mean(own)) > one.half:
                wrong.append(f"{one.place}: {one.model} {one.value}, not {np.mean(own)}")
        assert wrong == []
        return models


NAMES = Names(
    called={name: name for name in (ONE, TUNED, CHAT, f"{ONE} (asked)", f"{ASKED} (asked)")}
    | {TITLES[name]: name for name in (ONE, TUNED, CHAT)}
    | {f"{TITLES[name]} (asked)": f"{name} (asked)" for name in (ONE, ASKED)},
    asked={ONE: f"{ONE} (asked)"},
    base={TUNED: ONE, CHAT: ONE},
)
# On pages and in files about models that were asked alone
CHOOSING = replace(NAMES, called={k: f"{m} (asked)" for m in (ONE, ASKED) for k in (m, TITLES[m])})
SCORED, EVERY = {ONE, TUNED, CHAT}, set(NAMES.called.values())


def scored(
    study: Study, name: str, ties: list[int], wrong: list[int], n: int = HUMAN + MACHINE + 1
) -> ScoringRun:
    """With ties on these test cases, and wrong on those."""
    run = ask(study, name)
    rng = np.random.default_rng(run.pk % 100)
    original, margins = rng.uniform(8, 14, n), rng.uniform(0.02, 0.3, n)
    margins[ties] = 0
    margins[wrong] *= -1
    return store(run, [(a, a * float(np.exp(b))) for a, b in zip(original, margins, strict=True)])


def says(ties: set[int], every: int) -> Any:
    """A on both sides in ties, and in one of `every` others wrong."""

    def answer(n: int, original: str, sample: int) -> dict[str, Any]:
        other = "AB"[original == "A"]
        return {"side": "A" if n in ties else other if n % every == 1 else original, "confidence": 60.0 + n}  # fmt: skip

    return answer


def points_of() -> Points:
    """A tie is half: of perplexities, and of an equal number of right and wrong answers."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    right: dict[tuple[str, str], list[int]] = defaultdict(list)
    shown = Item.objects.filter(study_items__study__slug="memory")
    asked_about = ModelChoice.objects.filter(item__in=shown)
    for score in ItemScore.objects.filter(item__in=shown, run__condition="full"):
        a, b = score.ppl_original, score.ppl_altered
        found[score.run.language_model.name][score.item.key] = 1.0 if a < b else 0.5 if a == b else 0.0  # fmt: skip
    for choice in asked_about:
        asked = f"{choice.run.language_model.name} (asked)"
        right[asked, choice.item.key].append(1 if choice.side == choice.original_side else -1)
    for (name, key), sides in right.items():
        found[name][key] = 0.5 if sum(sides) == 0 else float(sum(sides) > 0)
    return found


def fill() -> Study:
    study = make_study(human=HUMAN, machine=MACHINE)
    for n, item in enumerate(study.items.order_by("key")):
        item.publication_date = date(2022, 1, 1) + timedelta(days=20 * n)
        item.save(update_fields=["publication_date"])
    models = {
        name: LanguageModel.objects.create(name=name, display_name=title, training_cutoff=date(2022, 6, 1))
        for name, title in TITLES.items()
    }  # fmt: skip
    LanguageModel.objects.filter(name=TUNED).update(tuned_from=models[ONE])
    LanguageModel.objects.filter(name=CHAT).update(base_partner=models[ONE], is_chat=True)
    # A test case that the runs were on, and that the study no longer shows
    dropped = make_item("memory-zz")
    study.items.add(dropped)
    scored(study, ONE, [0, 3, 6, 8], [1, 14])
    scored(study, TUNED, [1, 15], [5])
    scored(study, CHAT, [13], [2, 4, 7, 9, 16, 17], n=HUMAN + MACHINE)
    for condition in ("isolated", "swapped"):
        # As often right as wrong, whatever the model does with whole texts
        run = ask(study, ONE, condition=condition)
        run.item_scores.bulk_create(
            ItemScore(run=run, item=item, unit=unit, ppl_original=9, ppl_altered=8 + 2 * (n % 2))
            for n, item in enumerate(study_items(run))
            for unit in range(2 if condition == "isolated" else 1)
        )
        store(run, [])
    ItemScore.objects.update(zlib_original_bytes=700, zlib_altered_bytes=710)
    choose(study, ONE, says({0, 4, 8, 10}, 5))
    choose(study, ASKED, says({5}, 3))
    study.items.remove(dropped)
    arms = make_arms(study, {"name": "alone"}, {"name": "advised", "advice": "after"})
    call_command(
        "set_adviser", study.slug, "--models", ONE, "--name", "a model", stdout=io.StringIO()
    )
    for n in range(12):
        # Each arm judges each test case equally often
        person = make_participant(study, arm=arms[n // 2 % 2])
        if person.arm.is_advised:
            advise(person, "after")
    return Study.objects.get(pk=study.pk)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("walk")


@pytest.fixture(scope="module")
def site(folder: Path, django_db_setup: None, django_db_blocker: Any) -> Iterator[Site]:
    with django_db_blocker.unblock(), transaction.atomic():
        study = fill()
        points = points_of()
        accuracies = {
            name: np.mean([p for key, p in own.items() if "human" in key])
            for name, own in points.items()
        }
        assert len(set(accuracies.values())) == len(EVERY)
        yield Site(study, points, make_report(study, replace(DEFAULT, resamples=50)), folder)
        transaction.set_rollback(True)


@pytest.fixture(autouse=True)
def own_files(settings: Any, folder: Path) -> None:
    settings.VAR_DIR = folder
    store_files_in(settings, folder)
    settings.JOB_EXECUTOR = "inline"


@pytest.fixture
def ruth(client: Client, site: Site) -> Client:
    client.force_login(make_user("ruth", site.study))
    return client


def shown(client: Client, name: str, *args: Any, query: str = "") -> str:
    response = client.get(reverse(f"lab:{name}", args=["memory", *args]) + query, follow=True)
    assert response.status_code == 200
    return b"".join(response).decode()


def words_of(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def of_tables(files: Mapping[str, bytes]) -> Iterator[Reading]:
    for stem, file in files.items():
        yield from in_table(pd.read_csv(io.BytesIO(file)), NAMES, HUMAN, stem)


def printed_by(*command: str) -> str:
    out = io.StringIO()
    with redirect_stdout(out):
        call_command(*command)
    return out.getvalue()


def test_of_a_report_in_numbers_tables_figures_sentences_and_the_api(
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
    # Of two reports that are compared
    one = side("One", StoredReport(result, "human"), "human")
    rows = compare(one, one, same_people=True).models
    read = [Reading("compare", NAMES.called[row.label], v) for row in rows for v in (row.before, row.after) if v is not None]  # fmt: skip
    assert site.check(read, source="human") == EVERY


def test_of_the_mean_of_models_each_of_which_counts_once(site: Site) -> None:
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


def test_of_teams_on_their_page_by_the_command_and_the_api(site: Site, ruth: Client) -> None:
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


def test_of_runs_on_their_pages_and_in_lists(site: Site, ruth: Client) -> None:
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


def test_of_scoring_as_it_ends_and_in_the_form_of_the_harness(site: Site, tmp_path: Path) -> None:
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


def test_of_choices_that_come_from_elsewhere(site: Site, tmp_path: Path) -> None:
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


def test_of_each_test_case_in_exports_and_the_api(site: Site, tmp_path: Path) -> None:
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
        column = trials[f"{kind}__{name.removesuffix(' (asked)')}"]
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

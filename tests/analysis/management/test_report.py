"""`report`: what it writes, what it prints, and what it says of data that are not there."""

import csv
import json
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction

from analysis.data.filters import METHODS, ReportOptions
from analysis.report.chapter import Part
from analysis.report.chapters.graded_comparisons.figures import graded_texts
from analysis.report.chapters.graded_comparisons.results import GradedComparisons
from analysis.report.contents import CHAPTERS, chapters_about
from analysis.report.report import Report
from analysis.services.compute import Asked
from benchmarks.analysis.crowd import make_crowd
from experiment.models import Study
from lib.formatting import points_interval, share_interval
from tests.analysis import results_stub
from tests.analysis.data.graded_rows import answer, grade, make_questions
from tests.factories import make_participant, make_study
from tests.scoring.tiny_models import save_gpt2
from tests.storages import store_files_in

pytestmark = pytest.mark.django_db


def keys_about(*parts: Part) -> set[str]:
    return {key for chapter in chapters_about(*parts) for key in chapter.keys}


@pytest.fixture(autouse=True)
def own_files(settings, tmp_path_factory) -> None:
    settings.VAR_DIR = tmp_path_factory.mktemp("var")
    store_files_in(settings, settings.VAR_DIR)


@dataclass
class Written:
    crowd: Study
    folder: Path
    printed: str

    @property
    def values(self) -> dict[str, Any]:
        return json.loads((self.folder / "report.json").read_text())


@pytest.fixture(scope="module")
def written(
    tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, django_db_blocker: Any
) -> Iterator[Written]:
    """One report of 270 trials of 30 people on 24 items, and 4 models."""
    folder, out = tmp_path_factory.mktemp("written") / "new" / "report", StringIO()
    with django_db_blocker.unblock(), transaction.atomic():
        crowd = make_crowd(270, 24, 4)
        options = ("--source", "human", "--resamples", "200", "--formats", "svg")
        with redirect_stdout(out):
            call_command("report", crowd.slug, "--output", str(folder), *options)
        yield Written(crowd, folder, out.getvalue())
        transaction.set_rollback(True)


@pytest.fixture
def crowd(written: Written) -> Study:
    return written.crowd


@pytest.fixture
def not_computed(monkeypatch) -> None:
    """The same results and two figures for every study, where a test is about the files."""

    def make_report(
        study: Study, options: ReportOptions, progress: object, vectors: None
    ) -> Report:
        return results_stub.report(study, options)

    monkeypatch.setattr("analysis.report.services.make.make_report", make_report)
    monkeypatch.setattr("analysis.report.services.save.draw_all", results_stub.figures)


def report(capsys, *arguments: object) -> str:
    capsys.readouterr()
    call_command("report", *map(str, arguments), "--resamples", "200")
    return capsys.readouterr().out


def test_it_writes_numbers_tables_figures_and_a_page(written):
    folder, said, values, crowd = written.folder, written.printed, written.values, written.crowd
    assert (values["schema"], values["schema_version"]) == ("brainbench-live/report", 10)
    assert values["sources"].keys() == {"human"}
    assert values["sources"]["human"].keys() == {"headline", *keys_about(Part.PAIRS)}
    assert values["of_study"].keys() == keys_about(Part.PEOPLE)
    tables = {path.name for path in (folder / "tables").iterdir()}
    assert {"human_models.csv", "human_positions.csv", "human_figure_accuracy.csv"} <= tables
    with (folder / "tables/human_models.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 4
    drawn = {path.name for path in (folder / "figures").iterdir()}
    assert {"human_accuracy.svg", "study_flow.svg"} <= drawn
    page = (folder / "report.html").read_text()
    assert crowd.title in page
    assert "http://" not in page.replace("http://www.w3.org/", "")
    assert "<script" not in page
    assert not (folder / "replication.md").exists()
    assert not list(folder.rglob(".*"))
    accuracy = values["sources"]["human"]["humans"]["trials"]["accuracy"]
    assert f"accuracy {accuracy:.4f}" in said
    assert "(270 trials)" in said
    assert str(folder) in said


def test_terminal_page_and_file_lead_with_the_clustered_interval(written):
    human = written.values["sources"]["human"]
    assert next(iter(human)) == "headline"
    answer, crossed = human["headline"], human["crossed"]
    page = (written.folder / "report.html").read_text()
    panel = page[page.index('class="panel headline"') :].partition("</section>")[0]
    for name, part, form in (
        ("humans", crossed["humans"], share_interval),
        ("models", crossed["models_mean"], share_interval),
        ("difference", crossed["difference"], points_interval),
    ):
        low, high = answer[name]["ci95"]
        assert [low, high] == part["errors"]["two_way_ci95"]
        sign = "+" if name == "difference" else ""
        assert f"95% clustered {low:{sign}.4f} to {high:{sign}.4f}" in written.printed
        assert form((low, high)) in panel
    assert "naive" not in str(answer)


def test_simulated_people_are_marked_on_every_table_and_figure_and_on_the_page(
    tmp_path, capsys, not_computed
):
    study = make_study()
    make_participant(study, kind="simulated")
    (tmp_path / "mine.txt").touch()
    asked = (study.slug, "--output", tmp_path, "--source", "human", "--formats", "svg")
    assert "has no real participants. There are: 1 simulated." in report(
        capsys, *asked, "--kind", "real"
    )
    report(capsys, *asked)
    values = json.loads((tmp_path / "simulated-report.json").read_text())
    assert values["participants"]["kind"] == "simulated"
    files = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert {name for name in files if not name.startswith("simulated-")} == {"mine.txt"}
    for table in (tmp_path / "tables").glob("*.csv"):
        with table.open() as file:
            assert {row["participants"] for row in csv.DictReader(file)} == {"simulated"}
    drawn = [path.read_text() for path in (tmp_path / "figures").glob("*.svg")]
    assert len([picture for picture in drawn if "imulated participants" in picture]) == 2
    assert "no person took part" in (tmp_path / "simulated-report.html").read_text()


def test_a_second_report_into_a_folder_leaves_nothing_of_the_first_but_what_is_not_ours(
    crowd, tmp_path, capsys, not_computed
):
    report(capsys, crowd.slug, "--output", tmp_path, "--source", "human", "--formats", "svg")
    (tmp_path / "tables" / "mine.csv").write_text("mine")
    (tmp_path / "replication.md").write_text("of another report")
    chosen = ("--formats", "pdf", "--models", "simulated/model-00")
    report(capsys, crowd.slug, "--output", tmp_path, "--source", "human", *chosen)
    assert not list((tmp_path / "figures").glob("*.svg"))
    assert list((tmp_path / "figures").glob("*.pdf"))
    assert not (tmp_path / "replication.md").exists()
    assert (tmp_path / "tables" / "mine.csv").read_text() == "mine"


def test_stopped_by_hand_it_says_in_one_sentence_what_the_folder_holds(
    tmp_path, monkeypatch, not_computed
):
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("analysis.services.export.write_report", stop)
    with pytest.raises(CommandError, match=r"report\.json is written last") as stopped:
        call_command("report", make_study().slug, "--output", str(tmp_path))
    assert stopped.value.returncode == 130


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere", "--json"), "There is no study “nowhere”"),
        (("memory",), "--output DIR"),
        (("memory", "--json", "--seed", "-3"), "seed: -3"),
    ],
)
def test_an_impossible_report_is_refused_in_a_sentence(arguments, said):
    make_study()
    with pytest.raises(CommandError, match=said):
        call_command("report", *arguments)


def test_a_folder_that_cannot_be_written_to_is_named_and_nothing_is_half_there(
    tmp_path, not_computed
):
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(CommandError, match="taken"):
        call_command("report", make_study().slug, "--output", str(tmp_path / "taken"))
    assert (tmp_path / "taken").read_text() == "a file"


def test_the_documentation_names_every_key_of_the_report():
    text = (Path(__file__).resolve().parents[3] / "docs/results.md").read_text()
    assert [key for key in keys_about(*Part) if f"`{key}`" not in text] == []


def estimates(value: Any, at: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object of a report that says by which method it came about, with its place; a model's method is how it took the test."""
    if isinstance(value, dict):
        if value.get("method", "") not in ("", *METHODS) and "reason" not in value:
            yield at, value
        for name, part in value.items():
            yield from estimates(part, f"{at}.{name}")
    elif isinstance(value, list):
        for part in value:
            yield from estimates(part, f"{at}[]")


def test_each_estimate_of_a_crowd_says_how_many_it_is_from_and_has_an_interval(written):
    human = written.values["sources"]["human"]
    assert (human["humans"]["trials"]["n"], len(human["models"])) == (270, 4)
    assert human["exposures"]["mean"] == pytest.approx(270 / 24)
    steps = written.values["of_study"]["flow"]["steps"]
    assert sum(row["n"] for row in steps if row["code"] == "analysed") == 30
    seen = list(estimates(human))
    assert len(seen) > 60
    without_n = {
        at for at, part in seen if not any(name == "n" or name.startswith("n_") for name in part)
    }
    # These hold others, which have their own n
    assert without_n <= {
        ".crossed",
        ".memorisation",
        ".mixed_model.items_share",
        ".mixed_model.lrt",
        ".teaming.adding_human[]",
    }
    shares = [(at, part) for at, part in seen if part.keys() & {"accuracy", "sem", "rho", "t"}]
    assert {at for at, part in shares if not any("ci95" in name for name in part)} == set()


def test_a_study_of_questions_alone_has_their_rates_and_figures_once_and_nothing_of_pairs(
    capsys, tmp_path: Path
) -> None:
    quiz = make_questions(6)
    grade(quiz, {answer(quiz): [3.0, 3.0, 3.0, 0.0, -1.0, 2.0]})
    said = report(capsys, quiz.slug, "--output", tmp_path, "--formats", "svg")
    (row,) = (line.split() for line in said.splitlines() if line.strip().startswith("lab/a"))
    assert [cell for cell in row if cell.startswith(".")] == [".67", ".50", ".17"]
    assert not re.search(r"test case|trials|-created|humans", said)
    values = json.loads((tmp_path / "report.json").read_text())
    assert values["sources"] == {}
    assert values["of_study"].keys() == keys_about(Part.QUESTIONS, Part.PEOPLE)
    pictures = [path.read_bytes() for path in (tmp_path / "figures").glob("*.svg")]
    assert len(pictures) == len(set(pictures)) > 5
    drawn = {path.stem.split("_")[1] for path in (tmp_path / "figures").glob("*.svg")}
    assert drawn <= {"graded", "flow"}
    page = (tmp_path / "report.html").read_text()
    assert {chapter.id for chapter in CHAPTERS if f'id="{chapter.id}"' in page} <= {
        chapter.id for chapter in chapters_about(Part.QUESTIONS, Part.PEOPLE)
    }
    assert not re.search(r"test case|abstract", page.partition("</style>")[2])
    with pytest.raises(CommandError, match="no machine-created test cases"):
        report(capsys, quiz.slug, "--json", "--source", "machine")


def test_a_report_does_not_mention_sources_and_parts_that_a_study_lacks(
    capsys, tmp_path: Path
) -> None:
    study = make_study(human=2, machine=0, machine_items=0)
    said = report(capsys, study.slug, "--output", tmp_path, "--formats", "svg")
    assert not re.search(r"machine-created|question|grade", said)
    assert said.count("The analysis does not contain any trials yet.\n") == 1  # of many results
    values = json.loads((tmp_path / "report.json").read_text())
    assert values["sources"].keys() == {"human"}
    assert values["of_study"].keys() == keys_about(Part.PEOPLE)
    page = (tmp_path / "report.html").read_text()
    assert not re.search(r"Machine-created|[Qq]uestions|[Gg]rade", page.partition("</style>")[2])


def test_bert_score_is_computed_by_the_command_and_kept_apart_from_the_pages_report(
    capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def texts_only(source, tables, progress):
        if GradedComparisons in source.results:
            yield "graded_comparisons", graded_texts(source, tables)

    monkeypatch.setattr("analysis.report.services.save.draw_all", texts_only)
    folder, quiz = save_gpt2(tmp_path / "tiny"), make_questions(6)
    run = answer(
        quiz, texts=[f"Answer {k}." if k % 2 else "The sample was large." for k in range(6)]
    )
    grade(quiz, {run: [0.0, 3.0, 0.5, 3.0, 0.0, 2.0]})
    options = ("--formats", "svg", "--output", tmp_path / "report")
    report(capsys, quiz.slug, *options, "--bert_score", folder, "--layer", "1")
    values = json.loads((tmp_path / "report" / "report.json").read_text())
    metrics = values["of_study"]["graded_texts"]["metrics"]
    assert [metric["name"] for metric in metrics][-1] == "BERTScore"
    assert metrics[-1]["correlation"]["rho"] > 0.5
    assert "tiny (layer 1, weights" in values["options"]["bert_score"]
    assert "tiny (layer 1, weights" in (tmp_path / "report" / "report.html").read_text()
    asked = ReportOptions(resamples=200)
    assert Asked(quiz, asked).find() is None
    with pytest.raises(CommandError, match="not a folder"):
        report(capsys, quiz.slug, *options, "--bert_score", tmp_path / "none")
    with pytest.raises(CommandError, match="--bert_score"):
        report(capsys, quiz.slug, *options, "--layer", "1")

"""A model's choices from elsewhere become a run with the same numbers, or nothing does."""

import csv
import hashlib
import json
from collections.abc import Callable, Mapping
from functools import partial
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from django.core.management import call_command

from experiment.models import Study
from scoring.domain.choosing.outcomes import Reply, outcome
from scoring.domain.choosing.reading import read_choice
from scoring.domain.generating import Finish
from scoring.models import ChoiceRun, LanguageModel, ModelChoice
from scoring.services.choosing.summary import outcomes
from tests.factories import make_item, make_study
from tests.scoring.commands import called, json_of, refusal
from tests.scoring.inspect_logs_made import zipped
from tests.sheets import Rows, ods, xlsx

pytestmark = pytest.mark.django_db
SAYS = ('{"side": "A", "confidence": 90}', "B, 60%", "I cannot tell.", '{"side": "B", "confidence": 75}')  # fmt: skip


@pytest.fixture
def study() -> Study:
    return make_study(human=4, machine=2)


def says(question: str) -> str:
    """The model's answer: the same to the same question."""
    return SAYS[hashlib.sha256(question.encode()).digest()[0] % len(SAYS)]


def likes(question: str) -> float:
    """Its log-odds of A."""
    return hashlib.sha256(question.encode()).digest()[1] / 64 - 2


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


# A file to import, and of each answer in it the test case and what it says
Answered = list[tuple[str, Reply | None]]
Route = Callable[[Path], tuple[Path, Answered]]


def reply(order: str, text: str) -> Reply | None:
    chosen = read_choice(text)
    return chosen and Reply(order, chosen.side, chosen.confidence)


def by_lines(folder: Path) -> tuple[Path, list[tuple[str, Reply | None]]]:
    call_command("export_inspect_task", folder)
    asked = [(row["metadata"], says(row["input"])) for row in rows(folder / "brainbench_choice.jsonl")]  # fmt: skip
    lines = [{"item": a["item"], "order": a["order"], "model": "m", "raw": t} for a, t in asked]
    expected = [(about["item"], reply(about["order"], text)) for about, text in asked]
    return write(folder / "answers.jsonl", lines), expected


def by_table(folder: Path, write: Callable[[Rows], bytes], name: str) -> tuple[Path, Answered]:
    """As `by_lines`, in the table that a person keeps: numbers as numbers, and cells that say nothing empty."""
    path, expected = by_lines(folder)
    lines = rows(path)
    table = [("Item", "Order", "Raw", "Log odds", "Seconds", "Sample", "Mine"), ()]
    table += [(a["item"], a["order"], a["raw"], "", 1.5, 0.0, "x") for a in lines]
    path.with_name(name).write_bytes(write(table))
    return path.with_name(name), expected


def in_sheets(write: Callable[[Mapping[str, Rows]], bytes]) -> Callable[[Rows], bytes]:
    """Beside a sheet of remarks, which is passed over."""
    return lambda table: write({"Remarks": [("Asked on Monday",)], "Answers": table})


def as_csv(table: Rows) -> bytes:
    file = StringIO()
    csv.writer(file, delimiter=";").writerows(table)
    return file.getvalue().encode()


def as_parquet(table: Rows) -> bytes:
    names, _, *cells = table
    file = BytesIO()
    pd.DataFrame(cells, columns=list(names)).to_parquet(file)
    return file.getvalue()


by_xlsx = partial(by_table, write=in_sheets(xlsx), name="answers.xlsx")
by_ods = partial(by_table, write=in_sheets(ods), name="Answers.ODS")
by_csv = partial(by_table, write=as_csv, name="answers.csv")
by_parquet = partial(by_table, write=as_parquet, name="answers.parquet")


def by_inspect(folder: Path) -> tuple[Path, list[tuple[str, Reply | None]]]:
    call_command("export_inspect_task", folder, prompt="plain", layout="marked")
    members: dict[str, Any] = {"header.json": {"eval": {"model": "mock/m"}}}
    expected = []
    for row in rows(folder / "brainbench_choice.jsonl"):
        text = says(row["input"])
        choice = {"message": {"role": "assistant", "content": text}, "stop_reason": "stop"}
        output = {"model": "m", "choices": [choice]}
        members[f"samples/{row['id']}_epoch_1.json"] = {**row, "epoch": 1, "output": output}
        expected.append((row["metadata"]["item"], reply(row["target"], text)))
    path = folder / "log.eval"
    path.write_bytes(zipped(members, zstandard=True))
    return path, expected


def by_harness(folder: Path) -> tuple[Path, list[tuple[str, Reply | None]]]:
    call_command("export_lm_eval_task", folder, method="choice")
    lines, expected = [], []
    for n, doc in enumerate(rows(folder / "brainbench_choice.jsonl")):
        odds = likes(doc["text"])
        resps = [[str(odds - 3), "False"], ["-3.0", "False"]]
        lines.append({"doc_id": n, "doc": doc, "filtered_resps": resps})
        side = "" if not odds else "A" if odds > 0 else "B"
        expected.append((doc["item"], Reply(doc["order"], side, None, odds)))
    return write(folder / "samples_brainbench_choice_2026.jsonl", lines), expected


@pytest.mark.parametrize(
    ("route", "how"),
    [
        (by_lines, ("written", "pair", "")),
        (by_xlsx, ("written", "pair", "")),
        (by_ods, ("written", "pair", "")),
        (by_csv, ("written", "pair", "")),
        (by_parquet, ("written", "pair", "")),
        (by_inspect, ("written", "marked", "plain")),
        (by_harness, ("likelihood", "pair", "default")),
    ],
)
def test_choices_made_elsewhere_are_read_back_to_the_same_numbers(
    study: Study, tmp_path: Path, route: Route, how: tuple[str, str, str]
) -> None:
    path, answered = route(tmp_path / "task")
    printed = json_of("import_choices", path, "--study", "memory", "--name", "org/m")
    run = ChoiceRun.objects.get(pk=printed["run"])
    assert (run.status, run.generator, run.done, run.total) == ("finished", "imported", 12, 12)
    assert (run.form, run.layout, run.prompt) == how
    assert ("{versions}" in run.instructions) == bool(run.prompt)
    assert run.identity["file"] == path.name
    assert run.identity["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    keys = dict(study.items.values_list("pk", "key"))
    found = {keys[pk]: one for pk, one in outcomes(run.choices.all()).items()}
    replies: dict[str, list[Reply | None]] = {}
    for item, one in answered:
        replies.setdefault(item, []).append(one)
    expected = {item: outcome([one for one in said if one]) for item, said in replies.items()}
    assert any(found.values())
    if route is by_harness:
        assert found.keys() == expected.keys()
        for item, one in expected.items():
            assert found[item].log_odds == pytest.approx(one.log_odds, abs=1e-12)
    else:
        assert found == expected
    assert printed["states"].get("unparsed", 0) == sum(one is None for _, one in answered)


HEADER = ("item", "order", "side", "confidence")
RIGHT = ("memory-human-1", "A", "A", 90)


@pytest.mark.parametrize("write", [xlsx, ods])
def test_a_spreadsheet_is_refused_whole_with_the_sheet_and_row_of_each_problem(
    study: Study, tmp_path: Path, write: Callable[[Mapping[str, Rows]], bytes]
) -> None:
    file = tmp_path / f"a.{write.__name__}"
    wrong = [("memory-human-1", "B", "C", 90), ("memory-human-2", "A", "A", "high"), ("x", "A", "A", "")]  # fmt: skip
    file.write_bytes(write({"May": [(), HEADER, RIGHT, (), *wrong]}))
    said = refusal("import_choices", file, "--study", "memory", "--name", "m").splitlines()
    places = [f"{file.name}, sheet “May”, row {n}: " for n in (5, 6, 7)]
    for line, place, words in zip(
        said, places, ("side", "confidence is not a number", "“x”"), strict=True
    ):
        assert line.startswith(place)
        assert words in line
    assert not ChoiceRun.objects.exists()
    file.write_bytes(write({"May": [("item", "side"), ("memory-human-1", "A")]}))
    said = [refusal("import_choices", file, "--study", "memory", "--name", "m")]
    assert said == [f"{file.name}: it has no column “order” (columns: “item”, “side”)."]


def test_the_sheet_that_is_named_is_read_and_is_another_run(study: Study, tmp_path: Path) -> None:
    file = tmp_path / "a.xlsx"
    file.write_bytes(xlsx({"May": [HEADER, RIGHT], "June": [HEADER, RIGHT, ("memory-human-1", "B", "A", "")]}))  # fmt: skip
    arguments = (file, "--study", "memory", "--name", "m")
    assert "Several sheets could be the table: “May”, “June”" in refusal(
        "import_choices", *arguments
    )
    may, june = (
        json_of("import_choices", *arguments, "--sheet", name)["run"] for name in ("May", "June")
    )
    assert (ChoiceRun.objects.get(pk=may).total, ChoiceRun.objects.get(pk=june).total) == (1, 2)
    assert json_of("import_choices", *arguments, "--sheet", "May")["run"] == may


def test_a_file_that_is_imported_again_is_the_run_that_it_was(study: Study, tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", [{"item": "memory-human-1", "order": "A", "side": "A"}])
    arguments = (file, "--study", "memory", "--name", "m")
    first, again = (json_of("import_choices", *arguments) for _ in range(2))
    assert (first["is_new"], again["is_new"]) == (True, False)
    assert first["run"] == again["run"] == ChoiceRun.objects.get().pk
    assert "imported before" in called("import_choices", *arguments)[0]
    other = json_of("import_choices", file, "--study", "memory", "--name", "other")
    assert other["is_new"]


def test_answers_that_are_no_choice_stay_as_they_came_and_decide_nothing(
    study: Study, tmp_path: Path
) -> None:
    about = {"item": "memory-human-1", "model": "served-m"}
    lines = [
        {**about, "order": "A", "raw": "It may be A."},
        {**about, "order": "A", "sample": 1, "finish": "refused", "raw": "I will not."},
        {**about, "order": "B", "side": "B", "confidence": 70, "seconds": 2.5},
    ]
    told = tmp_path / "told.txt"
    told.write_text("Choose. {versions}", encoding="utf-8")
    file = write(tmp_path / "a.jsonl", lines)
    arguments = (file, "--study", "memory", "--name", "m", "--prompt_file", told)
    printed = json_of("import_choices", *arguments)
    assert "2 of 3 texts (67%) could not be read" in called("import_choices", *arguments)[0]
    assert printed["states"] == {"unparsed": 1, "refused": 1, "read": 1}
    assert (printed["n_items"], printed["n_judged"]) == (1, 0)
    run = ChoiceRun.objects.get()
    assert (run.samples, run.prompt, run.instructions) == (2, "custom", "Choose. {versions}")
    unread, refused, read = ModelChoice.objects.order_by("original_side", "sample")
    assert (unread.text, unread.finish) == ("It may be A.", Finish.STOP)
    assert (refused.text, refused.side) == ("I will not.", "")
    assert (read.side, read.confidence, read.model, read.seconds) == ("B", 70, "served-m", 2.5)


GOOD = {"item": "memory-human-1", "order": "A", "side": "A"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({**GOOD, "order": "B", "confidence": 130}, "confidence is not a number"),
        ({**GOOD, "order": "B", "item": "elsewhere"}, "a test case “elsewhere”"),
        ({**GOOD, "order": "B", "item": "memory-practice"}, "not have a test case"),
        ({**GOOD, "order": "B", "version": 7}, "not have version 7"),
        (GOOD, "answered in this order in line 1"),
        ({**GOOD, "order": "B", "model": "another"}, "as a separate file"),
    ],
)
def test_a_line_that_cannot_be_meant_is_named_and_nothing_is_stored(
    study: Study, tmp_path: Path, line: dict[str, Any], said: str
) -> None:
    file = write(tmp_path / "a.jsonl", [GOOD, line])
    error = refusal("import_choices", file, "--study", "memory", "--name", "new")
    assert error.startswith("a.jsonl, line 2: ")
    assert said in error
    assert not ChoiceRun.objects.exists()
    assert not LanguageModel.objects.filter(name="new").exists()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.jsonl", b"\n", "does not contain any choices"),
        ("a.jsonl", b'{"item": "\xff"}', "byte 0xff in line 1"),
        ("a.eval", b"{}", "samples is missing"),
        ("a.eval", zipped({"samples/x.json": [1]}), "samples/x.json: this is not a JSON object"),
        ("a.eval", zipped({"samples/x.json": {}}), "a.eval, samples/x.json: metadata is no"),
        ("a.json", json.dumps({"samples": [{}]}).encode(), "a.json, sample 1: metadata is no"),
    ],
)
def test_a_file_that_cannot_be_read_is_said_with_the_place(
    study: Study, tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(content)
    error = refusal("import_choices", tmp_path / name, "--study", "memory", "--name", "m")
    assert name in error
    assert said in error
    missing = refusal("import_choices", tmp_path / "none", "--study", "memory", "--name", "m")
    assert "cannot be read" in missing
    assert not ChoiceRun.objects.exists()


def test_the_version_that_a_line_names_is_the_one_that_was_asked_about(
    study: Study, tmp_path: Path
) -> None:
    newer = make_item("memory-human-1", version=2)
    study.study_items.create(item=newer)
    lines = [GOOD, {**GOOD, "order": "B", "version": 1}]
    json_of("import_choices", write(tmp_path / "a.jsonl", lines), "--study", "memory", "--name", "m")  # fmt: skip
    assert list(ModelChoice.objects.order_by("pk").values_list("item__version", flat=True)) == [2, 1]  # fmt: skip

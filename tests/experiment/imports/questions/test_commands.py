"""Questions from files and from templates, by the commands."""

import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.core.management.base import CommandError
from hypothesis import given
from hypothesis import strategies as st

from experiment.domain.questions.columns import category_fault
from experiment.imports.read import rows
from experiment.imports.read.questions import read_template
from experiment.imports.read.rows import FileRefusedError, read_rows
from experiment.models import Item, ItemChange, QuestionTemplate, Study
from experiment.services.questions import as_toml, save_template
from experiment.services.study_setup import create_study
from tests.experiment.imports.questions.test_round_trip import HEADER, table
from tests.factories import make_item, make_research_field

pytestmark = pytest.mark.django_db
ROWS = [
    ("u-1", "t-1", "What is TH?", "An enzyme.", "Tissue; Drug Meta", "Recall"),
    ("u-2", "t-1", "What is DAT?", "A transporter.", "Drug Meta", ""),
]


@pytest.fixture(autouse=True)
def field():
    return make_research_field("drugs", "PD")


@pytest.fixture
def run(tmp_path):
    def do(given, *options, fails=False, header=HEADER, command="import_questions"):
        path = tmp_path / "questions.csv"
        path.write_bytes(table(given, header))
        return called(command, str(path), "--field", "drugs", *options, fails=fails)

    return do


@pytest.fixture
def fill(run, tmp_path):
    """Fills a template, named or written, from a table."""

    def do(given, template, *options, **run_options):
        if template != "counts":
            (tmp_path / "a.toml").write_text(template)
            template = str(tmp_path / "a.toml")
        options = ("--template", template, *options)
        header = ("drug", "targets")
        return run(given, *options, command="fill_template", header=header, **run_options)

    return do


def called(*arguments, fails=False):
    out = io.StringIO()
    if fails:
        with pytest.raises(CommandError):
            call_command(*arguments, "--json", stdout=out)
    else:
        call_command(*arguments, "--json", stdout=out)
    return json.loads(out.getvalue())


def counts(report):
    return [report[name] for name in ("create", "update", "unchanged", "gone")]


def test_a_dry_run_says_what_the_import_does_and_writes_nothing(run):
    assert counts(run(ROWS, "--dry-run")) == [2, 0, 0, 0]
    assert not Item.objects.exists()
    assert not QuestionTemplate.objects.exists()
    assert counts(run(ROWS)) == [2, 0, 0, 0]
    item = Item.objects.get(key="u-1")
    assert (item.status, item.stratum, item.template.key) == ("draft", "question", "t-1")
    assert item.categories == {"bio": ["Tissue", "Drug Meta"], "reasoning": ["Recall"]}
    assert counts(run(ROWS)) == [0, 0, 2, 0]
    assert counts(run(ROWS[:1])) == [0, 0, 1, 1]
    assert Item.objects.count() == 2


def test_a_draft_changes_in_its_place_and_an_accepted_question_gets_a_new_version(run):
    run(ROWS[:1], "--accept")
    run(ROWS)
    changed = [(*row[:3], row[3] + " It is known.", *row[4:]) for row in ROWS]
    assert counts(run(changed, "--accept")) == [0, 2, 0, 0]
    found = Item.objects.order_by("key", "version").values_list("key", "version", "status")
    assert list(found) == [("u-1", 1, "accepted"), ("u-1", 2, "accepted"), ("u-2", 1, "accepted")]
    first, second = Item.objects.filter(key="u-1").order_by("version")
    assert first.expert_answer == "An enzyme."
    assert second.template == first.template
    assert second.sha256 != first.sha256
    assert ItemChange.objects.filter(item=second, action="created").exists()
    assert counts(run(ROWS[:1])) == [0, 0, 1, 1]  # as the older version, and the newer stays


def test_drafts_are_accepted_in_bulk_and_those_in_review_are_named(run, tmp_path, capsys):
    run(ROWS)
    Item.objects.filter(key="u-1").update(status="in_review")
    report = run(ROWS, "--accept")
    assert (counts(report), report["waiting"]) == ([0, 1, 1, 0], ["u-1 v1"])
    states = dict(Item.objects.values_list("key", "status"))
    assert states == {"u-1": "in_review", "u-2": "accepted"}
    path = str(tmp_path / "questions.csv")
    call_command("import_questions", path, "--field", "drugs", "--accept", "--dry-run")
    said = " ".join(capsys.readouterr().out.split())
    assert "1 is in review and will not be accepted" in said
    assert "or return it to draft first: u-1 v1" in said
    assert run(ROWS)["waiting"] == []


def test_values_that_a_json_line_lacks_stay_unchanged(run, tmp_path):
    run([(*row[:4], "Tissue;Drug Meta", "Recall") for row in ROWS], "--accept")
    before = Item.objects.get(key="u-1").made_from
    path = tmp_path / "questions.jsonl"
    lines = [
        {"key": "u-1", "question": ROWS[0][2], "answer": "A protein.", "reasoning_category": None},
        {"key": "u-2", "question": ROWS[1][2], "answer": "A protein.", "bio_category": "Tissue"},
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    assert counts(called("import_questions", str(path), "--field", "drugs", "--accept"))[1] == 2
    first, second = Item.objects.filter(version=2).order_by("key")
    assert first.categories == {"bio": ["Tissue", "Drug Meta"], "reasoning": []}
    assert first.made_from == before == {"cells": {"bio": "Tissue;Drug Meta"}}
    assert second.categories == {"bio": ["Tissue"], "reasoning": ["Recall"]}
    assert second.template.key == "t-1"


def test_each_problem_has_its_place_and_keeps_everything_out(run):
    make_item("pair", field="drugs")
    wrong = {
        ("u-1", "t", "Q1?", "A", "", ""): None,
        ("u-1", "t", "Q2?", "A", "", ""): "key",
        ("u 3", "t", "Q3?", "A", "", ""): "uuid",
        ("u-4", "t", " ", "A", "", ""): "question",
        ("u-5", "t", "Q5?", "A\u200b", "", ""): "answer",
        ("pair", "t", "Q6?", "A", "", ""): "key",
        ("u-7", "t", "Q7?", "A", "c" * 201, ""): "bio_category",
    }
    places = [(p["row"], p["column"]) for p in run(wrong, fails=True)["problems"]]
    assert places == [(n, where) for n, where in enumerate(wrong.values(), 1) if where]
    assert not Item.objects.filter(kind="question").exists()


def parquet(**columns):
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def test_parquet_holds_texts_and_numbers_and_no_more_than_fits_in_memory(monkeypatch):
    data = parquet(question=["Q?", "R?"], answer=["A", None], n=[1.5, None], yes=[True, None])
    table = read_rows(data, ())
    assert [dict(row.cells) for row in table.rows] == [
        {"question": "Q?", "answer": "A", "n": "1.5", "yes": "true"},
        {"question": "R?", "answer": "", "n": "", "yes": ""},
    ]
    with pytest.raises(FileRefusedError, match="does not contain texts"):
        read_rows(parquet(question=[["Q?"]]), ())
    monkeypatch.setattr(rows, "MOST_CELLS", 1_000_000)
    repeated = parquet(**{f"c{n}": [1.5] * 10_001 for n in range(100)})
    assert len(repeated) < 100_000
    with pytest.raises(FileRefusedError, match="Split it"):
        read_rows(repeated, ())


def test_a_table_is_read_as_a_spreadsheet_writes_it_with_other_names_into_a_new_field(tmp_path):
    path = tmp_path / "questions.txt"
    path.write_text("Prompt\tAnswer\tSubfield\tBio Category\nQ?\tA.\tOres\n", "utf-16")
    asked = ("--column", "question=Prompt", "--new-field", "Metals")
    assert called("import_questions", str(path), "--new-field", "Metals", fails=True)["create"] == 0
    assert counts(called("import_questions", str(path), *asked)) == [1, 0, 0, 0]
    item = Item.objects.get()
    assert (item.field, item.subfield, item.categories) == ("Metals", "Ores", {"bio": []})


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_table_for_a_template_is_read_whatever_separates_its_cells(tmp_path, mark):
    path = tmp_path / "table.csv"
    path.write_text(f"drug{mark}targets\nb{mark}2\n")
    (tmp_path / "a.toml").write_text(TEMPLATE)
    asked = ("--field", "drugs", "--template", str(tmp_path / "a.toml"))
    assert counts(called("fill_template", str(path), *asked))[0] == 1


def test_a_study_draws_from_what_was_accepted(run):
    study = create_study("ask", "brainbench", question_items=1, human_items=0, machine_items=0)
    assert run(ROWS, "--study", "ask")["pinned"] == 0
    assert run(ROWS, "--accept", "--study", "ask")["pinned"] == 2
    assert run(ROWS, "--study", "ask", "--each", "9")["each"] == 2
    assert Study.objects.get().question_items == 2
    run(ROWS, "--each", "9", fails=True)
    assert study.drawable_items.of_stratum("question").count() == 2


TEMPLATE = """
key = "counts"
question = "How many targets has {{ drug }}?"
categories = { bio = ["Drug Meta"] }
[[rules]]
when = "targets == 0"
answer = "{{ drug }} has none."
[[rules]]
answer = "{{ drug }} has {{ targets }}."
"""
DRUGS = [("a", "0"), ("b", "2"), ("c", "5"), ("a", "1"), ("d", "")]


def test_a_template_fills_from_a_table_and_each_question_says_whence(run, fill):
    shown = fill(DRUGS, TEMPLATE, "--dry-run")
    assert [pair["answer"] for pair in shown["preview"]] == ["b has 2.", "c has 5."]
    left = {one["row"]: one["reason"] for one in shown["left_out"]}
    assert left == {1: "ambiguous", 4: "ambiguous", 5: "empty"}
    assert not QuestionTemplate.objects.exists()
    unlike = fill([*DRUGS, ("e", "n/a")], TEMPLATE, "--dry-run")
    assert unlike["mixed"] == [{"slot": "targets", "row": 6, "cell": "n/a"}]
    made = fill(DRUGS, TEMPLATE, "--accept")
    assert counts(made) == [2, 0, 0, 0]
    item = Item.objects.get(expert_answer="c has 5.")
    assert (item.template.key, item.status) == ("counts", "accepted")
    assert item.categories == {"bio": ["Drug Meta"]}
    source = {"row": 3, "rule": 2, "values": {"drug": "c", "targets": "5"}}
    assert item.made_from == source | {"table": made["table"], "sha256": item.sha256}
    assert counts(fill(DRUGS, "counts")) == [0, 0, 2, 0]
    mended = [*DRUGS[:2], ("c", "6"), ("f", "7")]
    assert counts(fill(mended, "counts", "--accept", "--dry-run")) == [2, 1, 1, 0]
    assert Item.objects.count() == 2
    run([(item.key, item.markup, "c has five.")], header=("key", "question", "answer"))
    edited = Item.objects.get(key=item.key, version=2)
    assert edited.made_from == item.made_from
    assert edited.made_from["sha256"] != edited.sha256
    assert "error" in fill(DRUGS, TEMPLATE.replace("How many", "Which"), fails=True)


def test_a_template_known_by_name_is_given_its_texts_and_goes_out_as_it_came(run, fill, tmp_path):
    run([("u-1", "counts", "How many targets has z?", "z has 9.", "", "")])
    row = QuestionTemplate.objects.get()
    assert not row.rules
    again = tmp_path / "again.toml"
    asked = ("--field", "drugs", "--template", "counts", "--output", str(again))
    called("export_questions", *asked, fails=True)
    read = read_template(TEMPLATE.replace("targets has", "has").encode())
    save_template(row.field, read.key, read.question, read.rules, read.categories)
    # It has made none yet, and can still be mended
    assert counts(fill(DRUGS, TEMPLATE)) == [2, 0, 0, 1]
    assert called("export_questions", *asked)["format"] == "toml"
    assert read_template(again.read_bytes()) == read_template(TEMPLATE.encode())
    assert QuestionTemplate.objects.get().questions.count() == 3
    with pytest.raises(ValidationError, match="cannot change"):
        save_template(row.field, read.key, read.question, read.rules, read.categories)


_TOML = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)


@given(_TOML, _TOML, st.lists(st.tuples(st.one_of(st.just(""), _TOML), _TOML), max_size=3))
def test_any_template_is_read_from_its_file_as_it_was(question, category, rules):
    said = [{"when": when, "answer": answer} for when, answer in rules]
    named = {"a, b": [category]} if not category_fault(category) else {}
    row = QuestionTemplate(key="k", question=question, rules=said, categories=named)
    read = read_template(as_toml(row).encode())
    assert (read.question, read.rules, read.categories) == (question, said, named)


def test_another_table_makes_no_question_that_the_field_already_asks(fill):
    fill([("b", "2"), ("B1", "2")], TEMPLATE)
    first = Item.objects.order_by("key").values_list("key", flat=True)
    again = fill([("b", "2"), ("d", "4")], TEMPLATE.replace('"counts"', '"again"'))
    assert counts(again)[:3] == [1, 0, 0]
    (left,) = again["left_out"]
    assert left["reason"] == "asked_already"
    assert left["detail"] in first
    once = TEMPLATE.replace("How many targets has", "How many has").replace('"counts"', '"other"')
    once = once.replace("{{ drug }} has {{", "It has {{")
    assert counts(fill([("e", "7")], once))[0] == 1
    said = fill([("f", "7"), ("e", "7")], once)
    assert {one["reason"] for one in said["left_out"]} == {"answered_already", "same_answer"}
    assert counts(fill([("f", "7")], once, "--same-answers"))[0] == 1


def test_new_questions_of_a_file_that_ask_what_others_ask_are_told_of(run):
    run(ROWS[:1])
    said = run([("u-8", "", "what IS  th?", "A.", "", ""), ("u-9", "", "R?", "A.", "", "")])
    assert (counts(said)[0], said["repeated"]) == (2, 1)


def sentence(command, path, *options, field="drugs"):
    """The lines that a command prints, and the sentence that it ends with."""
    out = io.StringIO()
    with pytest.raises(CommandError) as raised:
        call_command(command, str(path), "--field", field, *options, stdout=out)
    return out.getvalue().splitlines(), str(raised.value)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("gone.csv", None, "does not exist."),
        ("names.csv", b"key,question,answer\n", "but no rows."),
        (
            "broken.parquet",
            b"\xc0\x00\x01",
            "is not a Parquet file, or is damaged. Write it again.",
        ),
    ],
)
def test_an_unreadable_file_is_answered_with_the_problem_alone(
    run, tmp_path, name, content, problem
):
    run(ROWS)
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    (counted, told), end = sentence("import_questions", path)
    assert counted == "1 problem (rows of data and lines are counted from 1):"
    assert problem in told
    assert end == "Nothing was written: 1 problem."
    template = tmp_path / "counts.toml"
    template.write_text(TEMPLATE)
    _, end = sentence("fill_template", path, "--template", str(template))
    assert problem in end
    assert ".." not in end


def test_problems_of_a_template_are_told_in_whole_sentences(run, tmp_path):
    table_of, template = tmp_path / "table.csv", tmp_path / "counts.toml"
    table_of.write_bytes(table(DRUGS, ("drug", "targets")))
    (_, told, _), _ = sentence("import_questions", table_of)
    assert "The file has no column “question”" in told
    _, end = sentence("fill_template", table_of, "--template", str(table_of))
    assert "is not a template. A template is a .toml file." in end
    run([("u-1", "t-9", "How many targets has z?", "z has 9.", "", "")])
    _, end = sentence("fill_template", table_of, "--template", "counts")
    assert end == "drugs does not have a template “counts” (templates: t-9)."
    template.write_text(TEMPLATE.replace("targets", "dose"))
    assert "“dose”" in sentence("fill_template", table_of, "--template", str(template))[1]
    assert not QuestionTemplate.objects.filter(key="counts").exists()
    template.write_text('key = "a"\nquestion = "{{ x | lower(1) }}"\n')
    _, end = sentence("fill_template", table_of, "--template", str(template))
    assert end.startswith("Nothing was written: the question: the filter “lower” takes nothing; ")
    assert end.endswith("a template has 1 to 50 rules.")

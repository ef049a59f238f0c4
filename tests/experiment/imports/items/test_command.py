"""`import_items`: what it says it would do is what it does."""

import json
import shlex
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from experiment.imports.reading import items_of
from experiment.imports.store.item_plans import AS_DRAFTS
from experiment.imports.store.plans import Action
from experiment.imports.store.writing import import_file
from experiment.models import Item, ItemChange, ResearchField, Study
from tests.experiment.imports.items.rows import OTHER, TEXT, table
from tests.factories import make_item, make_research_field, make_user

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture
def cooking() -> ResearchField:
    return make_research_field("cooking", "Baking", "Frying")


class File:
    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, *rows: str, header: str = "key,markup,subfield") -> None:
        self.path.write_bytes(table(*rows, header=header))

    def run(self, *options: str, field: str = "cooking", fails: bool = False) -> dict[str, Any]:
        out = StringIO()
        arguments = ("import_items", str(self.path), "--field", field, "--json", *options)
        if fails:
            with pytest.raises(CommandError):
                call_command(*arguments, stdout=out)
        else:
            call_command(*arguments, stdout=out)
        report: dict[str, Any] = json.loads(out.getvalue())
        assert set(report) == {"create", "update", "unchanged", "remarks", "problems"}
        return report


@pytest.fixture
def file(tmp_path: Path) -> File:
    return File(tmp_path / "items.csv")


def counts(report: dict[str, Any]) -> tuple[int, int, int]:
    return report["create"], report["update"], report["unchanged"]


def test_a_dry_run_says_what_the_import_does_and_writes_nothing(cooking, file):
    file.write(f'a-1,"{TEXT}",Baking', f',"{OTHER}",Frying')
    assert counts(file.run("--dry-run")) == (2, 0, 0)
    assert not Item.objects.exists()
    assert counts(file.run()) == (2, 0, 0)
    first, second = Item.objects.order_by("pk")
    assert (first.key, second.key, second.field) == ("a-1", "cooking-0001", "cooking")
    assert {i.status for i in (first, second)} == {"draft"}
    assert (first.altered, second.subfield) == ("Rats ran more.", "Frying")
    assert [c.action for c in ItemChange.objects.all()] == ["created", "created"]
    assert counts(file.run()) == (0, 0, 2)
    assert ItemChange.objects.count() == 2


def as_parquet(rows: list[dict[str, Any]]) -> bytes:
    out = BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), out)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_keys_that_a_data_frame_wrote_with_a_decimal_are_those_of_the_field(
    cooking: ResearchField, tmp_path: Path, kind: str
) -> None:
    make_item("1", field="cooking", markup=TEXT, status="draft")
    rows = [
        {"key": 1.0, "version": 1.0, "markup": TEXT},
        {"key": None, "version": None, "markup": OTHER},
    ]
    written = {
        "csv": f'key,version,markup\n1.0,1.0,"{TEXT}"\n,,"{OTHER}"\n'.encode(),
        "jsonl": "\n".join(map(json.dumps, rows)).encode(),
        "parquet": as_parquet(rows),
    }
    file = File(tmp_path / f"items.{kind}")
    file.path.write_bytes(written[kind])
    report = file.run()
    assert counts(report) == (1, 0, 1)
    (remark,) = [one for one in report["remarks"] if one["kind"] == "read_as"]
    assert (remark["row"], "1.0 was read as 1" in remark["message"]) == (1, True)


def test_a_column_of_decimal_keys_is_one_of_whole_numbers_unless_the_field_has_such_keys(
    cooking: ResearchField, file: File
) -> None:
    file.write(f'1.0,"{TEXT}",Baking', f'2.0,"{OTHER}",Baking')
    file.run()
    assert [*Item.objects.values_list("key", flat=True)] == ["1", "2"]
    make_item("1.0", field="cooking", markup=OTHER, status="draft")
    file.write(f'1.0,"{TEXT}",Baking', f'1.1,"{OTHER}",Baking')
    report = file.run("--dry-run")
    assert (counts(report), {one["kind"] for one in report["remarks"]}) == ((1, 1, 0), {"warning"})


def test_a_dry_run_says_each_finding_in_words_and_as_data(
    cooking: ResearchField, file: File
) -> None:
    file.write('a-1,"Rats [slept, ran] [[more, less]].",Baking', f'a-2,"{OTHER}",Baking')
    said = {(one["row"], one["code"]) for one in file.run("--dry-run")["remarks"]}
    assert {(1, "single_brackets"), (1, "length"), (2, "length")} <= said
    out = StringIO()
    call_command("import_items", str(file.path), "--field=cooking", "--dry-run", stdout=out)
    assert "The checks warn about 2 texts." in out.getvalue()
    assert "row 1, warning: “[slept, ran]” stands in single brackets" in out.getvalue()
    assert "write [[slept, ran]]" in out.getvalue()


def test_a_row_that_only_looks_like_a_stored_text_is_that_one_and_says_what_differs(
    cooking: ResearchField, file: File
) -> None:
    make_item("a-1", field="cooking", markup=TEXT, status="draft")
    file.write(f',"{TEXT.replace(" ", chr(0xA0), 1)}",')
    report = file.run("--dry-run")
    assert counts(report) == (0, 1, 0)
    assert "looks the same as a-1" in report["remarks"][0]["message"]
    # What two columns are read as is what the field has: nothing to change
    make_item("a-2", field="cooking", markup=f"Mice{chr(0xA0)}[[ate, drank]] more.", status="draft")
    file.write(f"Mice{chr(0xA0)}ate more.,Mice drank more.", header="original,altered")
    assert counts(file.run("--dry-run")) == (0, 0, 1)


def test_a_draft_changes_in_its_place_and_an_accepted_text_gets_a_new_version(cooking, file):
    user = make_user("curie")
    cooking.members.add(user)
    for key, status in (("a-1", "draft"), ("a-2", "accepted"), ("a-3", "retired")):
        make_item(key, field="cooking", markup=TEXT, status=status, subfield="Baking", note="keep")
    file.write(*(f'a-{n},"{OTHER}",Frying' for n in (1, 2, 3)))
    assert counts(file.run("--by", "curie")) == (0, 3, 0)
    rows = Item.objects.order_by("key", "version")
    assert [f"{i.key} v{i.version} {i.status} {i.subfield}" for i in rows] == [
        "a-1 v1 draft Frying",
        "a-2 v1 accepted Baking",
        "a-2 v2 draft Frying",
        "a-3 v1 retired Baking",
        "a-3 v2 draft Frying",
    ]
    draft, newer = Item.objects.get(key="a-1"), Item.objects.get(key="a-2", version=2)
    assert (draft.original, draft.edits, draft.note) == ("Rats ate more.", 1, "keep")
    assert (newer.original, newer.note, newer.created_by) == ("Rats ate more.", "keep", user)
    (change,) = draft.changes.all()
    assert (change.action, change.by, change.before["markup"]) == ("text", user, TEXT)
    assert counts(file.run()) == (0, 0, 3)


def test_all_or_nothing(cooking, file):
    file.write(f'a-1,"{TEXT}",Baking', 'a-2,"Rats [[slept.",Baking', f'a-3,"{OTHER}",Grilling')
    report = file.run(fails=True)
    assert counts(report) == (2, 0, 0)
    assert [(p["row"], p["column"]) for p in report["problems"]] == [(2, "markup"), (3, "subfield")]
    assert report["problems"][1]["message"].startswith("line 4: “Grilling”")
    assert not Item.objects.exists()


def test_new_subfields_are_made_where_that_is_asked_for(cooking, file):
    file.write(f'a-1,"{TEXT}",Grilling', f'a-2,"{OTHER}",Grilling')
    assert counts(file.run("--new-subfields", "--dry-run")) == (2, 0, 0)
    assert cooking.subfields.count() == 2
    file.run("--new-subfields")
    assert cooking.subfields.filter(name="Grilling").count() == 1


def test_subfields_that_the_field_lacks_are_one_problem_that_says_what_cures_it(cooking, file):
    file.write(f'a-1,"{TEXT}",Grilling', f'a-2,"{OTHER}",Boiling', f'a-3,"{OTHER}",Grilling')
    (problem,) = file.run(fails=True)["problems"]
    assert problem["row"] == 1
    assert "“Boiling”, “Grilling” are not subfields of cooking" in problem["message"]
    out = StringIO()
    with pytest.raises(CommandError):
        call_command("import_items", str(file.path), "--field", "cooking", stdout=out)
    assert "--new-subfields adds these 2." in out.getvalue()


def test_a_new_field_is_made_with_what_is_imported_and_not_without_it(file):
    file.write(f'a-1,"{TEXT}",Grilling')
    new = ("import_items", str(file.path), "--new-field", "Open fires")
    call_command(*new, "--dry-run")
    file.write('a-1,"Rats [[slept.",Grilling')
    with pytest.raises(CommandError, match="1 problem"):
        call_command(*new)
    assert not ResearchField.objects.exists()
    file.write(f'a-1,"{TEXT}",Grilling')
    make_user("ada")
    out = StringIO()
    call_command(*new, "--by", "ada", stdout=out)
    assert "The field Open fires is new: --field open-fires names it." in out.getvalue()
    made = ResearchField.objects.get()
    assert (made.members.get().username, made.subfields.get().name) == ("ada", "Grilling")
    assert Item.objects.get().field == "Open fires"
    with pytest.raises(CommandError, match="has this name"):
        call_command(*new)


def test_columns_of_other_names_are_named(cooking, file):
    file.write('"Rats slept more.",Rats ran more.', header="Abstract,Altered abstract")
    out = StringIO()
    with pytest.raises(CommandError):
        call_command("import_items", str(file.path), "--field", "cooking", stdout=out)
    guess = "--column 'altered=altered abstract' --column original=abstract"
    assert guess in out.getvalue()
    assert counts(file.run(*shlex.split(guess))) == (1, 0, 0)
    assert Item.objects.get().markup == TEXT
    with pytest.raises(CommandError, match="is not OURS=THEIRS"):
        file.run("--column", "original")


def test_test_cases_accepted_elsewhere_are_accepted_with_the_reason(cooking, file):
    file.write(f'a-1,"{TEXT}",Baking')
    file.run()
    file.write(f'a-1,"{TEXT}",Baking', f'a-2,"{OTHER}",Baking')
    assert counts(file.run("--accepted-before", "Reviewed in Lyon.")) == (1, 1, 0)
    for item in Item.objects.all():
        assert (item.status, item.accepted_by) == ("accepted", None)
        last = item.changes.last()
        assert last is not None
        assert (last.after, last.reason) == ({"status": "accepted"}, "Reviewed in Lyon.")


def test_the_steps_of_the_docs_lead_from_a_file_to_an_open_study(monkeypatch):
    page = (ROOT / "docs" / "test-cases.md").read_text(encoding="utf-8")
    steps = page.partition("\n```\n")[2].partition("\n```\n")[0].splitlines()
    assert "import_items" in steps[0]
    assert "set_recruitment" in steps[-1]
    monkeypatch.chdir(ROOT)
    for step in steps:
        call_command(*shlex.split(step)[2:], stdout=StringIO())
    study = Study.objects.get(slug="sleep")
    assert study.recruitment == "open"
    assert study.items.filter(kind="test").count() == 10


def test_without_a_key_a_test_case_is_found_by_its_text_or_its_doi(cooking, file):
    make_item("a-1", field="cooking", markup=TEXT, doi="10.1234/a", status="draft")
    header = "markup,doi"
    file.write('"Rats [[slept, sat]] more.",', header=header)
    assert counts(file.run("--dry-run")) == (0, 1, 0)
    file.write(f'"{OTHER}",https://doi.org/10.1234/A', header=header)
    assert counts(file.run("--dry-run")) == (0, 1, 0)
    assert counts(file.run("--dry-run", "--source", "machine")) == (1, 0, 0)
    make_item("a-2", field="cooking", markup=OTHER, doi="10.1234/a", status="draft")
    file.write('"Rats [[hid, fled]] more.",10.1234/a', header=header)
    (problem,) = file.run(fails=True)["problems"]
    assert "a-1 or a-2" in problem["message"]


def test_test_cases_of_other_fields_in_review_or_built_in_are_left_alone(cooking, file):
    make_item("a-1", field="sewing", markup=TEXT)
    make_item("a-2", field="cooking", markup=TEXT, status="in_review")
    make_item("a-3", field="cooking", markup=TEXT, is_demo=True)
    file.write(*(f'a-{n},"{OTHER}",' for n in (1, 2, 3)))
    messages = [p["message"] for p in file.run(fails=True)["problems"]]
    for message, words in zip(messages, ("sewing", "in review", "built in"), strict=True):
        assert words in message


def test_a_file_taken_from_an_older_version_overwrites_nothing(cooking, file):
    make_item("a-1", field="cooking", markup=TEXT)
    make_item("a-1", version=2, field="cooking", markup=OTHER)
    header = "key,version,markup"
    file.write(f'a-1,1,"{TEXT}"', header=header)
    assert counts(file.run()) == (0, 0, 1)
    file.write('a-1,1,"Rats [[hid, fled]] more."', header=header)
    assert file.run(fails=True)["problems"][0]["column"] == "version"
    file.write('a-1,2,"Rats [[hid, fled]] more."', header=header)
    assert counts(file.run()) == (0, 1, 0)
    assert Item.objects.get(version=3).status == "draft"


def test_many_rows_take_no_more_queries_than_few(cooking: ResearchField) -> None:
    queries: list[list[int]] = []
    for n in (8, 80):
        asked = []
        with transaction.atomic():
            for word, status in (("Salt", "draft"), ("Sugar", "draft"), ("Oil", "accepted")):
                Item.objects.update(status=status)
                rows = (f'a-{k},"{word} {k} [[rose | fell]]."' for k in range(n))
                with CaptureQueriesContext(connection) as captured:
                    plan = import_file(
                        items_of(table(*rows, header="key,markup")), cooking, AS_DRAFTS
                    )
                assert plan.count(Action.CREATE) + plan.count(Action.UPDATE) == n
                asked.append(len(captured))
            assert Item.objects.count() == 2 * n
            transaction.set_rollback(True)
        queries.append(asked)
    # A statement takes so many values and no more
    assert all(many <= few + 2 for few, many in zip(*queries, strict=True))

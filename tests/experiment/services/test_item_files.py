"""An export is imported unchanged, with any text."""

import csv
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiment.domain.item_checks.characters import check_characters
from experiment.domain.markup import Alternation, MarkupError, Plain, parse, render
from experiment.imports.read.items import Defaults
from experiment.imports.read.rows import read_content
from experiment.imports.reading import items_of
from experiment.imports.store.item_plans import AS_DRAFTS, ItemOptions
from experiment.imports.store.plans import Action
from experiment.imports.store.writing import import_file
from experiment.models import AuditEvent, Item, ResearchField
from experiment.services.item_files import FORMATS, Wanted, download
from tests.factories import make_item, make_research_field

pytestmark = pytest.mark.django_db
OWN = ("csv", "jsonl")
# Words that CSV, JSON, the markup or a spreadsheet take for something else
PIECES = (
    *("=1+1", "'=x", "'", '"', ",", ";", "\t", "\n", "\\", "[[", "]]"),
    *("[", "|", " | ", "-", "@", "é", "µ", "a", " "),
)
texts = st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map("".join)


@st.composite
def markups(draw: st.DrawFn) -> str:
    """Markup that can be read, of pieces that are hard to write."""
    segments: list[Plain | Alternation] = []
    for _ in range(draw(st.integers(1, 3))):
        segments.append(Plain(draw(texts)))
        segments.append(Alternation(draw(texts).strip() or "x", draw(texts).strip() or "y"))
    return render([*segments, Plain(draw(texts))])


def is_readable(markup: str) -> bool:
    try:
        abstract = parse(markup)
    except MarkupError:
        return False
    return abstract.original != abstract.altered and not list(check_characters(markup))


@pytest.fixture
def cooking() -> ResearchField:
    return make_research_field("cooking", "Baking")


@pytest.mark.parametrize("form", OWN)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.lists(markups().filter(is_readable), min_size=1, max_size=3), texts)
def test_an_import_of_an_export_finds_everything_unchanged(cooking, form, markups_, note):
    Item.objects.all().delete()
    for n, markup in enumerate(markups_):
        make_item(f"a-{n}", field="cooking", markup=markup, note=note, subfield="Baking")
    plan = AS_DRAFTS.plan(items_of(download(Wanted(cooking, form))), cooking, by=None)
    assert plan.problems == []
    assert plan.count(Action.UNCHANGED) == len(markups_)


@pytest.mark.parametrize("form", OWN)
def test_another_site_gets_the_same_test_cases(cooking, form):
    make_item(
        "a-1", field="cooking", subfield="Baking", doi="10.1234/x", publication_date="2024-03-31"
    )
    make_item(
        "a-2", field="cooking", subfield="", kind="catch", source="machine", generator="GPT-4"
    )
    data, before = download(Wanted(cooking, form)), rows()
    Item.objects.all().delete()
    options = ItemOptions(accepted_before="There.")
    import_file(options.read(data), cooking, options)
    assert rows() == before
    event = AuditEvent.objects.get(action="item_accepted")
    assert (event.reason, event.details) == ("There.", {"field": "cooking", "imported": 2})
    assert download(Wanted(cooking, form)) == data


def rows() -> list[tuple[object, ...]]:
    columns = (
        *("key", "markup", "kind", "source", "generator", "subfield"),
        *("doi", "publication_date", "note", "status"),
    )
    return list(Item.objects.order_by("key").values_list(*columns))


def test_an_export_holds_the_newest_version_of_the_state(cooking):
    make_item("a-1", field="cooking")
    make_item("a-1", version=2, field="cooking")
    make_item("a-1", version=3, field="cooking", status="draft")
    make_item("a-2", field="cooking", status="draft")
    make_item("a-3", field="cooking", is_demo=True)
    make_item("a-4", field="sewing")

    def versions(status: str) -> list[tuple[str, int]]:
        return [(item.key, item.version) for item in Wanted(cooking, status=status).items]

    assert versions("accepted") == [("a-1", 2)]
    assert versions("draft") == [("a-1", 3), ("a-2", 1)]
    assert versions("all") == [("a-1", 3), ("a-2", 1)]
    # An older accepted version says nothing against a newer draft
    unchanged = AS_DRAFTS.plan(items_of(download(Wanted(cooking))), cooking, by=None)
    assert unchanged.count(Action.UNCHANGED) == 1


def test_a_spreadsheet_runs_nothing(cooking):
    make_item("a-1", field="cooking", note="=HYPERLINK(1)", generator="@x")
    (row,) = csv.DictReader(io.StringIO(download(Wanted(cooking)).decode()))
    assert (row["note"], row["generator"]) == ("'=HYPERLINK(1)", "'@x")


def as_parquet(rows: list[dict[str, object]]) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), out)
    return out.getvalue()


def test_a_folder_says_what_it_holds_and_has_every_test(cooking, tmp_path):
    described = {"subfield": "Ba|king <b>", "doi": "10.1234/x", "publication_date": "2024-03-31"}
    make_item("a-1", field="cooking", **described)
    make_item("a-2", field="cooking", source="machine", generator='a: "b"')
    make_item("a-3", field="cooking", kind="practice")
    place = tmp_path / "out"
    call_command(
        "export_items", field="cooking", format="hf", license="cc-by-4.0", output=str(place)
    )
    found = [json.loads(line) for line in (place / "data" / "test.jsonl").read_text().splitlines()]
    assert [row["key"] for row in found] == ["a-1", "a-2"]
    for data in ((place / "data" / "test.jsonl").read_bytes(), as_parquet(found)):
        plan = ItemOptions(new_subfields=True).plan(items_of(data), cooking, by=None)
        assert [problem.message for problem in plan.problems] == []
        assert plan.count(Action.UNCHANGED) == 2
    assert {tuple(row) for row in found} == {tuple(found[0])}
    assert (found[0]["publication_date"], found[1]["publication_date"]) == ("2024-03-31", None)
    card = (place / "README.md").read_text()
    for words in ('license: "cc-by-4.0"', "num_examples: 2", "Ba\\|king &lt;b>", "data/test.jsonl"):
        assert words in card
    with pytest.raises(CommandError, match="empty folder"):
        call_command("export_items", field="cooking", format="hf", output=str(place))


@pytest.mark.parametrize("form", FORMATS)
def test_a_command_writes_what_a_page_gives_which_says_what_a_form_cannot_hold(
    cooking, form, tmp_path, admin_client
):
    address, ask = "/lab/fields/cooking/export/file/", {"form": form, "status": "accepted"}
    if form == "hf":
        refused = admin_client.get(address, ask)
        assert (refused.status_code, "no test" in refused.content.decode()) == (422, True)
    make_item("a-1", field="cooking", subfield="Baking")
    place = tmp_path / "out"
    call_command("export_items", field="cooking", format=form, output=str(place))
    page = admin_client.get(address, ask)
    assert page.status_code == 200
    assert page["Content-Disposition"].startswith('attachment; filename="cooking')
    if form != "hf":
        assert page.content == place.read_bytes()
    if form == "brainbench":
        make_item("a-2", field="cooking", source="machine")
        assert "contains one source" in admin_client.get(address, ask).content.decode()


@pytest.mark.parametrize(
    ("name", "source", "n_damaged"), [("Human", "human", 1), ("GPT-4", "machine", 4)]
)
def test_the_published_files_come_out_as_they_went_in(results_dir: Path, name, source, n_damaged):
    """Cell for cell but for the markup of the damaged texts, which gives the versions as they were published.

    Theirs leaves a bracket open or does not say which comma parts the passages: no reading of it gives both versions.
    """
    field = ResearchField.objects.get_or_create(slug="neuro", defaults={"name": "neuro"})[0]
    data = read_content(results_dir / "testcases" / f"BrainBench_{name}_v0.1.csv")
    options = ItemOptions(defaults=Defaults(source), new_subfields=True)
    plan = import_file(options.read(data), field, options)
    assert plan.count(Action.CREATE) == len(plan.rows)
    written = download(Wanted(field, "brainbench", "draft", source))
    before, after = (
        list(csv.DictReader(io.StringIO(d.decode(), newline=""))) for d in (data, written)
    )
    differing = {
        (n, column)
        for n, (one, other) in enumerate(zip(before, after, strict=True), start=1)
        for column in one
        if one[column] != other[column]
    }
    damaged = {(row.record.row, "combined_abstract") for row in plan.rows if row.record.is_damaged}
    assert len(damaged) == n_damaged
    assert differing == damaged
    assert written.splitlines()[0] == data.splitlines()[0]
    for each in (written, data):
        again = options.plan(options.read(each), field, by=None)
        assert again.count(Action.UNCHANGED) == len(plan.rows)

"""An export gives back the cells of the file that was imported, in each form and in both sets of columns."""

import csv
import io
import json

import pytest
from django.core.exceptions import ValidationError
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from experiment.domain.item_checks.characters import check_characters
from experiment.domain.questions.columns import CategoriesError, checked
from experiment.imports.read.questions import read_questions, read_template
from experiment.imports.read.rows import FileRefusedError
from experiment.imports.store.question_plans import QuestionOptions
from experiment.imports.store.writing import import_file
from experiment.lab.questions import CategoriesField, as_lines
from experiment.models import Item, QuestionTemplate, ResearchField
from experiment.services.questions import COLUMNS, FORMATS, WantedQuestions, content, save_template
from lib import formulas
from tests.factories import make_question, make_research_field

pytestmark = pytest.mark.django_db
ACCEPTED = QuestionOptions(accepted_before="accepted elsewhere")
HEADER = ("uuid", "template_uuid", "question", "answer", "bio_category", "reasoning_category")

_SEEN = st.characters(codec="utf-8", exclude_categories=("C", "Zl", "Zp"))
_TEXT = st.text(
    st.one_of(_SEEN, st.sampled_from("\n,;\"'=+-@ \t")), min_size=1, max_size=30
).filter(lambda text: text.strip() and not any(check_characters(text)))
_NAME = st.text(st.sampled_from("abcXYZ019-_."), min_size=1, max_size=12)
_CATEGORIES = st.text(st.sampled_from("abA ;;"), max_size=12)
_ROW = st.tuples(st.one_of(_NAME, st.just("")), _TEXT, _TEXT, _CATEGORIES, _CATEGORIES)


def table(rows, header=HEADER):
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows([header, *rows])
    return out.getvalue().encode()


def cells(data):
    return list(csv.reader(io.StringIO(data.decode(), newline="")))


def guarded(rows):
    """As our files defuse formulas."""
    return [[formulas.guarded(cell) for cell in row] for row in rows]


@pytest.fixture
def field():
    return make_research_field("drugs")


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=st.lists(_ROW, min_size=1, max_size=6))
def test_the_published_columns_come_back_cell_for_cell(field: ResearchField, rows):
    Item.objects.all().delete()
    QuestionTemplate.objects.all().delete()
    named = guarded([(f"u-{n}", *row) for n, row in enumerate(rows)])
    file = read_questions(table(named))
    assert not file.problems
    import_file(file, field, ACCEPTED)
    wanted = WantedQuestions(field, columns="published")
    assert cells(content(wanted, wanted.items)) == [list(HEADER), *map(list, named)]
    for form in FORMATS:
        for columns in COLUMNS:
            again = content(WantedQuestions(field, form, columns), wanted.items)
            plan = QuestionOptions().plan(read_questions(again), field, by=None)
            assert (plan.count("unchanged"), plan.problems) == (len(rows), [])


_DIMENSION = st.text(st.one_of(_SEEN, st.sampled_from(", \"'=Aß|")), min_size=1, max_size=8)
_CATEGORY = st.text(st.one_of(_SEEN, st.sampled_from(",:\"'=")), min_size=1, max_size=8)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(given=st.dictionaries(_DIMENSION, st.lists(_CATEGORY, max_size=3), min_size=1, max_size=3))
@example(given={'Topic, "sub"': ["a, b", "=c", "d:e"]})
@example(given={"topic, -sub": ["a, =b", "c|+d", "'-e"]})
def test_valid_categories_survive_every_file_and_form(field, given):
    try:
        wanted = checked(given)
    except CategoriesError:
        return
    Item.objects.all().delete()
    make_question("q-1", field="drugs", categories=wanted)
    for form in FORMATS:
        for columns in COLUMNS:
            exported = WantedQuestions(field, form, columns)
            plan = QuestionOptions().plan(
                read_questions(content(exported, exported.items)), field, by=None
            )
            assert (plan.count("unchanged"), plan.problems) == (1, [])
    assert CategoriesField().clean(as_lines(wanted)) == {n: v for n, v in wanted.items() if v}


@pytest.mark.parametrize(
    "given",
    [
        {"topic": ["a;b"]},
        {"topic": ["a\nb"]},
        {"a:b": ["c"]},
        {"=a": ["c"]},
        {"": ["c"]},
        {"topic": [""]},
        {"topic": ["c" * 201]},
        {"Topic": [], "topic": []},
    ],
)
def test_categories_that_a_file_could_not_give_back_are_refused(field, given):
    with pytest.raises(CategoriesError):
        checked(given)
    with pytest.raises(ValidationError):
        save_template(field, "t", "{{ a }}?", [{"when": "", "answer": "{{ a }}"}], given)


def test_a_template_in_toml_names_dimensions_as_files_do(field):
    toml = 'key = "a"\nquestion = "Q?"\ncategories = {{ {} }}\n[[rules]]\nanswer = "A."'
    assert read_template(toml.format("Topic = ['Metals', 2]").encode()).categories == {
        "topic": ["Metals", "2"]
    }
    with pytest.raises(FileRefusedError, match="“a;b” is empty or contains a semicolon"):
        read_template(toml.format("topic = ['a;b']").encode())
    with pytest.raises(FileRefusedError, match="twice"):
        read_template(toml.format("Topic = [], topic = []").encode())
    (problem,) = read_questions(
        table([("Q", "A", "x")], ("question", "answer", "a:b_category"))
    ).problems
    assert "its dimension" in problem.message


MADE = {"table": "a" * 64, "row": 3, "rule": 1, "values": {"a": "x\u200b, ö"}, "sha256": "b" * 64}


def test_from_which_row_a_question_was_made_comes_back_and_nothing_else_is_taken_for_it(field):
    make_question("q-1", field="drugs", made_from=MADE)
    wanted = WantedQuestions(field)
    exported = {form: content(WantedQuestions(field, form), wanted.items) for form in FORMATS}
    Item.objects.all().delete()
    for written in exported.values():
        import_file(read_questions(written), field, ACCEPTED)
        item = Item.objects.get()
        assert item.made_from == MADE
        item.delete()
    for name, value in [("row", 0), ("row", True), ("table", "x"), ("values", {"a": 1}), ("x", 1)]:
        cells = ("Q?", "A", json.dumps(MADE | {name: value}))
        (problem,) = read_questions(table([cells], ("question", "answer", "made_from"))).problems
        assert problem.column == "made_from"


def test_another_field_is_given_the_same_from_each_form(field):
    named = [("u-1", "t-1", " Q?\n", "A, ö", "x;y", ""), ("u-2", "", "=R?", "B", "", "z")]
    import_file(read_questions(table(named)), field, ACCEPTED)
    wanted = WantedQuestions(field)
    first = content(wanted, wanted.items)
    for form in FORMATS:
        written = content(WantedQuestions(field, form), wanted.items)
        Item.objects.all().delete()
        QuestionTemplate.objects.all().delete()
        import_file(read_questions(written), field, ACCEPTED)
        assert content(wanted, wanted.items) == first


@pytest.mark.parametrize("columns", COLUMNS)
def test_an_export_says_which_questions_are_for_tests_alike_in_each_category(field, columns):
    """A fifth of 40 and of 4 questions."""
    rows = [
        (f"u-{n}", "", f"Question {n}?", f"{n}.", "Tissue" if n < 40 else "Drug", "")
        for n in range(44)
    ]
    import_file(read_questions(table(rows)), field, ACCEPTED)

    def parts(seed: int) -> dict[str, str]:
        wanted = WantedQuestions(field, columns=columns, test_share=0.2, seed=seed)
        data = content(wanted, wanted.items)
        assert QuestionOptions().plan(read_questions(data), field, by=None).count("unchanged") == 44
        header, *lines = cells(data)
        key, part = header.index("uuid" if columns == "published" else "key"), header.index("split")
        return {line[key]: line[part] for line in lines}

    found = parts(7)
    tested = [int(key[2:]) for key, part in found.items() if part == "test"]
    assert (sum(n < 40 for n in tested), sum(n >= 40 for n in tested)) == (8, 1)
    assert set(found.values()) == {"train", "test"}
    assert found == parts(7) != parts(8)

"""However long one request works, nobody else waits for it: what the whole site takes in turns is taken last, or for a name alone."""

import ast
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, connections, transaction
from django.test.utils import CaptureQueriesContext

from experiment.imports.read.items import read_items
from experiment.imports.store.item_plans import ItemOptions
from experiment.imports.store.writing import import_file
from experiment.lab.first_study import PasteForm
from experiment.models import AuditEvent, Item, Study
from experiment.services import audit
from experiment.services.fields import change_field, create_field
from experiment.services.file_items import MOST_FIELDS
from experiment.services.file_places import Place, StudyFileError
from experiment.services.item_choice import ItemChoice, create_chosen_study
from experiment.services.questions import create_questions_study
from experiment.services.study_file import copy_study, create, document
from experiment.services.study_setup import create_study, unused_slug
from lib.locks import hold, waiting_briefly
from tests.config.test_code_security import sources
from tests.factories import (
    make_channel,
    make_item,
    make_question,
    make_research_field,
    make_study,
    make_user,
    sound_text,
)

pytestmark = pytest.mark.django_db
FEW = 3


def texts(n: int) -> list[str]:
    return [sound_text(7 * number) for number in range(1, n + 1)]


def study_file(n: int) -> Place:
    file = json.loads(json.dumps(document(make_study(human=1, machine=0, catch=0))))
    one = next(item for item in file["items"] if item["kind"] == "test")
    for name in ("sha256", "doi"):
        del one[name]
    file["items"] = [
        one | {"key": f"new-{number}", "field": "new", "markup": text}
        for number, text in enumerate(texts(n))
    ]
    channel = file["channels"] or [{"code": "a", "label": "A"}]
    file["channels"] = [channel[0] | {"code": f"c{number}"} for number in range(n)]
    return Place(file, "", [])


def by_a_file(n: int, by: Any) -> Callable[[], object]:
    place = study_file(n)
    return lambda: create(place, slug="filed", title="Filed", by=by)


def by_a_copy(n: int, by: Any) -> Callable[[], object]:
    study = make_study(human=n)
    for number in range(n):
        make_channel(study, f"c{number}")
    return lambda: copy_study(study, slug="copied", title="Copied", by=by)


def by_pasting(n: int, by: Any) -> Callable[[], object]:
    form = PasteForm({"field": "pasted", "title": "", "texts": "\n\n".join(texts(n))})
    assert form.is_valid()
    return lambda: form.create(by)


def by_choice(n: int, by: Any) -> Callable[[], object]:
    for number in range(n):
        make_item(f"chosen-{number}", field="cooking")
    make_research_field("cooking", lead=by)
    return lambda: create_chosen_study("chosen", "brainbench", ItemChoice(field="cooking"), by=by)


def by_questions(n: int, by: Any) -> Callable[[], object]:
    field = make_research_field("asking", lead=by)
    for number in range(n):
        make_question(f"asked-{number}", field="asking")
    return lambda: create_questions_study("asked", field, by=by)


def by_an_import(n: int, by: Any) -> Callable[[], object]:
    field = make_research_field("cooking", lead=by)
    rows = "\n".join(json.dumps({"markup": text}) for text in texts(n)).encode()
    options = ItemOptions(accepted_before="Known")
    return lambda: import_file(read_items(rows), field, options, by=by)


def by_fewer_reviews(n: int, by: Any) -> Callable[[], object]:
    field = make_research_field("cooking", lead=by)
    for number in range(n):
        make_item(f"reviewed-{number}", field="cooking", status=Item.Status.IN_REVIEW)
    return lambda: change_field(field, "cooking", 0, by)


LONG = (by_a_file, by_a_copy, by_pasting, by_choice, by_questions, by_an_import, by_fewer_reviews)


def hold_audit() -> str:
    """The statement with which the trail is taken."""
    with transaction.atomic(), CaptureQueriesContext(connection) as captured:
        hold("audit")
    return str(captured[-1]["sql"])


def after_it_is_taken(work: Callable[[], object]) -> Iterator[str]:
    """The queries of the work once it has taken the trail; points of return change nothing."""
    taken = hold_audit()
    with CaptureQueriesContext(connection) as captured:
        work()
    said = [str(query["sql"]) for query in captured]
    assert said.count(taken) == 1
    for sql in said[said.index(taken) + 1 :]:
        if not sql.startswith(("SAVEPOINT", "RELEASE")):
            yield sql


@pytest.mark.postgres
@pytest.mark.parametrize("n", [FEW, 2 * FEW])
@pytest.mark.parametrize("long", LONG)
def test_the_trail_is_taken_last_however_many_texts_there_are(
    long: Callable[[int, Any], Callable[[], object]], n: int
) -> None:
    said = [*after_it_is_taken(long(n, make_user("ada", is_superuser=True)))]
    assert all(AuditEvent._meta.db_table in sql for sql in said), said
    assert len(said) == 2  # the last event is read, and all new ones are written
    assert audit.verify() is None


# Few statements follow each of them, or nobody but administrators waits
OF_THE_SITE = {("audit",), ("demo",), ("training",)}


def test_the_whole_site_takes_turns_for_these_alone() -> None:
    """Every other lock names a row, a name, a person or a study."""
    held = {
        tuple(ast.literal_eval(name) for name in call.args)
        for _path, tree in sources("lib", "experiment", "scoring", "analysis")
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        and ast.unparse(call.func) == "hold"
        and all(isinstance(name, ast.Constant) for name in call.args)
    }
    assert held == OF_THE_SITE


def elsewhere(work: Callable[[], object]) -> object:
    """Done meanwhile by somebody else, who waits for nobody."""

    def run() -> object:
        try:
            with waiting_briefly():
                return work()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(run).result()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("long", [by_a_file, by_a_copy, by_pasting])
def test_others_take_names_and_sign_in_while_somebody_makes_a_long_study(
    long: Callable[[int, Any], Callable[[], object]],
) -> None:
    by, other = make_user("ada", is_superuser=True), make_user("ben")
    study = create_study("others", "brainbench", by=other)
    work = long(FEW, by)
    with transaction.atomic():
        work()
        elsewhere(lambda: audit.record(audit.Action.SIGNED_IN, by=other))
        elsewhere(lambda: create_field("marine biology", 2, other))
        elsewhere(lambda: create_study("mine", "brainbench", by=other))
        elsewhere(study.full_clean)
        elsewhere(
            lambda: create_study(unused_slug("Which result is real?"), "brainbench", by=other)
        )
    assert audit.verify() is None
    assert Study.objects.filter(slug__in=("filed", "copied", "which-result-is-real")).exists()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_fields_whose_names_have_no_latin_letters_wait_for_none_of_them() -> None:
    by = make_user("ada")
    with transaction.atomic():
        assert create_field("\u6d77\u6d0b", 2, by).slug == "field"
        slug = elsewhere(lambda: create_field("\u690d\u7269", 2, by).slug)
    assert slug == "field-2"


def test_a_study_file_makes_no_more_fields_than_the_server_keeps_locks_for() -> None:
    place = study_file(MOST_FIELDS + 1)
    for number, item in enumerate(place.value["items"]):
        item["field"] = f"field {number}"
    with pytest.raises(StudyFileError, match=f"at most {MOST_FIELDS} new fields") as refused:
        create(place, slug="many", title="Many", by=make_user("ada"))
    assert len(refused.value.messages) == 1

"""A study's test cases are chosen by the fields that the site has, whatever these are called."""

import pytest
from django.test import Client

from experiment.models import Study
from tests.factories import make_item, make_research_field, make_study

pytestmark = pytest.mark.django_db
PAGE = "/lab/studies/memory/set-up/items/"


@pytest.fixture
def study() -> Study:
    return make_study(human=0, machine=0)


@pytest.fixture(autouse=True)
def fields() -> None:
    make_research_field("cooking", "Soups", "Baking")
    make_research_field("empty", "Nothing")
    for n in range(10):
        make_item(f"cook-{n}", field="cooking", subfield="Soups" if n < 4 else "Baking")
    make_item("draft", field="cooking", subfield="Roasts", status="draft")


def keys(study: Study) -> set[str]:
    return set(study.items.filter(kind="test").values_list("key", flat=True))


def test_fields_with_accepted_test_cases_are_offered_with_their_subfields(ruth: Client) -> None:
    shown = ruth.get(PAGE).content.decode()
    assert '<option value="cooking">' in shown
    assert 'value="Soups"' in shown
    for absent in ("empty", "Nothing", "Roasts"):
        assert f'value="{absent}"' not in shown


def test_a_field_and_a_subfield_of_it_are_taken(ruth: Client, study: Study) -> None:
    sent = {"field": "cooking", "subfields": ["Soups"]}
    assert ruth.post(PAGE, sent).status_code == 302
    assert keys(study) == {f"cook-{n}" for n in range(4)}


def test_a_subfield_that_no_field_has_is_refused(ruth: Client, study: Study) -> None:
    assert ruth.post(PAGE, {"field": "cooking", "subfields": ["Roasts"]}).status_code == 422
    assert keys(study) == set()

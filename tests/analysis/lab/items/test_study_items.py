"""The list of a study's test cases shows what is drawn to every member, and figures to who may see data."""

import pytest
from django.test import Client

from experiment.models import Study
from tests.factories import make_item, make_participant, make_study, make_user

pytestmark = pytest.mark.django_db
PAGE = "/lab/studies/memory/test-cases/"


@pytest.fixture
def study() -> Study:
    study = make_study()
    study.items.filter(kind="test").update(field="cooking")
    make_participant(study)
    return study


def read(client: Client, role: str, study: Study) -> str:
    user = make_user("vera")
    study.members.add(user, through_defaults={"role": role})
    client.force_login(user)
    return client.get(PAGE).content.decode()


def test_a_curator_sees_no_figures_and_an_auditor_pauses_nothing(
    client: Client, study: Study
) -> None:
    shown = read(client, "curator", study)
    assert "memory-human-1 v1" in shown
    assert "100%" not in shown
    study.memberships.update(role="auditor")
    shown = client.get(PAGE).content.decode()
    assert "100%" in shown
    assert "/pause/" not in shown


def test_other_studies_data_stay_with_them(client: Client, study: Study) -> None:
    other = make_study("other")
    item = make_item("shared", field="cooking")
    for each in (study, other):
        each.study_items.create(item=item)
    for _ in range(12):
        make_participant(other)
    shown = read(client, "auditor", study)
    row = shown[shown.index("shared v1") :].partition("</tr>")[0]
    assert '<td class="number">0</td>' in row


def test_another_page_costs_no_more_queries(
    client: Client, study: Study, django_assert_max_num_queries: object
) -> None:
    for n in range(120):
        study.study_items.create(item=make_item(f"more-{n}", field="cooking"))
    read(client, "researcher", study)
    with django_assert_max_num_queries(16):  # type: ignore[operator]
        shown = client.get(f"{PAGE}?page=2").content.decode()
    assert "Page 2 of 3" in shown


def test_catch_trials_are_not_marked_for_being_easy(client: Client, study: Study) -> None:
    for _ in range(11):
        make_participant(study)
    shown = read(client, "auditor", study)
    row = shown[shown.index("memory-catch-1 v1") :].partition("</tr>")[0]
    assert "100%" in row
    assert "everyone right" not in row

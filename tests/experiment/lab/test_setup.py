"""The sections of a study's set-up: what they change, what they refuse, and what asks for a reason."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.forms import model_to_dict
from django.test import Client

from experiment.models import AuditEvent, Item, Study
from tests.experiment import people
from tests.factories import (
    make_item,
    make_participant,
    make_research_field,
    make_study,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return make_study(recruitment="open", human=12, machine=6)


def url(section: str = "") -> str:
    return f"/lab/studies/memory/set-up/{section}/" if section else "/lab/studies/memory/set-up/"


def send(client: Client, section: str, **changes: Any) -> Any:
    """The section's form as its page shows it, with these changes; None leaves a field out."""
    shown = client.get(url(section)).context["form"]
    values = {}
    for field in shown:
        value = field.value()
        if value is not None and value is not False:  # 0 is shown
            values[field.name] = "on" if value is True else value
    values |= changes
    sent = {name: value for name, value in values.items() if value is not None}
    return client.post(url(section), sent)


def fresh(study: Study) -> Study:
    study.refresh_from_db()
    return study


@pytest.mark.parametrize("section", ["general", "texts", "trials", "rules", "target", "pay"])
def test_saving_what_is_shown_changes_nothing(ruth: Client, study: Study, section: str) -> None:
    Study.objects.update(min_rt_ms=1_234)
    before = model_to_dict(fresh(study)), study.consent_versions.count()
    assert send(ruth, section).status_code == 302
    assert (model_to_dict(fresh(study)), study.consent_versions.count()) == before


def test_new_values_are_saved_and_named_in_the_trail(ruth: Client, study: Study) -> None:
    send(ruth, "general", title="Forests", field="ecology", contact="lab@example.org")
    assert (fresh(study).title, study.field) == ("Forests", "ecology")
    event = AuditEvent.objects.filter(action="study_changed").last()
    assert event is not None
    assert (event.actor, set(event.details["changed"])) == ("ruth", {"title", "field"})
    given = {"opens_at": "2026-03-01T08:00", "closes_at": "2026-04-01T08:00", "target_valid": "40"}
    assert send(ruth, "target", **given).status_code == 302
    opens_at = fresh(study).opens_at
    assert opens_at is not None
    assert (opens_at.isoformat(), study.target_valid) == ("2026-03-01T08:00:00+00:00", 40)


def after(client: Client, **changes: str) -> str:
    """The page that follows."""
    page: str = client.get(send(client, "general", **changes)["Location"]).text
    return page


def test_a_new_language_of_an_open_study_says_what_participants_under_way_see(
    ruth: Client, study: Study
) -> None:
    said = "Participants who are under way see their next page in the new language."
    Study.objects.update(recruitment="draft")
    assert said not in after(ruth, language="de")
    Study.objects.update(recruitment="open")
    assert said in after(ruth, language="fr")
    assert said not in after(ruth, title="Another")


def test_groups_and_their_targets_are_saved_and_fixed_with_the_first_participant(
    ruth: Client, study: Study
) -> None:
    given = {"cell_field": "age", "cell_targets": "18-24: 30\n\n65+: 5\n"}
    assert send(ruth, "target", **given).status_code == 302
    assert fresh(study).cell_targets == {"18-24": 30, "65+": 5}
    people.enroll(study)
    send(ruth, "target", cell_field="gender", cell_targets="18-24: 40")
    assert (fresh(study).cell_field, study.cell_targets) == ("age", {"18-24": 40})


@pytest.mark.parametrize(
    ("section", "changes", "field"),
    [
        ("general", {"title": "Taken"}, "title"),
        ("general", {"language": "english please"}, "language"),
        ("general", {"ethics_number": "7"}, "__all__"),
        ("texts", {"briefing": ""}, "briefing"),
        ("texts", {"demographic_fields": ["shoe size"]}, "demographic_fields"),
        ("trials", {"human_items": "-1"}, "human_items"),
        ("trials", {"human_items": "0", "machine_items": "0"}, "__all__"),
        ("trials", {"policy": "whim"}, "policy"),
        ("rules", {"min_rt_ms": "soon"}, "min_rt_ms"),
        ("target", {"cell_targets": "female: 5"}, "cell_field"),
        ("target", {"cell_field": "gender", "cell_targets": "women: 5"}, "cell_targets"),
        ("target", {"cell_field": "gender", "cell_targets": "female: 0"}, "cell_targets"),
        ("target", {"cell_field": "gender", "cell_targets": "female five"}, "cell_targets"),
        ("target", {"cell_field": "shoe size"}, "cell_field"),
        ("rules", {"exclude_untouched": "some"}, "exclude_untouched"),
        ("target", {"resume_hours": "0"}, "resume_hours"),
        ("target", {"target_valid": "99999999999999999999"}, "target_valid"),
        ("target", {"opens_at": "2026-04-01T08:00", "closes_at": "2026-03-01T08:00"}, "__all__"),
        ("items", {"subfields": ["Nowhere"]}, "subfields"),
        ("items", {"keys": "no-such-key"}, "keys"),
    ],
)
def test_problems_are_reported_at_their_field_and_nothing_is_saved(
    ruth: Client, study: Study, section: str, changes: dict[str, Any], field: str
) -> None:
    make_study("taken", title="Taken")
    before = model_to_dict(fresh(study), exclude=["items"])
    response = send(ruth, section, **changes)
    assert response.status_code == 422
    assert list(response.context["form"].errors) == [field]
    assert model_to_dict(fresh(study), exclude=["items"]) == before


@pytest.mark.parametrize(
    ("section", "changes"),
    [
        ("rules", {"min_rt_ms": "90"}),
        ("texts", {"consent": "Another text."}),
        ("items", {"source": "human"}),
    ],
)
def test_a_change_of_frozen_settings_needs_a_reason_and_makes_a_version(
    ruth: Client, study: Study, section: str, changes: dict[str, str]
) -> None:
    people.finish(study)
    refused = send(ruth, section, **changes)
    assert list(refused.context["form"].errors) == ["reason"]
    assert study.versions.count() == 1
    assert send(ruth, section, reason="The board asked for it.", **changes).status_code == 302
    version = study.versions.get(number=2)
    assert (version.reason, version.made_by.username) == ("The board asked for it.", "ruth")


def test_other_rules_are_compared_before_they_are_saved(ruth: Client, study: Study) -> None:
    make_participant(study)
    make_participant(study, cheated=True, excluded_by="admitted_cheating")
    response = send(ruth, "rules", exclude_cheating=None, compare="1")
    compared = response.context["compared"]
    assert (compared.before.participants, compared.after.participants) == (1, 2)
    assert (len(compared.participants), compared.trials) == (1, [])
    assert fresh(study).exclude_cheating


def test_test_cases_are_counted_before_they_are_taken(ruth: Client, study: Study) -> None:
    make_research_field("ecology", "Forests", readers=[User.objects.get(username="ruth")])
    make_item("eco-1", field="ecology", subfield="Forests")
    make_item("eco-2", field="ecology", subfield="Forests", source="machine")
    asked = {"field": "ecology", "source": "human"}
    shown = ruth.post(url("items") + "count/", asked).context["counted"]
    assert shown.strata["human"] == 1
    assert "machine" not in shown.strata
    assert study.items.filter(field="ecology").count() == 0
    assert send(ruth, "items", **asked).status_code == 302
    tests = study.items.filter(kind="test")
    assert list(tests.values_list("key", flat=True)) == ["eco-1"]
    assert (fresh(study).human_items, study.machine_items) == (1, 0)


def test_the_overview_names_what_is_missing_with_the_way_to_it(ruth: Client, study: Study) -> None:
    Study.objects.update(contact="", ethics_number="", ethics_body="")
    Item.objects.filter(kind="practice").update(status="retired")
    response = ruth.get(url())
    found = response.context["findings"]
    blocking = {each["url"]: [str(p) for p in each["problems"] if p.is_blocking] for each in found}
    assert {address: said for address, said in blocking.items() if said} == {
        url("items"): ["no practice test case"],
        url("general"): ["no contact address: participants must know whom they can ask"],
    }
    # Each section once, beside its entry in the menu of sections, with all that is to be said of it
    assert [response.text.count(f'href="{each["url"]}"') for each in found] == [2] * len(found)
    general = next(each for each in found if each["url"] == url("general"))
    assert len(general["problems"]) > 1
    states = {section["name"]: section["state"] for section in response.context["sections"]}
    assert (states["general"], states["items"], states["rules"]) == ("missing", "missing", "done")


def test_fields_with_accepted_test_cases_are_offered_with_their_subfields(
    ruth: Client, study: Study
) -> None:
    reader = User.objects.get(username="ruth")
    make_research_field("cooking", "Soups", "Baking", readers=[reader])
    make_research_field("empty", "Nothing")
    make_item("soup", field="cooking", subfield="Soups")
    make_item("bread", field="cooking", subfield="Baking")
    make_item("draft", field="cooking", subfield="Roasts", status="draft")
    shown = ruth.get(url("items")).text
    assert '<option value="cooking">' in shown
    assert 'value="Soups"' in shown
    for absent in ("empty", "Nothing", "Roasts"):
        assert f'value="{absent}"' not in shown
    asked = {"field": "cooking", "subfields": ["Roasts"]}
    assert ruth.post(url("items"), asked).status_code == 422
    assert ruth.post(url("items"), asked | {"subfields": ["Soups"]}).status_code == 302
    assert [item.key for item in study.items.filter(kind="test")] == ["soup"]

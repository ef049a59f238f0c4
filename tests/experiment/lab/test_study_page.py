"""The researcher's pages and the commands that belong to them."""

import json
import re

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError
from django.http import QueryDict
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from analysis.data.version import usual_kind
from analysis.lab.filter_form import read
from experiment.models import Judgment, Membership, Participant, Study
from experiment.services import counts, drawing, overview
from experiment.services.counts import default_kind, watched_kind
from experiment.services.stages import last_page
from experiment.services.study_setup import pin_items
from experiment.services.withdrawal import withdraw
from tests.experiment import people as taking_part
from tests.experiment.lab_client import page, run
from tests.factories import NOW, make_item, make_participant, make_study

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("stage", Participant.Stage.values)
def test_every_stage_of_a_participant_has_words(stage: str) -> None:
    assert last_page(Participant(stage=stage), None)


def test_the_flow_counts_every_step(study: Study) -> None:
    for _ in range(3):
        make_participant(study)
    make_participant(study, excluded_by="missed_catch admitted_cheating")
    make_participant(study, excluded_by="missed_catch")
    withdraw(study, make_participant(study).withdrawal_code, timezone.now())
    make_participant(study, judged=2, last_seen_at=timezone.now())
    make_participant(study, judged=2, stage="practice", page_reached=1, started_at=None)
    make_participant(study, judged=0, stage="demographics", page_reached=0, started_at=None)
    make_participant(study, kind="pilot")
    flow = overview.flow(study, "real", timezone.now())
    assert {step.code: step.n for step in flow.steps} == {
        "consented": 9,
        "demographics": 8,
        "practice": 7,
        "started": 7,
        "finished": 6,
        "missed_catch": 2,
        "admitted_cheating": 1,
        "withdrawn": 1,
        "valid": 3,
    }
    assert (flow.live, flow.withdrawn, flow.valid) == (1, 1, 3)
    assert flow.steps[0].percent == 100


def test_judgments_of_an_earlier_version_count_where_they_are_shown_and_not_where_items_are_drawn(
    study: Study,
) -> None:
    make_participant(study)
    make_participant(study, judged=1, last_seen_at=NOW)
    judged = Judgment.objects.filter(trial__stratum="human").earliest("pk").trial.item
    repaired = make_item(judged.key, version=2, texts="repaired")
    pin_items(study, [repaired])
    row = next(r for r in counts.item_exposures(study, "real", NOW) if r.item == repaired)
    assert (row.valid, row.judged) == (1, 1)
    assert sum(row.held for row in counts.item_exposures(study, "real", NOW)) == 1
    pool = {row.item_id: row.valid for row in drawing.read(study, "real", "human", NOW).pool}
    assert pool[repaired.pk] == 0


def test_the_page_shows_one_kind_of_people_and_says_where_there_are_none(
    ruth: Client, study: Study
) -> None:
    shown = page(ruth, study)
    assert "There are no participants yet" in shown
    assert "histogram" not in shown
    make_participant(study)
    make_participant(study, kind="simulated")
    shown = page(ruth, study)
    assert shown.count('class="bars histogram"') == 3  # human, machine, catch
    assert "Simulated participants" not in shown
    shown = page(ruth, study, "?kind=simulated")
    assert "Simulated participants: no person took part." in shown
    assert "has no real participants" not in shown
    assert ruth.get(reverse("lab:study", args=["memory"]) + "?kind=other").status_code == 404


def test_the_live_parts_are_those_of_the_page(ruth: Client, study: Study) -> None:
    make_participant(study, comments="Good <b>study</b>")
    live = ruth.get(reverse("lab:study_live", args=["memory"])).text
    shown = page(ruth, study)
    ids = re.findall(r'id="(live-\w+)" data-live', live)
    assert set(ids) == {
        "live-rules",
        "live-retired",
        "live-tabs",
        "live-flow",
        "live-pages",
        "live-exposures",
        "live-comments",
        "live-updated",
    }
    assert all(f'id="{name}" data-live' in shown for name in ids)
    with_items = ruth.get(reverse("lab:study_live", args=["memory"]) + "?items=1").text
    assert 'id="live-items" data-live' in with_items
    assert "memory-human-1 v1" in with_items
    assert "Good &lt;b&gt;study&lt;/b&gt;" in live


def test_the_number_of_queries_does_not_grow(
    ruth: Client,
    study: Study,
    django_assert_max_num_queries,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("scoring.templatetags.waiting.KEPT_S", None)
    for _ in range(5):
        make_participant(study, comments="Fine")
    # Counts what waits for her, which is kept, here for as long as the test takes
    ruth.get(reverse("lab:studies"))
    with django_assert_max_num_queries(31):
        page(ruth, study)
    with django_assert_max_num_queries(26):
        ruth.get(reverse("lab:study_live", args=["memory"]))
    make_study("other").members.set(get_user_model().objects.all())
    with django_assert_max_num_queries(30):
        ruth.get(reverse("lab:studies"))


def test_recruitment_is_switched_on_the_page_and_by_a_command(ruth: Client, study: Study) -> None:
    address = reverse("lab:recruitment", args=["memory"])
    response = ruth.post(address, {"recruitment": "open"}, follow=True)
    study.refresh_from_db()
    assert study.recruitment == "open"
    assert "Recruitment is now open" in response.text
    assert ruth.get(address).status_code == 405
    assert ruth.post(address, {"recruitment": "x"}).status_code == 404
    said = json.loads(run("set_recruitment", "memory", "pilot", "--json"))
    assert said == {"study": "memory", "recruitment": "pilot"}
    study.refresh_from_db()
    assert study.recruitment == "pilot"
    study.study_items.all().delete()
    refused = ruth.post(address, {"recruitment": "open"}, follow=True)
    assert "remains in the state “pilot”. memory cannot be opened: " in refused.text
    with pytest.raises(CommandError, match="cannot be opened"):
        run("set_recruitment", "memory", "open")
    with pytest.raises(CommandError, match=r"There is no study “nowhere”\. Choose from .*\."):
        run("set_recruitment", "nowhere", "open")


@pytest.mark.parametrize(
    ("kinds", "watched", "exported"),
    [
        ((), "real", "real"),
        (("pilot",), "pilot", "pilot"),
        (("simulated",), "simulated", "simulated"),
        (("simulated", "pilot"), "pilot", "real"),
        (("simulated", "imported"), "imported", "imported"),
        (("simulated", "pilot", "imported", "real"), "real", "real"),
    ],
)
def test_without_a_kind_pages_open_on_the_one_that_there_is(
    study: Study, kinds: tuple[str, ...], watched: str, exported: str
) -> None:
    for kind in kinds:
        make_participant(study, kind=kind)
    assert (watched_kind(study), default_kind(study)) == (watched, exported)


def test_the_demo_opens_on_its_simulated_people_until_a_visitors_answers_count(
    study: Study,
) -> None:
    Study.objects.update(recruitment="open")
    make_participant(study, kind="simulated")
    make_participant(study, judged=1)
    assert default_kind(study) == "real"
    Study.objects.update(is_demo=True)
    study.refresh_from_db()
    assert (default_kind(study), usual_kind(study)) == ("simulated", "simulated")
    assert read(study, QueryDict()).kind == "simulated"
    taking_part.finish(study)
    assert (default_kind(study), read(study, QueryDict()).kind) == ("real", "real")


def test_key_numbers_come_first_and_the_forecast_is_said_in_words(
    ruth: Client, study: Study
) -> None:
    Study.objects.update(target_valid=10, recruitment="open")
    make_participant(study)
    make_participant(study, excluded_by="missed_catch")
    make_participant(study, judged=2, last_seen_at=timezone.now())
    shown = page(ruth, study)
    for name, n in (
        ("Recruited", 3),
        ("On a page now", 1),
        ("Finished", 2),
        ("Excluded", 1),
        ("Withdrawn", 0),
    ):
        assert f"<dt>{name}</dt><dd>{n}</dd>" in shown
    assert "<dt>Valid</dt><dd>1 <small>of 10</small></dd>" in shown
    assert "There is no forecast yet" in shown
    assert (
        shown.index("Recruited")
        < shown.index("Page by page")
        < shown.index("Judgments per test case")
    )


def test_an_auditor_sees_the_numbers_but_no_comments_and_cannot_open_recruitment(
    ruth: Client, study: Study
) -> None:
    make_participant(study, comments="I am Jo of Ghent")
    assert "I am Jo of Ghent" in page(ruth, study)
    Membership.objects.update(role="auditor")
    shown = page(ruth, study)
    live = ruth.get(reverse("lab:study_live", args=["memory"])).text
    assert "Jo of Ghent" not in shown + live
    assert "Change recruitment" not in shown
    assert "Page by page" in shown

"""The researcher's pages and the commands that belong to them."""

import csv
import io
import json
import re

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from experiment.models import Judgment, Participant, Study
from experiment.services import counts, drawing, overview
from experiment.services.study_setup import pin_items
from experiment.services.withdrawal import withdraw
from tests.experiment.lab_client import page, run
from tests.factories import NOW, make_item, make_participant, make_study

pytestmark = pytest.mark.django_db


# A study's page


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


def test_an_empty_study_says_that_nobody_came(ruth: Client, study: Study) -> None:
    shown = page(ruth, study)
    assert "There are no participants yet" in shown
    assert "histogram" not in shown
    make_participant(study)
    assert page(ruth, study).count('class="bars histogram"') == 3  # human, machine, catch


def test_the_page_shows_real_people_and_offers_the_other_kinds(ruth: Client, study: Study) -> None:
    make_participant(study)
    make_participant(study, kind="simulated")
    assert "Simulated participants" not in page(ruth, study)
    shown = page(ruth, study, "?kind=simulated")
    assert "Simulated participants: no person took part." in shown
    assert "holds no real participants" not in shown
    assert ruth.get(reverse("lab:study", args=["memory"]) + "?kind=other").status_code == 404


@pytest.mark.parametrize("set_name", ["all", "analysis"])
def test_the_exported_file_holds_what_its_page_says(
    ruth: Client, study: Study, set_name: str
) -> None:
    make_participant(study)
    make_participant(study, excluded_by="missed_catch")
    make_participant(study, kind="simulated")
    response = ruth.get(reverse("lab:export_download", args=["memory"]), {"set": set_name})
    rows = list(csv.DictReader(io.StringIO(response.getvalue().decode())))
    n = {"all": 22, "analysis": 9}[set_name]
    assert len(rows) == n
    shown = ruth.get(reverse("lab:export", args=["memory"]), {"set": set_name}).content.decode()
    assert f"<strong>{n}</strong> rows" in shown
    assert response["Content-Disposition"].startswith(
        f'attachment; filename="memory-real-{set_name}-'
    )
    assert response["Content-Type"] == "text/csv; charset=utf-8"


def test_the_live_parts_are_those_of_the_page(ruth: Client, study: Study) -> None:
    make_participant(study, comments="Good <b>study</b>")
    live = ruth.get(reverse("lab:study_live", args=["memory"])).content.decode()
    shown = page(ruth, study)
    ids = re.findall(r'id="(live-\w+)" data-live', live)
    assert set(ids) == {
        "live-rules",
        "live-tabs",
        "live-flow",
        "live-pages",
        "live-exposures",
        "live-comments",
        "live-updated",
    }
    assert all(f'id="{name}" data-live' in shown for name in ids)
    with_items = ruth.get(reverse("lab:study_live", args=["memory"]) + "?items=1").content.decode()
    assert 'id="live-items" data-live' in with_items
    assert "memory-human-1 v1" in with_items
    assert "Good &lt;b&gt;study&lt;/b&gt;" in live


def test_the_number_of_queries_does_not_grow(
    ruth: Client, study: Study, django_assert_max_num_queries
) -> None:
    for _ in range(5):
        make_participant(study, comments="Fine")
    with django_assert_max_num_queries(28):
        page(ruth, study)
    with django_assert_max_num_queries(24):
        ruth.get(reverse("lab:study_live", args=["memory"]))
    make_study("other").members.set(get_user_model().objects.all())
    with django_assert_max_num_queries(11):
        ruth.get(reverse("lab:studies"))


def test_recruitment_is_switched(ruth: Client, study: Study) -> None:
    response = ruth.post(
        reverse("lab:recruitment", args=["memory"]), {"recruitment": "open"}, follow=True
    )
    study.refresh_from_db()
    assert study.recruitment == "open"
    assert "Recruitment is now open" in response.content.decode()
    assert ruth.get(reverse("lab:recruitment", args=["memory"])).status_code == 405
    assert (
        ruth.post(reverse("lab:recruitment", args=["memory"]), {"recruitment": "x"}).status_code
        == 404
    )


def test_set_recruitment_from_the_command_line(study: Study) -> None:
    assert json.loads(run("set_recruitment", "memory", "pilot", "--json")) == {
        "study": "memory",
        "recruitment": "pilot",
    }
    study.refresh_from_db()
    assert study.recruitment == "pilot"
    study.study_items.all().delete()
    with pytest.raises(CommandError, match="cannot be opened"):
        run("set_recruitment", "memory", "open")
    with pytest.raises(CommandError, match=r"There is no study “nowhere” \(there are: .*\)\."):
        run("set_recruitment", "nowhere", "open")


def test_reapply_exclusions_from_the_command_line(study: Study) -> None:
    cheater = make_participant(study, cheated=True)
    imported = make_participant(study, kind="imported", cheated=True)
    assert json.loads(run("chores", "exclusions", "memory", "--json"))["participants_changed"] == 1
    cheater.refresh_from_db()
    imported.refresh_from_db()
    assert (cheater.excluded_by, imported.excluded_by) == ("admitted_cheating", "")
    assert "0 participants" in run("chores", "exclusions", "memory")
    assert Participant.objects.count() == 2
    with pytest.raises(CommandError, match="There is no study"):
        run("chores", "exclusions", "nowhere")


# In a browser

"""The researcher's pages and the commands that belong to them."""

import csv
import io
import json
import re
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, expect

from experiment.domain.exclusion import Rules
from experiment.models import Judgment, Participant, Study
from experiment.services import counts, drawing, overview
from experiment.services.counts import default_kind
from experiment.services.exclusions import verdicts
from experiment.services.recounting import recount
from experiment.services.study_setup import pin_items
from experiment.services.withdrawal import withdraw
from tests.experiment.lab_client import page, run
from tests.factories import NOW, make_item, make_participant, make_study, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return make_study()


# A study's page


def test_both_readings_of_a_rule_are_counted_as_the_rules_would(study: Study) -> None:
    make_participant(study)
    moved = {"confidence_moved": False, "expertise_moved": False}
    make_participant(study, judgment=moved | {"rt_ms": 4_000})
    make_participant(study, judgment=moved | {"confidence_moved": True, "rt_choice_ms": 4_999})
    # A second after the first trial was shown; the clock was set back before the others, which says nothing
    soon = {"received_at": NOW + timedelta(minutes=2, seconds=1), "rt_ms": None}
    make_participant(study, judgment=soon | {"rt_choice_ms": None})
    make_participant(study, judged=3, judgment=moved | {"rt_ms": 10})
    found = overview.readings(study, "real")
    assert found == overview.Readings(1, 2, 1 + 9, 1 + 9)
    catch = set(Judgment.objects.filter(trial__stratum="catch").values_list("pk", flat=True))
    for reading, n in (("neither", found.untouched_neither), ("either", found.untouched_either)):
        marks = verdicts(study, "real", Rules(untouched_sliders=reading)).participants.values()
        assert sum("untouched_sliders" in m.excluded_by for m in marks) == n
    for clock, n in (("page", found.fast_page), ("choice", found.fast_choice)):
        judged = verdicts(study, "real", Rules(min_rt_clock=clock)).judgments
        assert sum("too_fast" in m.excluded_by for pk, m in judged.items() if pk not in catch) == n


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


def test_live_means_seen_within_the_studys_minutes(study: Study) -> None:
    now = timezone.now()
    for minutes in (0, 14, 16):
        make_participant(study, judged=1, last_seen_at=now - timedelta(minutes=minutes))
    make_participant(study, last_seen_at=now)
    assert overview.flow(study, "real", now).live == 2


def test_exposures_count_valid_judgments_only(study: Study) -> None:
    make_participant(study)
    make_participant(study, excluded_by="missed_catch")
    make_participant(study, judged=3, last_seen_at=NOW)
    Judgment.objects.filter(trial__participant__excluded_by="", trial__position=1).update(
        excluded_by="too_fast"
    )
    recount(study, "real")
    items = counts.item_exposures(study, "real", NOW)
    human, machine, catch = counts.exposures(items)
    assert (human.n_items, human.min, human.max, human.mean) == (8, 0, 1, 5 / 8)
    assert human.sd == pytest.approx((5 / 8 * 3 / 8) ** 0.5)
    assert [(bar.first, bar.last, bar.n_items) for bar in human.bars] == [(0, 0, 3), (1, 1, 5)]
    assert (machine.mean, catch.n_items) == (3 / 4, 3)
    assert sum(row.judged for row in items) == 11 + 11 + 3
    assert sum(row.held for row in items) == 3


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


@pytest.mark.parametrize("counts", [[0], [3, 3], [0, 100], list(range(40)), [7, 8, 8]])
def test_a_histogram_holds_every_item_once(counts: list[int]) -> None:
    bars = counts.histogram(counts)
    assert sum(bar.n_items for bar in bars) == len(counts)
    assert len(bars) <= counts.MAX_BARS
    assert max(bar.percent for bar in bars) == 100


def test_an_empty_study_says_that_nobody_came(ruth: Client, study: Study) -> None:
    shown = page(ruth, study)
    assert "There are no participants yet" in shown
    assert "histogram" not in shown
    make_participant(study)
    assert page(ruth, study).count('class="bars histogram"') == 3  # human, machine, catch


def test_a_study_without_items_says_what_is_missing(ruth: Client) -> None:
    bare = Study.objects.create(slug="bare", title="Bare", briefing="x", contact="x")
    bare.members.set(get_user_model().objects.all())
    assert "No test cases are pinned" in page(ruth, bare)
    recruiting = ruth.get(reverse("lab:recruiting", args=["bare"])).content.decode()
    assert "no consent text" in recruiting


def test_the_page_shows_real_people_and_offers_the_other_kinds(ruth: Client, study: Study) -> None:
    make_participant(study)
    make_participant(study, kind="simulated")
    assert "Simulated participants" not in page(ruth, study)
    shown = page(ruth, study, "?kind=simulated")
    assert "Simulated participants: no person took part." in shown
    assert "holds no real participants" not in shown
    assert ruth.get(reverse("lab:study", args=["memory"]) + "?kind=other").status_code == 404


@pytest.mark.parametrize(
    ("kinds", "shown"),
    [
        ((), "real"),
        (("simulated",), "real"),
        (("imported",), "imported"),
        (("simulated", "imported"), "imported"),
        (("simulated", "pilot"), "real"),
        (("simulated", "real"), "real"),
    ],
)
def test_the_kind_shown_first(study: Study, kinds: tuple[str, ...], shown: str) -> None:
    for kind in kinds:
        make_participant(study, kind=kind)
    assert default_kind(study) == shown


def test_a_study_of_imported_people_alone_says_so(ruth: Client, study: Study) -> None:
    make_participant(study, kind="imported")
    shown = page(ruth, study)
    assert "published elsewhere. The study holds no real participants." in shown
    assert "Consented" not in shown  # a publication does not say


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


def test_an_export_of_no_such_set_is_refused(ruth: Client, study: Study) -> None:
    address = reverse("lab:export_download", args=["memory"])
    for asked in ({"set": "some"}, {"kind": "x"}):
        answered = ruth.get(address, asked, follow=True)
        assert answered.status_code == 400
        assert answered.headers["content-type"].startswith("text/html")  # the page that says why


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


def test_the_page_holds_no_inline_style_or_script(ruth: Client, study: Study) -> None:
    make_participant(study)
    shown = page(ruth, study)
    assert " style=" not in shown
    assert re.findall(r"<script(?![^>]*src=)", shown) == []


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


def test_a_study_that_nobody_could_complete_is_not_opened(ruth: Client, study: Study) -> None:
    study.study_items.filter(item__kind="practice").delete()
    response = ruth.post(
        reverse("lab:recruitment", args=["memory"]), {"recruitment": "open"}, follow=True
    )
    study.refresh_from_db()
    assert study.recruitment == "draft"
    assert "Recruitment stays draft" in response.content.decode()
    assert "<li>no practice test case</li>" in response.content.decode()


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
    assert json.loads(run("reapply_exclusions", "memory", "--json"))["participants_changed"] == 1
    cheater.refresh_from_db()
    imported.refresh_from_db()
    assert (cheater.excluded_by, imported.excluded_by) == ("admitted_cheating", "")
    assert "0 participants" in run("reapply_exclusions", "memory")
    assert Participant.objects.count() == 2
    with pytest.raises(CommandError, match="There is no study"):
        run("reapply_exclusions", "nowhere")


# In a browser


@pytest.mark.django_db(transaction=True)
def test_the_page_counts_along_while_it_is_looked_at(
    browser: Browser, live_server, study: Study
) -> None:
    make_user("ruth", study)
    make_participant(study)
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    troubles: list[str] = []
    page.on(
        "console",
        lambda message: troubles.append(message.text) if message.type == "error" else None,
    )
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.clock.install()
    page.goto(f"{live_server.url}/lab/studies/memory/")
    page.get_by_label("Username").fill("ruth")
    page.get_by_label("Password").fill("ruth")
    page.get_by_role("button", name="Sign in").click()
    valid = page.locator(".figures div").filter(has_text="Valid").locator("dd")
    expect(valid).to_have_text("1")
    page.get_by_text("Test cases by exposure").click()
    page.get_by_role("link", name="See them one by one").focus()
    make_participant(study)
    page.clock.fast_forward(10_100)
    expect(valid).to_have_text("2")
    expect(page.get_by_role("link", name="See them one by one")).to_be_focused()
    expect(page.get_by_role("table", name="The way of real participants")).to_contain_text(
        "Finished"
    )
    expect(page.locator("#items-panel")).to_have_attribute("open", "")
    expect(page.locator("#live-items tbody tr")).to_have_count(15)
    # Signed out elsewhere: the page leads to signing in
    page.context.clear_cookies()
    page.clock.fast_forward(10_100)
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.close()
    assert troubles == []

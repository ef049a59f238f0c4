"""A file of test cases is sent, its difference is shown, and exactly that is imported."""

import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from experiment.imports.store import writing as jobs
from experiment.lab import item_files as imports
from experiment.models import Item, ItemImport, ResearchField
from experiment.services import item_files
from experiment.services.chores import forget_old_uploads
from lib.jobs.leases import NO_RIGHT
from lib.storage import folder_names
from tests.experiment.imports.items.rows import OTHER, TEXT, table
from tests.experiment.lab_client import agree, browser, send, text
from tests.factories import make_item, make_research_field, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def cooking() -> Iterator[ResearchField]:
    users = [make_user(name) for name in ("lead", "curator", "other")]
    yield make_research_field("cooking", "Baking", lead=users[0], curators=users[1:])
    storage = item_files._storage()
    for folder in folder_names(storage, item_files.UPLOADS):
        item_files.delete_folder(storage, f"{item_files.UPLOADS}/{folder}")


def test_an_import_stores_the_changes_that_were_shown(cooking):
    for n, status in ((1, "accepted"), (2, "draft")):
        make_item(f"a-{n}", field="cooking", markup=TEXT, status=status, subfield="")
    client = browser("curator")
    place = send(client, table(f'a-1,"{OTHER}",', f'a-2,"{TEXT}",', f'a-3,"{OTHER}",Baking'))
    page = text(client.get(place))
    assert re.findall(r"<strong>(\d+)</strong>", page) == ["0", "1", "1", "1"]
    assert "Import 2 test cases" in page
    assert Item.objects.count() == 2
    changed = text(client.get(f"{place}?show=update"))
    assert all(words in changed for words in ("<del>slept", "<ins>ate", "a new version"))
    assert "1 test case is new, 1 is changed." in text(agree(client, page))
    rows = Item.objects.order_by("key", "version").values_list("key", "version", "status")
    assert list(rows) == [
        ("a-1", 1, "accepted"),
        ("a-1", 2, "draft"),
        ("a-2", 1, "draft"),
        ("a-3", 1, "draft"),
    ]
    assert Item.objects.get(key="a-3").created_by.username == "curator"
    assert client.get(place).status_code == 410  # the file is gone


def test_problems_are_shown_as_text_and_nothing_can_be_imported(cooking):
    client = browser("curator")
    attack = "<script>alert(1)</script>"
    place = send(
        client,
        table(f'a-1,"{attack} [[slept",Baking', f'a-2,"{TEXT}",{attack}', f'a-3,"{TEXT}",Baking'),
    )
    answer = client.get(place)
    assert attack not in answer.text
    page = text(answer)
    assert "never closed" in page
    assert f"“{attack}” is not a subfield of cooking" in page
    assert "/apply/" not in page
    assert client.post(place.partition("?")[0] + "apply/", {"shown": "x"}).status_code == 409
    assert not Item.objects.exists()


def test_later_changes_are_shown_again_and_no_worker_imports_them(cooking, monkeypatch):
    client = browser("curator")
    page = text(client.get(send(client, table(f'a-1,"{TEXT}",Baking'))))
    make_item("a-1", field="cooking", markup=OTHER)
    again = agree(client, page)
    assert again.status_code == 409
    assert "have changed since" in text(again)
    assert Item.objects.count() == 1
    monkeypatch.setattr(imports, "_is_for_workers", lambda file: True)
    agree(client, text(again))
    make_item("a-1", version=2, field="cooking", markup=OTHER)
    job = jobs.run(ItemImport.objects.get())
    assert job.status == "failed"
    assert "have changed" in text(client.get(job.get_absolute_url()))
    assert Item.objects.count() == 2


def test_only_a_lead_makes_subfields_or_accepts_without_a_review(cooking):
    asked = {"new_subfields": "on", "accepted_before": "By the lab in Lyon."}
    curator, lead = browser("curator"), browser("lead")
    data = table(f'a-1,"{TEXT}",Boiling')
    refused = text(curator.get(send(curator, data), asked))
    assert "A lead of the field can add them." in refused
    assert "new_subfields=on" not in refused
    page = text(lead.get(send(lead, data).partition("?")[0], asked))
    assert "New subfields: Boiling." in page
    agree(curator, page)  # of another person's file
    assert not Item.objects.exists()
    agree(lead, page)
    item = Item.objects.get()
    assert (item.status, item.subfield, item.accepted_by) == ("accepted", "Boiling", None)
    assert cooking.subfields.filter(name="Boiling").exists()


def test_a_page_accepts_no_more_texts_at_once_than_it_checks_in_some_seconds(cooking, monkeypatch):
    monkeypatch.setattr(imports, "LARGE", 1)
    lead = browser("lead")
    place = send(lead, table(f'a-1,"{TEXT}",Baking', f'a-2,"{OTHER}",Baking')).partition("?")[0]
    assert "Import 2 test cases" in text(lead.get(place))
    refused = text(lead.get(place, {"accepted_before": "By the lab in Lyon."}))
    assert "more than 1 rows" in refused
    assert "/apply/" not in refused


def test_new_subfields_are_added_and_columns_chosen_where_they_are_missed(cooking, monkeypatch):
    lead = browser("lead")
    data = table(
        "Rats slept more.,Rats ran more.,Boiling",
        "Rats ate more.,Rats drank more.,Frying",
        header="Abstract,Altered abstract,Subfield",
    )
    place = send(lead, data, source="machine")
    page = text(lead.get(place))
    assert "Correct it in the file" not in page
    chosen = dict(re.findall(r'<select name="(\w+)".*?value="([^"]*)" selected', page, re.S))
    assert chosen == {"column_markup": "", "column_original": "abstract", "column_altered": "altered abstract"}  # fmt: skip
    hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page))
    assert hidden["source"] == "machine"
    place = place.partition("?")[0]
    page = text(lead.get(place, hidden | chosen))
    (added,) = re.findall(r'href="(\?[^"]*)">Add these 2 subfields', page)
    page = text(lead.get(place + added))
    assert "New subfields: Boiling, Frying." in page
    monkeypatch.setattr(imports, "_is_for_workers", lambda file: True)
    agree(lead, page)
    assert jobs.run(ItemImport.objects.get()).status == "finished"
    found = Item.objects.order_by("key").values_list("markup", "subfield", "source")
    assert list(found) == [(TEXT, "Boiling", "machine"), (OTHER, "Frying", "machine")]


def test_a_large_file_is_imported_by_a_worker_where_one_lives(cooking, monkeypatch):
    monkeypatch.setattr(imports, "LARGE", 1)
    monkeypatch.setattr(imports.workers, "is_taken", lambda kind: kind is ItemImport)
    client = browser("curator")
    place = send(client, table(f'a-1,"{TEXT}",Baking', f'a-2,"{OTHER}",Baking'), source="machine")
    answer = agree(client, text(client.get(place)), rows="1")
    assert "Waiting for the worker" in text(answer)
    assert not Item.objects.exists()
    job = jobs.run(ItemImport.objects.get())
    assert (job.status, job.error, job.total, job.done) == ("finished", "", 2, 2)
    assert set(Item.objects.values_list("source", "created_by__username")) == {
        ("machine", "curator")
    }
    assert "2 test cases are new" in text(client.get(job.get_absolute_url()))
    assert client.get(place).status_code == 410


def test_an_import_that_waits_ends_with_the_right_of_the_person_who_asked(cooking, monkeypatch):
    monkeypatch.setattr(imports, "LARGE", 1)
    monkeypatch.setattr(imports.workers, "is_taken", lambda kind: kind is ItemImport)
    client = browser("curator")
    place = send(client, table(f'a-1,"{TEXT}",Baking', f'a-2,"{OTHER}",Baking'))
    agree(client, text(client.get(place)))
    cooking.memberships.filter(user__username="curator").delete()
    job = jobs.run(ItemImport.objects.get())
    assert (job.status, job.error) == ("failed", NO_RIGHT)
    assert not Item.objects.exists()


def test_the_template_is_imported_as_it_is_and_no_file_that_is_too_large_or_missing(
    cooking, monkeypatch
):
    client, place = browser("curator"), reverse("lab:import_send", args=["cooking"])
    template = client.get(reverse("lab:import_template", args=["cooking"])).content
    page = text(client.get(send(client, template)))
    assert re.findall(r"<strong>(\d+)</strong>", page) == ["0", "2", "0", "0"]
    monkeypatch.setattr(imports.UploadForm.base_fields["file"], "most_bytes", 10)
    answer = client.post(place, {"file": SimpleUploadedFile("a.csv", b"x" * 11)})
    assert answer.status_code == 422
    assert "larger than" in text(answer)
    assert client.post(place, {}).status_code == 422


def test_a_file_is_kept_for_its_sender_for_a_day_and_as_long_as_a_worker_will_read_it(
    cooking, monkeypatch
):
    monkeypatch.setattr(item_files, "MOST_KEPT", 2)
    make_research_field("sewing", curators=[User.objects.get(username="curator")])
    curator, other = browser("curator"), browser("other")
    theirs = send(other, table(f'a-1,"{TEXT}",Baking'))
    assert curator.get(theirs).status_code == 410
    sewn = send(curator, table(f'a-1,"{TEXT}",'), field="sewing")
    assert curator.get(sewn.replace("sewing", "cooking")).status_code == 410
    monkeypatch.setattr(imports, "_is_for_workers", lambda file: True)
    waiting = send(curator, table(f'a-1,"{TEXT}",Baking'))
    agree(curator, text(curator.get(waiting)))
    places = [send(curator, table(f'a-{n},"{TEXT}",Baking')) for n in range(4)]
    assert [curator.get(place).status_code for place in places] == [410, 410, 200, 200]
    assert {other.get(theirs).status_code, curator.get(sewn).status_code} == {200}
    assert jobs.run(ItemImport.objects.get()).status == "finished"
    send(curator, table(f'a-9,"{TEXT}",Baking'))
    assert curator.get(waiting).status_code == 410
    forget_old_uploads()
    assert other.get(theirs).status_code == 200
    later = timezone.now() + timedelta(days=1, minutes=1)
    monkeypatch.setattr(item_files.timezone, "now", lambda: later)
    forget_old_uploads()
    assert not folder_names(item_files._storage(), item_files.UPLOADS)

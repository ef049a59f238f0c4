"""Ten test cases of another field come in on a page and run as a study of their own; BrainBench's is not touched."""

from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import Client

from experiment.models import Item, Judgment, Study
from tests.experiment.lab.item_files.browsers import agree, send, text
from tests.experiment.people import finish
from tests.factories import make_research_field, make_study, make_user

pytestmark = pytest.mark.django_db
FILE = Path(settings.BASE_DIR) / "docs" / "examples" / "sleep.csv"
NAMES = {"Body clock", "Sleep loss and substances", "Stages and memory", "Treatment"}


def test_ten_test_cases_of_another_field_run_as_a_study_of_their_own(client: Client) -> None:
    other = make_study("brainbench")
    before = list(other.items.order_by("pk").values())
    sleep = make_research_field("sleep", lead=make_user("lead"))
    client.force_login(sleep.members.get())

    place = send(
        client,
        FILE.read_bytes(),
        field="sleep",
        new_subfields="on",
        accepted_before="By the authors.",
    )
    page = text(client.get(place))
    assert "Import 10 test cases" in page
    assert "checks find errors" not in page
    assert "10 test cases are new" in text(agree(client, page))
    assert set(sleep.subfields.values_list("name", flat=True)) == NAMES

    call_command(
        "create_study",
        "night",
        preset="brainbench",
        collection="any",
        field="sleep",
        contact="lab@example.org",
    )
    call_command("set_recruitment", "night", "open")
    study = Study.objects.get(slug="night")
    assert study.field == "sleep"
    judged = finish(study)
    assert judged.stage == "finished"
    shown = Item.objects.filter(trials__participant=judged, kind="test")
    assert shown.exists()
    assert set(shown.values_list("field", flat=True)) == {"sleep"}

    assert list(other.items.order_by("pk").values()) == before
    assert not Judgment.objects.filter(trial__participant__study=other).exists()
    assert not Study.objects.get(slug="brainbench").items.filter(field="sleep").exists()

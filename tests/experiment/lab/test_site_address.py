"""The address of the site: who cannot open it is said where links are given out, and no study is opened to them."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from experiment.models import Study
from experiment.services.readiness import preflight
from experiment.services.site_address import address_fault
from experiment.services.study_setup import set_recruitment
from tests.factories import make_channel, make_study

LAPTOP = "http://127.0.0.1:8000"
ENDS = {"completion_code": "C1", "screen_out_code": "C2"}


@pytest.fixture
def laptop(settings: Any) -> Any:
    settings.BASE_URL, settings.ONE_ROOM = LAPTOP, False
    return settings


@pytest.mark.parametrize(
    ("address", "told"),
    [
        (LAPTOP, "an address of its own"),
        ("http://localhost:8000", "an address of its own"),
        ("https://[::1]", "an address of its own"),
        ("https://192.168.1.5", "private network"),
        ("https://labserver", "private network"),
        ("https://lab.local", "private network"),
        ("http://lab.example.org", "without https"),
        ("https://elsewhere.example.com", "ALLOWED_HOSTS does not name"),
        ("https://lab.example.org", ""),
    ],
)
def test_each_address_that_does_not_work_for_others_is_said_and_one_room_is_enough(
    laptop: Any, address: str, told: str
) -> None:
    laptop.ALLOWED_HOSTS = [".example.org", "192.168.1.5", "labserver", ".local", "localhost"]
    laptop.ALLOWED_HOSTS += ["127.0.0.1", "[::1]"]
    laptop.BASE_URL = address
    fault = address_fault()
    assert told in fault
    assert bool(fault) == bool(told)
    laptop.ONE_ROOM = True
    assert bool(address_fault()) == ("ALLOWED_HOSTS" in told)


@pytest.mark.django_db
def test_a_study_opens_to_a_recruitment_site_only_where_people_can_come(
    laptop: Any,
) -> None:
    study = make_study(recruitment="draft")
    notices = [problem for problem in preflight(study) if LAPTOP in problem.sentence]
    assert [(each.section, each.is_blocking) for each in notices] == [("recruitment", False)]
    set_recruitment(study, "open")
    set_recruitment(study, "closed")
    make_channel(study, "prolific", platform="prolific", **ENDS)
    study = Study.objects.get()
    with pytest.raises(ValidationError, match="a recruitment site cannot send participants here"):
        set_recruitment(study, "open")
    laptop.ONE_ROOM = True
    assert set_recruitment(study, "open").recruitment == "open"


@pytest.mark.django_db
def test_pages_that_give_out_links_say_it(
    ruth: Client, laptop: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    slug = Study.objects.get().slug
    said = f"At present, nobody else can open the links of this site, which begin with {LAPTOP}"
    invited = {"name": "Eva", "role": "auditor"}
    pages = [
        ruth.get(reverse("lab:recruiting", args=[slug])),
        ruth.post(reverse("lab:invite", args=[slug]), invited),
    ]
    assert [said in page.text for page in pages] == [True, True]
    call_command("site_address")
    assert "People elsewhere cannot take part" in capsys.readouterr().out
    laptop.ONE_ROOM = True
    assert said not in ruth.get(reverse("lab:recruiting", args=[slug])).text
    call_command("site_address")
    assert "begin with" in capsys.readouterr().out

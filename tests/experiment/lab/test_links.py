"""The links to give out, and what each leads to at the end."""

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from experiment.models import Study
from experiment.services.enrollment import ExternalIds
from experiment.services.recruitment import ending, links
from experiment.services.study_setup import readiness_problems, set_recruitment
from tests.experiment.lab_client import page
from tests.factories import make_study

pytestmark = pytest.mark.django_db
DONE = "https://recruit.example/done?cc=C1&id={external_id}"
OUT = "https://recruit.example/out"


@pytest.fixture
def study() -> Study:
    return make_study()


@pytest.mark.parametrize(
    ("platform", "fields", "missing"),
    [
        ("", {}, []),
        ("prolific", {}, ["no_completion", "no_screen_out"]),
        ("prolific", {"completion_code": "C1"}, ["no_screen_out"]),
        ("prolific", {"completion_url": "https://a.example", "screen_out_url": OUT}, []),
        ("mturk", {"completion_code": "C1", "screen_out_url": OUT}, []),
        # SONA gives credit to the id in the address, not for a code
        ("sona", {"completion_code": "C1", "screen_out_url": OUT}, ["completion_without_id"]),
        (
            "sona",
            {"completion_url": "https://a.example", "screen_out_url": OUT},
            ["completion_without_id"],
        ),
        ("sona", {"completion_url": DONE, "screen_out_url": OUT}, []),
    ],
)
def test_a_platforms_study_is_opened_only_with_its_ends(
    platform: str, fields: dict[str, str], missing: list[str]
) -> None:
    study = make_study(platform=platform, **fields)
    assert [problem.code for problem in readiness_problems(study)] == missing
    if not missing:
        assert set_recruitment(study, "open").recruitment == "open"
        return
    with pytest.raises(ValidationError) as refused:
        set_recruitment(study, "open")
    assert len(refused.value.messages) == len(missing)
    assert all(study.get_platform_display() in message for message in refused.value.messages)


def test_each_link_leads_to_its_own_end(study: Study) -> None:
    Study.objects.update(platform="prolific", completion_url=DONE, screen_out_url=OUT)
    study.refresh_from_db()
    of_platform, plain = links(study, "https://lab.example/s/memory/")
    assert of_platform.url == (
        "https://lab.example/s/memory/?PROLIFIC_PID={{%PROLIFIC_PID%}}"
        "&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
    )
    assert of_platform.ending.completion_url == "https://recruit.example/done?cc=C1&id=EXAMPLE-ID"
    assert (plain.url, plain.ending.completion_url, plain.ending.screen_out_url) == (
        "https://lab.example/s/memory/",
        "",
        "",
    )


def test_without_a_platform_everybody_is_sent_on_but_never_without_the_id_that_is_needed() -> None:
    study = make_study(completion_url=DONE, screen_out_url=OUT)
    assert ending(study).completion_url == ""
    assert ending(study).screen_out_url == OUT
    assert ending(study, ExternalIds("sona", "a b")).completion_url.endswith("id=a%20b")


def test_the_study_page_shows_links_ends_and_what_is_missing(ruth: Client, study: Study) -> None:
    Study.objects.update(platform="prolific", completion_code="C0DE", language="tr")
    text = page(ruth, study)
    assert "{{%PROLIFIC_PID%}}" in text
    assert "C0DE" in text
    assert "no screen-out link" in text
    assert "shown in English" in text


def test_a_preview_shows_what_the_source_sees(ruth: Client, study: Study) -> None:
    Study.objects.update(platform="sona", completion_url=DONE, screen_out_url=OUT)

    def preview(source: str, end: str) -> str:
        answer = ruth.get(reverse("lab:link_preview", args=[study.slug, source, end]))
        return answer.content.decode() if answer.status_code == 200 else str(answer.status_code)

    assert "https://recruit.example/done?cc=C1&amp;id=EXAMPLE-ID" in preview("sona", "completion")
    assert OUT in preview("sona", "screen-out")
    assert "recruit.example" not in preview("plain", "completion")
    assert preview("prolific", "completion") == "404"
    assert preview("sona", "elsewhere") == "404"

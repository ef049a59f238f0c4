"""The links to give out, what keeps them from being given, and what each leads to at the end."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from experiment.models import AuditEvent, Channel, Membership, Study
from experiment.services.channels import ExternalIds, ending, host_problem, links
from experiment.services.readiness import readiness_problems
from experiment.services.study_setup import set_recruitment
from tests.experiment.people import enroll
from tests.factories import make_arms, make_channel, make_participant

pytestmark = pytest.mark.django_db
DONE = "https://app.prolific.com/done?cc=C1&id={external_id}"
OUT = "https://app.prolific.com/out"
HERE = "https://lab.example/s/memory/"


@pytest.mark.parametrize(
    ("code", "fields", "missing"),
    [
        ("plain", {}, []),
        ("prolific", {}, ["neither a completion", "neither a screen-out"]),
        ("prolific", {"completion_code": "C1"}, ["neither a screen-out"]),
        ("prolific", {"completion_url": OUT, "screen_out_code": "OUT"}, []),
        ("mturk", {"completion_code": "C1", "screen_out_url": OUT}, []),
        # SONA gives credit to the id in the address, not for a code
        (
            "sona",
            {"completion_code": "C1", "screen_out_url": OUT},
            ["no completion link that contains {external_id}"],
        ),
        (
            "sona",
            {"completion_url": OUT, "screen_out_url": OUT},
            ["no completion link that contains {external_id}"],
        ),
        ("sona", {"completion_url": DONE, "screen_out_url": OUT}, []),
        ("prolific", {"is_open": False}, []),
        (
            "plain",
            {"completion_url": "https://elsewhere.example/"},
            ["leads to https://elsewhere.example/"],
        ),
    ],
)
def test_a_study_is_opened_only_with_the_ends_of_its_channels(
    study: Study, code: str, fields: dict[str, Any], missing: list[str]
) -> None:
    make_channel(study, code, **fields)
    found = [str(problem) for problem in readiness_problems(study)]
    assert len(found) == len(missing)
    assert all(words in said for words, said in zip(missing, found, strict=True))
    if not missing:
        assert set_recruitment(study, "open").recruitment == "open"
        return
    with pytest.raises(ValidationError) as refused:
        set_recruitment(study, "open")
    assert len(refused.value.messages) == len(missing)
    assert all(f"“{code}”" in message for message in refused.value.messages)


def test_each_link_leads_to_its_own_end(study: Study) -> None:
    make_channel(study, "prolific", completion_url=DONE, screen_out_url=OUT)
    make_channel(study, "panel", platform="other", id_parameter="who", session_parameter="round")
    of_platform, of_panel, plain = links(study, HERE)
    assert of_platform.url == (
        f"{HERE}?channel=prolific&PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}"
        "&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
    )
    assert of_platform.ending.completion_url == "https://app.prolific.com/done?cc=C1&id=EXAMPLE-ID"
    assert of_panel.url == f"{HERE}?channel=panel&who=[who]&round=[round]"
    assert (plain.url, plain.ending.completion_url, plain.ending.screen_out_url) == (HERE, "", "")


def test_nobody_is_sent_on_without_the_id_that_is_needed(study: Study) -> None:
    make_channel(study, completion_url=DONE, screen_out_url=OUT)
    assert ending(study).completion_url == ""
    assert ending(study).screen_out_url == ending(study).full_url == OUT
    named = ExternalIds("sona", "a b")
    assert ending(study, named).completion_url.endswith("id=a%20b")


def test_a_code_of_prolific_is_a_way_back_by_itself(study: Study, settings: Any) -> None:
    codes = {"completion_code": "C1", "screen_out_code": "A B"}
    make_channel(study, "prolific", **codes)
    make_channel(study, "mturk", **codes)
    back = "https://app.prolific.com/submissions/complete?cc="
    of = {
        code: ending(study, ExternalIds(code, "p1", channel=code)) for code in ("prolific", "mturk")
    }
    assert of["prolific"].completion_url == f"{back}C1"
    assert of["prolific"].screen_out_url == of["prolific"].full_url == f"{back}A%20B"
    assert of["prolific"].completion_code == of["mturk"].completion_code == "C1"
    assert of["mturk"].completion_url == ""
    settings.RECRUITMENT_HOSTS = ["panel.example"]
    assert ending(study, ExternalIds("prolific", "p1", channel="prolific")).completion_url == ""


def test_a_preview_shows_the_channels_page_and_codes_only_to_those_who_set_up(
    ruth: Client, study: Study
) -> None:
    codes = {"completion_code": "C0DE-1", "screen_out_code": "C0DE-2", "full_code": "C0DE-3"}
    make_channel(study, "sona", completion_url=DONE, screen_out_url=OUT, **codes)

    def preview(source: str, end: str) -> str:
        answer = ruth.get(reverse("lab:link_preview", args=[study.slug, source, end]))
        return answer.text if answer.status_code == 200 else str(answer.status_code)

    assert "https://app.prolific.com/done?cc=C1&amp;id=EXAMPLE-ID" in preview("sona", "completion")
    assert OUT in preview("sona", "screen-out")
    assert "C0DE-3" in preview("sona", "full")
    assert "prolific.com" not in preview("plain", "completion")
    assert preview("prolific", "completion") == "404"
    assert preview("sona", "elsewhere") == "404"
    Membership.objects.update(role="auditor")
    text = ruth.get(reverse("lab:recruiting", args=[study.slug])).text
    assert "?channel=sona" in text
    assert "C0DE" not in text
    assert "/done" not in text
    assert {preview("sona", end) for end in ("completion", "screen-out", "full")} == {"403"}


# Channels, set up on their page

GIVEN = {
    "code": "prolific-uk",
    "label": "Prolific, UK",
    "platform": "prolific",
    "completion_url": DONE,
    "completion_code": "C1",
    "screen_out_url": OUT,
    "returns": "refuse",
    "is_open": "on",
}


def add(client: Client, **changes: str) -> Any:
    return client.post(reverse("lab:channel_new", args=["memory"]), GIVEN | changes)


def test_a_channel_is_added_changed_and_closed_on_its_page(ruth: Client, study: Study) -> None:
    assert add(ruth).status_code == 302
    channel = Channel.objects.get()
    found = (channel.code, channel.completion_url, channel.returns)
    assert found == ("prolific-uk", DONE, "refuse")
    url = reverse("lab:channel", args=["memory", "prolific-uk"])
    assert ruth.get(url).status_code == 200
    closed = {name: value for name, value in GIVEN.items() if name != "is_open"}
    assert ruth.post(url, closed | {"code": "other", "label": "Closed"}).status_code == 302
    channel.refresh_from_db()
    # The short name stays: it stands in links that were given out
    assert (channel.code, channel.label, channel.is_open) == ("prolific-uk", "Closed", False)
    study.refresh_from_db()
    assert study.channels_version == 2
    told = AuditEvent.objects.filter(study="memory", action__startswith="channel").order_by("pk")
    assert [event.action for event in told] == ["channel_added", "channel_changed"]


@pytest.mark.parametrize("site", Channel.Platform.values)
def test_a_site_is_asked_for_its_few_values_and_the_rest_has_a_default(
    ruth: Client, study: Study, site: str
) -> None:
    new = reverse("lab:channel_new", args=["memory"])
    assert "form" not in ruth.get(new).context, "the site comes first"
    for code in (site, f"{site}-2"):
        form = ruth.get(new, {"platform": site}).context["form"]
        assert len(form.asked) <= 3
        asked = {field.name for field in form.asked}
        more = {field.name for group in form.more for field in group}
        assert not asked & more
        filled = form.initial | {"id_parameter": "who"} if site == "other" else form.initial
        sent = {name: value for name, value in filled.items() if value not in (None, False)}
        assert ruth.post(new, sent).status_code == 302
        made = Channel.objects.get(code=code.replace("other", "panel"))
        assert (made.platform, made.is_open) == (site, True)


@pytest.mark.parametrize("code", ["prolific-uk", "plain"])
def test_the_platform_stays_once_people_came_from_it(ruth: Client, study: Study, code: str) -> None:
    add(ruth, code=code)
    url = reverse("lab:channel", args=["memory", code])
    make_participant(study, external_source="another")
    make_participant(study, external_source="" if code == "plain" else code, kind="simulated")
    assert ruth.post(url, GIVEN | {"platform": "sona"}).status_code == 302
    make_participant(study, external_source="" if code == "plain" else code)
    refused = ruth.post(url, GIVEN | {"platform": "mturk"})
    assert (refused.status_code, [*refused.context["form"].errors]) == (422, ["platform"])
    assert ruth.post(url, GIVEN | {"platform": "sona", "label": "Pool"}).status_code == 302
    assert Channel.objects.values_list("platform", "label").get() == ("sona", "Pool")


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"completion_url": "https://evil.example/a"}, "completion_url"),
        ({"full_url": "http://app.prolific.com/a"}, "full_url"),
        ({"screen_out_url": "https://prolific.com@evil.example/"}, "screen_out_url"),
        ({"code": "UK 1"}, "code"),
        ({"platform": "none"}, "platform"),
        ({"platform": "other"}, "__all__"),
        ({"platform": "other", "id_parameter": "a&b"}, "id_parameter"),
        ({"completion_code": "x" * 61}, "completion_code"),
    ],
)
def test_a_wrong_channel_is_refused_beside_its_field(
    ruth: Client, study: Study, changes: dict[str, str], place: str
) -> None:
    response = add(ruth, **changes)
    assert response.status_code == 422
    assert place in response.context["form"].errors
    assert not Channel.objects.exists()


def test_a_host_that_is_not_allowed_is_named() -> None:
    assert "evil.example" in host_problem("https://evil.example/done")
    assert host_problem("https://{external_id}.prolific.com/") != ""
    assert host_problem("https://uni.sona-systems.com/credit?id={external_id}") == ""


@pytest.mark.parametrize(
    ("begins", "ends", "status"), [(-2, 2, 200), (1, 2, 403), (-2, -1, 403), (None, None, 200)]
)
def test_people_are_let_in_between_the_dates_alone(
    client: Client, study: Study, begins: int | None, ends: int | None, status: int
) -> None:
    now = timezone.now()
    Study.objects.update(
        recruitment="open",
        opens_at=None if begins is None else now + timedelta(days=begins),
        closes_at=None if ends is None else now + timedelta(days=ends),
    )
    assert client.get(study.get_absolute_url()).status_code == status


def test_a_study_whose_arms_wait_for_those_under_way_says_so(ruth: Client, study: Study) -> None:
    make_arms(study)
    Study.objects.update(target_valid=1, recruitment="open")
    study.refresh_from_db()
    enroll(study)
    address = reverse("lab:recruiting", args=[study.slug])
    waits = "every arm is expected to reach its share of the target"
    assert waits not in ruth.get(address).text
    enroll(study)
    assert waits in ruth.get(address).text
    # Nobody else is admitted then, whoever leaves
    for closed in ({"closes_at": timezone.now()}, {"closes_at": None, "recruitment": "closed"}):
        Study.objects.update(**closed)
        assert waits not in ruth.get(address).text


def test_the_target_that_is_reached_is_named_and_not_how_many_finished(
    ruth: Client, study: Study
) -> None:
    Study.objects.update(target_valid=2)
    for _ in range(3):
        make_participant(study)
    shown = ruth.get(reverse("lab:recruiting", args=[study.slug])).text
    assert "The target of 2 valid finishers is reached" in shown

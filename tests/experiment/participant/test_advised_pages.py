"""Pages of trials with advice: nothing of the advice is in any answer of the site before the own answer is stored."""

import html
import json
import uuid
from collections.abc import Iterator

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from experiment.models import AdvisedTrial, Adviser, Arm, Judgment, Participant, Study
from experiment.services import taking_part
from experiment.services.advised import ahead_of
from lib.fast import kept
from tests.experiment.http_client import hidden_fields
from tests.experiment.people import MEASURES, RATED, client_of, enroll, start
from tests.factories import make_adviser, make_arms, make_participant, make_study, make_user

pytestmark = pytest.mark.django_db
ADVISER = "the oracle 7351"
MARKS = (ADVISER, "56 of 100", 'class="advice"', "Do you want to keep")
JSON = {"accept": "application/json"}


@pytest.fixture
def study() -> Iterator[Study]:
    kept.forget()
    study = make_study(catch_items=2, recruitment="open")
    make_arms(study, {"advice": "after"})
    make_adviser(study, shown_name=ADVISER)
    yield study
    kept.forget()


def address(person: Participant) -> str:
    person.refresh_from_db()
    return f"{person.study.get_absolute_url()}trial/{person.position}/"


def text_of(response: HttpResponse) -> str:
    """Every byte that was sent, its headers too."""
    headers = "".join(f"{name}: {value}\n" for name, value in response.items())
    return headers + response.content.decode()


def filled_in(page: str, **fields: str) -> dict[str, str]:
    given = hidden_fields(page) | MEASURES | {"side": "A", **RATED}
    if "revises" in given:
        for name in ("expertise", "recognised"):
            del given[name]
    return given | fields


def assert_no_advice(text: str) -> None:
    found = [mark for mark in MARKS if mark in text]
    assert not found, found
    tokens = AdvisedTrial.objects.values_list("token", flat=True)
    assert not any(str(token) in text for token in tokens)


@pytest.mark.parametrize("scripted", [True, False])
def test_advice_is_in_no_answer_before_the_own_answer_is_stored(
    study: Study, *, scripted: bool
) -> None:
    person = start(study)
    client = client_of(person)
    headers = JSON if scripted else {}
    for position in range(1, study.n_trials + 1):
        here = address(person)
        page = client.get(here)
        assert_no_advice(text_of(page))
        # A form that lacks something is shown again, and that page has none either
        wrong = client.post(here, filled_in(page.content.decode(), side=""), headers=headers)
        assert wrong.status_code == 422
        assert_no_advice(text_of(wrong))
        first = filled_in(page.content.decode())
        answer = client.post(here, first, headers=headers)
        if person.plan[position - 1][0] == "catch":
            assert_no_advice(text_of(answer))
            continue
        assert Judgment.objects.filter(trial__position=position).count() == 0
        shown = (
            json.loads(answer.content)["page"] if scripted else client.get(here).content.decode()
        )
        assert ADVISER in shown
        assert "56 of 100" in shown
        second = client.post(here, filled_in(shown, side="B", confidence="90"), headers=headers)
        assert second.status_code == (200 if scripted else 303)
        # The next page comes within this answer, for whose trial nothing was said yet
        assert_no_advice(text_of(second))
    assert AdvisedTrial.objects.count() == 9
    assert Judgment.objects.filter(side="B", confidence=90).count() == 9
    person.refresh_from_db()
    assert person.stage == "debrief"
    assert not [
        key
        for key in kept._kept
        for part in kept._kept[key]
        if ADVISER in part and key[0] != "start"
    ]


def shown_advice(study: Study) -> tuple[Participant, Client, str, dict[str, str]]:
    """Somebody on the page with advice, and the form that led there."""
    person = start(study)
    while person.plan[person.position - 1][0] == "catch":
        client_of(person).post(
            address(person), filled_in(client_of(person).get(address(person)).content.decode())
        )
        person.refresh_from_db()
    client = client_of(person)
    first = filled_in(client.get(address(person)).content.decode())
    assert client.post(address(person), first).status_code == 303
    return person, client, client.get(address(person)).content.decode(), first


def test_the_own_answer_is_set_where_it_can_be_changed(study: Study) -> None:
    _, _, page, _ = shown_advice(study)
    assert 'id="side-a" value="A" checked' in page
    assert 'name="confidence" min="1" max="100" step="1" value="70"' in page
    assert 'name="recognised"' not in page
    assert 'name="expertise"' not in page
    assert "Your own choice" in page


def test_a_reload_shows_the_same_advice_and_the_first_form_again_leads_to_it(study: Study) -> None:
    person, client, page, first = shown_advice(study)
    token = hidden_fields(page)["trial_token"]
    assert hidden_fields(client.get(address(person)).content.decode())["trial_token"] == token
    again = client.post(address(person), first, headers=JSON)
    assert again.status_code == 200
    assert hidden_fields(again.json()["page"])["trial_token"] == token
    assert (
        AdvisedTrial.objects.count(),
        Judgment.objects.filter(trial__stratum="human").count(),
    ) == (1, 0)


def test_another_first_answer_from_a_second_tab_is_refused_and_the_first_stands(
    study: Study,
) -> None:
    person, client, _, first = shown_advice(study)
    other = first | {"side": "B", "idempotency_key": str(uuid.uuid4())}
    refused = client.post(address(person), other)
    assert refused.status_code == 409
    assert_no_advice(text_of(refused))
    assert AdvisedTrial.objects.get().first_side == "A"


def test_a_form_of_the_first_page_that_lacks_something_does_not_show_advice_in_its_place(
    study: Study,
) -> None:
    person, client, _, first = shown_advice(study)
    assert client.post(address(person), first | {"side": ""}).status_code == 409
    mixed = first | {"revises": "1", "idempotency_key": str(uuid.uuid4())}
    both = client.post(address(person), mixed)
    assert both.status_code == 409
    assert AdvisedTrial.objects.get().first_side == "A"


def test_a_rating_that_was_left_empty_is_not_asked_for_again(study: Study) -> None:
    Study.objects.update(ratings_required=False)
    person = start(Study.objects.get())
    while person.plan[person.position - 1][0] == "catch":
        page = client_of(person).get(address(person)).content.decode()
        client_of(person).post(address(person), filled_in(page))
        person.refresh_from_db()
    client = client_of(person)
    empty = filled_in(client.get(address(person)).content.decode(), confidence="", reminded="1")
    client.post(address(person), empty)
    page = client.get(address(person)).content.decode()
    assert client.post(address(person), filled_in(page, confidence="")).status_code == 303
    assert Judgment.objects.filter(confidence=None).count() == 1


def test_advice_beside_the_abstract_is_on_its_page_from_the_start(study: Study) -> None:
    study.arms.update(advice="before")
    person = start(study)
    client = client_of(person)
    for position in range(1, study.n_trials + 1):
        page = client.get(address(person)).content.decode()
        is_advised = person.plan[position - 1][0] != "catch"
        assert (ADVISER in page) == is_advised
        assert "Which version of this abstract is the original?" in page
        answer = client.post(address(person), filled_in(page), headers=JSON)
        assert answer.status_code == 200
    assert AdvisedTrial.objects.filter(procedure="before", viewed_ms=75_250).count() == 9


@pytest.mark.parametrize(
    ("catch_items", "n_advised", "expected"), [(0, None, True), (0, 8, False), (2, None, False)]
)
def test_advice_is_announced_for_each_abstract_only_where_each_has_it(
    study: Study, catch_items: int, n_advised: int | None, *, expected: bool
) -> None:
    Study.objects.update(catch_items=catch_items)
    study.arms.update(advised_items=n_advised)
    ahead = ahead_of(enroll(Study.objects.get()))
    assert ahead is not None
    assert ahead.is_everywhere == expected


def practising(study: Study) -> tuple[Participant, Client, str]:
    """Somebody on the practice's page, and its address."""
    person = taking_part.save_demographics(enroll(study), {"age": "34"}, timezone.now())
    return person, client_of(person), f"{study.get_absolute_url()}practice/"


@pytest.mark.parametrize("scripted", [True, False])
def test_the_practice_has_an_example_of_advice_after_an_own_answer(
    study: Study, *, scripted: bool
) -> None:
    person, client, here = practising(study)
    right = taking_part.practice_side(person)
    wrong = "B" if right == "A" else "A"
    headers = JSON if scripted else {}
    page = client.get(here).content.decode()
    assert ADVISER not in page
    # An answer to a page that nobody was shown is none
    early = client.post(here, filled_in(page, revises="1", side=right))
    assert early.status_code == 409
    # Which side is right is not said before the advice
    first = filled_in(page, side=wrong)
    answer = client.post(here, first, headers=headers)
    shown = json.loads(answer.content)["page"] if scripted else client.get(here).content.decode()
    assert "Advice (example)" in shown
    assert ADVISER in shown
    assert "40 of 100" in shown
    assert "Not this one." not in shown
    held = client.post(f"{study.get_absolute_url()}withdraw/", {"code": person.withdrawal_code})
    assert f"you first chose side {wrong}. Confidence: 70." in held.content.decode()
    assert "None yet." not in held.content.decode()
    assert f'value="{wrong}" checked' in shown
    # The same again leads there, another one is refused, and so is a form of the first page that lacks something
    assert client.post(here, first).status_code == 303
    assert client.get(here).content.decode().count("Advice (example)") == 1
    assert client.post(here, first | {"idempotency_key": str(uuid.uuid4())}).status_code == 409
    assert client.post(here, first | {"side": ""}).status_code == 409
    kept = client.post(here, filled_in(shown, side=wrong))
    assert kept.status_code == 303
    again = client.get(here).content.decode()
    assert "Not this one." in again
    assert "Advice (example)" in again
    passed = client.post(here, filled_in(again, side=right), headers=headers)
    assert passed.status_code == (200 if scripted else 303)
    person.refresh_from_db()
    assert (person.stage, person.practice_attempts, person.practice_first) == ("start", 2, None)
    assert client.post(here, first).status_code == 303  # a tab that still shows the first page
    assert not AdvisedTrial.objects.exists()


def test_after_a_wrong_practice_the_wrong_side_is_chosen_whatever_came_before_the_advice(
    study: Study,
) -> None:
    person, client, here = practising(study)
    right = taking_part.practice_side(person)
    wrong = "B" if right == "A" else "A"
    client.post(here, filled_in(client.get(here).content.decode(), side=right))
    client.post(here, filled_in(client.get(here).content.decode(), side=wrong))
    again = client.get(here).content.decode()
    assert "Choose the other version" in again
    assert f'value="{wrong}" checked' in again
    assert client.post(here, filled_in(again, side=right)).headers["Location"].endswith("/start/")


def test_the_practice_has_an_example_beside_its_abstract_where_advice_comes_before(
    study: Study,
) -> None:
    study.arms.update(advice="before")
    person, client, here = practising(study)
    page = client.get(here).content.decode()
    assert "Advice (example)" in page
    assert "This first abstract is for practice" in page
    passed = client.post(here, filled_in(page, side=taking_part.practice_side(person)))
    assert passed.headers["Location"].endswith("/start/")


@pytest.mark.parametrize(
    ("shows", "told"),
    [("rating", ": 56 of 100"), ("percent", ": 78%"), ("words", ", which you saw in words: 78%")],
)
def test_advised_participants_are_told_before_the_first_trial_and_after_the_last(
    study: Study, shows: str, told: str
) -> None:
    Adviser.objects.update(shows=shows)
    now = timezone.now()
    person, client, _ = practising(study)
    taking_part.attempt_practice(person, taking_part.practice_side(person), now)
    said = client.get(f"{study.get_absolute_url()}start/").content.decode()
    assert "For some abstracts, you then see" in said  # not for attention checks
    assert 'class="advice"' not in said
    taking_part.start_trials(person, now)
    while address(person) and person.stage == "trial":
        page = client.get(address(person)).content.decode()
        client.post(address(person), filled_in(page))
    debrief = client.get(f"{study.get_absolute_url()}debrief/").content.decode()
    assert debrief.count("The advice was side") == 9
    assert debrief.count("Before the advice, you chose side") == 9
    assert "had help other than the advice shown, for at least one abstract." in debrief
    held = client.post(f"{study.get_absolute_url()}withdraw/", {"code": person.withdrawal_code})
    stored = held.content.decode()
    assert stored.count("Before the advice, you chose side A.") == 9
    assert stored.count(f"Confidence of the advice{told}.") == 9
    assert stored.count("Time on the page with the advice: 75.3 s.") == 9


GROUPS = "Participants were assigned to different groups of this study by chance."


@pytest.mark.parametrize(
    ("other_arm", "planted", "said"),
    [
        ("none", False, f"Depending on the group, they saw advice from {ADVISER}, or no advice."),
        (
            "before",
            False,
            f"All groups saw advice from {ADVISER}, but not necessarily in the same way.",
        ),
        ("none", True, f"they saw advice that was said to come from “{ADVISER}”, or no advice."),
        (
            "before",
            True,
            f"All groups saw advice that was said to come from “{ADVISER}”, but not necessarily",
        ),
        (None, False, ""),
    ],
)
def test_the_debrief_tells_each_group_of_the_others(
    study: Study, other_arm: str | None, said: str, *, planted: bool
) -> None:
    if other_arm:
        Arm.objects.create(study=study, number=2, name="other", advice=other_arm)
    if planted:
        Adviser.objects.update(kind="planted", source="", planted_accuracy=0.7)
    for arm in study.arms.all():
        person = make_participant(
            study, stage="debrief", arm=arm, finished_at=None, last_seen_at=timezone.now()
        )
        address = f"{study.get_absolute_url()}debrief/"
        page = html.unescape(client_of(person).get(address).content.decode())
        assert page.count(GROUPS) == (other_arm is not None)
        assert said in page
        assert ("advice from" in page) == (other_arm is not None and not planted)


def test_a_study_without_advice_says_nothing_of_it() -> None:
    plain = make_study("plain", recruitment="open")
    person = start(plain)
    client = client_of(person)
    page = client.get(address(person)).content.decode()
    assert "advice" not in page.lower()
    assert "revises" not in page


def test_consent_says_what_is_stored_of_advice_where_an_arm_has_any(study: Study) -> None:
    said = "We may also show you advice about the abstracts."
    assert said in Client().get(study.get_absolute_url()).content.decode()
    plain = make_study("plain", recruitment="open")
    assert said not in Client().get(plain.get_absolute_url()).content.decode()


def test_a_member_who_tries_a_draft_sees_its_advice(client: Client) -> None:
    draft = make_study("draft", catch_items=0)
    make_arms(draft, {"advice": "before"})
    adviser = make_adviser(
        draft, kind="planted", source="", planted_accuracy=0.7, shown_name=ADVISER, is_frozen=False
    )
    adviser.advice.all().delete()
    client.force_login(make_user("ruth", draft))
    assert "the advice is made up, but" in client.get(draft.get_absolute_url()).text
    Study.objects.update(debriefing="The advice was made up.")
    page = client.get(draft.get_absolute_url()).content.decode()
    assert "Only members of the study see this" not in page
    client.post(draft.get_absolute_url(), hidden_fields(page) | {"agree": "yes"})
    person = Participant.objects.get(study=draft, kind="pilot")
    taking_part.save_demographics(person, {"age": "34"}, timezone.now())
    assert ADVISER in client.get(f"{draft.get_absolute_url()}practice/").content.decode()

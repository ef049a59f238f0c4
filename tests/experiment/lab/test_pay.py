"""The page Pay: what was promised, who is owed what, and the lists, as researchers and auditors see them."""

from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from experiment.models import AuditEvent, Membership, PaymentBatch, RecruitmentRecord, Study
from experiment.services.study_file import copy_study, document
from scoring.services.waiting import waiting_for
from tests.experiment.lab_client import browser, text
from tests.factories import make_channel, make_participant, make_user

pytestmark = pytest.mark.django_db
FORM = {
    "pay_currency": "EUR",
    "pay_base": "2.50",
    "pay_screened_out": "0",
    "pay_bonus": "fixed",
    "pay_bonus_amount": "0.75",
    "pay_credits": "0",
}


@pytest.fixture
def paying(study: Study, ruth: Client) -> Study:
    """A study that ruth has set up by its form, with a finisher who came from Mechanical Turk."""
    answer = ruth.post(reverse("lab:setup_pay", args=[study.slug]), FORM)
    assert answer.status_code == 302, answer.text
    study.refresh_from_db()
    make_channel(study, "mturk", completion_code="DONE-1")
    person = make_participant(study, external_source="mturk", excluded_by="missed_catch")
    RecruitmentRecord.objects.create(
        participant=person,
        study=study,
        source="mturk",
        external_id="=WORKER1",
        external_study_id="HIT1",
        external_session_id="ASSIGNMENT1",
        until=timezone.now().date(),
    )
    return study


def page(client: Client, study: Study) -> str:
    answer = client.get(reverse("lab:pay", args=[study.slug]))
    assert answer.status_code == 200
    return text(answer)


def test_lists_are_made_once_and_downloaded_as_often_as_one_likes(
    paying: Study, ruth: Client
) -> None:
    shown = page(ruth, paying)
    for words in ("2.50 EUR", "=WORKER1", "no reason to refuse", "DONE-1", "erased within 7 days"):
        assert words in shown
    make = reverse("lab:pay_list", args=[paying.slug, "mturk"])
    for said in ("List 1 is ready", "already on a list"):
        assert said in text(ruth.post(make, {"list": "finished"}, follow=True))
    file = reverse("lab:pay_file", args=[paying.slug, PaymentBatch.objects.get().number])
    contents = [ruth.get(file).text for _ in range(2)]
    assert contents == ["HITId,AssignmentId,WorkerId,Approve,Reject\nHIT1,ASSIGNMENT1,'=WORKER1,X,\n"] * 2  # fmt: skip
    assert AuditEvent.objects.filter(action="payments_downloaded").count() == 2
    assert ruth.post(make, {"list": "all of them"}).status_code == 404


def test_an_auditor_sees_neither_ids_nor_codes_nor_lists(paying: Study) -> None:
    Membership.objects.create(study=paying, user=make_user("aud"), role="auditor")
    shown = page(browser("aud"), paying)
    assert "WORKER1" not in shown
    assert "DONE-1" not in shown
    assert "no reason to refuse" in shown
    make = reverse("lab:pay_list", args=[paying.slug, "mturk"])
    assert browser("aud").post(make, {"list": "finished"}).status_code == 403


def test_waiting_tells_researchers_of_the_unpaid(paying: Study, ruth: Client) -> None:
    waits = waiting_for(paying.members.get(), timezone.now())
    assert [task.label for task in waits.tasks] == [
        f"Pay 1 participant of {paying.title} whose IDs are erased within 7 days"
    ]
    for reason in ("finished", "bonus"):
        ruth.post(reverse("lab:pay_list", args=[paying.slug, "mturk"]), {"list": reason})
    assert not waiting_for(paying.members.get(), timezone.now()).tasks


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"pay_currency": ""}, "Give the currency"),
        ({"pay_currency": "euro"}, "at most 3"),
        ({"pay_base": "2.505"}, "2 decimal places"),
        ({"pay_base": "-1"}, "greater than or equal to 0"),
        ({"pay_bonus_amount": "0"}, "Give the amount of the bonus"),
    ],
)
def test_a_promise_that_cannot_be_kept_is_refused(
    study: Study, ruth: Client, wrong: dict[str, str], said: str
) -> None:
    answer = ruth.post(reverse("lab:setup_pay", args=[study.slug]), FORM | wrong)
    assert said in text(answer)
    assert not Study.objects.get().pay.is_any


def test_participants_read_the_promise_in_their_language_if_their_link_has_an_id(
    paying: Study,
) -> None:
    Study.objects.update(recruitment="open", language="de")
    home = paying.get_absolute_url()
    by_id = text(Client().get(f"{home}?channel=mturk&workerId=A1B2C3D4E5F6&hitId=H&assignmentId=S", follow=True))  # fmt: skip
    for words in ("2,50\N{NO-BREAK SPACE}EUR", "0,75\N{NO-BREAK SPACE}EUR", "Bezahlung"):
        assert words in by_id
    assert "Bezahlung" not in text(Client().get(home))


def test_the_promise_is_in_the_studys_file_and_its_copy(paying: Study) -> None:
    assert document(paying)["study"]["pay_base"] == "2.50"
    copied = copy_study(paying, slug="copied", title="Copied")
    assert (copied.pay, copied.pay.base) == (paying.pay, Decimal("2.50"))


def test_the_debriefing_names_the_bonus_and_the_withdrawal_page_the_id_that_is_kept(
    paying: Study, ruth: Client
) -> None:
    preview = text(ruth.get(reverse("lab:preview", args=[paying.slug, "debrief"])))
    assert "earned a bonus of <strong>0.75\N{NO-BREAK SPACE}EUR</strong>" in preview
    Study.objects.update(recruitment="open")
    person = paying.participants.get()
    held = text(
        Client().post(f"{paying.get_absolute_url()}withdraw/", {"code": person.withdrawal_code})
    )
    assert "Only your ID at Mturk is kept until" in held

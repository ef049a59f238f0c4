"""Everybody is paid what they were promised, once, whatever the order in which things happen."""

from collections import Counter
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import DatabaseError, IntegrityError, transaction
from django.utils import timezone
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from experiment.domain.pay import Pay
from experiment.domain.paying import Act, Reason, State
from experiment.models import (
    AuditEvent,
    Participant,
    PaymentBatch,
    PaymentLine,
    RecruitmentRecord,
    Study,
)
from experiment.services import withdrawal
from experiment.services.by_hand import exclude_by_hand
from experiment.services.channels import forget_ids
from experiment.services.payments import Person, download, make_list, n_unpaid_soon, payable
from experiment.services.study_versions import ReasonRequiredError, freeze, revise
from tests.factories import NOW, make_channel, make_participant, make_study, make_survey, make_user
from tests.storages import store_files_in

pytestmark = pytest.mark.django_db
PROMISE = {
    "pay_currency": "GBP",
    "pay_base": Decimal("2.00"),
    "pay_screened_out": Decimal("0.50"),
    "pay_bonus": "right",
    "pay_bonus_amount": Decimal("0.10"),
}
LATER = NOW + timedelta(hours=2)
DAY = NOW.date() + timedelta(days=90)


@pytest.fixture
def paying(settings: Any, tmp_path: Any) -> Study:
    """A study with the promise, of whose withdrawals the files go to a scratch folder."""
    store_files_in(settings, tmp_path)
    study = make_study(human=4, machine=0, catch=2, human_items=3, machine_items=0, catch_items=1)
    Study.objects.filter(pk=study.pk).update(**PROMISE)
    study.refresh_from_db()
    make_channel(study, "prolific")
    return study


def came(study: Study, who: str, *, judged: int | None = None, **fields: Any) -> Participant:
    """A participant with an ID of Prolific, who has finished unless it says how far they came."""
    values = {"external_source": "prolific"} | fields
    person = make_participant(study, judged=judged, **values)
    RecruitmentRecord.objects.create(
        participant=person,
        study=study,
        source="prolific",
        external_id=who,
        external_study_id="there",
        external_session_id=f"session-{person.pk}",
        until=DAY,
    )
    return person


def listed(study: Study, reason: Reason = Reason.FINISHED, **more: Any) -> PaymentBatch:
    return make_list(study, "prolific", reason, LATER, by=None, **more)


def one(study: Study) -> Person:
    [person] = payable(study, LATER)
    return person


def test_a_finisher_is_paid_with_a_bonus_for_each_right_test_trial(paying: Study) -> None:
    person = came(paying, "ada", excluded_by="missed_catch")
    found = one(paying)
    assert (found.state, found.proposal.act) == (State.FINISHED, Act.PAY)
    assert "no reason to refuse" in found.proposal.reason
    # Three test trials, all right; the catch trial does not count
    assert found.due == {Reason.FINISHED: Decimal("2.00"), Reason.BONUS: Decimal("0.30")}
    ruth = make_user("ruth", paying)
    assert download(listed(paying), by=ruth).content == "ada\n"
    bonus = listed(paying, Reason.BONUS)
    assert download(bonus, by=ruth).content == "ada,0.30\n"
    came(paying, "bob")
    assert download(bonus, by=ruth).content == "ada,0.30\n"
    assert download(listed(paying), by=ruth).content == "bob\n"
    with pytest.raises(ValidationError, match="already on a list"):
        listed(paying)
    events = AuditEvent.objects.filter(action="payments_listed")
    assert [event.details["total"] for event in events] == [{"GBP": "2.00"}, {"GBP": "0.30"}, {"GBP": "2.00"}]  # fmt: skip
    assert not events.filter(details__icontains=person.recruitment.external_id).exists()


def test_people_are_paid_what_was_promised_as_they_agreed(paying: Study) -> None:
    freeze(Study.objects.get(pk=paying.pk), NOW)
    paying.refresh_from_db()
    came(paying, "early")
    more = Pay("GBP", Decimal("3.00"), Decimal("0.50"), "right", Decimal("0.20"))
    with pytest.raises(ReasonRequiredError):
        revise(paying, pay=more)
    revise(paying, pay=more, reason="It takes longer than we thought.")
    assert paying.versions.get(number=2).promised == more
    came(paying, "late", consented_at=timezone.now())
    due = {person.record.external_id: person.due for person in payable(paying, LATER)}
    assert due["early"] == {Reason.FINISHED: Decimal("2.00"), Reason.BONUS: Decimal("0.30")}
    assert due["late"] == {Reason.FINISHED: Decimal("3.00"), Reason.BONUS: Decimal("0.60")}
    for less in (Pay("GBP", Decimal("1.00")), Pay("EUR", Decimal("9.00")), Pay()):
        with pytest.raises(ValidationError, match="were promised"):
            revise(paying, pay=less, reason="We have less.")
    with pytest.raises(DatabaseError, match="new version"), transaction.atomic():
        Study.objects.filter(pk=paying.pk).update(pay_base=Decimal("1.00"))


def test_a_finisher_who_withdraws_is_paid_by_an_id_apart_from_their_answers(
    paying: Study,
) -> None:
    person = came(paying, "ada")
    withdrawal.withdraw(paying, person.withdrawal_code, LATER)
    found = one(paying)
    assert (found.state, found.pseudonyms, found.participant) == (State.WITHDREW, (), None)
    assert found.due == {Reason.FINISHED: Decimal("2.00"), Reason.BONUS: Decimal("0.30")}
    assert not PaymentLine.objects.exclude(participant=None).exists()
    batch = listed(paying)
    assert download(batch, by=make_user()).content == "ada\n"
    assert one(paying).due == {Reason.BONUS: Decimal("0.30")}
    # They come again: the base has been paid, and the bonus waits
    came(paying, "ada")
    assert set(one(paying).due) == {Reason.BONUS}
    listed(paying, Reason.BONUS)
    forget_ids(DAY + timedelta(days=1))
    assert not PaymentLine.objects.exclude(external_id="").exists()
    assert PaymentLine.objects.count() == 2


def test_nobody_who_was_paid_for_finishing_is_owed_a_part_as_well(paying: Study) -> None:
    person = came(paying, "ada")
    listed(paying)
    withdrawal.withdraw(paying, person.withdrawal_code, LATER)
    came(paying, "ada", judged=0, screened_out_at=NOW)
    found = one(paying)
    assert (found.state, set(found.due)) == (State.SCREENED_OUT, {Reason.BONUS})


def test_a_study_that_promises_nothing_keeps_no_id_of_a_finisher_who_withdraws(
    paying: Study,
) -> None:
    Study.objects.filter(pk=paying.pk).update(
        pay_currency="", pay_base=0, pay_screened_out=0, pay_bonus="none", pay_bonus_amount=0
    )
    paying.refresh_from_db()
    person = came(paying, "ada")
    listed(paying)
    withdrawal.withdraw(paying, person.withdrawal_code, LATER)
    line = PaymentLine.objects.get()
    assert (line.external_id, line.external_session_id, line.participant) == ("", "", None)


def test_refusing_is_proposed_for_missed_attention_checks_alone_and_can_be_undone(
    paying: Study,
) -> None:
    person = came(paying, "ada", excluded_by="missed_catch mostly_too_fast admitted_cheating")
    assert one(paying).proposal.act == Act.PAY
    for name in ("one", "two"):
        [check] = make_survey(paying, "attention", name=name)
        person.survey_answers.create(question=check, value="red", received_at=NOW)
    assert one(paying).proposal == one(paying).proposal.__class__(
        Act.REFUSE, "failed 2 attention checks"
    )
    refused = listed(paying, Reason.REFUSED)
    assert download(refused, by=make_user()).content == "ada,failed 2 attention checks\n"
    assert one(paying).due == {}
    with pytest.raises(ValidationError):
        listed(paying)
    assert listed(paying, overturns=True).lines.get().amount == Decimal("2.00")
    assert set(one(paying).due) == {Reason.BONUS}


@pytest.mark.both
def test_the_database_lets_nobody_be_paid_twice(paying: Study) -> None:
    person = came(paying, "ada")
    listed(paying)
    line = PaymentLine.objects.get()
    values = {name: getattr(line, name) for name in ("batch", "channel", "source", "reason", "amount")}  # fmt: skip
    for again in ({"external_id": "ada"}, {"external_id": "", "participant": person}):
        with pytest.raises(IntegrityError), transaction.atomic():
            PaymentLine.objects.create(study=paying, **values, **again)
    with pytest.raises(DatabaseError), transaction.atomic():
        PaymentLine.objects.filter(pk=line.pk).update(amount=Decimal("9.00"))
    with pytest.raises(IntegrityError), transaction.atomic():
        PaymentLine.objects.create(
            study=paying, **values | {"amount": Decimal(-1), "reason": "bonus"}
        )


def test_ids_that_are_about_to_be_forgotten_are_told_as_long_as_somebody_is_unpaid(
    paying: Study,
) -> None:
    came(paying, "ada")
    close = LATER + timedelta(days=84)
    assert (n_unpaid_soon(paying, LATER), n_unpaid_soon(paying, close)) == (0, 1)
    for reason in (Reason.FINISHED, Reason.BONUS):
        listed(paying, reason)
    assert n_unpaid_soon(paying, close) == 0


WHO = st.sampled_from(["ada", "bob", "cyd"])
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("finishes"), WHO),
        st.tuples(st.just("is screened out"), WHO),
        st.tuples(st.just("stops"), WHO),
        st.tuples(st.just("withdraws"), WHO),
        st.tuples(st.just("is excluded"), WHO),
        st.tuples(st.just("list"), st.sampled_from([Reason.FINISHED, Reason.SCREENED_OUT, Reason.BONUS])),
    ),
    max_size=12,
)  # fmt: skip


@pytest.mark.both
@settings(
    max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(EVENTS)
@example([(what, "ada") for what in ("finishes", "is excluded", "withdraws")])
@example([("finishes", "ada"), ("list", Reason.FINISHED), ("withdraws", "ada")])
@example([*[("finishes", "ada")] * 2, ("list", Reason.FINISHED), ("withdraws", "ada")])
def test_in_any_order_of_events_nobody_is_paid_twice_or_missed(
    paying: Study, events: list[tuple[str, Any]]
) -> None:
    with transaction.atomic():
        contents: dict[int, str] = {}
        owed: dict[str, set[Reason]] = {}
        ruth = make_user("ruth")
        for what, of in events:
            happen(paying, what, of, owed, ruth)
            for batch in paying.payment_batches.all():
                content = download(batch, by=ruth).content
                assert contents.setdefault(batch.number, content) == content
        for reason in (Reason.FINISHED, Reason.SCREENED_OUT, Reason.BONUS):
            happen(paying, "list", reason, owed, ruth)
        lines = paying.payment_lines.exclude(batch=None).values_list("external_id", "reason")
        counted = Counter((who, Reason(reason)) for who, reason in lines)
        assert set(counted.values()) <= {1}
        must = {(who, reason) for who, earned in owed.items() for reason in earned}
        # Who is screened out and then finishes is paid the part only if it was listed before
        assert must <= set(counted)
        assert {x for x in counted if x[1] != Reason.SCREENED_OUT} <= must
        assert all(not person.due for person in payable(paying, LATER))
        transaction.set_rollback(True)


def happen(study: Study, what: str, of: Any, owed: dict[str, set[Reason]], by: User) -> None:
    """An event; `owed` is told what it makes somebody be owed for good."""
    people = Participant.objects.filter(recruitment__external_id=of)
    earned = owed.setdefault(of, set()) if what != "list" else set()
    match what:
        case "finishes":
            came(study, of)
            earned |= {Reason.FINISHED, Reason.BONUS}
            earned -= {Reason.SCREENED_OUT}
        case "is screened out":
            came(study, of, judged=0, screened_out_at=NOW)
            earned |= set() if Reason.FINISHED in earned else {Reason.SCREENED_OUT}
        case "stops":
            came(study, of, judged=1)
        case "withdraws":
            for person in people:
                withdrawal.withdraw(study, person.withdrawal_code, LATER)
        case "is excluded":
            for person in people.filter(stage=Participant.Stage.FINISHED):
                with suppress(ValidationError):  # excluded already
                    exclude_by_hand(study, person.public_id, "other", "Asked for it.", LATER, by)
        case "list":
            try:
                listed(study, of)
            except ValidationError:
                assert not any(person.is_for(of) for person in payable(study, LATER))

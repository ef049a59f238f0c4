"""A participant takes back their data, by their own code or by asking a researcher."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from experiment.models import Participant, RecruitmentRecord, Study
from experiment.models.participants import ParticipantQuerySet
from experiment.services import audit
from experiment.services.privacy import tombstones
from experiment.services.privacy.erasure import anonymise, erase, forget_copies
from experiment.services.privacy.tombstones import Tombstone
from lib.locks import hold_shared

Stage = Participant.Stage
CHUNK = 500
RESTORED = "A restored backup had brought them back."


def withdraw(study: Study, code: str, now: datetime) -> Participant | None:
    """Withdraw who has this code; None if the study has no such code."""
    with transaction.atomic():
        participant = _locked(study).with_code(code).first()
        if participant is not None:
            _withdraw(participant, study, now)
        return participant


def withdraw_on_request(
    study: Study, people: Iterable[Participant], now: datetime, *, by: User, reason: str
) -> None:
    """Withdraw all of these, whom one person asked a researcher for."""
    with transaction.atomic():
        for person in _locked(study).filter(pk__in=[each.pk for each in people]).order_by("pk"):
            _withdraw(person, study, now, by=by, reason=reason)


def find_on_request(study: Study, name: str) -> list[Participant]:
    """Every attempt of whoever came under this recruitment id or goes by this pseudonym, the oldest first.

    An id can be one person's at one site and another's at another. Imported people are no participants of ours.
    """
    people = study.participants.exclude(kind=Participant.Kind.IMPORTED)
    wanted = Q(recruitment__external_id=name)
    with suppress(ValueError):
        wanted |= Q(public_id=UUID(name))
        record = RecruitmentRecord.objects.filter(study=study, participant__public_id=UUID(name))
        for itself in record:
            wanted |= Q(recruitment__in=RecruitmentRecord.objects.of_same(itself))
    return list(people.filter(wanted).select_related("recruitment").order_by("pk"))


@dataclass(frozen=True, slots=True)
class Reapplied:
    """How many ever withdrew, and how many of them had come back with a restored database."""

    tombstones: int = 0
    withdrawn: int = 0


def reapply_withdrawals() -> Reapplied:
    """Withdraw again whoever is there although they withdrew: after a backup was restored."""
    times = {stone.participant: stone.withdrawn_at for stone in tombstones.read_all()}
    pseudonyms, n = list(times), 0
    for at in range(0, len(pseudonyms), CHUNK):
        here = Participant.objects.filter(public_id__in=pseudonyms[at : at + CHUNK])
        back = here.exclude(stage=Stage.WITHDRAWN).select_related("study")
        for person in list(back):
            withdrawn_at = times[person.public_id]
            with transaction.atomic():
                locked = _locked(person.study).get(pk=person.pk)
                _withdraw(locked, person.study, withdrawn_at, reason=RESTORED)
            n += 1
    return Reapplied(len(times), n)


def _locked(study: Study) -> ParticipantQuerySet:
    hold_shared(study)  # its counters count under one time until the end
    return Participant.objects.select_for_update(no_key=True).filter(study=study)


def _withdraw(
    participant: Participant,
    study: Study,
    now: datetime,
    *,
    by: User | None = None,
    reason: str = "",
) -> None:
    """As the study's policy says. Who has not finished leaves nothing that counts: their answers are deleted."""
    if participant.stage == Stage.WITHDRAWN:
        return
    pseudonym = participant.public_id
    keeps = study.withdrawal_policy == Study.WithdrawalPolicy.ANONYMISE
    is_kept = keeps and participant.stage == Stage.FINISHED
    if is_kept:
        anonymise(participant, study)
    else:
        erase(participant, study, now)
    forget_copies(study)
    audit.record(
        audit.Action.WITHDRAWN,
        by=by,
        study=study,
        reason=reason,
        done="anonymised" if is_kept else "deleted",
        asked="a researcher" if by else "the participant",
    )
    tombstones.write(Tombstone(pseudonym, now))

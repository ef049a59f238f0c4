"""Participants' own codes after the site's key was changed: docs/decisions/0019-withdrawal-codes.md."""

from dataclasses import dataclass

from django.db import transaction

from experiment.domain.withdrawal_code import digest, unseal
from experiment.models import Participant

CHUNK = 2_000


@dataclass(frozen=True, slots=True)
class Resealed:
    """How many codes are under the present key now, and how many fit neither key: then nothing is changed."""

    resealed: int
    foreign: int = 0


@transaction.atomic
def reseal(old_key: str) -> Resealed:
    """Keep all codes under the present key; those that are already stay as they are."""
    changed: list[Participant] = []
    foreign = 0
    sealed = Participant.objects.exclude(sealed_code="")
    for person in sealed.only("public_id", "code_digest", "sealed_code").iterator(CHUNK):
        if person.withdrawal_code:
            continue
        code = unseal(person.sealed_code, old_key, person.public_id.hex)
        if digest(code, old_key) == person.code_digest:
            person.give_code(code)
            changed.append(person)
        else:
            foreign += 1
    if foreign:
        return Resealed(0, foreign)
    Participant.objects.bulk_update(changed, ["code_digest", "sealed_code"], batch_size=CHUNK)
    return Resealed(len(changed))

"""What may say who a participant is: recruitment ids and free comments, by pseudonym. In no other export."""

from collections.abc import Iterator
from itertools import islice
from typing import BinaryIO, cast

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from experiment.domain.codebook import IDENTITY_COLUMNS
from experiment.models import Participant, Study
from experiment.services.audit import Action, record
from lib.snapshot import snapshot
from lib.table_files import Block, Digesting, writing

ROWS = 2_000
RECORD = "recruitment__"
FIELDS = (
    "public_id",
    "kind",
    *(
        RECORD + name
        for name in ["source", "external_id", "external_study_id", "external_session_id", "until"]
    ),
    "comments",
)


def export_identities(study: Study, file: BinaryIO, *, by: User, reason: str) -> int:
    """Write the CSV to a new file, which is at its start afterwards, and say in the audit trail who did and why.

    Returns:
        How many participants it names.
    Raises:
        ValidationError: no reason is given.
    """
    if not reason.strip():
        raise ValidationError(_("Say why you need to know who participants are."), code="no_reason")
    target, n = Digesting(file), 0
    with snapshot(), writing("csv", cast("BinaryIO", target), IDENTITY_COLUMNS) as write:
        for block in _blocks(study):
            write(block)
            n += len(block[0])
    with transaction.atomic():
        record(
            Action.IDS_EXPORTED,
            by=by,
            study=study,
            reason=reason.strip(),
            rows=n,
            sha256=target.digest.hexdigest(),
        )
    file.seek(0)
    return n


def _blocks(study: Study) -> Iterator[Block]:
    told = Q(recruitment__isnull=False) | ~Q(comments="")
    people = Participant.objects.filter(told, study=study).order_by("pk").values_list(*FIELDS)
    stream = people.iterator(chunk_size=ROWS)
    while some := list(islice(stream, ROWS)):
        yield [[value or None for value in column] for column in zip(*some, strict=True)]

"""Participants' data for others: trials as a public file holds them, with coarse answers; and identities, by
pseudonym, for a stated reason.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, BinaryIO, cast

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q

from experiment.domain.export_columns import IDENTITY_COLUMNS, TRIAL_COLUMNS, Column
from experiment.domain.release import (
    QUASI_IDENTIFIERS,
    SUPPRESSED,
    Answers,
    Form,
    Released,
    left_out,
    release,
)
from experiment.domain.trial_query import TrialQuery
from experiment.models import Participant, Study
from experiment.services.audit import Action, record
from experiment.services.export.trials import deciding, judged, trials
from experiment.services.export.values import answers_of, columns_of, rows_of
from lib.locks import snapshot
from lib.table_files import Block, Digesting, writing

NAMES = [column.name for column in TRIAL_COLUMNS]
PLACES = [NAMES.index(name) for name in QUASI_IDENTIFIERS]
WHO = NAMES.index("participant")


def released_columns(columns: Sequence[Column], form: Form) -> tuple[Column, ...]:
    """The columns of a study that its public file has."""
    without = dropped(columns, form)
    return tuple(
        replace(
            column,
            meaning=f"{column.meaning} Numbers are in bands; `{SUPPRESSED}` if too few people share the value.",
            levels=(*column.levels, SUPPRESSED) if column.levels else (),
        )
        if column.name in QUASI_IDENTIFIERS
        else column
        for column in columns
        if column.name not in without
    )


def dropped(columns: Sequence[Column], form: Form) -> list[str]:
    return [*left_out((column.name for column in columns), words=form.words)]


def release_of(study: Study, query: TrialQuery, k: int) -> Released:
    """The answers of these trials' participants that may be published: all who are in the file decide how many are alike."""
    if deciding(study, query).other is None:
        people = Participant.objects.filter(
            pk__in=judged(study, query).order_by().values("trial__participant")
        )
        return release(answers_of(people, QUASI_IDENTIFIERS), k)
    said: dict[str, Answers] = {}
    for block in trials(study, query):  # other rules say who is in it, one after the other
        answers = zip(*(block[place] for place in PLACES), strict=True)
        said |= zip(block[WHO], answers, strict=True)
    return release(said, k)


def nothing_left(said: Mapping[str, Any] | None) -> str:
    """The sentence about a release in which nobody says anything; `said`: as its manifest has it. Empty for others."""
    if said is None or not said.get("is_empty"):
        return ""
    few = (
        "Every answer of participants about themselves is suppressed, because too few participants share one: groups of at "
        f"least {said['k']} are asked for."
    )
    if (smaller := said["smaller_k"]) is None:
        return f"{few} No other size of groups leaves any."
    return f"{few} Groups of at least {smaller} leave some answers."


def about(said: Released, columns: Sequence[Column], form: Form) -> dict[str, Any]:
    """The part of a manifest about a release."""
    left = {"dropped": dropped(columns, form), "suppressed": dict(said.suppressed)}
    return {"k": form.k, **left, "is_empty": said.is_empty, "smaller_k": said.smaller_k}


def first_released(
    study: Study, query: TrialQuery, form: Form, n: int
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """That many rows as the public file holds them, by column; and what its manifest says of the release."""
    columns = columns_of(study)
    names = [column.name for column in released_columns(columns, form)]
    with snapshot():
        said = release_of(study, query, form.k)
        blocks = released(trials(study, query, most=n, is_release=True), said, columns, form)
        rows = (row for block in blocks for row in rows_of(block))
        first = [dict(zip(names, row, strict=True)) for row in islice(rows, n)]
        return first, about(said, columns, form)


def released(
    blocks: Iterator[Block], answers: Released, of: Sequence[Column], form: Form
) -> Iterator[Block]:
    """Trials, which have the columns `of`, with those of a release, in which participants say no more than they may."""
    without = dropped(of, form)
    left = [place for place, column in enumerate(of) if column.name not in without]
    said: Mapping[str, Answers] = answers.answers
    for block in blocks:
        columns = list(block)
        coarse = zip(*(said[name] for name in block[WHO]), strict=True)
        for place, column in zip(PLACES, coarse, strict=True):
            columns[place] = column
        yield [columns[place] for place in left]


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
        raise ValidationError("Explain why you need to identify participants.", code="no_reason")
    target, n = Digesting(file), 0
    with snapshot(), writing("csv", cast("BinaryIO", target), IDENTITY_COLUMNS) as write:
        told = Q(recruitment__isnull=False) | ~Q(comments="")
        people = Participant.objects.filter(told, study=study).order_by("pk").values_list(*FIELDS)
        stream = people.iterator(chunk_size=ROWS)
        while some := list(islice(stream, ROWS)):
            write([[value or None for value in column] for column in zip(*some, strict=True)])
            n += len(some)
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

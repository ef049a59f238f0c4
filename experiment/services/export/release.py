"""Trials as a public file holds them: with fewer columns, and with answers as coarse as its participants' number asks for."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from experiment.domain.codebook import TRIAL_COLUMNS, Column
from experiment.domain.export_form import Form
from experiment.domain.release import (
    QUASI_IDENTIFIERS,
    SUPPRESSED,
    Answers,
    Released,
    left_out,
    release,
)
from experiment.domain.trial_query import TrialQuery
from experiment.models import Participant, Study
from experiment.services.export.columns import answers_of, rows_of
from experiment.services.export.header import columns_of
from experiment.services.export.select import deciding, judged
from experiment.services.export.trials import trials
from lib.snapshot import snapshot
from lib.table_files import Block

NAMES = [column.name for column in TRIAL_COLUMNS]
PLACES = [NAMES.index(name) for name in QUASI_IDENTIFIERS]
WHO = NAMES.index("participant")


def released_columns(columns: Sequence[Column], form: Form) -> tuple[Column, ...]:
    """Of a study's columns, those of its public file."""
    without = left_out(form.words)
    return tuple(
        replace(
            column,
            meaning=f"{column.meaning} In bands where it is a number; `{SUPPRESSED}` where too few share it.",
            levels=(*column.levels, SUPPRESSED) if column.levels else (),
        )
        if column.name in QUASI_IDENTIFIERS
        else column
        for column in columns
        if column.name not in without
    )


def dropped(columns: Sequence[Column], form: Form) -> list[str]:
    names = {column.name for column in columns}
    return [name for name in left_out(form.words) if name in names]


def release_of(study: Study, query: TrialQuery, k: int) -> Released:
    """What may be said of the participants of these trials: all who are in the file decide how many are alike."""
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


def first_released(study: Study, query: TrialQuery, form: Form, n: int) -> list[dict[str, Any]]:
    """That many rows as the public file holds them, by column."""
    columns = columns_of(study)
    names = [column.name for column in released_columns(columns, form)]
    with snapshot():
        said = release_of(study, query, form.k)
        blocks = released(trials(study, query, most=n), said, columns, form)
        rows = (row for block in blocks for row in rows_of(block))
        return [dict(zip(names, row, strict=True)) for row in islice(rows, n)]


def released(
    blocks: Iterator[Block], answers: Released, of: Sequence[Column], form: Form
) -> Iterator[Block]:
    """Trials, which have the columns `of`, with those of a release, in which participants say no more than they may."""
    without = left_out(form.words)
    left = [place for place, column in enumerate(of) if column.name not in without]
    said: Mapping[str, Answers] = answers.answers
    for block in blocks:
        columns = list(block)
        coarse = zip(*(said[name] for name in block[WHO]), strict=True)
        for place, column in zip(PLACES, coarse, strict=True):
            columns[place] = column
        yield [columns[place] for place in left]

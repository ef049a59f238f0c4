"""The rows of a query of trials, and how many they are."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import fields
from itertools import islice
from typing import Any, NamedTuple

from django.core.cache import cache
from django.db.models import Q, Sum

from experiment.domain.trial_query import TrialQuery
from experiment.models import Item, ItemCount, Participant, Study
from experiment.services import counts
from experiment.services.exclusions import verdicts_of
from experiment.services.export.columns import (
    HEADER,
    ITEM,
    STUDY,
    TrialColumns,
    kept,
    rows_of,
)
from experiment.services.export.header import asks_questions, names_of
from experiment.services.export.select import deciding, judged
from lib.code import code_digest
from lib.table_files import Block

ROWS = 2_000  # of a block: they are in memory at once
INCLUDED, EXCLUDED_BY = HEADER.index("included"), HEADER.index("excluded_by")
REMEMBERED_S = 600
MOST_DECIDED = 50_000  # trials, in some seconds
CODE = ("experiment/services", "experiment/domain", "lib")  # that exports depend on
# What the counters of items can tell: filters on anything else are counted from the rows
COUNTED = {"set", "kind", "rules", "source", "subfields", "items"}


class After(NamedTuple):
    """The last row that a reader has: those that follow it come next."""

    participant: str
    position: int


def trials(
    study: Study, query: TrialQuery, after: After | None = None, most: int | None = None
) -> Iterator[Block]:
    """The rows of a completed query by participant and position, some at a time; no block is empty.

    most: more than so many are not needed; more can come.

    Raises:
        UnknownVersionError: there are no such rules.
    """
    decide = deciding(study, query)
    # Other rules may include what is left out now
    rows = judged(study, query, as_stored=decide.other is None)
    if after is not None:
        rows = rows.filter(_following(study, after))
    columns = TrialColumns(study, decide.version)
    ordered = columns.in_order(rows)
    if decide.other is None:
        ordered = ordered[:most]
    stream = ordered.iterator(chunk_size=ROWS)
    while some := list(islice(stream, ROWS)):
        people = Participant.objects.filter(pk__in={row[0] for row in some})
        verdicts = None if decide.other is None else verdicts_of(people, decide.other)
        block = columns.of(some, people, verdicts)
        if verdicts is not None:
            block = kept(block, _asked_for(query, block))
        if block[0]:
            yield block


def first_rows(
    study: Study, query: TrialQuery, n: int, after: After | None = None
) -> list[dict[str, Any]]:
    """That many rows as the file holds them, by column."""
    rows = (row for block in trials(study, query, after, n) for row in rows_of(block))
    names = names_of(study)
    return [dict(zip(names, row, strict=True)) for row in islice(rows, n)]


def count(study: Study, query: TrialQuery) -> int:
    """How many rows a completed query has: from counters where they can tell, else counted, and remembered a while.

    Raises:
        UnknownVersionError: there are no such rules.
    """
    decide = deciding(study, query)
    if decide.other is None and _is_counted(query):
        return _counted(study, query)
    key = f"rows-{data_state(study, query)}"
    n: int | None = cache.get(key)
    if n is None:
        if decide.other is None:
            n = judged(study, query).count()
        else:
            n = sum(len(block[0]) for block in trials(study, query))
        cache.set(key, n, REMEMBERED_S)
    return n


def is_quickly_counted(study: Study, query: TrialQuery) -> bool:
    """Whether `count` takes a moment however many took part: other rules are applied to each of them."""
    if deciding(study, query).other is None:
        return True
    everything = TrialQuery(kind=query.kind)
    return _counted(study, everything) <= MOST_DECIDED


def data_state(study: Study, query: TrialQuery) -> str:
    """A name for all that a file depends on, code included: equal names, equal bytes.

    It costs the same however many took part: of them it reads what says that they changed.
    """
    with_live = query.set == "all"
    shown = "counts__assigned__gt" if with_live else "counts__valid__gt"
    if query.rules is not None:
        shown = "counts__assigned__gt"  # they may include what the newest leave out
    items = Item.objects.filter(counts__study=study, counts__kind=query.kind, **{shown: 0})
    state: list[Any] = [
        [code_digest(*CODE), query.encode()],
        counts.data_state(study, query.kind, with_live=with_live),
        [study.version, *(getattr(study, field) for field in STUDY.values())],
        # Of its text, the hash is exported as well
        list(items.order_by("pk").values_list("pk", *ITEM.values())),
    ]
    if asks_questions(study):
        state.append("questions")
    return hashlib.sha256(json.dumps(state, default=str).encode()).hexdigest()[:24]


def _is_counted(query: TrialQuery) -> bool:
    empty = TrialQuery()
    return all(
        field.name in COUNTED or getattr(query, field.name) == getattr(empty, field.name)
        for field in fields(query)
    )


def _counted(study: Study, query: TrialQuery) -> int:
    """Of settled participants by the counters of the items, of the few under way by their rows."""
    items = ItemCount.objects.filter(study=study, kind=query.kind)
    wanted = {"source": query.source, "subfield": query.subfields, "key": query.items}
    of_item = {f"item__{name}__in": values for name, values in wanted.items() if values}
    if query.set == "analysis":
        valid = items.filter(~Q(stratum="catch"), **of_item)
        return int(valid.aggregate(n=Sum("valid", default=0))["n"])
    settled = items.filter(**of_item).aggregate(n=Sum("judged", default=0))["n"]
    others = judged(study, query).filter(trial__participant__in=counts.under_way(study, query.kind))
    return int(settled) + others.count()


def _asked_for(query: TrialQuery, block: Block) -> list[bool]:
    """Which of these rows a query means by what it says of exclusion."""
    if query.set == "analysis":
        return list(block[INCLUDED])
    reasons = set(query.reasons)
    return [
        not reasons or bool(reasons & set((codes or "").split())) for codes in block[EXCLUDED_BY]
    ]


def _following(study: Study, after: After) -> Q:
    """Rows after this one; none where its participant is gone."""
    person = study.participants.filter(public_id=after.participant).values_list("pk", flat=True)
    pk = person.first()
    if pk is None:
        return Q(pk__in=())
    later = Q(trial__participant=pk, trial__position__gt=after.position)
    return later | Q(trial__participant__gt=pk)

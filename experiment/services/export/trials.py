"""A query of trials: what it can ask of one study, which judgments it means, its rows, and how many they are."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, time
from itertools import islice
from typing import Any, NamedTuple

from django.core.cache import cache
from django.db.models import Q, Sum

from experiment.domain.exclusion import NOT_FINISHED, PARTICIPANT_REASONS, Rules
from experiment.domain.export_columns import CATCH_TRIAL
from experiment.domain.trial_query import Problem, QueryError, TrialQuery
from experiment.models import Item, ItemCount, Judgment, Participant, Study
from experiment.models.survey import FIXED
from experiment.models.trials import JudgmentQuerySet
from experiment.services import counts
from experiment.services.advisers import gives_advice
from experiment.services.arms import arms_of
from experiment.services.counts import default_kind
from experiment.services.exclusions import verdicts_of
from experiment.services.export.values import (
    HEADER,
    ITEM,
    STUDY,
    TrialColumns,
    asks_questions,
    kept,
    names_of,
    rows_of,
)
from experiment.services.study_versions import UnknownVersionError, rules_of, version_shown
from experiment.services.survey import survey_questions
from lib.code import code_digest
from lib.table_files import Block

OF_PERSON, OF_ITEM = "trial__participant__", "trial__item__"
# Reasons that are stored with the participant; the others with the judgment, but for catch trials
OF_PARTICIPANT = {reason.code for reason in PARTICIPANT_REASONS}
RECOGNISED = {"true": True, "false": False, "unknown": None}


def completed(study: Study, query: TrialQuery) -> TrialQuery:
    """The query with the study's usual kind of participants where it names none.

    Raises:
        QueryError: it names a subfield, a test case, a participant, a channel or rules that the study does not have.
    """
    query = query if query.kind else replace(query, kind=default_kind(study))
    if problems := list(_problems(study, query)):
        raise QueryError(problems)
    return query


@dataclass(frozen=True, slots=True)
class Deciding:
    """The rules that decide what is excluded: a version's number, and its rules where they are not those that rows hold."""

    version: int | None
    other: Rules | None = None


def deciding(study: Study, query: TrialQuery) -> Deciding:
    """The rules that say which trials are excluded.

    Raises:
        UnknownVersionError: there are no such rules.
    """
    shown = version_shown(study, query.kind)
    if query.rules is None or query.rules == shown:
        return Deciding(shown)
    return Deciding(query.rules, rules_of(study, query.kind, query.rules).exclusion_rules)


def judged(study: Study, query: TrialQuery, *, as_stored: bool = True) -> JudgmentQuerySet:
    """The judgments that a completed query means; without `as_stored`, whatever is excluded."""
    rows = Judgment.objects.of(study, query.kind).filter(*_conditions(query))
    if not as_stored:
        return rows
    if query.set == "analysis":
        # A catch trial decides about its participant and measures nothing itself.
        return rows.valid().exclude(trial__stratum="catch")
    if query.reasons:
        return rows.filter(_any(map(_is_excluded_by, query.reasons)))
    return rows


def channels(study: Study) -> list[str]:
    """The ways in which the study's participants came, as `channel` of a query names them."""
    people = Participant.objects.filter(study=study).exclude(external_source="").order_by()
    return sorted(people.values_list("external_source", flat=True).distinct())


def subfields(study: Study) -> list[str]:
    """Subfields of what was given, or can be, in the study."""
    named = Item.objects.shown_by([study]).exclude(subfield="").order_by()
    return sorted(named.values_list("subfield", flat=True).distinct())


def _problems(study: Study, query: TrialQuery) -> Iterator[Problem]:
    try:
        deciding(study, query)
    except UnknownVersionError as error:
        yield Problem("rules", str(query.rules), why=str(error))
    yield from _unknown("channel", query.channel, lambda: channels(study))
    yield from _unknown("subfield", query.subfields, lambda: subfields(study))
    shown = Item.objects.shown_by([study]).filter(key__in=query.items)
    yield from _missing("item", query.items, set(shown.values_list("key", flat=True)))
    people = study.participants.filter(public_id__in=query.participants)
    known = {str(public_id) for public_id in people.values_list("public_id", flat=True)}
    yield from _missing("participant", query.participants, known)


def _unknown(name: str, asked: Sequence[str], known: Callable[[], list[str]]) -> Iterator[Problem]:
    if asked:
        allowed = tuple(known())
        none = "" if allowed else "the study does not have any to choose from"
        yield from (Problem(name, one, allowed, none) for one in asked if one not in allowed)


def _missing(name: str, asked: Sequence[str], found: set[str]) -> Iterator[Problem]:
    for one in asked:
        if one not in found:
            yield Problem(name, one, why=f"the study does not have the {name} “{one}”")


def _conditions(query: TrialQuery) -> Iterator[Q]:
    several = {
        OF_PERSON + "stage": query.status,
        OF_PERSON + "external_source": query.channel,
        OF_PERSON + "public_id": query.participants,
        OF_ITEM + "source": query.source,
        OF_ITEM + "subfield": query.subfields,
        OF_ITEM + "key": query.items,
    }
    yield from (Q(**{f"{name}__in": values}) for name, values in several.items() if values)
    if query.since:
        yield Q(received_at__gte=datetime.combine(query.since, time(), UTC))
    if query.until:
        yield Q(received_at__lte=datetime.combine(query.until, time.max, UTC))
    if query.recognised:
        # Not IN, which finds no NULL
        yield _any(Q(recognised=value) for value in map(RECOGNISED.get, query.recognised))


def _is_excluded_by(code: str) -> Q:
    """As export columns say it: what is stored, and what only the export decides."""
    if code == CATCH_TRIAL.code:
        return Q(trial__stratum="catch")
    if code not in OF_PARTICIPANT:
        return _holds("excluded_by", code)
    stored = _holds(OF_PERSON + "excluded_by", code)
    if code == NOT_FINISHED.code:
        return stored | ~Q(**{OF_PERSON + "stage": Participant.Stage.FINISHED})
    return stored


def _holds(field: str, code: str) -> Q:
    """The condition that a column of codes, joined by spaces, has this one."""
    return (
        Q(**{field: code})
        | Q(**{f"{field}__startswith": f"{code} "})
        | Q(**{f"{field}__endswith": f" {code}"})
        | Q(**{f"{field}__contains": f" {code} "})
    )


def _any(conditions: Iterable[Q]) -> Q:
    found = Q()
    for condition in conditions:
        found |= condition
    return found


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
    study: Study,
    query: TrialQuery,
    after: After | None = None,
    most: int | None = None,
    *,
    is_release: bool = False,
) -> Iterator[Block]:
    """The rows of a completed query by participant and position, some at a time; no block is empty.

    most: more than so many are not needed; more can come. is_release: by pseudonym, which is random, since the order in which
    people came is known to whoever sat beside them. Nothing comes `after` then.

    Raises:
        UnknownVersionError: there are no such rules.
    """
    decide = deciding(study, query)
    # Other rules may include what is left out now
    rows = judged(study, query, as_stored=decide.other is None)
    if after is not None:
        rows = rows.filter(_following(study, after))
    columns = TrialColumns(study, decide.version)
    ordered = columns.in_order(rows, by_pseudonym=is_release)
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
    """True if `count` takes a moment however many took part: other rules are applied to each of them."""
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
        list(items.order_by("pk").values_list("pk", *ITEM.values()).distinct()),
    ]
    if asks_questions(study):
        state.append("questions")
    if arms := arms_of(study):
        state.append([arm.name for arm in arms])
        if gives_advice(study):
            state.append("advice")
    if asked := survey_questions(study):
        state.append([[getattr(question, name) for name in FIXED] for question in asked])
    return hashlib.sha256(json.dumps(state, default=str).encode()).hexdigest()[:24]


def _is_counted(query: TrialQuery) -> bool:
    empty = TrialQuery()
    return all(
        field.name in COUNTED or getattr(query, field.name) == getattr(empty, field.name)
        for field in fields(query)
    )


def _counted(study: Study, query: TrialQuery) -> int:
    """The number of rows: of settled participants by the counters of the items, of the few under way by their rows."""
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
    """For each of these rows, whether a query means it by what it says of exclusion."""
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

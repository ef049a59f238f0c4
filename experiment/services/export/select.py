"""A query of trials, in the database's words: what it can ask of one study, and which judgments it means."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta

from django.db.models import Q

from experiment.domain.codebook import CATCH_TRIAL
from experiment.domain.exclusion import NOT_FINISHED, PARTICIPANT_REASONS, Rules
from experiment.domain.trial_query import Problem, QueryError, TrialQuery
from experiment.models import Item, Judgment, Participant, Study
from experiment.models.trials import JudgmentQuerySet
from experiment.services.participant_kinds import default_kind
from experiment.services.study_versions import UnknownVersionError, rules_of, version_shown

PERSON, ITEM = "trial__participant__", "trial__item__"
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
    """Whose verdict says what is excluded: a version's number, and its rules where they are not those that rows hold."""

    version: int | None
    other: Rules | None = None


def deciding(study: Study, query: TrialQuery) -> Deciding:
    """What says which trials are excluded.

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
        none = "" if allowed else "the study has none to choose from"
        yield from (Problem(name, one, allowed, none) for one in asked if one not in allowed)


def _missing(name: str, asked: Sequence[str], found: set[str]) -> Iterator[Problem]:
    for one in asked:
        if one not in found:
            yield Problem(name, one, why=f"the study has no {name} “{one}”")


def _conditions(query: TrialQuery) -> Iterator[Q]:
    several = {
        PERSON + "stage": query.status,
        PERSON + "external_source": query.channel,
        PERSON + "public_id": query.participants,
        ITEM + "source": query.source,
        ITEM + "subfield": query.subfields,
        ITEM + "key": query.items,
    }
    yield from (Q(**{f"{name}__in": values}) for name, values in several.items() if values)
    if query.since:
        yield Q(received_at__gte=datetime.combine(query.since, time(), UTC))
    if query.until:
        yield Q(received_at__lt=datetime.combine(query.until, time(), UTC) + timedelta(days=1))
    if query.recognised:
        # Not IN, which finds no NULL
        yield _any(Q(recognised=value) for value in map(RECOGNISED.get, query.recognised))


def _is_excluded_by(code: str) -> Q:
    """As export columns say it: what is stored, and what only the export decides."""
    if code == CATCH_TRIAL.code:
        return Q(trial__stratum="catch")
    if code not in OF_PARTICIPANT:
        return _holds("excluded_by", code)
    stored = _holds(PERSON + "excluded_by", code)
    if code == NOT_FINISHED.code:
        return stored | ~Q(**{PERSON + "stage": Participant.Stage.FINISHED})
    return stored


def _holds(field: str, code: str) -> Q:
    """Whether a column of codes, joined by spaces, has this one."""
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

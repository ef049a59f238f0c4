"""Reads the counters, with what the few participants under way add to them."""

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q, QuerySet, Sum

from experiment.models import (
    DataRevision,
    ItemCount,
    Participant,
    PeopleCount,
    Study,
    Trial,
)

Fate = PeopleCount.Fate


def n_valid(study: Study, kind: str) -> int:
    """Finished participants whom no rule excludes."""
    return n_valid_of([study.pk], kind).get(study.pk, 0)


def n_valid_of(studies: Collection[int], kind: str) -> dict[int, int]:
    """As `n_valid`, by the primary key of each of these studies that has any."""
    valid = PeopleCount.objects.filter(kind=kind, fate=Fate.FINISHED, excluded_by="")
    of_them = valid.filter(study__in=studies).order_by().values_list("study")
    return dict(of_them.annotate(total=Sum("n")))


def kind_counts(study: Study) -> dict[str, int]:
    """Participants of each kind that the study has any of."""
    return kind_counts_of([study.pk]).get(study.pk, {})


def kind_counts_of(studies: Collection[int]) -> dict[int, dict[str, int]]:
    """As `kind_counts`, by the primary key of each of these studies that has any."""
    settled = PeopleCount.objects.filter(study__in=studies).order_by()
    under_way = Participant.objects.under_way().filter(study__in=studies).order_by()
    found: dict[int, dict[str, int]] = defaultdict(dict)
    for study, kind, n in (
        *settled.values_list("study", "kind").annotate(total=Sum("n")),
        *under_way.values_list("study", "kind").annotate(total=Count("pk")),
    ):
        if n:
            found[study][kind] = found[study].get(kind, 0) + n
    return found


@dataclass(frozen=True, slots=True)
class KeyCounts:
    """Judgments of a test case, over all its versions; `held`: live participants who were given it."""

    valid: int
    judged: int
    held: int


def by_key(study: Study, kind: str, now: datetime) -> dict[str, KeyCounts]:
    """Of every test case that was given to participants of this kind."""
    judged: Counter[str] = Counter()
    valid: Counter[str] = Counter()
    held: Counter[str] = Counter()
    settled = _item_counts(study, kind).values_list("item__key", "judged", "valid")
    for key, n_judged, n_counted in settled:
        judged[key] += n_judged
        valid[key] += n_counted
    is_live = Q(participant__last_seen_at__gte=study.live_since(now))
    given = Trial.objects.filter(participant__in=under_way(study, kind)).order_by()
    by_item = given.values("item__key").annotate(
        n_judged=Count("judgment"), n_held=Count("pk", filter=is_live)
    )
    for key, n_judged, n_held in by_item.values_list("item__key", "n_judged", "n_held"):
        judged[key] += n_judged
        held[key] += n_held
    return {key: KeyCounts(valid[key], judged[key], held[key]) for key in judged}


def _item_counts(study: Study, kind: str) -> QuerySet[ItemCount]:
    return ItemCount.objects.filter(study=study, kind=kind)


def under_way(study: Study, kind: str) -> list[int]:
    """The primary keys of participants under way.

    Queries of their trials name them: PostgreSQL takes them for many, since it does not know that who is on a trial has
    most often left, and would read all trials of all participants.
    """
    people = Participant.objects.of(study, kind).under_way()
    return list(people.order_by("pk").values_list("pk", flat=True))


def revision(study: Study, kind: str) -> int:
    """Raised by every change of settled participants' data; 0 where there is none."""
    number = DataRevision.objects.filter(study=study, kind=kind).values_list("number", flat=True)
    return number.first() or 0


def data_state(study: Study, kind: str, *, with_live: bool) -> list[object]:
    """A name for the data of a study's people of one kind: equal lists, equal rows. Costs the same at any size.

    with_live: those too of participants under way, who are in the export of all trials and in no analysis.
    """
    state: list[object] = [study.slug, kind, revision(study, kind)]
    if with_live:
        people = Participant.objects.filter(pk__in=under_way(study, kind))
        judged = people.order_by("pk").annotate(n=Count("trials__judgment"))
        state.append(list(judged.values_list("pk", "stage", "n")))
    return state

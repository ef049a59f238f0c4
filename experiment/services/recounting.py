"""Counts from the rows what the counters should say: to check them, to put them right, and to count under another time that is fast."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import Case, Count, Exists, F, OuterRef, Q, Value, When

from experiment.domain.assignment import QUESTION
from experiment.models import (
    Item,
    ItemCount,
    Judgment,
    Participant,
    PeopleCount,
    Study,
    Trial,
)
from experiment.models.participants import ParticipantQuerySet
from experiment.models.trials import (
    OWN_RECEIVED_AT,
    OWN_RT_MS,
    OWN_SERVER_MS,
    JudgmentQuerySet,
    believed,
)
from experiment.services.counting import (
    Ending,
    ItemOfArm,
    ensure_item_counts,
    hold_counters,
    raise_revision,
)
from lib.locks import snapshot

Fate, Stage = PeopleCount.Fate, Participant.Stage
ITEM_COLUMNS = ("assigned", "judged", "valid")
PEOPLE_COLUMNS = ("n", "untouched_neither", "untouched_either", "fast_page", "fast_choice")
SETTLED = Q(stage__in=Participant.ENDED) | Q(left_at__isnull=False)
OF_SETTLED = Q(trial__participant__stage__in=Participant.ENDED) | Q(
    trial__participant__left_at__isnull=False
)
Counts = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Drift:
    """A counter that does not say what the rows do."""

    study: str
    kind: str
    of: str
    column: str
    counter: int
    counted: int


def check(studies: Iterable[Study]) -> list[Drift]:
    """Every counter of these studies that is wrong, as of one moment."""
    with snapshot():
        drifts: list[Drift] = []
        for given in studies:
            study = Study.objects.get(pk=given.pk)  # its rules, too, of that moment
            # There is nothing to compare of kinds that have neither people nor counters
            found = {
                kind
                for model in (Participant, ItemCount, PeopleCount)
                for kind in model._default_manager.filter(study=study)
                .order_by()
                .values_list("kind", flat=True)
                .distinct()
            }
            for kind in Participant.Kind.values:
                if kind in found:
                    drifts += _drifts(study, kind)
        return drifts


@transaction.atomic
def recount(study: Study, kind: str) -> None:
    """Count anew, and write it; changes of the counters, and draws, wait meanwhile."""
    raise_revision(study, kind)
    study = Study.objects.get(pk=study.pk)  # whoever counts under another time waits now
    used: dict[int, set[int]] = defaultdict(set)
    trials = Trial.objects.filter(participant__study=study, participant__kind=kind)
    for arm, item in trials.order_by().values_list("participant__arm__number", "item").distinct():
        used[arm or 0].add(item)
    for arm_number, item_ids in used.items():
        ensure_item_counts(study, kind, item_ids, arm_number)
    rows = ItemCount.objects.filter(study=study, kind=kind).order_by("pk")
    # A draw that is under way holds its item's row: its trial is seen below once that is free
    locked = list(rows.select_for_update(no_key=True))
    items = item_counts(study, kind)
    for row in locked:
        for name in ITEM_COLUMNS:
            setattr(row, name, items.get(_counted(row), {}).get(name, 0))
    ItemCount.objects.bulk_update(locked, ITEM_COLUMNS, batch_size=1000)
    recount_people(study, kind)


def _counted(row: ItemCount) -> ItemOfArm:
    return ItemOfArm(row.arm_number, row.item_id)


def recount_people(study: Study, kind: str) -> None:
    """Count the settled participants anew; the caller has raised the revision in this transaction."""
    PeopleCount.objects.filter(study=study, kind=kind).delete()
    PeopleCount.objects.bulk_create(
        PeopleCount(
            study=study,
            kind=kind,
            fate=ending.fate,
            page=ending.page,
            excluded_by=ending.excluded_by,
            arm_number=ending.arm_number,
            **counts,
        )
        for ending, counts in people_counts(study, kind).items()
    )


def item_counts(study: Study, kind: str) -> dict[ItemOfArm, dict[str, int]]:
    """Counts of the rows: item and arm -> how often it was assigned, judged by settled participants, and validly."""
    found: dict[ItemOfArm, dict[str, int]] = defaultdict(dict)
    trials = Trial.objects.filter(participant__study=study, participant__kind=kind).order_by()
    given = trials.values_list("participant__arm__number", "item")
    for arm, item, n in given.annotate(n=Count("pk")):
        found[ItemOfArm(arm or 0, item)]["assigned"] = n
    settled = Judgment.objects.of(study, kind).filter(OF_SETTLED).order_by()
    for name, rows in (("judged", settled), ("valid", settled.valid())):
        judged = rows.values_list("trial__participant__arm__number", "trial__item")
        for arm, item, n in judged.annotate(n=Count("pk")):
            found[ItemOfArm(arm or 0, item)][name] = n
    return found


def people_counts(study: Study, kind: str) -> dict[Ending, dict[str, int]]:
    """Counts of the rows: how many settled participants ended in which way, and what the finishers add up to."""
    people = Participant.objects.of(study, kind)
    found: dict[Ending, dict[str, int]] = defaultdict(dict)
    fate = Case(
        When(stage=Stage.FINISHED, then=Value(Fate.FINISHED)),
        When(stage=Stage.WITHDRAWN, finished_at=None, then=Value(Fate.WITHDRAWN)),
        When(stage=Stage.WITHDRAWN, then=Value(Fate.WITHDRAWN_FINISHED)),
        default=Value(Fate.LEFT),
    )
    reason = Case(When(stage=Stage.FINISHED, then=F("excluded_by")), default=Value(""))
    settled = people.filter(SETTLED).order_by().annotate(fate=fate, reason=reason)
    ways = settled.values_list("fate", "page_reached", "reason", "arm__number")
    for fate_, page, reason_, arm, n in ways.annotate(n=Count("pk")):
        found[Ending(fate_, page, reason_, arm or 0)]["n"] = n
    # What other readings of the rule on sliders would leave out, of finishers who rated anything
    own = Judgment.objects.filter(trial__participant=OuterRef("pk"))
    own = own.exclude(trial__stratum=QUESTION)
    moved = {
        "confidence": Exists(own.filter(confidence_moved=True)),
        "expertise": Exists(own.filter(expertise_moved=True)),
    }
    rated = people.finished().filter(Exists(own)).order_by().annotate(**moved)
    neither = Count("pk", filter=Q(confidence=False, expertise=False))
    either = Count("pk", filter=Q(confidence=False) | Q(expertise=False))
    by_ending = rated.values_list("page_reached", "excluded_by", "arm__number")
    for page, said, arm, n_neither, n_either in by_ending.annotate(neither=neither, either=either):
        of_ending = found[Ending(Fate.FINISHED, page, said, arm or 0)]
        of_ending |= {"untouched_neither": n_neither, "untouched_either": n_either}
    # And of the rule on the least time
    tests = _tests(Judgment.objects.of(study, kind)).order_by()
    timed = tests.filter(trial__participant__stage=Stage.FINISHED).values_list(
        "trial__participant__page_reached",
        "trial__participant__excluded_by",
        "trial__participant__arm__number",
    )
    for page, said, arm, n_page, n_choice in timed.annotate(**_counts(study.fast_limit_ms)):
        of_ending = found[Ending(Fate.FINISHED, page, said, arm or 0)]
        of_ending |= {"fast_page": n_page, "fast_choice": n_choice}
    return found


def fast_pages(people: ParticipantQuerySet, limit_ms: int) -> Iterator[tuple[int, int, int]]:
    """Key, pages and choices under the limit, of those of them who judged test trials."""
    own = Judgment.objects.filter(trial__participant__in=people.order_by().values("pk"))
    rows = _tests(own).order_by().values_list("trial__participant")
    yield from rows.annotate(**_counts(limit_ms)).iterator()


def _tests(judgments: JudgmentQuerySet) -> JudgmentQuerySet:
    """Those of test trials, with the time of the participant's own answer."""
    tests = judgments.exclude(trial__stratum__in=("catch", QUESTION))
    own = {"own_rt_ms": OWN_RT_MS, "own_server_ms": OWN_SERVER_MS}
    tests = tests.alias(own_received_at=OWN_RECEIVED_AT, **own)
    return tests.alias(
        page_ms=believed("own_rt_ms", "own_server_ms"),
        choice_ms=believed("rt_choice_ms", "own_server_ms"),
    )


def _counts(limit_ms: int) -> dict[str, Count]:
    on_server = F("trial__shown_at") + timedelta(milliseconds=limit_ms)
    # As `server_ms`: a clock that was set back meanwhile measured nothing
    was_shown = Q(own_received_at__gte=F("trial__shown_at"), own_received_at__lt=on_server)
    page = Q(page_ms__lt=limit_ms) | Q(page_ms=None) & was_shown
    choice = Q(choice_ms__lt=limit_ms) | Q(choice_ms=None) & page
    return {"page": Count("pk", filter=page), "choice": Count("pk", filter=choice)}


def _drifts(study: Study, kind: str) -> Iterator[Drift]:
    kept_items = {
        _counted(row): {name: getattr(row, name) for name in ITEM_COLUMNS}
        for row in ItemCount.objects.filter(study=study, kind=kind)
    }
    kept_people = {
        Ending(row.fate, row.page, row.excluded_by, row.arm_number): {
            name: getattr(row, name) for name in PEOPLE_COLUMNS
        }
        for row in PeopleCount.objects.filter(study=study, kind=kind)
    }
    yield from _compare(
        study, kind, ITEM_COLUMNS, _named_items(kept_items), _named_items(item_counts(study, kind))
    )
    yield from _compare(
        study,
        kind,
        PEOPLE_COLUMNS,
        _named_endings(kept_people),
        _named_endings(people_counts(study, kind)),
    )


def _named_items(counts: Mapping[ItemOfArm, Mapping[str, int]]) -> Counts:
    ids = {item.item_id for item in counts}
    keys = dict(Item.objects.filter(pk__in=ids).values_list("pk", "key"))
    return {
        f"test case {keys[item.item_id]} ({item.item_id}){_in_arm(item.arm_number)}": values
        for item, values in counts.items()
    }


def _named_endings(counts: Mapping[Ending, Mapping[str, int]]) -> Counts:
    return {
        f"{end.fate} at page {end.page} {end.excluded_by}".strip() + _in_arm(end.arm_number): values
        for end, values in counts.items()
    }


def _in_arm(number: int) -> str:
    return f" in arm {number}" if number else ""


def _compare(
    study: Study, kind: str, columns: Iterable[str], kept: Counts, counted: Counts
) -> Iterator[Drift]:
    for of in sorted(kept.keys() | counted.keys()):
        for name in columns:
            before, after = kept.get(of, {}).get(name, 0), counted.get(of, {}).get(name, 0)
            if before != after:
                yield Drift(study.slug, kind, of, name, before, after)


Pages = dict[int, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class FastPages:
    """Fast pages of each finisher, by primary key; their answers change no more, except in a person who is made anonymous."""

    limit_ms: int
    of: Pages

    @classmethod
    def read(cls, study: Study) -> "FastPages":
        lasting = study.participants.finished().filter(is_anonymous=False).order_by()
        return cls(study.min_rt_ms, _pages(lasting, study.min_rt_ms))

    def write(self, study: Study) -> None:
        """Count under this limit from now on; the study's row is held, so that nobody counts under another."""
        for (kind,) in study.participants.order_by().values_list("kind").distinct():
            hold_counters(study, kind)
            finished = Participant.objects.of(study, kind).finished().order_by()
            columns = ("pk", "is_anonymous", "page_reached", "excluded_by", "arm__number")
            rows = list(finished.values_list(*columns))
            later = [pk for pk, is_anonymous, *_ in rows if pk not in self.of and not is_anonymous]
            of = self.of | _pages(finished.filter(pk__in=later), self.limit_ms)
            of |= _pages(finished.filter(is_anonymous=True), self.limit_ms)
            sums: dict[tuple[int, str, int], Counter[str]] = defaultdict(Counter)
            for pk, _, page, excluded_by, arm in rows:
                n_page, n_choice = of[pk]
                sums[page, excluded_by, arm or 0].update(fast_page=n_page, fast_choice=n_choice)
            counters = PeopleCount.objects.filter(
                study=study, kind=kind, fate=PeopleCount.Fate.FINISHED
            )
            for row in counters:
                n = sums[row.page, row.excluded_by, row.arm_number]
                row.fast_page, row.fast_choice = n["fast_page"], n["fast_choice"]
                row.save(update_fields=["fast_page", "fast_choice"])
        study.counted_min_rt_ms = None
        study.save(update_fields=["counted_min_rt_ms"])


def _pages(people: ParticipantQuerySet, limit_ms: int) -> Pages:
    # First, since who finishes in between is seen by the second
    found = dict.fromkeys(people.values_list("pk", flat=True), (0, 0))
    return found | {pk: (n_page, n_choice) for pk, n_page, n_choice in fast_pages(people, limit_ms)}

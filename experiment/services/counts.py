"""Reads the counters, with what the few participants under way add to them: how many there are of which kind, how often test cases were judged, how long a study takes."""

import operator
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from django.db.models import Count, Exists, F, OuterRef, Q, Sum

from experiment.domain.assignment import QUESTION
from experiment.domain.forecast import MIN_FINISHERS, Duration, expected_duration
from experiment.models import (
    Arm,
    DataRevision,
    Item,
    ItemCount,
    Judgment,
    Participant,
    PeopleCount,
    Study,
    Trial,
)
from experiment.models.arms import trial_counts
from experiment.models.participants import ParticipantQuerySet
from experiment.models.trials import JudgmentQuerySet
from experiment.services.arms import groups_of

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
    """Counts of every test case that was given to participants of this kind."""
    judged: Counter[str] = Counter()
    valid: Counter[str] = Counter()
    held: Counter[str] = Counter()
    settled = ItemCount.objects.filter(study=study, kind=kind)
    for key, n_judged, n_counted in settled.values_list("item__key", "judged", "valid"):
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


def under_way(study: Study, *kinds: str) -> list[int]:
    """The primary keys of participants under way.

    Queries of their trials name them: PostgreSQL takes them for many, since it does not know that who is on a trial has
    most often left, and would read all trials of all participants.
    """
    people = Participant.objects.under_way().filter(study=study, kind__in=kinds)
    return list(people.order_by("pk").values_list("pk", flat=True))


def data_state(study: Study, *kinds: str, with_live: bool) -> list[object]:
    """A name for the data of a study's people of these kinds: equal lists, equal rows. Costs the same at any size.

    with_live: those too of participants under way, who are in the export of all trials and in no analysis.
    """
    revisions = DataRevision.objects.filter(study=study, kind__in=kinds).order_by("kind")
    state: list[object] = [study.slug, list(revisions.values_list("kind", "number"))]
    if with_live:
        people = Participant.objects.filter(pk__in=under_way(study, *kinds))
        judged = people.order_by("pk").annotate(n=Count("trials__judgment"))
        state.append(list(judged.values_list("pk", "kind", "stage", "n")))
    return state


Kind = Participant.Kind


def default_kind(study: Study, kinds: Collection[str] = Kind.values) -> str:
    return default_of(study, kind_counts(study), kinds)


def default_of(study: Study, counts: dict[str, int], kinds: Collection[str]) -> str:
    """The kind where none is asked for: the only one of `kinds` that there is, imported beside simulated ones, else real.

    counts: as `kind_counts`. The demo has its simulated people until the answers of a visitor count.
    """
    there = counts.keys() & set(kinds)
    if study.is_demo and there >= {Kind.REAL, Kind.SIMULATED} and not n_valid(study, Kind.REAL):
        there -= {Kind.REAL}
    if there == {Kind.IMPORTED, Kind.SIMULATED}:
        return Kind.IMPORTED.value
    return there.pop() if len(there) == 1 else Kind.REAL.value


def watched_kind(study: Study) -> str:
    """The kind to watch where none is asked for: the first, in this order, of which there are any."""
    counts = kind_counts(study)
    order = (Kind.REAL, Kind.PILOT, Kind.IMPORTED, Kind.SIMULATED)
    return next((kind for kind in order if counts.get(kind)), Kind.REAL).value


def people_of(study: Study, kind: str) -> ParticipantQuerySet:
    """The participants of this kind that a study's results are about.

    Imported people can be joined: where the study holds none of its own, they are those of other studies that judged a
    test case that this one shows.
    """
    if is_joined(study, kind):
        return published_elsewhere(study)
    return Participant.objects.of(study, kind)


def judgments_of(study: Study, kind: str) -> JudgmentQuerySet:
    """All that these people judged; who is joined may also have judged what this study does not show."""
    if is_joined(study, kind):
        return Judgment.objects.filter(trial__participant__in=published_elsewhere(study))
    return Judgment.objects.of(study, kind)


def is_joined(study: Study, kind: str) -> bool:
    """True if people of this kind would come from other studies."""
    return kind == Kind.IMPORTED and kind not in kind_counts(study)


def published_elsewhere(study: Study) -> ParticipantQuerySet:
    """Imported people of other studies that judged a test case of this one; of a person imported twice the first."""
    shown = Item.objects.shown_by([study]).filter(kind=Item.Kind.TEST).values("pk")
    # By the index participant_published, whoever else took part
    others = Participant.objects.filter(kind=Kind.IMPORTED).exclude(study=study)
    known_before = others.filter(
        external_source=OuterRef("external_source"),
        published_id=OuterRef("published_id"),
        pk__lt=OuterRef("pk"),
    ).exclude(published_id="")
    judged = Trial.objects.filter(
        participant=OuterRef("pk"), item__in=shown, judgment__isnull=False
    )
    return others.filter(~Exists(known_before), Exists(judged))


def studies_joined(study: Study, kind: str) -> list[str]:
    """The studies whose imported people would stand in for this one's, in which their trials are exported."""
    if not is_joined(study, kind):
        return []
    return sorted(set(published_elsewhere(study).values_list("study__slug", flat=True)))


def kind_note(study: Study, kind: str) -> str:
    """A note that has to stand beside numbers of this kind; empty where they are of real people."""
    counts = kind_counts(study)
    joined = is_joined(study, kind) and published_elsewhere(study).exists()
    if kind == Kind.REAL and (kind in counts or not counts):
        return ""
    if not joined and kind not in counts:
        lacking = f"The study has no {Kind(kind).label} participants."
        others = []
        for other in Kind:
            if other in counts:  # with its code, where that is another word than its name
                name = str(other.label).lower()
                code = "" if name == other.value else f" ({other.value})"
                others.append(f"{counts[other]} {name}{code}")
        return f"{lacking} There are: {', '.join(others)}." if others else lacking
    has_real = Kind.REAL in counts
    if kind != Kind.IMPORTED:
        note = "Simulated participants: no person took part."
        if kind == Kind.PILOT:
            note = "Pilot participants: they tried the study out."
        return note if has_real else f"{note} The study has no real participants."
    note = "Imported participants: their trials were published elsewhere."
    if joined:
        note = (
            "Imported participants: they did not take part in this study; their trials on its test cases were published "
            "elsewhere."
        )
    return note if has_real else f"{note} No real participant has taken part on this site."


NOT_GIVEN = KeyCounts(valid=0, judged=0, held=0)
STRATA = ("human", "machine", "catch", "question")
STRATUM_NAMES = {
    "human": "Human-created",
    "machine": "Machine-created",
    "question": "Questions",
    "catch": "Catch trials",
    "practice": "Practice",
}
# A bar per number of judgments while there are few of them; then bars over equal ranges.
MAX_BARS = 12


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a histogram: how many items have `first` to `last` judgments; `percent` is of the longest bar."""

    first: int
    last: int
    n_items: int
    percent: float

    @property
    def numbers(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first} to {self.last}"


@dataclass(frozen=True, slots=True)
class Exposures:
    """Valid judgments per item of one stratum; `sd` is of the items themselves, not estimated."""

    stratum: str
    n_items: int
    mean: float
    sd: float
    min: int
    max: int
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class ItemExposure:
    item: Item
    stratum: str
    valid: int
    judged: int
    held: int


def item_exposures(study: Study, kind: str, now: datetime) -> list[ItemExposure]:
    """The study's items other than practice, with how often each was judged, least exposed first.

    Judgments of any version count, since a published text is judged as version 1 and drawn as its repair. Who is
    shown what next goes by the version itself.
    """
    counts = by_key(study, kind, now)
    items = study.items.exclude(kind=Item.Kind.PRACTICE).only(
        "key", "version", "kind", "source", "subfield", "status"
    )
    rows = [
        ItemExposure(item, item.stratum, **asdict(counts.get(item.key, NOT_GIVEN)))
        for item in items
    ]
    return sorted(rows, key=lambda row: (STRATA.index(row.stratum), row.valid, row.item.key))


def exposures(rows: Sequence[ItemExposure]) -> list[Exposures]:
    """Summary and histogram per stratum that has items."""
    of_each = {s: [row.valid for row in rows if row.stratum == s] for s in STRATA}
    return [summary(stratum, counts) for stratum, counts in of_each.items() if counts]


def summary(stratum: str, counts: Sequence[int]) -> Exposures:
    """A summary of one stratum, from the judgments of each of its items."""
    mean, sd = statistics.fmean(counts), statistics.pstdev(counts)
    return Exposures(stratum, len(counts), mean, sd, min(counts), max(counts), histogram(counts))


def histogram(counts: Sequence[int]) -> tuple[Bar, ...]:
    """Bars over all values from the lowest to the highest, empty ones included."""
    low, high = min(counts), max(counts)
    span = -(-(high - low + 1) // MAX_BARS)
    tally = Counter((count - low) // span for count in counts)
    longest = max(tally.values())
    return tuple(
        Bar(
            first=start,
            last=start + span - 1,
            n_items=tally[n],
            percent=100 * tally[n] / longest,
        )
        for n, start in enumerate(range(low, high + 1, span))
    )


# Enough to know the middle half, and the newest: a study's length can change
LATEST = 500
KEPT_S = 60
# (study, arm, its abstracts, its questions) -> when it was found, by the process's clock in seconds, and what; as often asked as a study is opened
_durations: dict[tuple[int, int, int, int, int], tuple[float, Duration]] = {}


def study_duration(study: Study, arm: Arm | None = None) -> Duration:
    """Minutes from consent to the end, of real valid finishers in this arm; of the number of trials where they are few.

    Each process finds it anew once a minute.
    """
    n_abstracts, n_questions = n_asked(study, arm)
    # Second pages, with advice after an own answer; the practice has one too
    n_revisions = 0
    if arm is not None and arm.advice == Arm.Advice.AFTER:
        counts = trial_counts(study, arm)
        n_tests = counts["human"] + counts["machine"]
        n_revisions = 1 + (n_tests if arm.advised_items is None else arm.advised_items)
    key = (study.pk, 0 if arm is None else arm.pk, n_abstracts, n_questions, n_revisions)
    now = time.monotonic()
    if key not in _durations or now - _durations[key][0] >= KEPT_S:
        _durations[key] = (now, _duration(study, arm, n_abstracts, n_questions, n_revisions))
    return _durations[key][1]


@dataclass(frozen=True, slots=True)
class Length:
    """The length of a study before it is known in which arm: the fewest and the most."""

    has_arms: bool
    abstracts: tuple[int, int]
    questions: tuple[int, int]
    minutes: tuple[int, int]
    typical: int | None  # minutes; None where arms take different times


def study_length(study: Study) -> Length:
    groups = groups_of(study)
    abstracts, questions = zip(*(n_asked(study, arm) for arm in groups), strict=True)
    durations = [study_duration(study, arm) for arm in groups]
    return Length(
        groups != [None],
        (min(abstracts), max(abstracts)),
        (min(questions), max(questions)),
        (min(one.low for one in durations), max(one.high for one in durations)),
        durations[0].typical if len(set(durations)) == 1 else None,
    )


def study_minutes(study: Study) -> Duration:
    """Over the study's arms: the range that participants are told, and the mean of the medians by the arms' shares."""
    groups = groups_of(study)
    shares = [1 if arm is None else arm.share for arm in groups]
    of_each = [study_duration(study, arm).typical for arm in groups]
    typical = sum(map(operator.mul, shares, of_each)) / sum(shares)
    low, high = study_length(study).minutes
    return Duration(low, round(typical), high)


def n_asked(study: Study, arm: Arm | None) -> tuple[int, int]:
    """How many abstracts a participant in this arm judges, catch trials too, and how many questions are asked."""
    counts = trial_counts(study, arm)
    n_questions = counts.get(QUESTION, 0)
    return sum(counts.values()) - n_questions, n_questions


def _duration(
    study: Study, arm: Arm | None, n_abstracts: int, n_questions: int, n_revisions: int
) -> Duration:
    people = Participant.objects.of(study, Participant.Kind.REAL).valid()
    if arm is not None:
        people = people.filter(arm=arm)
    times = people.filter(consented_at__isnull=False, finished_at__gte=F("consented_at"))
    newest = times.order_by("-finished_at").values_list("consented_at", "finished_at")[:LATEST]
    minutes = [(end - start).total_seconds() / 60 for start, end in newest if start and end]
    known = minutes if len(minutes) >= MIN_FINISHERS else ()
    return expected_duration(n_abstracts, known, n_questions, n_revisions)


def forget_durations() -> None:
    """Keep nothing; for tests, which use the ids of earlier ones again."""
    _durations.clear()

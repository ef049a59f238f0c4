"""The content of the page of a study's models."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.db.models import Count, Q, QuerySet
from django.urls import reverse

from experiment.models import Item, Study
from lib import formatting
from lib.jobs import leases, workers
from scoring.backends import settings_of
from scoring.domain.perplexity import CHANCE, Accuracy
from scoring.models import LanguageModel, ModelSet, ModelSetMember, ScoringRun
from scoring.services.summary import Counted, count_by_run

STEP = 0.1


@dataclass(frozen=True, slots=True)
class Scale:
    """A line from `low` to `high`, both shares."""

    low: float
    high: float

    def percent(self, share: float) -> float:
        """Where a share stands, in percent of the line from its left end; the ends hold what lies beyond.

        >>> Scale(0.4, 1.0).percent(0.7), Scale(0.4, 1.0).percent(0.1)
        (50.0, 0.0)
        """
        at = (share - self.low) / (self.high - self.low)
        return round(100 * min(1.0, max(0.0, at)), 2)

    @property
    def ticks(self) -> tuple[float, ...]:
        """Every tenth on the line.

        >>> Scale(0.8, 1.0).ticks
        (0.8, 0.9, 1.0)
        """
        first, last = round(self.low / STEP), round(self.high / STEP)
        return tuple(round(n * STEP, 1) for n in range(first, last + 1))


def scale_for(intervals: Sequence[tuple[float, float]]) -> Scale:
    """A line that ends at 1 and begins at the last tenth below chance and below every interval.

    >>> scale_for([(0.6, 0.7), (0.43, 0.55)]), scale_for([(0.21, 0.4)]).low, scale_for([]).low
    (Scale(low=0.4, high=1.0), 0.2, 0.4)
    """
    least = min([low for low, _ in intervals] + [CHANCE - STEP])
    tenths = int(max(0.0, least) / STEP + 1e-9)
    return Scale(round(tenths * STEP, 1), 1.0)


@dataclass(frozen=True, slots=True)
class Dot:
    """A share with its standard error, as percentages of a line."""

    at: float
    begin: float
    end: float


def dot(share: float, sem: float, scale: Scale) -> Dot:
    """A share and one standard error to each side.

    >>> dot(0.7, 0.06, Scale(0.4, 1.0))
    Dot(at=50.0, begin=40.0, end=60.0)
    """
    return Dot(scale.percent(share), scale.percent(share - sem), scale.percent(share + sem))


def ticks(scale: Scale, shown: Collection[float] = ()) -> list[tuple[float, str, str]]:
    """Place, label and style of the ticks, or of those that are shown.

    >>> ticks(Scale(0.4, 0.6))
    [(0.0, '40%', 'tick-begin'), (50.0, '50%', 'tick tick-chance'), (100.0, '60%', 'tick-end')]
    """
    named = {scale.high: "tick-end", CHANCE: "tick tick-chance", scale.low: "tick-begin"}
    return [
        (scale.percent(tick), f"{tick:.0%}", named.get(tick, "tick"))
        for tick in scale.ticks
        if not shown or tick in shown
    ]


SOURCES = ("", *Item.Source.values)


def source_label(source: str) -> str:
    if not source:
        return "all test cases"
    return str(Item.Source(source).label) if source in SOURCES else source


def progress_percent(run: ScoringRun) -> float:
    return 100 * run.done / run.total if run.total else 0.0


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run in the table; with a dot it is one in the picture, where `differs` says what is its own."""

    run: ScoringRun
    counted: Counted
    is_own: bool
    differs: tuple[str, ...] = ()
    dot: Dot | None = None

    @property
    def model(self) -> LanguageModel:
        return self.run.language_model

    @property
    def is_published(self) -> bool:
        return self.run.backend == ScoringRun.Backend.IMPORTED

    @property
    def n(self) -> int:
        return self.counted.accuracy.n

    @property
    def accuracy(self) -> str:
        return formatting.percent(self.counted.accuracy.value)

    @property
    def sem(self) -> str:
        """The standard error in percent, without the sign; empty where it is not known."""
        sem = self.counted.accuracy.known_sem
        return "" if sem is None else formatting.percent(sem).removesuffix("%")

    @property
    def accuracy_and_sem(self) -> str:
        """Both, and a dash where nothing was scored yet."""
        if not self.n:
            return "\N{EN DASH}"
        return f"{self.accuracy} ± {self.sem}" if self.sem else self.accuracy

    @property
    def source(self) -> str:
        return source_label(self.run.source)

    @property
    def texts(self) -> str:
        """The test cases that it was asked to score."""
        run = self.run
        limit = f", first {run.limit}" if run.limit else ""
        seed = "" if run.seed is None else f", seed {run.seed}"
        return f"{run.source or 'all'}{limit}{seed}"

    @property
    def model_args(self) -> str:
        return settings_of(self.run.model_args)

    @property
    def kind(self) -> dict[str, Any]:
        """The settings that distinguish a model's runs."""
        return {
            "published": self.is_published,
            "prompt": self.run.prompt,
            "seed": self.run.seed,
            "source": self.run.source,
            "limit": self.run.limit,
            "model_args": self.model_args or None,
        }

    def told(self, name: str) -> str:
        """A part of `kind`, for readers."""
        if name == "published":
            return "published" if self.is_published else "scored here"
        if name == "source":
            return self.source
        before = {"prompt": "prompt ", "seed": "seed ", "limit": "first "}.get(name, "")
        return f"{before}{self.kind[name]}"


@dataclass(frozen=True, slots=True)
class Group:
    """Models that belong together: the study's set, whose name it has, or others (no name)."""

    set_name: str
    rows: list[RunRow]

    @property
    def is_published(self) -> bool:
        return all(row.is_published for row in self.rows)


def compare(
    rows: Iterable[RunRow], places: Mapping[int, int], set_name: str
) -> tuple[list[Group], Scale]:
    """Rows with dots on a common scale, in groups: models of the study's set, and others."""
    newest: dict[tuple[Any, ...], RunRow] = {}
    for row in rows:
        if row.n and row.run.status == ScoringRun.Status.FINISHED:
            # The newest run of each kind comes first
            newest.setdefault((row.model.pk, row.run.prompt_text, *row.kind.values()), row)
    drawn = [(row, row.counted.accuracy) for row in newest.values()]
    scale = scale_for([(share.value - share.sem, share.value + share.sem) for _, share in drawn])

    # Where a model has several rows, each names what is its own
    by_model = defaultdict(list)
    for row, _ in drawn:
        by_model[row.model.pk].append(row.kind)
    differing = {
        model: [name for name in kinds[0] if len({kind[name] for kind in kinds}) > 1]
        for model, kinds in by_model.items()
    }
    in_set, others = list[RunRow](), list[RunRow]()
    for row, share in drawn:
        own = [name for name in differing[row.model.pk] if row.kind[name] is not None]
        differs = tuple(row.told(name) for name in own)
        whole = replace(row, differs=differs, dot=dot(share.value, share.sem, scale))
        (in_set if row.model.pk in places else others).append(whole)
    return [group for group in (Group(set_name, in_set), Group("", others)) if group.rows], scale


RUNS_PER_PAGE = 50
NOTHING = Counted(Accuracy(0, 0), 0)
Condition = ScoringRun.Condition
Status = ScoringRun.Status


def models_context(
    study: Study, condition: str, source: str, now: datetime, page: int | str = 1
) -> dict[str, Any]:
    """A study's models under a condition, judged by the test cases of a source (or by all)."""
    members = ModelSetMember.objects.filter(model_set__study=study)
    places = dict(members.values_list("language_model_id", "position"))
    rows = _rows(study, condition, source, places)
    set_name = ModelSet.objects.filter(study=study).values_list("name", flat=True).first()
    groups, scale = compare(rows, places, set_name or "")
    of_source = ScoringRun.objects.seen_in([study]).filter(_of_source(source)).order_by()
    n_runs = dict(of_source.values_list("condition").annotate(Count("pk")))
    shown = Paginator(rows, RUNS_PER_PAGE).get_page(page)
    address = {"condition": condition, "source": source, "page": shown.number}
    return {
        "part": "models",
        "condition": condition,
        "condition_label": Condition(condition).label,
        "is_by_sentence": condition == Condition.ISOLATED,
        "source": source,
        "conditions": [
            {
                "value": value,
                "label": label,
                "n": n_runs.get(value, 0),
                "is_current": value == condition,
            }
            for value, label in Condition.choices
        ],
        "sources": [
            {"value": value, "label": source_label(value), "is_current": value == source}
            for value in SOURCES
        ],
        "groups": groups,
        "ticks": ticks(scale, (CHANCE, 1.0)),
        "chance_at": scale.percent(CHANCE),
        "shown": shown,
        "live_url": f"{reverse('lab:scoring_live', args=[study.slug])}?{urlencode(address)}",
        "page_numbers": shown.paginator.page_range,
        "n_runs": sum(n_runs.values()),
        "open_runs": open_runs(study),
        "is_taken": workers.is_taken(ScoringRun),
        "updated_at": now,
    }


def open_runs(study: Study) -> list[dict[str, Any]]:
    """Runs that wait or are scored now, the oldest first."""
    runs = list(_light(study).filter(status__in=ScoringRun.OPEN_STATUSES).order_by("pk"))
    running = any(run.status == Status.RUNNING for run in runs)
    stale = set(leases.stale(_light(study)).values_list("pk", flat=True)) if running else set()
    rows = []
    for run in runs:
        told = "stopping" if run.cancel_requested else run.get_status_display()
        told = "its worker has stopped" if run.pk in stale else told
        told += f", {run.done} of {run.total}" if run.study_id == study.pk else ""
        rows.append({"run": run, "told": told, "progress_percent": progress_percent(run)})
    return rows


def _light(study: Study) -> "QuerySet[ScoringRun]":
    # A plan and a list of files may be longer than all else on the page
    runs = ScoringRun.objects.seen_in([study]).defer("plan", "identity")
    return runs.select_related("language_model")


def _of_source(source: str) -> Q:
    """Runs that hold test cases of a source."""
    return Q(source__in=("", source)) if source else Q()


def _rows(study: Study, condition: str, source: str, places: dict[int, int]) -> list[RunRow]:
    counted = count_by_run(study, condition, source)
    runs = _light(study).filter(_of_source(source), condition=condition)
    rows = [
        RunRow(run, counted.get(run.pk, NOTHING), is_own=run.study_id == study.pk) for run in runs
    ]

    def order(row: RunRow) -> tuple[Any, ...]:
        # The study's set in its order, then others by family and size, demonstrations last; of a model the newest first
        model, last = row.model, len(places) + 1
        about = (model.is_demo, model.family or "~", model.n_parameters or 0, model.pk)
        return (places.get(model.pk, last), *about, -row.run.pk)

    return sorted(rows, key=order)

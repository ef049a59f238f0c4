"""Which of a study's runs are set beside each other: of each model the newest of its kind, and what distinguishes kinds."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext

from experiment.models import Item
from scoring.backends import settings_of
from scoring.lab.scale import Dot, Scale, dot, scale_for
from scoring.models import LanguageModel, ScoringRun
from scoring.services.summary import Counted

SOURCES = ("", *Item.Source.values)


def source_label(source: str) -> str:
    if not source:
        return gettext("all test cases")
    return str(Item.Source(source).label) if source in SOURCES else source


def progress_percent(run: ScoringRun) -> float:
    return 100 * run.done / run.total if run.total else 0.0


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run in the table; with a dot it is one in the picture, where `differs` names what is its own."""

    run: ScoringRun
    counted: Counted
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
    def accuracy_percent(self) -> float:
        return 100 * self.counted.accuracy.value

    @property
    def sem_percent(self) -> float:
        return 100 * self.counted.accuracy.sem

    @property
    def source(self) -> str:
        return source_label(self.run.source)

    @property
    def model_args(self) -> str:
        return settings_of(self.run.model_args)

    @property
    def kind(self) -> dict[str, Any]:
        """What distinguishes a model's runs, by the names that the template knows."""
        return {
            "published": self.is_published,
            "prompt": self.run.prompt,
            "seed": self.run.seed,
            "source": self.run.source,
            "limit": self.run.limit,
            "model_args": self.model_args or None,
        }


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
    finished = [row for row in rows if row.n and row.run.status == ScoringRun.Status.FINISHED]
    drawn = _with_differences(_newest(finished))
    shares = [(row, row.counted.accuracy) for row in drawn]
    scale = scale_for([(share.value - share.sem, share.value + share.sem) for _, share in shares])
    drawn = [replace(row, dot=dot(share.value, share.sem, scale)) for row, share in shares]
    in_set = [row for row in drawn if row.model.pk in places]
    others = [row for row in drawn if row.model.pk not in places]
    return [group for group in (Group(set_name, in_set), Group("", others)) if group.rows], scale


def _newest(rows: Sequence[RunRow]) -> list[RunRow]:
    """Of runs of the same kind the newest, which comes first."""
    first: dict[tuple[Any, ...], RunRow] = {}
    for row in rows:
        first.setdefault((row.model.pk, row.run.prompt_text, *row.kind.values()), row)
    return list(first.values())


def _with_differences(rows: Sequence[RunRow]) -> list[RunRow]:
    """Where a model has several rows, each names what is its own."""
    by_model = defaultdict(list)
    for row in rows:
        by_model[row.model.pk].append(row.kind)
    differing = {
        model: tuple(name for name in kinds[0] if len({kind[name] for kind in kinds}) > 1)
        for model, kinds in by_model.items()
    }
    return [
        replace(row, differs=tuple(n for n in differing[row.model.pk] if row.kind[n] is not None))
        for row in rows
    ]
